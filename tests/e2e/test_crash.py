"""Servers, workers and jobs that die, one by one and together; results of attempts that are over."""

import json
import os
import signal
import textwrap

from clockwork import decided, settle, slots
from eider import process_exists, wait_for

CLOCK = ("--test-clock", "2026-01-01T10:01:00Z")
# Each execution is written down; two at once would meet at the lock of the file `busy`.
WORK = textwrap.dedent("""
    schedules: [{ id: s, cron: "*/2 * * * *" }]
    steps:
      - id: s
        shell: true
        run: |
          exec 9>>busy
          flock -n 9 || echo "overlap $EIDER_ATTEMPT" >> journal
          echo "start $EIDER_ATTEMPT" >> journal
          until test -e go; do sleep 0.05; done
          echo "end $EIDER_ATTEMPT" >> journal
""")


def journal(workspace):
    path = workspace.root / "journal"
    return path.read_text().splitlines() if path.exists() else []


def started(workspace, server, *, slot=False):
    """A server's run whose step runs."""
    if slot:
        server.advance("1m")
        [run] = server.runs("p")
    else:
        run = {"id": server.start("p")}
    wait_for(lambda: "start 1" in journal(workspace), "the step runs")
    return server.wait_running(run["id"])


def worker_of(run):
    return run["attempts"][-1]["worker_pid"]


def release(workspace, server, run_id):
    (workspace.root / "go").touch()
    return server.wait_end(run_id)


def adopted(server, run_id):
    return wait_for(lambda: (lambda run: run if run["adopted"] else None)(server.run(run_id)), "the run is adopted")


def test_everything_dies_at_once(workspace):
    """O-13: after a power cut the run does not stay "running": it is on record as interrupted, and done again."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server, slot=True)
    workspace.kill_all()

    server = workspace.serve("--test-clock", "2026-01-01T10:02:30Z")
    wait_for(lambda: "start 2" in journal(workspace), "it is done again")
    run = server.wait_running(run["id"])
    first, second = run["attempts"]
    assert first["outcome"] == "interrupted" and first["finished_at"] == "2026-01-01T10:02:30Z" and first["error"]
    assert second["number"] == 2 and second["outcome"] is None
    ended = release(workspace, server, run["id"])
    assert ended["state"] == "succeeded" and ended["interruptions"] == 1 and ended["failures"] == 0
    assert server.get("/api/v1/status")["running"] == 0
    server.advance("90s")
    settle(server)
    assert slots(server.runs("p")) == ["2026-01-01T10:02:00Z", "2026-01-01T10:04:00Z"]
    assert [row["decision"] for row in server.occurrences("p/s")] == ["run", "run"]
    assert journal(workspace) == ["start 1", "start 2", "end 2", "start 1", "end 1"]


def test_a_job_that_outlives_its_server_is_adopted(workspace):
    """O-13: a run whose worker lives is taken over as it is, not declared lost, and ends like any other."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server, slot=True)
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:05:00Z")
    found = adopted(server, run["id"])
    assert found["state"] == "running" and worker_of(found) == worker_of(run)
    # 10:04 fell due meanwhile: the run that lives counts as active.
    [skipped] = decided(server.occurrences("p/s"), "skipped")
    assert skipped["run_id"] == run["id"]
    ended = release(workspace, server, run["id"])
    assert ended["state"] == "succeeded" and ended["attempt"] == 1 and ended["interruptions"] == 0
    assert journal(workspace) == ["start 1", "end 1"]


def test_an_orphaned_job_ends_before_its_successor_begins(workspace):
    """O-13: server and worker are gone and the job is left: it must end before the run is done again."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server)
    step = run["steps"][0]["pid"]
    server.kill()
    os.kill(worker_of(run), signal.SIGKILL)
    server = workspace.serve(*CLOCK)
    wait_for(lambda: "start 2" in journal(workspace), "it is done again")
    assert not process_exists(step)
    ended = release(workspace, server, run["id"])
    assert ended["attempts"][0]["outcome"] == "interrupted" and ended["state"] == "succeeded"
    assert journal(workspace) == ["start 1", "start 2", "end 2"]


def test_an_adopted_run_can_be_cancelled(workspace):
    """O-13: a run that was found alive obeys a person like one that this server started."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server)
    server.kill()
    server = workspace.serve(*CLOCK)
    adopted(server, run["id"])
    workspace.cli("cancel", run["id"], expect=0)
    ended = server.wait_end(run["id"])
    assert ended["state"] == "cancelled" and ended["attempts"][0]["outcome"] == "cancelled"
    assert not process_exists(run["steps"][0]["pid"])


