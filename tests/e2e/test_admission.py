"""What may start when: pools with weights and rates, locks, keys, sums, shares, reservation, and the ceiling above."""

import os

from clockwork import settle
from eider import wait_for

HOLD = 'steps: [{{ id: s, run: [sh, -c, "until test -e {0}; do sleep 0.02; done"] }}]\n'
DONE = 'steps: [{ id: s, run: ["true"] }]\n'
NOON = "2026-01-01T12:00:00Z"


def hold(name):
    return HOLD.format(name)


def release(workspace, name):
    (workspace.root / name).touch()


def waits(server, run_id):
    return [(one["kind"], one["name"]) for one in server.run(run_id)["waiting_for"]]


def queue(server, pipeline, **more):
    return server.start(pipeline, queue=True, **more)


def limits(server):
    return server.get("/api/v1/pools")


def test_locks_readers_share_and_a_writer_is_alone(workspace):
    """Two readers of a lock run side by side, a writer waits for both; all of it is shown."""
    for name in ("one", "two"):
        workspace.pipeline(name, "locks: { warehouse: read }\n" + hold(name))
    workspace.pipeline("writer", "locks: { warehouse: write }\n" + hold("writer"))
    workspace.pipeline("late", "locks: { warehouse: read }\n" + DONE)
    server = workspace.serve()
    one, two = server.start("one"), server.start("two")
    server.wait_running(one), server.wait_running(two)
    writer = server.start("writer")
    assert waits(server, writer) == [("lock", "warehouse")]
    [lock] = limits(server)["locks"]
    assert lock["mode"] == "read" and lock["waiting"] == 1
    assert {run["run_id"] for run in lock["held_by"]} == {one, two}
    shown = workspace.cli("pools", expect=0).stdout
    assert "warehouse" in shown and "one" in shown, shown
    release(workspace, "one")
    server.wait_end(one)
    assert waits(server, writer) == [("lock", "warehouse")]
    release(workspace, "two")
    server.wait_running(writer)
    late = server.start("late")
    assert waits(server, late) == [("lock", "warehouse")]
    [waiting] = server.run(late)["waiting_for"]
    assert writer in waiting["detail"] and waiting["held_by"] == [{"run_id": writer, "pipeline": "writer"}]
    release(workspace, "writer")
    assert server.wait_end(late)["state"] == "succeeded"


def test_a_lock_is_held_across_a_kill_of_the_server(workspace):
    """A claim stores what it took: the next server knows that the adopted run has the lock."""
    workspace.pipeline("holder", "locks: { l: write }\n" + hold("go"))
    workspace.pipeline("other", "locks: { l: write }\n" + DONE)
    server = workspace.serve()
    holder = server.start("holder")
    server.wait_running(holder)
    server.kill()
    server = workspace.serve()
    other = server.start("other")
    assert waits(server, other) == [("lock", "l")]
    release(workspace, "go")
    assert server.wait_end(other)["state"] == "succeeded"
    assert server.run(holder)["state"] == "succeeded"


def test_a_rate_spreads_starts_and_wakes_by_itself(workspace):
    """Three starts a minute: the fourth waits for the first to be a minute old, across a restart too."""
    workspace.write("eider.yaml", "pools: { api: { rate: 3/min } }\n")
    workspace.pipeline("p", "pool: api\nmax_active_runs: 0\n" + DONE)
    server = workspace.serve("--test-clock", NOON)
    ids = [queue(server, "p") for _ in range(5)]
    for run_id in ids[:3]:
        server.wait_end(run_id)
    assert waits(server, ids[3]) == [("rate", "api")]
    [waiting] = server.run(ids[3])["waiting_for"]
    assert "2026-01-01T12:01:00Z" in waiting["detail"], waiting
    [pool] = limits(server)["items"]
    assert pool["rate"] == {"starts": 3, "per": "1m", "started": 3, "waiting": 2, "next": "2026-01-01T12:01:00Z"}
    server.advance("59s")
    assert server.run(ids[3])["state"] == "queued"
    server.stop()
    server = workspace.serve("--test-clock", "2026-01-01T12:00:59Z")
    assert server.run(ids[3])["state"] == "queued", "a restart forgets no start"
    server.advance("1s")
    settle(server)
    assert [server.run(run_id)["state"] for run_id in ids] == ["succeeded"] * 5
    assert server.run(ids[4])["started_at"] == "2026-01-01T12:01:00Z"


