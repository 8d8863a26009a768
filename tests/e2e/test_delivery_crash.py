"""What is owed for published data, when servers and workers die: it is delivered once, by one run, and never by two at once."""

import http.client
import os
import signal
import textwrap

import pytest

from clockwork import settle
from eider import ApiError, process_exists, wait_for

ROUNDS = 25 if os.environ.get("EIDER_TEST_LONG") == "1" else 6
CLOCK = ("--test-clock", "2026-01-01T10:00:00Z")
PLACES = ("turn.after_change", "turn.before_commit", "turn.after_commit", "turn.after_hand_off")
ASSETS = "assets: { outside.x: {} }\n"
# Each execution is written down; two at once would meet at the lock of the file `busy`.
WORK = textwrap.dedent("""
    triggers: [{ id: t, assets: [outside.x] }]
    steps:
      - id: s
        shell: true
        run: |
          exec 9>>busy
          flock -n 9 || echo "overlap $EIDER_EVENT_ID $EIDER_ATTEMPT" >> journal
          echo "start $EIDER_EVENT_ID $EIDER_ATTEMPT" >> journal
          %s
          echo "end $EIDER_EVENT_ID $EIDER_ATTEMPT" >> journal
""")
AT_ONCE = "true"
UNTIL_TOLD = "until test -e go; do sleep 0.05; done"


def journal(workspace):
    path = workspace.root / "journal"
    return path.read_text().splitlines() if path.exists() else []


def attempts_done(workspace, event):
    """The attempts that were executed for an event, in order; two at once fail the test."""
    assert not [line for line in journal(workspace) if line.startswith("overlap")]
    return [int(line.split()[2]) for line in journal(workspace) if line.startswith(f"start {event} ")]


def consumer(workspace, *, waits=False, more=""):
    workspace.write("eider.yaml", ASSETS)
    workspace.pipeline("p", more + WORK % (UNTIL_TOLD if waits else AT_ONCE))


def known_trigger(workspace):
    """The trigger is in force from now on, so that a round's first commit is the one of its event."""
    workspace.serve(*CLOCK).kill()


def publish_and_die(workspace, key, fault):
    """The id of the event, if the server got to saying it."""
    server = workspace.serve(*CLOCK, env={"EIDER_FAULT": fault})
    event = None
    try:
        event = server.materialize("outside.x", key)
    except (OSError, http.client.HTTPException):
        pass  # it died before it answered
    wait_for(lambda: server.process.poll() is not None, f"{fault} is reached")
    assert server.process.returncode == -signal.SIGKILL, server.output()
    return event


@pytest.mark.parametrize("place", PLACES)
def test_death_between_an_event_and_its_run(workspace, place):
    """O-16, O-37: whichever instruction is the last one, an event is there once, owed once and delivered once, by one run:
    its work is done once, or again only as attempt 2 after attempt 1 was found interrupted."""
    consumer(workspace)
    known_trigger(workspace)
    for number in range(1, ROUNDS + 1):
        key = f"key-{number}"
        said = publish_and_die(workspace, key, place)
        server = workspace.serve(*CLOCK)
        event = server.materialize("outside.x", key)
        assert said in (None, event)
        settle(server)
        assert [one["id"] for one in server.events("outside.x")][-1] == event
        assert len(server.events("outside.x")) == len(server.deliveries("p/t")) == len(server.runs("p")) == number
        delivery, run = server.deliveries("p/t")[-1], server.runs("p")[-1]
        assert (delivery["event_id"], delivery["state"], delivery["run_id"]) == (event, "delivered", run["id"])
        outcomes = [attempt["outcome"] for attempt in run["attempts"]]
        assert outcomes in (["succeeded"], ["interrupted", "succeeded"])
        done = attempts_done(workspace, event)
        assert done in ([1], [2], [1, 2]) and done[-1] == run["attempt"] == len(outcomes)
        if place in ("turn.after_change", "turn.before_commit"):
            assert done == [1], "nothing was claimed"
        if place == "turn.after_commit":
            assert done == [2], "event, delivery, run and claim were committed together, and nobody was told"
        server.kill()


def test_a_claim_that_nobody_was_told_of(workspace):
    """O-37: between claim and run the delivery says who claimed it and for which run; the next server does that run."""
    consumer(workspace)
    known_trigger(workspace)
    assert publish_and_die(workspace, "k", "turn.after_commit") is None
    [claimed] = workspace.json("deliveries", "list")["items"]
    assert claimed["state"] == "claimed" and claimed["claimed_at"] and claimed["run_id"] and claimed["owner"]
    assert journal(workspace) == []
    server = workspace.serve(*CLOCK)
    settle(server)
    [delivery] = server.deliveries("p/t")
    assert (delivery["state"], delivery["run_id"], delivery["id"]) == ("delivered", claimed["run_id"], claimed["id"])


def working(workspace, *, more=""):
    """A server, and the delivery whose run works."""
    consumer(workspace, waits=True, more=more)
    server = workspace.serve(*CLOCK)
    event = server.materialize("outside.x")
    wait_for(lambda: attempts_done(workspace, event) == [1], "it works")
    [delivery] = server.deliveries("p/t")
    server.wait_running(delivery["run_id"])
    assert delivery["state"] == "claimed"
    return server, delivery


def test_everything_dies_at_once(workspace):
    """O-16: between claim and completion all processes die: the same run does it again, and the delivery ends once."""
    _, delivery = working(workspace)
    workspace.kill_all()
    server = workspace.serve(*CLOCK)
    wait_for(lambda: attempts_done(workspace, delivery["event_id"]) == [1, 2], "it is done again")
    assert [one["state"] for one in server.deliveries("p/t")] == ["claimed"]
    (workspace.root / "go").touch()
    settle(server)
    [ended] = server.deliveries("p/t")
    assert (ended["state"], ended["run_id"], ended["attempts"]) == ("delivered", delivery["run_id"], 2)
    assert [run["id"] for run in server.runs("p")] == [delivery["run_id"]]
    assert attempts_done(workspace, delivery["event_id"]) == [1, 2]


