"""The verbs about data: what they take, what they say, what they refuse."""

import json

import pytest

from clockwork import settle
from eider import PROGRAM, wait_for

START = "2026-01-01T10:00:00Z"
QUICK = 'steps: [{ id: s, run: ["true"] }]\n'
HELD = 'steps: [{ id: s, shell: true, run: "until test -e go; do sleep 0.02; done" }]\n'


@pytest.fixture
def chain(workspace):
    """in.a starts `load`, which publishes raw.x, which starts `marts`, which publishes mart.y."""
    workspace.write("eider.yaml", "assets: { in.a: { description: from outside } }\n")
    workspace.pipeline("load", "triggers: [{ id: on_in, assets: [in.a] }]\n" + QUICK + "publishes: [{ asset: raw.x }]\n")
    workspace.pipeline("marts", 'triggers: [{ id: on_raw, assets: ["raw.*"] }]\n' + QUICK +
                       "publishes: [{ asset: mart.y }]\n")
    return workspace


def served(workspace):
    return workspace.serve("--test-clock", START)


def run_through(server, **facts):
    """One event goes down the whole chain; its id."""
    event = server.materialize("in.a", **facts)
    wait_for(lambda: server.events("mart.y"), "the chain has come to its end")
    settle(server)
    return event


def test_assets_and_their_graph_need_no_server(chain):
    listed = chain.json("assets", "list")
    assert [asset["name"] for asset in listed["items"]] == ["in.a", "mart.y", "raw.x"] and listed["next"] is None
    outside, _, raw = listed["items"]
    assert outside["external"] and outside["description"] == "from outside" and outside["consumers"] == ["load/on_in"]
    assert raw["producers"] == ["load"] and raw["consumers"] == ["marts/on_raw"] and raw["last_materialization"] is None
    tree = chain.cli("assets", "graph", expect=0).stdout
    assert tree == "in.a (external)\n└─ [load] on_in\n   └─ raw.x\n      └─ [marts] on_raw\n         └─ mart.y\n"
    dot = chain.cli("assets", "graph", "--dot", expect=0).stdout
    assert dot.startswith("digraph eider {\n") and dot.endswith("}\n")
    assert '"asset:raw.x" -> "pipeline:marts" [label="on_raw"];' in dot
    graph = chain.json("assets", "graph")
    assert {(edge["from"], edge["to"]) for edge in graph["edges"]} == {
        ("asset:in.a", "pipeline:load"), ("pipeline:load", "asset:raw.x"), ("asset:raw.x", "pipeline:marts"),
        ("pipeline:marts", "asset:mart.y")}


def test_an_asset_shows_its_history_with_and_without_a_server(chain):
    server = served(chain)
    event = run_through(server, rows=120, metadata={"file": "a.csv"})
    alive = chain.json("assets", "show", "in.a")
    assert alive["last_materialization"]["id"] == event and alive["last_materialization"]["metadata"] == {"file": "a.csv"}
    assert [one["id"] for one in alive["history"]["items"]] == [event]
    for words in (["materializations"], ["deliveries", "list"], ["assets", "list"]):
        server_says = chain.json(*words)["items"]
        assert len(server_says) == {"materializations": 3, "deliveries": 2, "assets": 3}[words[0]]
    before = [chain.json("materializations"), chain.json("deliveries", "list"), chain.json("explain", event)]
    assert server.stop() == 0
    after = [chain.json("materializations"), chain.json("deliveries", "list"), chain.json("explain", event)]
    assert after == before, "without a server the store says the same"
    shown = chain.cli("materializations", "show", event[:13], expect=0).stdout
    assert event in shown and "120" in shown and "outside (api)" in shown
    assert chain.cli("assets", "show", "raw.y").returncode == 2
    assert "did you mean `raw.x`?" in chain.cli("assets", "show", "raw.y").stderr
    assert chain.cli("assets", "materialize", "in.a").returncode == 3, "that needs a server"


def test_a_foreign_event_is_recorded_once(chain):
    """The same key is the same event, whoever says it again; without one each is its own."""
    server = served(chain)
    once = chain.json("assets", "materialize", "in.a", "--key", "k1", "--rows", "5")
    assert once["owed"] == 1 and not once["repeated"]
    again = chain.json("assets", "materialize", "in.a", "--key", "k1", "--rows", "6")
    assert again == {"id": once["id"], "owed": 0, "repeated": True}
    status, text, headers = server.request("POST", "/api/v1/assets/in.a/materializations", {}, {"Idempotency-Key": "k1"})
    assert status == 200 and json.loads(text)["id"] == once["id"]
    assert headers["Location"] == f"/api/v1/materializations/{once['id']}"
    for _ in range(2):
        chain.cli("assets", "materialize", "in.a", expect=0)
    assert len(server.events("in.a")) == 3 and len(server.deliveries("load/on_in")) == 3
    assert [event["rows"] for event in server.events("in.a")] == [5, None, None]
    assert {event["said_by"] for event in server.events("in.a")} == {"cli"}