def test_interruptions_have_a_budget(workspace):
    """O-13: a run that takes everything down with it is not tried for ever."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server)
    for attempt in range(2, 6):
        workspace.kill_all()
        server = workspace.serve(*CLOCK)
        wait_for(lambda n=attempt: f"start {n}" in journal(workspace) or server.run(run["id"])["state"] == "failed",
                 "it is done again, or given up")
        if server.run(run["id"])["state"] == "failed":
            break
    ended = server.run(run["id"])
    assert ended["state"] == "failed" and ended["reason"] == "InterruptionsSpent", ended
    assert [attempt["outcome"] for attempt in ended["attempts"]] == ["interrupted"] * 4


def test_a_long_run_is_not_rescued_by_its_age(workspace):
    """O-15: a job that lives through 47 minutes and two servers is executed once, as attempt 1."""
    workspace.pipeline("p", WORK)
    server = workspace.serve("--test-clock", "2026-01-01T10:01:00Z")
    run = started(workspace, server)
    for now in ("2026-01-01T10:15:00Z", "2026-01-01T10:30:00Z"):
        server.advance("10m")
        server.kill()
        server = workspace.serve("--test-clock", now)
        assert worker_of(adopted(server, run["id"])) == worker_of(run)
    server.advance("18m")
    assert server.run(run["id"])["state"] == "running"
    ended = release(workspace, server, run["id"])
    assert ended["state"] == "succeeded" and ended["attempt"] == 1 and len(ended["attempts"]) == 1
    assert journal(workspace) == ["start 1", "end 1"]


def test_stop_leaves_running_runs_to_the_next_server(workspace):
    """`stop --leave-running`: the server ends at once, its run goes on and is taken over."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server)
    workspace.cli("stop", "--leave-running", expect=0)
    assert server.process.wait(30) == 0
    assert process_exists(run["steps"][0]["pid"])
    [shown] = workspace.json("runs", "list")["items"]
    assert shown["state"] == "running", "it can be seen without a server"
    server = workspace.serve(*CLOCK)
    adopted(server, run["id"])
    assert release(workspace, server, run["id"])["attempt"] == 1
    assert journal(workspace) == ["start 1", "end 1"]


def test_a_result_that_nobody_waited_for(workspace):
    """SIGTERM twice ends the server at once; the run ends alone, and the next server records what it left."""
    workspace.pipeline("p", WORK)
    server = workspace.serve(*CLOCK)
    run = started(workspace, server)
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: server.get("/api/v1/status")["health"] == "draining", "it drains")
    assert server.process.poll() is None and server.run(run["id"])["state"] == "running"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 0
    (workspace.root / "go").touch()
    wait_for(lambda: not process_exists(worker_of(run)), "the worker leaves")
    assert journal(workspace) == ["start 1", "end 1"]
    server = workspace.serve(*CLOCK)
    ended = server.wait_end(run["id"])
    assert ended["state"] == "succeeded" and ended["attempt"] == 1 and ended["attempts"][0]["exit_code"] == 0
    assert journal(workspace) == ["start 1", "end 1"]


def test_a_stopped_worker_keeps_its_run(workspace):
    """O-17: a worker that is silent while servers come and go still owns its run; nobody takes over."""
    workspace.write("eider.yaml", "pools: { one: { slots: 1 } }\n")
    workspace.pipeline("p", "pool: one\n" + WORK)
    workspace.pipeline("next", "pool: one\nsteps: [{ id: s, run: [\"true\"] }]\n")
    server = workspace.serve(*CLOCK)
    run = started(workspace, server)
    os.kill(worker_of(run), signal.SIGSTOP)
    try:
        server.kill()
        server = workspace.serve(*CLOCK)
        other = server.start("next")
        server.advance("30m")
        assert server.run(run["id"])["state"] == "running" and server.run(run["id"])["attempt"] == 1
        [pool] = server.get("/api/v1/pools")["items"]
        assert (pool["used"], pool["waiting"], pool["holders"]) == (1, 1, [run["id"]])
        assert server.run(other)["state"] == "queued"
    finally:
        os.kill(worker_of(run), signal.SIGCONT)
    ended = release(workspace, server, run["id"])
    assert ended["state"] == "succeeded" and ended["attempt"] == 1
    assert server.wait_end(other)["state"] == "succeeded"
    assert server.get("/api/v1/pools")["items"][0]["used"] == 0
    assert journal(workspace) == ["start 1", "end 1"]


