"""What published data starts: every way in which a trigger may ask for it, on a clock that stands still."""

from textwrap import dedent

import pytest

from clockwork import settle
from eider import wait_for

START = "2026-01-01T10:00:00Z"
QUICK = 'steps: [{ id: s, run: ["true"] }]\n'
HELD = 'steps: [{ id: s, shell: true, run: "until test -e go; do sleep 0.02; done" }]\n'
# Fails until the file `mended` is there.
BROKEN = 'steps: [{ id: s, run: [test, -e, mended] }]\n'


@pytest.fixture
def served(workspace):
    """Called when the pipelines are written. Assets in.a, in.b and in.c come from outside."""
    workspace.write("eider.yaml", "workers: { max: 4 }\nassets: { in.a: {}, in.b: {}, in.c: {} }\n")
    return lambda: workspace.serve("--test-clock", START)


def trigger(pattern="in.a", more=""):
    return f'triggers: [{{ id: t, assets: [{pattern}]{more} }}]\n'


def states(server, key="p/t"):
    return [one["state"] for one in server.deliveries(key)]


def made_for(server, pipeline="p"):
    """The events that each run of a pipeline was made for, oldest first."""
    return [[event["id"] for event in server.run(run["id"])["events"]][::-1] for run in server.runs(pipeline)]


def come_to_rest(server):
    """Every run has ended, and what is pending waits for something else than a run."""
    settle(server)
    wait_for(lambda: not server.items("/api/v1/deliveries?state=claimed"), "nothing is claimed")


def test_publishing_starts_the_consumer_with_the_facts(workspace, served):
    """From a run to its event, to the delivery, to the consumer's run: each names the one before, and steps know all of it."""
    workspace.pipeline("load", """
        steps: [{ id: s, shell: true, run: "printf 'a,b' > $EIDER_OUT_X; echo '{\\"rows\\": 120}' > $EIDER_OUTPUT" }]
        publishes: [{ asset: raw.x, path: out/x.csv }]
    """)
    workspace.pipeline("p", trigger("raw.*") + dedent("""
        steps:
          - id: s
            shell: true
            run: |
              echo "$EIDER_TRIGGER $EIDER_EVENT_ASSET $EIDER_EVENT_RUN $EIDER_EVENT_ID" > facts
              cp "$EIDER_EVENTS" events.json
    """))
    server = served()
    first = server.start("load")
    wait_for(lambda: states(server) == ["delivered"], "it is delivered")
    [event] = server.events("raw.x")
    assert (event["pipeline"], event["run_id"], event["attempt"], event["source"]) == ("load", first, 1, "run")
    assert event["bytes"] == 3 and event["fingerprint"] and not event["unchanged"] and event["depth"] == 0
    [delivery] = server.deliveries("p/t")
    assert (delivery["event_id"], delivery["asset"], delivery["attempts"]) == (event["id"], "raw.x", 1)
    run = server.run(delivery["run_id"])
    assert run["trigger"] == {"kind": "data", "id": "p/t"}
    assert (run["parent"], run["depth"]) == (first, 1)
    assert [one["id"] for one in run["events"]] == [event["id"]]
    assert (workspace.root / "facts").read_text().split() == ["data", "raw.x", first, event["id"]]
    assert event["id"] in (workspace.root / "events.json").read_text()


def test_what_fails_publishes_nothing(workspace, served):
    workspace.pipeline("load", """
        steps: [{ id: s, shell: true, run: "echo x > $EIDER_OUT_X; exit 1" }]
        publishes: [{ asset: raw.x, path: out/x.csv }]
    """)
    workspace.pipeline("p", trigger("raw.x") + QUICK)
    server = served()
    assert server.wait_end(server.start("load"))["state"] == "failed"
    assert server.events("raw.x") == [] and server.deliveries("p/t") == [] and server.runs("p") == []


def test_each_event_has_a_run_in_order(workspace, served):
    """O-37, one run an event: what arrives during a run is consumed after it, and nothing waits for one more event."""
    workspace.pipeline("p", trigger() + HELD)
    server = served()
    events = [server.materialize("in.a") for _ in range(4)]
    assert states(server) == ["claimed"] + ["pending"] * 3
    assert "waiting_for" in server.deliveries("p/t")[1] and server.deliveries("p/t")[1]["waiting_for"]
    (workspace.root / "go").touch()
    wait_for(lambda: states(server) == ["delivered"] * 4, "all are delivered")
    assert made_for(server) == [[event] for event in events]


