"""What steps write: any bytes, any length, while it is written and afterwards."""

import array
import fcntl
import json
import os
import pathlib
import subprocess
import termios

import pytest

from eider import PROGRAM, wait_for

LONG_LINE = 2_000_000


def texts(server, run_id, **query):
    return [line["text"] for line in server.log(run_id, **query) if line["stream"] != "eider"]


def raw(server, run_id, **query):
    ask = "&".join(f"{name}={value}" for name, value in {"raw": "true", **query}.items())
    status, body, headers = server.request("GET", f"/api/v1/runs/{run_id}/logs?{ask}")
    assert status == 200
    return body, headers["Content-Type"]


def peak_bytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


class Follow:
    """`eider logs -f`, whose output is read as it comes."""

    def __init__(self, workspace, *arguments):
        self.path = workspace.root / f"follow-{len(list(workspace.root.glob('follow-*')))}"
        self._out = open(self.path, "wb")
        self.process = subprocess.Popen([str(PROGRAM), "-w", str(workspace.root), "logs", "-f", *arguments],
                                        stdin=subprocess.DEVNULL, stdout=self._out, stderr=subprocess.PIPE)

    def wait_text(self, text):
        wait_for(lambda: text in self.path.read_bytes(), f"the follower shows {text}")

    def end(self):
        _, error = self.process.communicate(timeout=60)
        self._out.close()
        return self.process.returncode, self.path.read_bytes(), error


def test_a_very_long_line_hurts_nobody(workspace):
    """O-23: two million bytes without a newline do not hang the run or fill its worker; the line is cut with a mark that
    says its length, and what follows is there."""
    workspace.pipeline("p", f"""
        steps:
          - id: s
            shell: true
            run: |
              until test -e go; do sleep 0.05; done
              head -c {LONG_LINE} /dev/zero | tr '\\0' x
              touch printed
              until test -e end; do sleep 0.05; done
              printf '\\nend\\n'
    """)
    server = workspace.serve()
    run_id = server.start("p")
    server.wait_running(run_id)
    worker = server.run(run_id)["attempts"][0]["worker_pid"]
    before = peak_bytes(worker)
    (workspace.root / "go").touch()
    wait_for((workspace.root / "printed").exists, "the worker takes all of it")
    assert peak_bytes(worker) - before < 16 * 1024 * 1024
    (workspace.root / "end").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"
    long_line, end = texts(server, run_id)
    assert end == "end"
    assert long_line.startswith("x" * 60_000) and f"[cut: the line has {LONG_LINE} bytes]" in long_line[-60:]
    assert workspace.cli("logs", run_id, "--raw", expect=0).stdout.endswith("\nend\n")


