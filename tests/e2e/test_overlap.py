"""One run at a time, whatever asks: schedules, people, time-outs."""

import textwrap
import threading

import pytest

from clockwork import decided, settle, slots, tick
from eider import wait_for

HELD = """
    schedules: [{ id: s, cron: "* * * * *" }]
    steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.2; done"] }]
"""
ROUNDS = 100
CLIENTS = 20


def test_twenty_requests_and_the_slot_make_one_run(workspace):
    """O-10: a schedule's instant and twenty people at once start exactly one run, a hundred times out of a hundred."""
    workspace.write("eider.yaml", "workers: { max: 1 }\n")
    names = [f"p{number:03}" for number in range(ROUNDS)]
    for name in names:
        workspace.pipeline(name, HELD)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    answers = {name: [] for name in names}
    failures = []
    together = threading.Barrier(CLIENTS + 1)

    def ask():
        try:
            together.wait()
            for name in names:
                answers[name].append(server.request("POST", "/api/v1/runs", {"pipeline": name})[0])
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    together.wait()
    server.advance("30s")
    for client in clients:
        client.join()
    assert not failures
    rows = {row["pipeline"]: row for row in server.items("/api/v1/occurrences")}
    runs = server.runs()
    assert sorted(run["pipeline"] for run in runs) == names, "one run a pipeline"
    for run in runs:
        by_clock = run["trigger"]["kind"] == "schedule"
        row = rows[run["pipeline"]]
        assert row["run_id"] == run["id"] and row["decision"] == ("run" if by_clock else "skipped")
        assert sorted(answers[run["pipeline"]]) == [201] * (not by_clock) + [409] * (CLIENTS - (not by_clock))
    assert server.get("/api/v1/status")["running"] == 1
    (workspace.root / "go").touch()
    settle(server)


def test_a_person_is_told_which_run_is_active(workspace):
    """O-10: the refusal names the run that is in the way; with --queue the request waits behind it."""
    workspace.pipeline("p", HELD)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    first = server.start("p")
    refused = workspace.cli("run", "p", expect=2)
    assert first in refused.stdout + refused.stderr
    workspace.cli("run", "p", "--queue", "--detach", expect=0)
    assert [run["state"] for run in server.runs("p")] in (["running", "queued"], ["queued", "queued"])
    (workspace.root / "go").touch()
    settle(server)
    assert [run["state"] for run in server.runs("p")] == ["succeeded", "succeeded"]


QUEUED = """
    schedules: [{ id: s, cron: "* * * * *", overlap: queue, queue_limit: 1 }]
    steps:
      - id: s
        shell: true
        run: |
          echo "start $EIDER_SCHEDULED_FOR" >> journal
          until test -e "done-$EIDER_SCHEDULED_FOR"; do sleep 0.02; done
          echo "end $EIDER_SCHEDULED_FOR" >> journal
"""


def test_queue_lets_one_wait_and_runs_one_at_a_time(workspace):
    """O-11: with a queue of one, 10:00 runs, 10:01 waits, 10:02 is dropped with a record, and 10:03 waits again."""
    def minute(n):
        return f"2026-01-01T10:0{n}:00Z"

    def finish(n):
        (workspace.root / f"done-{minute(n)}").touch()
        return server.wait_end(next(run["id"] for run in server.runs("p") if run["scheduled_for"] == minute(n)))

    def states():
        return {run["scheduled_for"]: run["state"] for run in server.runs("p")}

    workspace.pipeline("p", QUEUED)
    server = workspace.serve("--test-clock", "2026-01-01T09:59:30Z")
    server.advance("30s")
    server.advance("1m")
    server.advance("1m")
    assert states() == {minute(0): "running", minute(1): "queued"}
    [dropped] = decided(server.occurrences("p/s"), "skipped")
    assert dropped["scheduled_for"] == minute(2) and dropped["reason"] == "QueueFull"
    server.advance("30s")
    assert finish(0)["finished_at"] >= "2026-01-01T10:02:30Z"
    wait_for(lambda: states()[minute(1)] == "running", "10:01 takes its turn")
    server.advance("30s")
    assert states() == {minute(0): "succeeded", minute(1): "running", minute(3): "queued"}
    assert server.runs("p")[1]["started_at"] == "2026-01-01T10:02:30Z"
    finish(1)
    finish(3)
    assert [row["decision"] for row in server.occurrences("p/s")] == ["run", "run", "skipped", "run"]
    lines = (workspace.root / "journal").read_text().splitlines()
    assert lines == [f"{what} {minute(n)}" for n in (0, 1, 3) for what in ("start", "end")], "never two at once"


def test_replace_starts_when_the_old_one_is_gone(workspace):
    """O-11: the policy that ends the old run is no way to have two at once either."""
    workspace.pipeline("p", """
        schedules: [{ id: s, cron: "* * * * *", overlap: replace }]
        steps:
          - id: s
            shell: true
            run: |
              exec 9>>busy
              flock -n 9 || echo overlap >> journal
              echo "start $EIDER_SCHEDULED_FOR" >> journal
              until test -e go; do sleep 0.02; done
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    for number in range(1, 4):
        server.advance("30s" if number == 1 else "1m")
        wait_for(lambda: number == len((workspace.root / "journal").read_text().splitlines())
                 if (workspace.root / "journal").exists() else False, f"run {number} starts")
    (workspace.root / "go").touch()
    settle(server)
    assert [run["state"] for run in server.runs("p")] == ["cancelled", "cancelled", "succeeded"]
    assert "overlap" not in (workspace.root / "journal").read_text()


@pytest.mark.parametrize("where", ["run", "step"])
def test_a_run_that_timed_out_does_not_block_its_schedule(workspace, where):
    """O-12: every slot starts a run, though each of them is ended by its time limit."""
    workspace.pipeline("p", {"run": "timeout: 400ms\n", "step": ""}[where] + textwrap.dedent("""
        schedules: [{ id: s, cron: "*/2 * * * *", overlap: skip }]
        steps: [{ id: s, run: [sleep, "3600"], timeout: %s }]
    """ % {"run": "1h", "step": "400ms"}[where]))
    server = workspace.serve("--test-clock", "2026-01-01T10:01:00Z")
    for number in range(4):
        server.advance("1m" if number == 0 else "2m")
        run = server.wait_end(server.runs("p")[-1]["id"])
        assert run["state"] == "failed" and run["attempts"][0]["outcome"] == "timed_out", run
        assert len(server.runs("p")) == number + 1
    assert slots(server.runs("p")) == [f"2026-01-01T10:0{n}:00Z" for n in (2, 4, 6, 8)]
    assert [row["decision"] for row in server.occurrences("p/s")] == ["run"] * 4


def test_a_skipped_slot_names_what_was_active(workspace):
    """O-12: and while a run really is active, a slot is skipped with a reason that a person can follow."""
    workspace.pipeline("p", HELD)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    server.advance("30s")
    server.advance("1m")
    [run] = server.runs("p")
    ran, skipped = server.occurrences("p/s")
    assert (ran["decision"], ran["run_id"]) == ("run", run["id"])
    assert (skipped["decision"], skipped["reason"], skipped["run_id"]) == ("skipped", "ActiveRun", run["id"])
    (workspace.root / "go").touch()
    settle(server)
    tick(server, "1m")
    assert [row["decision"] for row in server.occurrences("p/s")] == ["run", "skipped", "run"]