def test_a_batch_takes_all_that_came_meanwhile(workspace, served):
    """O-37, batch: run 1 = {1}, run 2 = {2, 3, 4}."""
    workspace.pipeline("p", trigger(more=", batch: true") + HELD)
    server = served()
    events = [server.materialize("in.a") for _ in range(4)]
    (workspace.root / "go").touch()
    wait_for(lambda: states(server) == ["delivered"] * 4, "all are delivered")
    assert made_for(server) == [events[:1], events[1:]]
    assert server.runs("p")[1]["id"] == server.deliveries("p/t")[3]["run_id"]


def test_all_waits_for_each_asset(workspace, served):
    """`match: all` runs when each asset has something, and takes all of it; what came twice is taken together."""
    workspace.pipeline("p", trigger('"in.[ab]"', ", match: all") + QUICK)
    server = served()
    first = [server.materialize("in.a"), server.materialize("in.a")]
    come_to_rest(server)
    assert server.runs("p") == [] and states(server) == ["pending"] * 2
    assert "in.b" in server.deliveries("p/t")[0]["waiting_for"]
    first.append(server.materialize("in.b"))
    wait_for(lambda: states(server) == ["delivered"] * 3, "all are delivered")
    server.materialize("in.b")
    come_to_rest(server)
    assert made_for(server) == [first], "and then each is needed again"


def test_all_counts_each_partition_by_itself(workspace, served):
    workspace.pipeline("p", trigger("in.a, in.b", ", match: all, partition: same") + QUICK)
    server = served()
    server.materialize("in.a", partition="mon")
    server.materialize("in.b", partition="tue")
    come_to_rest(server)
    assert server.runs("p") == []
    server.materialize("in.a", partition="tue")
    wait_for(lambda: states(server) == ["pending", "delivered", "delivered"], "tuesday is whole")
    assert [run["partition"] for run in server.runs("p")] == ["tue"]


def test_debounce_waits_for_quiet_and_not_for_ever(workspace, served):
    workspace.pipeline("p", trigger(more=", debounce: 30s, max_wait: 50s") + QUICK)
    server = served()
    events = [server.materialize("in.a")]
    server.advance("20s")
    events.append(server.materialize("in.a"))
    server.advance("29s")
    assert server.runs("p") == [] and server.get("/api/v1/triggers?pipeline=p")["items"][0]["looks_again_at"]
    server.advance("1s")
    wait_for(lambda: states(server) == ["delivered"] * 2, "it is quiet, or 50 s over")
    assert made_for(server) == [events]
    late = []
    for _ in range(3):
        late.append(server.materialize("in.a"))
        server.advance("20s")
    wait_for(lambda: len(server.runs("p")) == 2, "max_wait is over though nothing was quiet for 30 s")
    come_to_rest(server)
    assert made_for(server)[1] == late


def test_a_partition_is_handed_on_and_one_that_is_unknown_is_skipped(workspace, served):
    workspace.pipeline("p", trigger(more=", partition: same") + "partitions: { names: [mon, tue] }\n" + dedent("""
        steps: [{ id: s, shell: true, run: "echo $EIDER_PARTITION >> seen" }]
        publishes: [{ asset: made.p }]
    """))
    workspace.pipeline("q", trigger("made.p", ", partition: same") + QUICK)
    server = served()
    server.materialize("in.a", partition="mon")
    server.materialize("in.a", partition="sun")
    wait_for(lambda: states(server) == ["delivered", "skipped"], "monday is there")
    assert server.deliveries("p/t")[1]["reason"] == "UnknownPartition"
    assert [run["partition"] for run in server.runs("p")] == ["mon"]
    assert [event["partition"] for event in server.events("made.p")] == ["mon"]
    wait_for(lambda: states(server, "q/t") == ["delivered"], "it is handed on")
    assert [run["partition"] for run in server.runs("q")] == ["mon"]
    assert (workspace.root / "seen").read_text() == "mon\n"