def test_a_delivery_outlives_its_server(workspace):
    """The run that works for it is adopted, and its end is the delivery's."""
    server, delivery = working(workspace)
    worker = server.run(delivery["run_id"])["attempts"][0]["worker_pid"]
    server.kill()
    assert process_exists(worker)
    (workspace.root / "go").touch()
    wait_for(lambda: not process_exists(worker), "the worker has left its result")
    [claimed] = workspace.json("deliveries", "list")["items"]
    assert claimed["state"] == "claimed", "nobody has recorded it yet"
    server = workspace.serve(*CLOCK)
    settle(server)
    [ended] = server.deliveries("p/t")
    assert (ended["state"], ended["attempts"]) == ("delivered", 1)
    assert attempts_done(workspace, delivery["event_id"]) == [1]


def test_the_death_of_a_worker_is_a_failure_of_its_attempt(workspace):
    """The server lives: the delivery stays with its run, which is tried again as often as its pipeline says."""
    server, delivery = working(workspace, more="retry: { max_attempts: 2, backoff: 0s }\n")
    os.kill(server.run(delivery["run_id"])["attempts"][0]["worker_pid"], signal.SIGKILL)
    wait_for(lambda: attempts_done(workspace, delivery["event_id"]) == [1, 2], "it is tried again")
    (workspace.root / "go").touch()
    settle(server)
    [ended] = server.deliveries("p/t")
    assert (ended["state"], ended["run_id"]) == ("delivered", delivery["run_id"])
    assert [one["outcome"] for one in server.run(delivery["run_id"])["attempts"]] == ["crashed", "succeeded"]


def test_a_delivery_whose_attempts_are_spent_can_be_tried_again(workspace):
    """Failed with the reason, when the run that takes everything down with it is given up; a retry is the same delivery and
    the same run, and two retries of it are one."""
    _, delivery = working(workspace)
    for attempt in range(2, 6):
        workspace.kill_all()
        server = workspace.serve(*CLOCK)
        wait_for(lambda n=attempt: attempts_done(workspace, delivery["event_id"])[-1] == n or
                 server.deliveries("p/t")[0]["state"] == "failed", "it is done again, or given up")
    [failed] = server.deliveries("p/t")
    assert (failed["state"], failed["run_id"]) == ("failed", delivery["run_id"]) and failed["error"], failed
    (workspace.root / "go").touch()
    workspace.cli("deliveries", "retry", failed["id"], expect=0)
    settle(server)
    [ended] = server.deliveries("p/t")
    assert (ended["state"], ended["id"], ended["run_id"], ended["error"]) == \
        ("delivered", delivery["id"], delivery["run_id"], None)
    assert workspace.cli("deliveries", "retry", failed["id"]).returncode == 2, "it is delivered"
    assert len(server.runs("p")) == 1


def test_what_is_pending_when_all_dies_is_delivered_in_order(workspace):
    """O-16: nothing that is owed is lost with its server: while one is worked on, five wait, and all are delivered, oldest
    first, whatever dies in between."""
    server, first = working(workspace)
    events = [first["event_id"]] + [server.materialize("outside.x", f"key-{number}") for number in range(5)]
    assert [one["state"] for one in server.deliveries("p/t")] == ["claimed"] + ["pending"] * 5
    workspace.kill_all()
    server = workspace.serve(*CLOCK)
    with pytest.raises(ApiError):
        server.materialize("outside.y", "key-1")
    assert server.materialize("outside.x", "key-3") == events[4], "it is known"
    (workspace.root / "go").touch()
    wait_for(lambda: {one["state"] for one in server.deliveries("p/t")} == {"delivered"}, "all are delivered")
    assert [one["event_id"] for one in server.deliveries("p/t")] == events
    ended = [line.split()[1] for line in journal(workspace) if line.startswith("end")]
    assert ended == events


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
def test_what_an_adopted_run_published_while_no_server_lived_is_delivered(workspace, end):
    """Published with a step, and then the run does not succeed: the data is there, so its event is, and what it owes."""
    workspace.pipeline("p", textwrap.dedent("""
        steps:
          - { id: b, shell: true, run: "until test -e begin; do sleep 0.02; done; echo $EIDER_RUN_ID > $EIDER_OUT_B" }
          - { id: c, needs: [b], shell: true, run: "until test -e go; do sleep 0.02; done; exit 9" }
        publishes: [{ asset: p.b, path: data/b.out, after: b }]
    """))
    workspace.pipeline("q", "triggers: [{ id: t, assets: [p.b] }]\nsteps: [{ id: s, run: [\"true\"] }]\n")
    server = workspace.serve(*CLOCK)
    run = server.start("p")
    server.wait_running(run)
    server.kill()
    (workspace.root / "begin").touch()
    wait_for(lambda: (workspace.root / "data/b.out").exists(), "the step has published")
    server = workspace.serve(*CLOCK)
    [event] = wait_for(lambda: server.events("p.b"), "its event is recorded at once")
    assert event["run_id"] == run
    [consumer_run] = wait_for(lambda: server.runs("q"), "its consumer runs")
    if end == "fails":
        (workspace.root / "go").touch()
    else:
        server.post(f"/api/v1/runs/{run}/cancel", {})
    assert server.wait_end(run)["state"] == ("failed" if end == "fails" else "cancelled")
    assert server.wait_end(consumer_run["id"])["state"] == "succeeded"
    settle(server)
    assert len(server.events("p.b")) == 1
