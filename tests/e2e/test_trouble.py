"""What the server does when the ground moves: its store is changed, taken away or locked by others, or the machine lacks
something. It neither spins nor lies, no run pays for it, and it goes on by itself."""

import sqlite3
import subprocess

import pytest

from eider import wait_for

STEP = "steps: [{ id: a, run: [\"true\"] }]\n"


def change(workspace, sql):
    """As a person with sqlite3 would, beside the server."""
    store = sqlite3.connect(workspace.root / ".eider/state.db", timeout=10)
    with store:
        store.executescript(sql)
    store.close()


@pytest.mark.parametrize("sql", ["DELETE FROM cursors", "UPDATE cursors SET decided_until = decided_until + 3600000000",
                                 "DELETE FROM attempts; DELETE FROM runs"])
def test_rows_that_somebody_changed_are_read_anew(workspace, sql):
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + STEP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    server.advance("1m")
    change(workspace, sql)
    server.advance("2h")
    assert server.get("/api/v1/status")["health"] == "ok"
    server.advance("1m")
    last = server.occurrences("p/s")[-1]
    assert last["scheduled_for"] == "2026-01-01T12:02:00Z" and last["decision"] in ("run", "skipped"), last
    assert server.stop() == 0


def test_a_store_that_was_taken_away_is_said_to_be_gone(workspace):
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + STEP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    store = workspace.root / ".eider/state.db"
    aside = store.rename(workspace.root / "aside.db")
    run = subprocess.Popen(["curl", "-s", "--unix-socket", str(workspace.root / ".eider/eider.sock"), "-X", "POST",
                            "http://eider/api/v1/runs", "-d", "{\"pipeline\": \"p\"}"], stdout=subprocess.DEVNULL)
    try:
        status = wait_for(lambda: (lambda s: s if s["health"] == "degraded" else None)(server.get("/api/v1/status")),
                          "the server notices")
        assert "removed or replaced" in status["health_detail"]
        aside.rename(store)
        wait_for(lambda: server.get("/api/v1/status")["health"] == "ok", "it goes on")
        wait_for(lambda: [r["state"] for r in server.runs()] == ["succeeded"], "the run that was asked for ran")
    finally:
        run.kill()
        run.wait()
    assert server.stop() == 0


def test_a_server_that_cannot_write_its_store_stops_in_time(workspace):
    workspace.write("eider.yaml", "server: { drain_timeout: 500ms }\n")
    workspace.pipeline("p", "steps: [{ id: a, run: [sleep, \"600\"] }]\n")
    server = workspace.serve()
    run = server.start("p")
    server.wait_running(run)
    lock = sqlite3.connect(workspace.root / ".eider/state.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    server.process.terminate()
    assert server.process.wait(20) == 0, "it leaves with one SIGTERM"
    lock.execute("ROLLBACK")
    lock.close()
    again = workspace.serve()
    # Taken over, or interrupted by the stop and started again: in any case it goes on, and nothing counts against it.
    run = again.wait_running(run)
    assert run["failures"] == 0 and run["interruptions"] == 0, run
    assert run["attempt"] == 1 or run["attempts"][0]["outcome"] == "interrupted", run


def test_a_machine_without_descriptors_fails_no_run(workspace):
    """A limit that holds for a few workers only: the others wait, and all of them run once."""
    workspace.write("eider.yaml", "workers: { max: 40 }\n")
    workspace.write("go.fifo", "")
    # A line in the log before descriptors are gone: g++'s undefined-behaviour sanitizer looks at an object of a type that
    # it sees first through a pipe, and without one takes it for a wrong object.
    workspace.write("pipelines/broken.yaml", "steps: 1\n")
    workspace.pipeline("p", """
        max_active_runs: 0
        steps: [{ id: a, run: [sh, -c, "while [ -e go.fifo ]; do sleep 0.05; done; echo x >> done.txt"] }]
    """)
    server = workspace.serve()
    subprocess.run(["prlimit", "--pid", str(server.process.pid), "--nofile=45:45"], check=True)
    runs = [server.start("p", queue=True) for _ in range(30)]
    status = wait_for(lambda: (lambda s: s if s["health"] == "degraded" else None)(server.get("/api/v1/status")),
                      "the server says that it lacks something")
    assert "Too many open files" in status["health_detail"], status
    waiting = [server.run(run) for run in runs if server.run(run)["state"] == "queued"]
    assert waiting and all(run["failures"] == 0 for run in waiting)
    assert any(entry["kind"] == "start" for run in waiting for entry in run["waiting_for"]), waiting[0]
    (workspace.root / "go.fifo").unlink()
    for run in runs:
        ended = server.wait_end(run, limit_s=120)
        assert ended["state"] == "succeeded" and ended["failures"] == 0 and len(ended["attempts"]) == 1, ended
    assert (workspace.root / "done.txt").read_text() == "x\n" * 30
    wait_for(lambda: server.get("/api/v1/status")["health"] == "ok", "it is well again")
