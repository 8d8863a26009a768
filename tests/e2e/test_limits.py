"""Limits of the machine and of others: memory, a full disk, workers that die, files that somebody holds, readers."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from clockwork import cpu_seconds, settle, wait_until_quiet
from eider import SLOWER, wait_for

HELD = 'steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]\n'


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


needs_mount = pytest.mark.skipif(not can_mount(), reason="a small disk needs root and mounts")


@pytest.fixture
def small_disk(workspace):
    """A file system of 2 MiB at out/ of the workspace."""
    folder = workspace.root / "out"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True)
    yield folder
    workspace.kill_all()
    subprocess.run(["umount", "-l", str(folder)], check=True)


# ---- memory ------------------------------------------------------------------------------------------------------


def test_a_query_over_its_memory_fails_alone(workspace):
    """O-30: a query that needs more memory and spill than its run may use fails in words, as often as the retry policy
    says; the server and the run beside it go on, and nobody sees the half of its file."""
    workspace.pipeline("hungry", """
        resources: { memory: 64MiB, temp: 16MiB, threads: 2 }
        retry: { max_attempts: 2, backoff: 10ms }
        steps:
          - id: sort
            sql: COPY (SELECT random() AS x FROM range(20000000) ORDER BY x) TO (getvariable('out_o')) (FORMAT parquet);
        publishes: [{ asset: o, path: out/o.parquet }]
    """)
    workspace.pipeline("beside", HELD)
    workspace.pipeline("small", "resources: { memory: 64MiB }\nsteps: [{ id: s, sql: SELECT 42 AS n }]\n")
    server = workspace.serve()
    beside = server.start("beside")
    server.wait_running(beside)
    run = server.wait_end(server.start("hungry"), limit_s=120 * SLOWER)
    assert run["state"] == "failed" and [one["outcome"] for one in run["attempts"]] == ["failed", "failed"], run
    assert "emory" in run["error"] and "resources.memory is 64 MiB" in run["error"], run["error"]
    assert os.listdir(workspace.root / "out") == [], "no file, and no staged one"
    assert [path for path in workspace.root.rglob("*") if path.suffix == ".tmp" and path.is_file()] == [], "no spill is left"
    assert server.run(beside)["state"] == "running" and server.process.poll() is None
    assert server.wait_end(server.start("small"))["state"] == "succeeded"
    (workspace.root / "go").touch()
    assert server.wait_end(beside)["state"] == "succeeded"


# ---- a full disk -------------------------------------------------------------------------------------------------


@needs_mount
@pytest.mark.parametrize("step", ["run: [sh, -c, 'head -c 9000000 /dev/zero > \"$EIDER_OUT_FILE\"']",
                                  "sql: COPY (SELECT random() AS x FROM range(3000000)) TO (getvariable('out_file')) (FORMAT parquet);"])
def test_a_full_disk_leaves_the_old_file(workspace, small_disk, step):
    """The run fails with the system's own reason, the old target stays as it was, and the space is given back."""
    target = small_disk / "file"
    target.write_text("old\n")
    workspace.pipeline("p", f"""
        steps:
          - id: s
            {step}
        publishes: [{{ asset: file, path: out/file, shared: true }}]
    """)
    workspace.pipeline("fits", """
        steps: [{ id: s, run: [sh, -c, 'echo new > "$EIDER_OUT_FILE"'] }]
        publishes: [{ asset: file, path: out/file, shared: true }]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and "o space left on device" in run["error"], run["error"]
    assert target.read_text() == "old\n" and os.listdir(small_disk) == ["file"]
    assert os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize > 1_900_000
    assert server.wait_end(server.start("fits"))["state"] == "succeeded"
    assert target.read_text() == "new\n" and os.listdir(small_disk) == ["file"]


def test_what_is_promised_must_be_written(workspace):
    """A run whose steps did not write the file that it publishes fails, and says where it should have been written."""
    workspace.write("out/file", "old\n")
    workspace.pipeline("p", """
        steps: [{ id: s, run: [sh, -c, "echo wrong > elsewhere"] }]
        publishes: [{ asset: marts.file, path: out/file }]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and "out/file" in run["error"] and "$EIDER_OUT_FILE" in run["error"], run["error"]
    assert (workspace.root / "out/file").read_text() == "old\n"


# ---- workers that die --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kill", ["kill -9 $PPID", "kill -SEGV $PPID"])
def test_a_worker_that_always_dies_spends_the_budget(workspace, kill):
    """A worker that dies each time fails the run after its attempts, each shown with its signal; the server does not
    spin, no worker is started over and over, and the next run is fine."""
    workspace.pipeline("p", f"""
        retry: {{ max_attempts: 3, backoff: 10ms }}
        steps: [{{ id: s, run: [sh, -c, "echo $EIDER_ATTEMPT >> tries; {kill}; sleep 600"] }}]
    """)
    workspace.pipeline("good", 'steps: [{ id: s, run: ["true"] }]\n')
    # A sanitizer would make an exit code of the signal.
    settings = {name: f"{os.environ.get(name, '')}:handle_segv=0" for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}
    server = workspace.serve(env=settings)
    before = cpu_seconds(server.process.pid)
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and run["reason"] == "BudgetSpent"
    number = signal.SIGKILL if "-9" in kill else signal.SIGSEGV
    assert [(one["outcome"], one["signal"]) for one in run["attempts"]] == [("crashed", number)] * 3, run
    assert f"signal {int(number)}" in run["error"], run["error"]
    assert (workspace.root / "tries").read_text().split() == ["1", "2", "3"]
    assert cpu_seconds(server.process.pid) - before < 2 * SLOWER
    wait_until_quiet(server.process.pid)
    assert server.wait_end(server.start("good"))["state"] == "succeeded"
    assert b"sleep\x00600" not in b"".join(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in workspace.processes())


# ---- DuckDB files of others --------------------------------------------------------------------------------------

HOLDER = textwrap.dedent("""
    import fcntl, sys
    file = open(sys.argv[1], "r+b")
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.readline()
""")


@pytest.mark.parametrize("step", ["first", "later"])
def test_a_file_that_somebody_holds_is_waited_for(workspace, step):
    """A DuckDB file that a foreign process has open makes the run wait, with the process id shown; that is no attempt
    gone wrong, other runs go on, and with the file free the run goes on by itself. What it did before is not repeated."""
    workspace.pipeline("make", "database: w.duckdb\nsteps: [{ id: s, sql: CREATE TABLE t (i INTEGER) }]\n")
    before = "- { id: before, run: [sh, -c, \"echo once >> before\"] }" if step == "later" else ""
    workspace.pipeline("p", f"""
        database: w.duckdb
        steps:
          {before}
          - {{ id: s, sql: INSERT INTO t VALUES (1){", needs: [before]" if before else ""} }}
    """)
    workspace.pipeline("other", 'steps: [{ id: s, run: ["true"] }]\n')
    server = workspace.serve()
    assert server.wait_end(server.start("make"))["state"] == "succeeded"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(workspace.root / "w.duckdb")], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        run_id = server.start("p")
        says = f"w.duckdb is open in process {holder.pid}"
        if step == "first":  # nothing has happened yet, so the run waits in the queue and holds no worker
            [waiting] = wait_for(lambda: [one for one in server.run(run_id)["waiting_for"] if one["kind"] == "database"],
                                 "the run says that it waits for the file")
            assert waiting["name"] == "w.duckdb" and says in waiting["detail"] and waiting["since"]
            assert str(holder.pid) in workspace.cli("runs", "show", run_id, expect=0).stdout
        else:
            wait_for(lambda: any(says in line["text"] for line in server.log(run_id)), "its log says that it waits")
        assert server.wait_end(server.start("other"))["state"] == "succeeded"
        assert server.run(run_id)["state"] in ("running", "queued") and server.run(run_id)["failures"] == 0
    finally:
        holder.communicate("\n")
    run = server.wait_end(run_id)
    assert run["state"] == "succeeded" and run["failures"] == 0 and run["interruptions"] == 0, run
    assert [one["outcome"] for one in run["attempts"]] == ["succeeded"], run["attempts"]
    if step == "later":
        assert (workspace.root / "before").read_text() == "once\n"