def test_a_concurrency_key_serialises_each_value(workspace):
    """Runs with one value of a parameter run one after the other, those of others beside them."""
    workspace.pipeline("load", "max_active_runs: 0\nconcurrency_key: params.customer\n" + hold("go"))
    server = workspace.serve()
    first, again, other = (queue(server, "load", params={"customer": name}) for name in ("acme", "acme", "other"))
    server.wait_running(first), server.wait_running(other)
    [(kind, name)] = waits(server, again)
    assert kind == "concurrency" and "acme" in name
    release(workspace, "go")
    assert server.wait_end(again)["state"] == "succeeded"


def test_sums_of_memory_and_temporary_space(workspace):
    """What the sums leave no room for waits; what could never start is refused when it is validated."""
    workspace.write("eider.yaml", "resources: { memory: 1GB, temp: 10GB }\n")
    workspace.pipeline("big", "resources: { memory: 800MB, temp: 8GB }\n" + hold("go"))
    workspace.pipeline("more", "resources: { memory: 800MB, temp: 8GB }\n" + DONE)
    server = workspace.serve()
    big = server.start("big")
    server.wait_running(big)
    more = server.start("more")
    assert waits(server, more) == [("temp", "temp"), ("memory", "memory")]
    assert limits(server)["memory"] == {"max": 1_000_000_000, "used": 800_000_000, "waiting": 1}
    release(workspace, "go")
    assert server.wait_end(more)["state"] == "succeeded"
    workspace.pipeline("never", "resources: { temp: 11GB }\n" + DONE)
    refused = workspace.cli("validate", expect=2).stdout
    assert "it could never start" in refused and "resources.temp" in refused, refused


def test_a_wide_request_is_not_starved(workspace):
    """A run that needs the whole pool keeps what becomes free once it has waited five minutes, and says for whom."""
    workspace.write("eider.yaml", "pools: { p: 2 }\n")
    for name in ("a", "b", "c"):
        workspace.pipeline(name, "pool: p\n" + hold(name))
    workspace.pipeline("wide", "pools: { p: 2 }\n" + DONE)
    server = workspace.serve("--test-clock", NOON)
    a = server.start("a")
    server.wait_running(a)
    wide = server.start("wide")
    server.advance("4m")
    b = server.start("b")
    server.wait_running(b)
    server.advance("2m")
    release(workspace, "b")
    server.wait_end(b)
    c = server.start("c")
    assert waits(server, c) == [("reserved", "p")]
    assert wide in server.run(c)["waiting_for"][0]["detail"]
    [waiting] = server.run(wide)["waiting_for"]
    assert (waiting["kind"], waiting["name"], waiting["since"]) == ("pool", "p", NOON)
    release(workspace, "a")
    assert server.wait_end(wide)["state"] == "succeeded"
    server.wait_running(c)


def test_a_cancelled_holder_frees_its_pool(workspace):
    """O-18: of four in a pool of one, the next starts as soon as the cancelled one is gone, in order, with no help."""
    workspace.write("eider.yaml", "pools: { p: 1 }\n")
    workspace.pipeline("p", "pool: p\nmax_active_runs: 0\n" + hold("go"))
    server = workspace.serve()
    ids = [queue(server, "p") for _ in range(4)]
    for here, following in zip(ids, ids[1:]):
        server.wait_running(here)
        assert limits(server)["items"][0]["used"] == 1
        server.post(f"/api/v1/runs/{here}/cancel")
        server.wait_running(following)
        assert server.run(here)["state"] == "cancelled"
    release(workspace, "go")
    server.wait_end(ids[-1])