def test_what_is_wrong_with_a_foreign_event_is_said(chain):
    server = served(chain)
    chain.write("list.json", "[1, 2]")
    chain.write("good.json", '{"file": "a.csv"}')
    chain.write("big.json", json.dumps({"a": "x" * 70_000}))
    cases = [
        (["in.b"], "did you mean `in.a`?"),
        (["nothing.like.it"], "eider.yaml declares"),
        (["in.a", "--metadata", "nonsense"], "neither a JSON object"),
        (["in.a", "--metadata", '{"a": '], "expected a JSON object"),
        (["in.a", "--metadata", "list.json"], "list.json: expected a JSON object"),
        (["in.a", "--metadata", "@big.json"], "big.json"),
        (["in.a", "--partition", "../../etc"], "--partition"),
        (["in.a", "--rows", "some"], "--rows"),
        (["in.a", "--key", "two words"], "Idempotency-Key"),
    ]
    for words, said in cases:
        done = chain.cli("assets", "materialize", *words, expect=2, cwd=chain.root)
        assert said in done.stderr, (words, done.stderr)
        assert done.stdout == ""
    status, _, _ = server.request("POST", "/api/v1/assets/in.a/materializations", {"metadata": {"a": "x" * 70_000}})
    assert status == 400
    assert server.events("in.a") == []
    chain.cli("assets", "materialize", "in.a", "--metadata", "@good.json", expect=0, cwd=chain.root)
    assert server.events("in.a")[0]["metadata"] == {"file": "a.csv"}


def test_a_step_names_its_run_as_the_cause(workspace):
    workspace.write("eider.yaml", "assets: { in.a: {} }\n")
    workspace.pipeline("p", f"""
        steps: [{{ id: s, run: ["{PROGRAM}", assets, materialize, in.a, --rows, "7"] }}]
    """)
    server = served(workspace)
    run = server.wait_end(server.start("p"))
    assert run["state"] == "succeeded", server.log(run["id"])
    [event] = server.events("in.a")
    assert (event["run_id"], event["source"], event["pipeline"], event["rows"]) == (run["id"], "reported", None, 7)
    links = server.get(f"/api/v1/explain/{event['id']}")["links"]
    assert [link["id"] for link in links] == [run["id"], event["id"]]


def test_explain_tells_the_whole_chain(chain):
    server = served(chain)
    event = run_through(server)
    [first], [last] = server.runs("load"), server.runs("marts")
    [one], [two] = server.deliveries("load/on_in"), server.deliveries("marts/on_raw")
    raw, mart = server.events("raw.x")[0], server.events("mart.y")[0]
    whole = [event, one["id"], first["id"], raw["id"], two["id"], last["id"], mart["id"]]
    for place, asked in enumerate(whole):
        explained = chain.json("explain", asked)
        assert [link["id"] for link in explained["links"]] == whole, "from wherever one asks"
        assert [link["part"] for link in explained["links"]] == \
            ["cause"] * place + ["asked"] + ["effect"] * (len(whole) - place - 1)
    told = chain.cli("explain", last["id"], expect=0).stdout.splitlines()
    assert sum("[Claimed]" in line for line in told) == 1, "each decision about the run itself has its code"
    lines = [line for line in told if not line.endswith("]")]
    assert lines[0].endswith("api reported from outside: in.a")
    assert f"→ delivery {one['id']} to load/on_in is delivered" in lines[1]
    assert f"→ run {first['id']} of load succeeded" in lines[2]
    assert "→ published raw.x" in lines[3]
    assert f"→ run {last['id']} of marts succeeded" in lines[5]
    assert lines[7] == "what followed:" and "→ published mart.y" in lines[8]
    assert all(line[:4] == "2026" for line in lines if line and line != "what followed:")
    assert chain.cli("explain", "ffffffff").returncode == 2


