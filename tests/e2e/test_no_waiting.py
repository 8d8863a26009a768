"""Neither direction waits: a slow scheduled run delays no delivery; a slow triggered run delays no schedule and no other
delivery. On a clock that stands still: what must not wait happens while the slow one is held at a file."""

import pytest

from clockwork import at, decided, is_idle, series, settle
from eider import wait_for

START = "2026-01-01T10:00:00Z"
HELD = 'steps: [{ id: s, shell: true, run: "until test -e go; do sleep 0.05; done" }]\n'
QUICK = 'steps: [{ id: s, run: ["true"] }]\n'
EVENTS = 20


@pytest.fixture
def served(workspace):
    """Called when the pipelines are written."""
    workspace.write("eider.yaml", "workers: { max: 4 }\npools: { heavy: 1 }\nassets: { outside.x: {} }\n")
    return lambda: workspace.serve("--test-clock", START)


def trigger(pattern, more=""):
    return f'triggers: [{{ id: t, assets: ["{pattern}"]{more} }}]\n'


def states(server, key):
    return [one["state"] for one in server.deliveries(key)]


def wait_delivered(server, key, count):
    wait_for(lambda: states(server, key) == ["delivered"] * count, f"{key} has all {count}")


def release(workspace, server):
    (workspace.root / "go").touch()
    wait_for(lambda: is_idle(server) and not server.items("/api/v1/deliveries?state=pending"), "all is done")


def test_a_slow_scheduled_run_delays_no_delivery(workspace, served):
    """Twenty events are delivered one by one, and a chain goes its way, while the run of a schedule is busy."""
    workspace.pipeline("slow", 'schedules: [{ id: s, cron: "* * * * *" }]\n' + HELD)
    workspace.pipeline("quick", trigger("outside.*") + QUICK + "publishes: [{ asset: made.quick }]\n")
    workspace.pipeline("next", trigger("made.quick") + QUICK)
    server = served()
    server.advance("1m")
    [slow] = wait_for(lambda: server.runs("slow"), "the slow one is due")
    server.wait_running(slow["id"])
    events = [server.materialize("outside.x") for _ in range(EVENTS)]
    wait_delivered(server, "quick/t", EVENTS)
    wait_delivered(server, "next/t", EVENTS)
    assert server.run(slow["id"])["state"] == "running"
    assert [one["event_id"] for one in server.deliveries("quick/t")] == events
    # On this clock no time has passed between an event and the end of its delivery.
    assert {one["finished_at"] for one in server.deliveries("quick/t")} == {server.get("/api/v1/status")["now"]}
    release(workspace, server)
    assert server.run(slow["id"])["state"] == "succeeded"


def test_a_slow_triggered_run_delays_no_schedule_and_no_other_delivery(workspace, served):
    """A 5 s schedule fires 12 times in a minute, and another consumer of the same events has them all, while the slow one is
    busy with its first; then the slow one does the others, each in its own run, in order."""
    workspace.pipeline("slow", trigger("outside.x") + HELD)
    workspace.pipeline("quick", trigger("outside.x") + QUICK)
    workspace.pipeline("clock", "schedules: [{ id: s, every: 5s }]\n" + QUICK)
    server = served()
    events = [server.materialize("outside.x")]
    [slow] = wait_for(lambda: server.runs("slow"), "the slow one has its run")
    server.wait_running(slow["id"])
    for number in range(12):
        events.append(server.materialize("outside.x", rows=number))
        server.advance("5s")
        wait_for(lambda n=number + 1: [run["state"] for run in server.runs("clock")] == ["succeeded"] * n, "the schedule fired")
    wait_delivered(server, "quick/t", 13)
    rows = decided(server.occurrences("clock/s"), "run")
    assert [row["scheduled_for"] for row in rows] == series("2026-01-01T10:00:05Z", 12, 5)
    assert all(row["decided_at"] == row["scheduled_for"] for row in rows), "each in the moment it was due"
    assert states(server, "slow/t") == ["claimed"] + ["pending"] * 12
    assert [run["id"] for run in server.runs("slow")] == [slow["id"]]
    release(workspace, server)
    assert states(server, "slow/t") == ["delivered"] * 13
    assert [one["event_id"] for one in server.deliveries("slow/t")] == events
    assert [one["run_id"] for one in server.deliveries("slow/t")] == [run["id"] for run in server.runs("slow")]


def test_what_waits_for_a_slow_one_waits_alone(workspace, served):
    """A consumer that shares a pool with the slow one waits and says for whom; a third, and a schedule, go on."""
    workspace.pipeline("slow", "pool: heavy\n" + trigger("outside.x") + HELD)
    workspace.pipeline("waits", "pool: heavy\n" + trigger("outside.x") + QUICK)
    workspace.pipeline("quick", trigger("outside.x") + QUICK)
    workspace.pipeline("clock", 'schedules: [{ id: s, cron: "* * * * *" }]\n' + QUICK)
    server = served()
    server.materialize("outside.x")
    # One turn made both runs, in the order of their names.
    [first], [second] = server.runs("slow"), server.runs("waits")
    server.wait_running(first["id"])
    waiting = wait_for(lambda: server.run(second["id"])["waiting_for"], "it says what it waits for")
    assert [(one["kind"], one["name"]) for one in waiting] == [("pool", "heavy")]
    assert [holder["run_id"] for holder in waiting[0]["held_by"]] == [first["id"]]
    wait_delivered(server, "quick/t", 1)
    server.advance("1m")
    [fired] = wait_for(lambda: server.runs("clock"), "the schedule fires")
    assert server.wait_end(fired["id"])["state"] == "succeeded"
    assert server.run(first["id"])["state"] == "running" and server.run(second["id"])["state"] == "queued"
    release(workspace, server)
    assert set(states(server, "slow/t") + states(server, "waits/t")) == {"delivered"}


def test_a_broken_consumer_delays_nobody(workspace, served):
    """One that always fails has each of its deliveries failed, with the reason, and the next one tried; the others go on."""
    workspace.pipeline("broken", "retry: { max_attempts: 2, backoff: 0s }\n" + trigger("outside.x") +
                       "steps: [{ id: s, run: [sh, -c, \"exit 9\"] }]\npublishes: [{ asset: made.never }]\n")
    workspace.pipeline("quick", trigger("outside.x") + QUICK)
    workspace.pipeline("never", trigger("made.never") + QUICK)
    server = served()
    for number in range(EVENTS):
        server.materialize("outside.x", rows=number)
    wait_delivered(server, "quick/t", EVENTS)
    settle(server)
    wait_for(lambda: states(server, "broken/t") == ["failed"] * EVENTS, "each was tried")
    assert {(one["attempts"], one["reason"]) for one in server.deliveries("broken/t")} == {(2, "RunFailed")}
    assert server.events("made.never") == [] and server.runs("never") == [], "what failed publishes nothing"
    finished = [at(one["finished_at"]) for one in server.deliveries("broken/t")]
    assert finished == sorted(finished)