def test_two_servers_share_a_duckdb_file(make_workspace, tmp_path):
    """Two workspaces that write the same file by its absolute path take turns; neither fails."""
    ids, servers = [], []
    for name in ("one", "two"):
        workspace = make_workspace(name)
        workspace.pipeline("p", f"""
            database: {tmp_path}/shared.duckdb
            steps:
              - {{ id: make, sql: CREATE TABLE IF NOT EXISTS t (who VARCHAR) }}
              - {{ id: add, sql: INSERT INTO t VALUES ('{name}'), needs: [make] }}
        """)
        workspace.pipeline("look", f"""
            database: {{ file: {tmp_path}/shared.duckdb, mode: read }}
            steps: [{{ id: s, sql: "SELECT 'rows ' || string_agg(who, '+' ORDER BY who) AS n FROM t" }}]
        """)
        servers.append(workspace.serve())
    for _ in range(5):
        ids = [server.start("p") for server in servers]
        for server, run_id in zip(servers, ids):
            run = server.wait_end(run_id)
            assert run["state"] == "succeeded" and run["failures"] == 0, run
    run_id = servers[0].start("look")
    assert servers[0].wait_end(run_id)["state"] == "succeeded"
    assert any("rows one+one+one+one+one+two+two+two+two+two" in line["text"] for line in servers[0].log(run_id))


