"""`eider run` without a server, what others are told meanwhile, and what a server that was stopped leaves behind."""

import os
import pty
import signal
import subprocess

from eider import PROGRAM, wait_for

NAP = 'steps: [{ id: s, run: [sh, -c, "echo ready; exec sleep 600"] }]\n'


class Foreground:
    """`eider run PIPELINE` in a terminal of its own; what it says is in a file."""

    def __init__(self, workspace, pipeline, *options):
        self.output_path = workspace.root / f"run-{pipeline}.txt"
        self.process = subprocess.Popen([str(PROGRAM), "-w", str(workspace.root), "run", pipeline, *options],
                                        stdin=subprocess.DEVNULL, stdout=open(self.output_path, "wb"),
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def output(self):
        return self.output_path.read_text(errors="replace")

    def wait_output(self, text):
        wait_for(lambda: text in self.output(), f"{text!r} is said; so far: {self.output()}")


def test_others_are_told_who_holds_the_workspace(workspace):
    """No circle: each refusal names the run in the foreground and what can be done, and Ctrl-C there is exit 130."""
    workspace.pipeline("nap", NAP)
    workspace.pipeline("good", 'steps: [{ id: s, run: ["true"] }]\n')
    nap = Foreground(workspace, "nap")
    nap.wait_output("ready")
    holder = f"`eider run nap` (process {nap.process.pid}) holds this workspace while it runs"
    for code, arguments in [(2, ["run", "good"]), (2, ["serve"]), (3, ["stop"]), (3, ["reload"]),
                            (3, ["run", "good", "--detach"])]:
        refused = workspace.cli(*arguments, expect=code)
        assert holder in refused.stderr and "Ctrl-C there" in refused.stderr, refused.stderr
    status = workspace.cli("status", expect=0).stdout
    assert holder in status and "1 running of at most" in status
    assert workspace.json("status")["foreground_run"] == {"pipeline": "nap", "pid": nap.process.pid}
    examined = workspace.cli("doctor", expect=3).stdout
    assert "NoServer" in examined and "when `eider run nap` has ended" in examined
    assert "RunWithoutServer" not in examined, "it is alive, and nobody has to take it over"
    nap.process.send_signal(signal.SIGINT)
    assert nap.process.wait(60) == 130
    assert nap.output().count("cancelled by Ctrl-C") == 2, nap.output()  # in the log, and as the end
    assert "a person asked" not in nap.output()
    workspace.cli("run", "good", expect=0)


def test_what_a_stopped_server_left_is_run_first(workspace):
    """A run that `stop --now` interrupted waits and is not cancelled; who queues behind it alone runs it first."""
    workspace.pipeline("p", 'steps: [{ id: s, run: [sh, -c, "echo ready; [ -e go ] || exec sleep 600"] }]\n')
    server = workspace.serve()
    first = server.start("p")
    server.wait_running(first)
    workspace.cli("stop", "--now", expect=0)
    assert server.output().count(" stopping ") == 1 and "interrupts and queues again 1 running run" in server.output()
    assert "drain_timeout" not in server.output(), "no time was given that could be over"
    [row] = [line for line in workspace.cli("runs", "list", expect=0).stdout.splitlines() if first in line]
    assert "queued" in row and "cancelled" not in row
    assert "waits for a server: none is running; `eider serve` starts one" in row, row
    shown = workspace.json("runs", "show", first)
    assert shown["error"] is None and shown["reason"] == "ServerStopped"
    assert "0 running of at most 4, 1 queued" in workspace.cli("status", expect=0).stdout
    refused = workspace.cli("run", "p", expect=2).stderr
    assert first in refused and "no server is running to start it: `eider serve` starts it" in refused
    (workspace.root / "go").touch()
    second = workspace.json("run", "p", "--queue")
    assert second["state"] == "succeeded"
    assert workspace.json("runs", "show", first)["state"] == "succeeded"
    assert workspace.json("runs", "show", first)["finished_at"] <= second["started_at"]


def test_a_retry_is_told_after_the_log_that_caused_it(workspace):
    workspace.pipeline("bad", """
        retry: { max_attempts: 2, backoff: 1s }
        steps: [{ id: boom, run: [sh, -c, "echo oops >&2; exit 7"] }]
    """)
    done = subprocess.run([str(PROGRAM), "-w", str(workspace.root), "run", "bad"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    told = [next(i for i, line in enumerate(lines) if text in line)
            for text in ("boom  | oops", "attempt 1 did not succeed: step boom: exit code 7: oops; attempt 2 of 2", "bad failed in ")]
    assert done.returncode == 1 and told == sorted(told), done.stdout


def test_a_run_alone_is_warned_of_its_own_file_only(workspace):
    past = 'schedules: [{ id: once, at: 2020-01-01T00:00:00Z }]\nsteps: [{ id: s, run: ["true"] }]\n'
    workspace.pipeline("past", past)
    workspace.pipeline("good", 'steps: [{ id: s, run: ["true"] }]\n')
    assert "never due again" not in workspace.cli("run", "good", expect=0).stderr
    assert "never due again" in workspace.cli("run", "past", expect=0).stderr


def test_the_events_of_serve_have_one_form(workspace):
    """Ctrl-C is answered once; on a terminal events and log have the same short times, and no line has blanks at its end."""
    workspace.pipeline("good", 'steps: [{ id: s, run: ["true"] }]\n')
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(PROGRAM), "-w", str(workspace.root), "serve"], stdin=theirs, stdout=theirs,
                               stderr=theirs, start_new_session=True, env={**os.environ, "NO_COLOR": "1"})
    os.close(theirs)
    text = ""

    def read():
        nonlocal text
        try:
            text += os.read(ours, 65536).decode()
        except OSError:  # the other end is closed
            return False
        return True

    while " serving " not in text:
        assert read(), text
    # Both streams: the log says that nothing has changed.
    process.send_signal(signal.SIGHUP)
    while "reloaded: nothing has changed" not in text:
        assert read(), text
    process.send_signal(signal.SIGINT)
    while read():
        pass
    assert process.wait(60) == 0
    os.close(ours)
    lines = text.replace("\r", "").splitlines()
    words = [line.split()[1] for line in lines]
    assert words.count("stopping") == 1 and words[0] == "serving" and words[-1] == "stopped", text
    for line in lines:
        assert line == line.rstrip() and line[8] == "Z" and line[:8].count(":") == 2, repr(line)
