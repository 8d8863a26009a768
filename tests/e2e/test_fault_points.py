"""The server dies between two instructions, at the places that docs/lifecycle.md names."""

import datetime
import http.client
import os
import signal

import pytest

from clockwork import at, settle, text_of
from eider import wait_for

ROUNDS = 100 if os.environ.get("EIDER_TEST_LONG") == "1" else 25
WORK = """
    schedules: [{ id: s, cron: "* * * * *" }]
    steps:
      - id: s
        shell: true
        run: |
          exec 9>>busy
          flock -n 9 || echo "overlap $EIDER_SCHEDULED_FOR $EIDER_ATTEMPT" >> journal
          echo "start $EIDER_SCHEDULED_FOR $EIDER_ATTEMPT" >> journal
          echo "end $EIDER_SCHEDULED_FOR $EIDER_ATTEMPT" >> journal
"""
PLACES = ("turn.before_commit", "turn.after_commit", "turn.after_hand_off")


def executions(workspace):
    """slot -> the attempts that were executed, in order; two at once fail the test."""
    path = workspace.root / "journal"
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        what, slot, attempt = line.split()
        assert what != "overlap", f"two executions at once: {line}"
        if what == "start":
            found.setdefault(slot, []).append(int(attempt))
    return found


def one_round(workspace, number, fault):
    """A minute in which the server dies at `fault`; the next server puts it in order. Returns (slot, its run)."""
    minute = at("2026-01-01T10:00:00Z") + datetime.timedelta(minutes=number)
    clock = [text_of(minute + datetime.timedelta(seconds=seconds)) for seconds in (30, 60, 65)]
    server = workspace.serve("--test-clock", clock[0], env={"EIDER_FAULT": fault})
    try:
        server.advance("30s")
    except (OSError, http.client.HTTPException):
        pass  # it died before it answered
    wait_for(lambda: server.process.poll() is not None, f"{fault} is reached")
    assert server.process.returncode == -signal.SIGKILL, server.output()
    server = workspace.serve("--test-clock", clock[2])
    settle(server)
    runs = [run for run in server.runs("p") if run["scheduled_for"] == clock[1]]
    assert len(runs) == 1, "one run for the slot"
    assert [row["decision"] for row in server.occurrences("p/s")] == ["run"] * (number + 1)
    server.kill()
    return clock[1], runs[0]


def first_start(workspace):
    """The schedule is known from 10:00:00 on, so that a round's first commit is the one of its slot."""
    workspace.pipeline("p", WORK)
    workspace.serve("--test-clock", "2026-01-01T10:00:00Z").kill()


@pytest.mark.parametrize("place", PLACES)
def test_death_around_the_commit_of_a_claim(workspace, place):
    """O-16: whichever instruction is the last one, a slot makes one run; its work is done once, or again only as
    attempt 2 after attempt 1 was found interrupted, and never twice at the same time."""
    first_start(workspace)
    for number in range(ROUNDS):
        slot, run = one_round(workspace, number, place)
        done = executions(workspace)[slot]
        outcomes = [attempt["outcome"] for attempt in run["attempts"]]
        assert run["state"] == "succeeded"
        assert outcomes in (["succeeded"], ["interrupted", "succeeded"])
        assert done in ([1], [2], [1, 2])
        assert done[-1] == run["attempt"] == len(outcomes), "the last execution is the one that counted"
        if place == "turn.before_commit":
            assert done == [1], "nothing was claimed"
        if place == "turn.after_commit":
            assert done == [2], "the claim was committed, and nobody was told"


@pytest.mark.parametrize("place", PLACES)
def test_death_around_the_record_of_a_result(workspace, place):
    """O-16: work whose result is on disk is not done again, whether or not the server got to recording it."""
    first_start(workspace)
    for number in range(max(5, ROUNDS // 5)):
        slot, run = one_round(workspace, number, f"{place}:2")
        assert executions(workspace)[slot] == [1]
        assert (run["state"], run["attempt"], len(run["attempts"])) == ("succeeded", 1, 1)