def test_explain_begins_at_the_schedule_and_says_what_is_waited_for(workspace):
    workspace.write("eider.yaml", "pools: { heavy: { slots: 1 } }\n")
    workspace.pipeline("a", 'schedules: [{ id: m, cron: "* * * * *" }]\n' + QUICK + "publishes: [{ asset: raw.x }]\n")
    workspace.pipeline("b", "triggers: [{ id: on_x, assets: [raw.x] }]\npool: heavy\n" + QUICK)
    workspace.pipeline("hog", "pool: heavy\n" + HELD)
    server = served(workspace)
    server.wait_running(server.start("hog"))
    server.advance("1m")
    [run] = wait_for(lambda: server.runs("b"), "the consumer's run is made")
    links = server.get(f"/api/v1/explain/{run['id']}")["links"]
    assert [link["kind"] for link in links] == ["occurrence", "run", "materialization", "delivery", "run"]
    assert links[0]["text"] == "schedule a/m was due" and links[0]["reason"] == "Due"
    assert "is queued: waits for pool heavy" in links[4]["text"], links[4]
    shown = workspace.cli("runs", "show", run["id"], expect=0).stdout
    assert "raw.x" in shown and "data b/on_x" in shown
    (workspace.root / "go").touch()
    settle(server)


def test_lists_can_be_narrowed_and_paged(chain):
    server = served(chain)
    events = [server.materialize("in.a") for _ in range(5)]
    wait_for(lambda: len(server.events("mart.y")) == 5, "all have gone through")
    settle(server)
    page = chain.json("materializations", "--asset", "in.a", "--limit", "2")
    assert [one["id"] for one in page["items"]] == events[:2:-1]
    rest = chain.json("materializations", "--asset", "in.a", "--cursor", page["next"])
    assert [one["id"] for one in rest["items"]] == events[2::-1] and rest["next"] is None
    assert len(chain.json("materializations", "--pipeline", "marts")["items"]) == 5
    run = server.runs("load")[0]["id"]
    assert len(chain.json("materializations", "--run", run[:18])["items"]) == 1
    [delivery] = chain.json("deliveries", "list", "--run", run)["items"]
    assert chain.json("deliveries", "list", "--event", delivery["event_id"])["items"] == [delivery]
    assert len(chain.json("deliveries", "list", "--pipeline", "load", "--state", "delivered")["items"]) == 5
    assert chain.json("deliveries", "list", "--state", "failed")["items"] == []
    assert chain.json("deliveries", "show", delivery["id"][:18]) == delivery
    for words in (["deliveries", "list", "--trigger", "load/on_out"], ["deliveries", "list", "--trigger", "load"],
                  ["deliveries", "list", "--state", "done"], ["materializations", "--asset", "in.b"],
                  ["materializations", "--asset", "in.a", "--run", run], ["deliveries", "retry"],
                  ["deliveries", "show", "zzzz"], ["materializations", "show", "ffff0000"]):
        assert chain.cli(*words).returncode == 2, words


def test_one_event_to_many_triggers_is_one_line(workspace):
    """What `eider serve` prints: the event with the number of deliveries, then what starts, with its cause."""
    workspace.write("eider.yaml", "workers: { max: 3 }\nassets: { in.a: {} }\n")  # data may take two of three
    for number in range(20):
        workspace.pipeline(f"p{number:02}", "triggers: [{ id: t, assets: [in.a] }]\n" + HELD)
    server = served(workspace)
    server.materialize("in.a")
    wait_for(lambda: server.get("/api/v1/status")["running"] == 2, "the workers are busy")
    lines = [line.split(None, 1)[1] for line in server.output().splitlines()]
    [published] = [line for line in lines if line.startswith("published")]
    assert "in.a" in published and "20 deliveries owed" in published
    assert not [line for line in lines if line.startswith(("queued", "claimed", "owed"))]
    wait_for(lambda: len([line for line in server.output().splitlines() if " started " in line]) == 2, "they have started")
    assert server.output().count("data p") == 2
    (workspace.root / "go").touch()
    settle(server)


def test_pipelines_and_status_count_what_is_pending(workspace):
    workspace.write("eider.yaml", "assets: { in.a: {} }\n")
    workspace.pipeline("p", "triggers: [{ id: t, assets: [in.a] }]\n" + HELD)
    server = served(workspace)
    for _ in range(4):
        server.materialize("in.a")
    [pipeline] = workspace.json("pipelines", "list")["items"]
    assert (pipeline["active_triggers"], pipeline["pending_deliveries"]) == (1, 3)
    [trigger] = server.get("/api/v1/pipelines/p")["triggers"]
    assert (trigger["key"], trigger["pending"], trigger["open_runs"], trigger["matches"]) == ("p/t", 3, 1, ["in.a"])
    assert trigger["waiting_for"]
    status = workspace.json("status")
    assert (status["triggers"], status["pending_deliveries"]) == (1, 3)
    (workspace.root / "go").touch()
    wait_for(lambda: workspace.json("status")["pending_deliveries"] == 0, "nothing is pending")
    settle(server)