def test_a_full_pool_starves_no_other(workspace):
    """O-19: a pool with many of higher priority behind it takes nothing from a pool that is free."""
    workspace.write("eider.yaml", "workers: { max: 8 }\npools: { full: 1, free: 2 }\n")
    workspace.pipeline("holder", "pool: full\n" + hold("go"))
    workspace.pipeline("blocked", "pool: full\npriority: 2\nmax_active_runs: 0\n" + DONE)
    workspace.pipeline("quick", "pool: free\nmax_active_runs: 0\n" + DONE)
    server = workspace.serve()
    holder = server.start("holder")
    server.wait_running(holder)
    blocked = [queue(server, "blocked") for _ in range(200)]
    for run_id in [queue(server, "quick") for _ in range(20)]:
        assert server.wait_end(run_id)["state"] == "succeeded"
    assert waits(server, blocked[-1]) == [("pool", "full")]
    assert limits(server)["items"][1]["waiting"] == 200
    assert server.run(holder)["state"] == "running"
    release(workspace, "go")
    wait_for(lambda: server.run(blocked[-1])["state"] == "succeeded", "all of them run", limit_s=120)


def test_shrinking_a_pool_evicts_nobody(workspace):
    """What runs goes on; what is queued waits until the smaller pool has room."""
    workspace.write("eider.yaml", "pools: { p: 2 }\n")
    workspace.pipeline("p", "pool: p\nmax_active_runs: 0\n" + hold("go"))
    workspace.pipeline("q", "pool: p\n" + hold("gone"))
    server = workspace.serve()
    p, q = queue(server, "p"), server.start("q")
    server.wait_running(p), server.wait_running(q)
    workspace.write("eider.yaml", "pools: { p: 1 }\n")
    workspace.cli("reload", expect=0)
    following = queue(server, "p")
    assert [server.run(run_id)["state"] for run_id in (p, q, following)] == ["running", "running", "queued"]
    assert limits(server)["items"][0]["used"] == 2 and limits(server)["items"][0]["slots"] == 1
    release(workspace, "gone")
    server.wait_end(q)
    assert waits(server, following) == [("pool", "p")]
    release(workspace, "go")
    assert server.wait_end(following)["state"] == "succeeded"


def test_a_workspace_may_ask_for_less_than_the_ceiling_never_for_more(workspace, tmp_path):
    """The ceiling file: more is refused with both files named, at validation, at a start and at a reload."""
    ceiling = tmp_path / "ceiling.yaml"
    ceiling.write_text("workers: { max: 4 }\n")
    os.chmod(ceiling, 0o644)
    workspace.pipeline("p", DONE)
    workspace.write("eider.yaml", "workers: { max: 3 }\n")
    server = workspace.serve("--ceiling", str(ceiling))
    assert limits(server)["workers"]["max"] == 3
    workspace.write("eider.yaml", "workers: { max: 5 }\n")
    said = workspace.cli("reload").stdout
    assert "asks for 5" in said and "eider.yaml" in said and str(ceiling) in said, said
    assert limits(server)["workers"]["max"] == 3, "the last good one stays"
    server.stop()
    refused = workspace.cli("serve", "--ceiling", str(ceiling), expect=2)
    assert str(ceiling) in refused.stderr and "allows 4" in refused.stderr, refused.stderr
    refused = workspace.cli("validate", expect=2, env={**os.environ, "EIDER_CEILING": str(ceiling)})
    assert str(ceiling) in refused.stdout, refused.stdout
    os.chmod(ceiling, 0o666)
    refused = workspace.cli("serve", "--ceiling", str(ceiling), expect=2)
    assert "may be written by others" in refused.stderr, refused.stderr
