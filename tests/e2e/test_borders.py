"""What is outside: another process at the store, a second server, a damaged or newer store, a disk that is read-only."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading

import pytest

from clockwork import cpu_seconds, decided, settle, slots, tick
from eider import PROGRAM, SLOWER, wait_for

TICK = """
    schedules: [{ id: s, cron: "* * * * *", misfire: latest }]
    steps: [{ id: s, run: ["true"] }]
"""
HOLDER = textwrap.dedent("""
    import sqlite3, sys
    store = sqlite3.connect(sys.argv[1], isolation_level=None)
    store.execute("BEGIN EXCLUSIVE")
    print("held", flush=True)
    sys.stdin.readline()
    store.execute("ROLLBACK")
    print("released", flush=True)
    sys.stdin.readline()
""")


class Holder:
    """Another process that holds the write lock of state.db."""

    def __init__(self, workspace):
        self.process = subprocess.Popen([sys.executable, "-c", HOLDER, str(workspace.root / ".eider" / "state.db")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "held\n"

    def release(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "released\n"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.communicate()


def status(server):
    return server.get("/api/v1/status")


def test_a_locked_store_delays_decisions_and_ends_nothing(workspace):
    """O-29: while another program locks the store the server says so and goes on; then the newest missed slot runs."""
    workspace.pipeline("tick", TICK)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    with Holder(workspace) as holder:
        before = cpu_seconds(server.process.pid)
        turned = threading.Thread(target=server.advance, args=("90s",))
        turned.start()
        wait_for(lambda: status(server)["health"] == "degraded", "the trouble shows")
        assert "locked" in status(server)["health_detail"]
        assert server.request("GET", "/healthz")[0] == 503
        assert server.runs("tick") == [], "reading goes on"
        assert cpu_seconds(server.process.pid) - before < 1 * SLOWER, "it tries again, but does not spin"
        holder.release()
        turned.join()
        settle(server)
        assert slots(server.runs("tick")) == ["2026-01-01T10:02:00Z"]
        assert [row["scheduled_for"] for row in decided(server.occurrences("tick/s"), "coalesced")] == ["2026-01-01T10:01:00Z"]
        assert status(server)["health"] == "ok" and server.request("GET", "/healthz")[0] == 200
        tick(server, "1m")
        assert slots(server.runs("tick")) == ["2026-01-01T10:02:00Z", "2026-01-01T10:03:00Z"]


def test_a_result_waits_for_a_locked_store(workspace):
    """O-29: what a worker reports meanwhile is recorded afterwards, once."""
    workspace.pipeline("p", "steps: [{ id: s, run: [sh, -c, \"until test -e go; do sleep 0.05; done; touch done\"] }]\n")
    server = workspace.serve()
    run_id = server.start("p")
    server.wait_running(run_id)
    with Holder(workspace) as holder:
        (workspace.root / "go").touch()
        wait_for((workspace.root / "done").exists, "the step ends")
        wait_for(lambda: status(server)["health"] == "degraded", "the result cannot be stored")
        assert server.run(run_id)["state"] == "running"
        holder.release()
        ended = server.wait_end(run_id)
    assert ended["state"] == "succeeded" and ended["attempt"] == 1


def test_a_server_starts_again_when_the_lock_is_gone(workspace):
    """O-29: a store that is locked at the start is told in words, and does not look like a damaged one."""
    workspace.pipeline("tick", TICK)
    workspace.serve("--test-clock", "2026-01-01T10:00:30Z").stop()
    with Holder(workspace) as holder:
        refused = workspace.cli("serve", "--test-clock", "2026-01-01T10:05:30Z", expect=1)
        assert "locked" in refused.stderr, refused.stderr
        holder.release()
        started = workspace.start("--test-clock", "2026-01-01T10:05:30Z")
        started.ready()
        settle(started)
        assert slots(started.runs("tick")) == ["2026-01-01T10:05:00Z"]


def test_a_second_server_is_refused(workspace):
    """One server a workspace: the second one says who holds it, and disturbs nothing."""
    workspace.pipeline("tick", TICK)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    refused = workspace.cli("serve", expect=2)
    assert str(server.process.pid) in refused.stderr, refused.stderr
    tick(server, "30s")
    assert slots(server.runs("tick")) == ["2026-01-01T10:01:00Z"]
    # The lock is the process's: it goes with it, however it ends.
    server.kill()
    workspace.serve("--test-clock", "2026-01-01T10:01:30Z")


def state_files(workspace):
    """name -> hash of everything that belongs to the store."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((workspace.root / ".eider").glob("state.db*"))}


def kept_store(workspace):
    """A workspace with some history, whose server has stopped."""
    workspace.pipeline("tick", TICK)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    tick(server, "1m", 3)
    assert server.stop() == 0
    return workspace.root / ".eider" / "state.db"


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


DAMAGES = {
    "not a database": lambda path: overwrite(path, 0, b"this is a text" * 20),
    "cut": lambda path: os.truncate(path, 5000),
    "zeros": lambda path: overwrite(path, 4096, bytes(os.path.getsize(path) - 4096)),
    "empty": lambda path: os.truncate(path, 0),
    "one byte": lambda path: os.truncate(path, 1),
    "a foreign one": lambda path: (os.unlink(path), foreign(path)),
}


def foreign(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_refused_and_left_alone(workspace, damage):
    """A state.db that is no store of ours is never overwritten: a clear message, exit 2, and not a byte changed."""
    path = kept_store(workspace)
    DAMAGES[damage](path)
    before = state_files(workspace)
    refused = workspace.cli("serve", expect=2)
    assert "state.db" in refused.stderr and "left as it is" in refused.stderr, refused.stderr
    assert state_files(workspace) == before
    assert workspace.cli("runs", "list").returncode != 0, "neither do the reading verbs guess"
    assert workspace.cli("run", "tick", expect=2).stderr
    assert state_files(workspace)["state.db"] == before["state.db"]


def test_a_newer_store_is_refused_and_left_alone(workspace):
    """A state.db that a newer program wrote is named as such, and not a byte of it is changed."""
    path = kept_store(workspace)
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA user_version = 999")
    store.close()
    before = state_files(workspace)
    refused = workspace.cli("serve", expect=2)
    assert "newer" in refused.stderr and "999" in refused.stderr
    assert state_files(workspace) == before


def read_only(workspace, *arguments):
    """Runs a command where the workspace is on a read-only mount."""
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, str(workspace.root), str(PROGRAM), "-w", str(workspace.root), *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="a read-only mount needs root and mount namespaces")
@pytest.mark.parametrize("used", [False, True])
def test_a_read_only_workspace_is_told_in_one_sentence(workspace, used):
    """A folder that cannot be written: no server, no half state, and a message that names the path and the reason."""
    if used:
        kept_store(workspace)
    else:
        workspace.pipeline("tick", TICK)
    before = state_files(workspace)
    for verb in (["serve"], ["run", "tick"]):
        refused = read_only(workspace, *verb)
        assert refused.returncode in (1, 2), refused.stderr
        assert ".eider" in refused.stderr and "ead-only" in refused.stderr, refused.stderr
    assert state_files(workspace) == before
    assert read_only(workspace, "validate").returncode == 0, "checking files writes nothing"
    # With the folder writable again everything is as before.
    server = workspace.serve("--test-clock", "2026-01-01T10:03:30Z")
    tick(server, "30s")
    assert slots(server.runs("tick"))[-1] == "2026-01-01T10:04:00Z"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