def test_from_asks_for_one_producer(workspace, served):
    for name in ("left", "right"):
        workspace.pipeline(name, QUICK + "publishes: [{ asset: made.both, shared: true }]\n")
    workspace.pipeline("p", trigger("made.both", ", from: right") + QUICK)
    server = served()
    for name in ("left", "right"):
        server.wait_end(server.start(name))
    server.materialize("made.both")
    come_to_rest(server)
    assert [event["pipeline"] for event in server.events("made.both")] == ["left", "right", None]
    [delivery] = server.deliveries("p/t")
    assert delivery["event_id"] == server.events("made.both")[1]["id"]


def test_what_is_unchanged_can_count_for_nothing(workspace, served):
    workspace.pipeline("p", trigger(more=", on: changed") + QUICK)
    workspace.pipeline("q", trigger() + QUICK)
    server = served()
    for content in ("one", "one", "two", "one"):
        server.materialize("in.a", fingerprint=content)
    assert [event["unchanged"] for event in server.events("in.a")] == [False, True, False, False]
    assert len(server.deliveries("p/t")) == 3 and len(server.deliveries("q/t")) == 4


def test_a_new_trigger_replays_history_only_when_it_says_so(workspace, served):
    server = served()
    events = [server.materialize("in.a") for _ in range(5)]
    server.materialize("in.b")
    workspace.pipeline("now", trigger() + QUICK)
    workspace.pipeline("earliest", trigger(more=", start: earliest, batch: true") + QUICK)
    workspace.cli("reload", expect=0)
    wait_for(lambda: states(server, "earliest/t") == ["delivered"] * 5, "history is replayed")
    assert made_for(server, "earliest") == [events]
    assert server.deliveries("now/t") == []
    server.materialize("in.a")
    wait_for(lambda: states(server, "now/t") == ["delivered"], "what is new counts")


def test_a_failed_delivery_holds_up_only_a_strict_trigger(workspace, served):
    workspace.pipeline("p", trigger() + BROKEN)
    workspace.pipeline("strict", trigger(more=", order: strict") + BROKEN)
    server = served()
    for _ in range(3):
        server.materialize("in.a")
    wait_for(lambda: states(server) == ["failed"] * 3, "each has failed")
    come_to_rest(server)
    assert states(server, "strict/t") == ["failed", "pending", "pending"]
    first = server.deliveries("strict/t")[0]
    assert first["reason"] == "RunFailed" and "exit code 1" in first["error"]
    workspace.cli("deliveries", "skip", first["id"][:18], "--note", "by hand", expect=0)
    wait_for(lambda: states(server, "strict/t") == ["skipped", "failed", "pending"], "the next one is tried")
    assert "by hand" in server.deliveries("strict/t")[0]["error"]
    (workspace.root / "mended").touch()
    workspace.cli("deliveries", "retry", "--trigger", "strict/t", expect=0)
    wait_for(lambda: states(server, "strict/t") == ["skipped", "delivered", "delivered"], "it goes on")
    assert len(server.runs("strict")) == 3, "a retry is another attempt of the same run"


def test_retry_and_skip_by_state(workspace, served):
    workspace.pipeline("p", trigger() + BROKEN)
    server = served()
    for _ in range(3):
        server.materialize("in.a")
    wait_for(lambda: states(server) == ["failed"] * 3, "each has failed")
    before = server.deliveries("p/t")
    (workspace.root / "mended").touch()
    done = workspace.json("deliveries", "retry", "--state", "failed")
    assert sorted(done["ids"]) == sorted(one["id"] for one in before)
    wait_for(lambda: states(server) == ["delivered"] * 3, "all are delivered")
    after = server.deliveries("p/t")
    assert [one["run_id"] for one in after] == [one["run_id"] for one in before] and len(server.runs("p")) == 3
    assert [one["attempts"] for one in after] == [2, 2, 2]
    assert workspace.json("deliveries", "retry", "--state", "failed")["ids"] == []
    refused = workspace.cli("deliveries", "skip", after[0]["id"], expect=2)
    assert "delivered" in refused.stderr


def test_cancelling_a_run_fails_its_delivery(workspace, served):
    workspace.pipeline("p", trigger(more=", batch: true") + HELD)
    server = served()
    server.materialize("in.a")
    server.wait_running(server.runs("p")[0]["id"])
    workspace.cli("cancel", server.runs("p")[0]["id"], expect=0)
    wait_for(lambda: states(server) == ["failed"], "it has failed")
    assert server.deliveries("p/t")[0]["reason"] == "RunCancelled"