TWICE = """
    pool: one
    retry: { max_attempts: 2, backoff: 10ms }
    steps:
      - id: s
        shell: true
        run: |
          echo "start $EIDER_ATTEMPT" >> journal
          test $EIDER_ATTEMPT = 1 && exit 5
          until test -e go; do sleep 0.05; done
          exit 7
"""


def forge(workspace, run_id, name, attempt):
    """Leaves a success where a worker leaves its result."""
    forged = {"version": 1, "kind": "result", "run_id": run_id, "attempt": attempt, "outcome": "succeeded", "error": "",
              "finished_at_us": 1767261700000000, "worker_pid": 1, "steps": [], "renames": []}
    (workspace.root / ".eider" / "runs" / run_id / name).write_text(json.dumps(forged))


def second_attempt(workspace, server):
    """A run of TWICE whose second attempt works on the real clock."""
    run_id = server.start("p")
    wait_for(lambda: "start 2" in journal(workspace), "the second attempt runs")
    return server.wait_running(run_id)


def test_a_late_report_of_an_older_attempt_changes_nothing(workspace):
    """O-17: only the current attempt's result counts, before and after a restart; the pool is given back once."""
    workspace.write("eider.yaml", "pools: { one: { slots: 1 } }\n")
    workspace.pipeline("p", TWICE)
    server = workspace.serve()
    run = second_attempt(workspace, server)
    forge(workspace, run["id"], "1.result.json", 1)
    server.kill()
    server = workspace.serve()
    adopted(server, run["id"])
    assert server.get("/api/v1/pools")["items"][0]["used"] == 1
    ended = release(workspace, server, run["id"])
    assert ended["state"] == "failed" and ended["attempts"][1]["exit_code"] == 7
    assert [attempt["outcome"] for attempt in ended["attempts"]] == ["failed", "failed"]
    assert server.get("/api/v1/pools")["items"][0]["used"] == 0
    assert journal(workspace) == ["start 1", "start 2"]


def test_a_result_of_another_attempt_is_not_taken_for_this_ones(workspace):
    """O-17: also when the current attempt is gone, so that nothing else speaks for it."""
    workspace.write("eider.yaml", "pools: { one: { slots: 1 } }\n")
    workspace.pipeline("p", TWICE)
    server = workspace.serve()
    run = second_attempt(workspace, server)
    workspace.kill_all()
    forge(workspace, run["id"], "1.result.json", 1)
    forge(workspace, run["id"], "2.result.json", 1)
    server = workspace.serve()
    wait_for(lambda: "start 3" in journal(workspace), "it is done again")
    again = server.wait_running(run["id"])
    assert again["attempts"][1]["outcome"] == "interrupted"
    ended = release(workspace, server, run["id"])
    assert ended["state"] == "failed" and ended["attempts"][2]["exit_code"] == 7
    assert server.get("/api/v1/pools")["items"][0]["used"] == 0


def test_the_death_of_a_worker_is_on_record(workspace):
    """O-13: with its server alive, a killed worker is a crash with its signal, and its job is ended before a retry."""
    workspace.pipeline("p", "retry: { max_attempts: 2, backoff: 0s }\n" + WORK)
    server = workspace.serve()
    run = started(workspace, server)
    os.kill(worker_of(run), signal.SIGKILL)
    wait_for(lambda: "start 2" in journal(workspace), "it is tried again")
    ended = release(workspace, server, run["id"])
    first = ended["attempts"][0]
    assert first["outcome"] == "crashed" and first["signal"] == 9 and first["worker_pid"] == worker_of(run)
    assert ended["state"] == "succeeded" and ended["attempt"] == 2
    assert journal(workspace) == ["start 1", "start 2", "end 2"]


READERS = (("runs", "list"), ("occurrences",), ("deliveries", "list"), ("materializations",))


def test_many_readers_at_once_after_a_crash(workspace):
    """The first who looks at a killed server's store puts its log in order; whoever looks meanwhile waits for that."""
    workspace.pipeline("p", WORK)
    for _ in range(5):
        server = workspace.serve()
        server.start("p", queue=True)
        server.kill()
        verbs = [workspace.begin(*verb, "--json") for verb in 3 * READERS]
        for verb in verbs:
            output, error = verb.communicate(timeout=30)
            assert verb.returncode == 0, error
            assert "items" in json.loads(output)