def test_bytes_that_are_no_text_are_shown_and_kept(workspace):
    """O-24: what is not UTF-8 becomes U+FFFD in valid JSON, and the raw download gives the bytes as they were, line
    ends and the missing last newline included."""
    data = b"a\xff\xfe\x80b\nplain\r\n\x00\x1b[31mred\n\xc3\xa9\xed\xa0\x80\n\n\tno newline"
    (workspace.root / "data").write_bytes(data)
    workspace.pipeline("p", "steps: [{ id: s, run: [cat, data] }]\n")
    server = workspace.serve()
    run_id = server.start("p")
    assert server.wait_end(run_id)["state"] == "succeeded"
    status, body, headers = server.request("GET", f"/api/v1/runs/{run_id}/logs")
    assert status == 200 and headers["Content-Type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in body.decode("utf-8").splitlines()]
    shown = [line["text"] for line in lines if line["stream"] == "stdout"]
    assert shown[0] == "a\ufffd\ufffd\ufffdb" and shown[1:3] == ["plain", "\0\x1b[31mred"]
    assert shown[3].startswith("é\ufffd") and shown[4:] == ["", "\tno newline"]
    for line in lines:
        assert set(line) >= {"at", "step", "stream", "text"}
    assert "raw" in lines[0] and "raw" not in lines[1]
    assert raw(server, run_id)[0] == data
    assert raw(server, run_id)[1] == "application/octet-stream"
    done = subprocess.run([str(PROGRAM), "-w", str(workspace.root), "logs", "--raw", run_id], capture_output=True, check=True)
    assert done.stdout == data
    assert b"\x1b" not in workspace.cli("logs", run_id, expect=0).stdout.encode(), "nothing steers the reader's terminal"


def unread_bytes(pid):
    """How many bytes wait in the pipe that is a process's standard output."""
    fd = os.open(f"/proc/{pid}/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    try:
        waiting = array.array("i", [-1])
        fcntl.ioctl(fd, termios.FIONREAD, waiting)
        return waiting[0]
    finally:
        os.close(fd)


def test_a_character_in_two_reads_stays_one(workspace):
    """O-24: the two bytes of an é come in two reads of the worker; it is shown as one é, also to who follows."""
    workspace.pipeline("p", """
        steps:
          - id: s
            shell: true
            run: |
              echo first
              head -c 4095 /dev/zero | tr '\\0' x; printf '\\303'
              touch half
              until test -e go; do sleep 0.05; done
              printf '\\251\\nlast\\n'
    """)
    server = workspace.serve()
    run_id = server.start("p")
    follow = Follow(workspace, run_id)
    [step] = server.wait_running(run_id)["steps"]
    wait_for((workspace.root / "half").exists, "the first half is written")
    wait_for(lambda: unread_bytes(step["pid"]) == 0, "the worker has read it")
    follow.wait_text(b"first")
    (workspace.root / "go").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"
    assert texts(server, run_id) == ["first", "x" * 4095 + "é", "last"]
    code, shown, error = follow.end()
    assert code == 0 and error.startswith(b"p succeeded in ")
    assert "xé\n" in shown.decode() and shown.decode().endswith("last\n") and "\ufffd" not in shown.decode()
    assert raw(server, run_id)[0] == b"first\n" + b"x" * 4095 + "é\nlast\n".encode()


@pytest.mark.parametrize("ends", ["succeeds", "fails"])
def test_a_log_is_followed_to_the_end_of_a_long_run(workspace, ends):
    """`logs -f` shows a line when it is written, goes on over a retry's beginning, and ends with the run."""
    workspace.pipeline("p", f"""
        steps:
          - id: s
            shell: true
            run: |
              echo one
              until test -e go; do sleep 0.05; done
              echo two >&2
              {"true" if ends == "succeeds" else "exit 4"}
          - {{ id: after, run: [echo, three], needs: [s] }}
    """)
    server = workspace.serve()
    run_id = server.start("p")
    server.wait_running(run_id)
    followers = [Follow(workspace, run_id), Follow(workspace, run_id, "--json"), Follow(workspace, run_id, "--step", "s"),
                 Follow(workspace, run_id, "--raw")]
    for follow in followers:
        follow.wait_text(b"one")
        assert b"two" not in follow.path.read_bytes() and follow.process.poll() is None
    (workspace.root / "go").touch()
    server.wait_end(run_id)
    outputs = []
    for follow, is_for_people in zip(followers, (True, False, True, False)):
        code, shown, error = follow.end()
        assert code == 0, "the log was shown; how the run ended is no fault of it"
        assert error.startswith(b"p " + (b"succeeded" if ends == "succeeds" else b"failed") + b" in ") if is_for_people else error == b""
        outputs.append(shown)
    assert b"two" in outputs[0]
    lines = [json.loads(line) for line in outputs[1].splitlines()]
    assert [(line["stream"], line["text"]) for line in lines][:2] == [("stdout", "one"), ("stderr", "two")]
    assert b"three" not in outputs[2]
    assert outputs[3] == (b"one\ntwo\nthree\n" if ends == "succeeds" else b"one\ntwo\n")
    assert (b"three" in outputs[0]) == (ends == "succeeds")


def test_a_follower_outlives_its_reader_quietly(workspace):
    """Who follows and goes away leaves no error and no trace in the server."""
    workspace.pipeline("p", 'steps: [{ id: s, run: [sh, -c, "until test -e go; do echo line; sleep 0.05; done"] }]\n')
    server = workspace.serve()
    run_id = server.start("p")
    server.wait_running(run_id)
    done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" -w "$1" logs -f "$2" | head -n 2', str(PROGRAM),
                           str(workspace.root), run_id], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.count("line") == 2 and done.stderr == ""
    (workspace.root / "go").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"


def test_a_flood_is_cut_and_its_end_kept(workspace):
    """A log that reaches its limit keeps its beginning and its end, with a mark between that says how much is gone."""
    workspace.write("eider.yaml", "workers: { max: 2 }\nlogs: { limit: 256KiB }\n")
    workspace.pipeline("flood", "steps: [{ id: s, run: [seq, \"200000\"] }]\n")
    workspace.pipeline("beside", "steps: [{ id: s, run: [echo, hello] }]\n")
    server = workspace.serve()
    run_id = server.start("flood")
    assert server.wait_end(server.start("beside"))["state"] == "succeeded"
    run = server.wait_end(run_id)
    assert run["state"] == "succeeded", "a long log is no failure"
    lines = server.log(run_id)
    numbers = [int(line["text"]) for line in lines if line["stream"] == "stdout"]
    marks = [line["text"] for line in lines if line["stream"] == "eider"]
    assert numbers[0] == 1 and numbers[-1] == 200_000 and numbers == sorted(set(numbers))
    [cut] = [text for text in marks if "were cut here" in text]
    assert f"{200_000 - len(numbers)} lines" in cut
    [file] = (workspace.root / ".eider" / "runs" / run_id).glob("*.log")
    assert file.stat().st_size <= 256 * 1024
    gap = next(i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + 1)
    assert 100 < gap < len(numbers) - 100, "both the beginning and the end are there"


def test_each_attempt_has_its_own_log(workspace):
    """The newest attempt is shown unless another one is asked for; one that never was is an error in words."""
    workspace.pipeline("p", """
        retry: { max_attempts: 2, backoff: 10ms }
        steps: [{ id: s, run: [sh, -c, "echo attempt $EIDER_ATTEMPT; test $EIDER_ATTEMPT = 2"] }]
    """)
    server = workspace.serve()
    run_id = server.start("p")
    assert server.wait_end(run_id)["state"] == "succeeded"
    assert texts(server, run_id) == ["attempt 2"]
    assert texts(server, run_id, attempt=1) == ["attempt 1"]
    assert "attempt 1" in workspace.cli("logs", run_id, "--attempt", "1", expect=0).stdout
    assert server.request("GET", f"/api/v1/runs/{run_id}/logs?attempt=3")[0] == 400
    assert "attempt" in workspace.cli("logs", run_id, "--attempt", "3", expect=2).stderr
    assert "step" in workspace.cli("logs", run_id, "--step", "x", expect=2).stderr
    # Without a server the same log is read from the files.
    server.stop()
    assert "attempt 2" in workspace.cli("logs", run_id, expect=0).stdout