# ---- readers of what is published --------------------------------------------------------------------------------


class Reader(threading.Thread):
    """Reads a published folder and a published file over and over, and notes what was not whole."""

    def __init__(self, root):
        super().__init__()
        self.root = root
        self.done = threading.Event()
        self.faults = []
        self.seen = set()

    def run(self):
        while not self.done.is_set():
            for name in ("set/a", "set/deep/b", "file"):
                try:
                    text = (self.root / name).read_text()
                except OSError as error:
                    self.faults.append(f"{name}: {error}")
                    continue
                lines = text.splitlines()
                if len(lines) != 2000 or len(set(lines)) != 1:
                    self.faults.append(f"{name}: {len(lines)} lines of {len(set(lines))} kinds")
                self.seen.add(lines[0] if lines else "")


def test_readers_never_see_half_or_nothing(workspace):
    """A published folder and file are replaced at one instant: whoever opens a path of them finds old or new, whole."""
    workspace.pipeline("p", """
        steps:
          - id: s
            shell: true
            run: |
              mkdir -p "$EIDER_OUT_SET/deep"
              for part in "$EIDER_OUT_SET/a" "$EIDER_OUT_SET/deep/b" "$EIDER_OUT_FILE"; do
                yes "$EIDER_RUN_ID" | head -n 2000 > "$part"
              done
        publishes:
          - { asset: out.set, path: out/set }
          - { asset: out.file, path: out/file }
    """)
    server = workspace.serve()
    runs = [server.wait_end(server.start("p"))["id"]]
    reader = Reader(workspace.root / "out")
    reader.start()
    try:
        for _ in range(15):
            run = server.wait_end(server.start("p"))
            assert run["state"] == "succeeded", run
            runs.append(run["id"])
            wait_for(lambda: run["id"] in reader.seen or reader.faults, "the reader sees the new one")
    finally:
        reader.done.set()
        reader.join()
    assert reader.faults == []
    assert set(runs[1:]) <= reader.seen
    assert sorted(os.listdir(workspace.root / "out")) == ["file", "set"]
    assert sorted(os.listdir(workspace.root / "out/set")) == ["a", "deep"], "nothing of the old folder"