@pytest.mark.parametrize("change", ["removed", "renamed"])
def test_a_trigger_that_goes_takes_what_waits_with_it(workspace, served, change):
    """O-35 of triggers: the active run ends normally, what is pending is skipped with the reason, history stays readable
    under the old name; and all of that again after a restart."""
    workspace.pipeline("p", trigger() + HELD)
    server = served()
    for _ in range(3):
        server.materialize("in.a")
    server.wait_running(server.runs("p")[0]["id"])
    workspace.pipeline("p", HELD if change == "removed" else trigger().replace("id: t", "id: u") + HELD)
    workspace.cli("reload", expect=0)
    assert states(server) == ["claimed", "skipped", "skipped"]
    assert {one["reason"] for one in server.deliveries("p/t")[1:]} == {"TriggerRemoved"}
    (workspace.root / "go").touch()
    settle(server)
    assert states(server) == ["delivered", "skipped", "skipped"]
    server.materialize("in.a")
    server.stop()
    server = workspace.serve("--test-clock", START)
    settle(server)
    assert states(server) == ["delivered", "skipped", "skipped"], "nothing new is owed to the old name"
    if change == "renamed":
        wait_for(lambda: states(server, "p/u") == ["delivered"], "the new name is owed what is new")
    assert len(server.events("in.a")) == 4


def test_a_broken_file_keeps_what_is_owed(workspace, served):
    """A file that cannot be read is no removed trigger: what waits goes on when it is mended."""
    good = trigger() + HELD
    workspace.pipeline("p", good)
    server = served()
    for _ in range(2):
        server.materialize("in.a")
    workspace.kill_all()
    workspace.write("pipelines/p.yaml", "pipeline: p\nstepps: []\n")
    server = workspace.serve("--test-clock", START)
    assert states(server)[1] == "pending"
    workspace.pipeline("p", good)
    (workspace.root / "go").touch()
    workspace.cli("reload", expect=0)
    wait_for(lambda: states(server) == ["delivered"] * 2, "both are delivered")


def test_after_a_step_data_is_published_before_the_end(workspace, served):
    workspace.pipeline("load", """
        steps:
          - { id: one, shell: true, run: "echo 1 > $EIDER_OUT_X" }
          - { id: two, needs: [one], shell: true, run: "until test -e go; do sleep 0.02; done; exit 1" }
        publishes: [{ asset: raw.x, path: out/x, after: one }]
    """)
    workspace.pipeline("p", trigger("raw.x") + QUICK)
    server = served()
    run = server.start("load")
    wait_for(lambda: states(server) == ["delivered"], "it is delivered while the producer runs")
    assert server.run(run)["state"] == "running"
    (workspace.root / "go").touch()
    assert server.wait_end(run)["state"] == "failed"
    assert len(server.events("raw.x")) == 1 and states(server) == ["delivered"]


def test_a_chain_that_never_ends_is_cut(workspace, served):
    """A loop that no file shows: a step reports from outside what starts its own pipeline."""
    workspace.pipeline("p", trigger() + "max_active_runs: 1\n" + dedent("""
        steps: [{ id: s, run: [python3, again.py] }]
    """))
    workspace.write("again.py", """
        import http.client, json, os, socket
        connection = http.client.HTTPConnection("x")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(os.environ["EIDER_WORKSPACE"] + "/.eider/eider.sock")
        connection.request("POST", "/api/v1/assets/in.a/materializations", json.dumps({"cause_run_id": os.environ["EIDER_RUN_ID"]}))
        assert connection.getresponse().status == 201
    """)
    server = served()
    server.materialize("in.a")
    wait_for(lambda: states(server)[-1] == "skipped", "it is cut")
    come_to_rest(server)
    assert server.deliveries("p/t")[-1]["reason"] == "ChainTooLong"
    assert [run["depth"] for run in server.runs("p")] == list(range(1, 101))
    explained = server.get(f"/api/v1/explain/{server.runs('p')[-1]['id']}")
    assert explained["truncated"] and len(explained["links"]) > 100
