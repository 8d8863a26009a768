"""What a run publishes, as materializations: facts, partitions, `after: STEP`, and deaths around its commit point."""

import hashlib
import json

import pytest

from eider import PROGRAM, wait_for


def of(workspace, asset):
    """Materializations of an asset, oldest first."""
    items = workspace.json("materializations", "--asset", asset)["items"]
    return sorted(items, key=lambda item: item["number"])


def content_hash(data):
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def test_facts_of_a_file_a_table_and_what_a_step_says(workspace):
    workspace.pipeline("p", """
        database: w.duckdb
        steps:
          - { id: load, sql: "CREATE OR REPLACE TABLE t AS SELECT range AS n FROM range(100)" }
          - { id: file, shell: true, run: "printf 'n\\n1\\n2\\n' > $EIDER_OUT_F" }
          - id: say
            shell: true
            run: |
              echo '{"rows": 3}' > $EIDER_OUTPUT
              echo '{"materialized": "raw.s", "partition": "2026-03", "rows": 10, "metadata": {"from": "x"}}' >> $EIDER_OUTPUT
              echo '{"materialized": "raw.s", "partition": "2026-04", "fingerprint": "f4"}' >> $EIDER_OUTPUT
        publishes:
          - { asset: raw.t, table: t }
          - { asset: raw.f, path: out/f.csv }
          - { asset: raw.s }
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "succeeded", run
    [table] = of(workspace, "raw.t")
    assert (table["rows"], table["columns"]) == (100, [{"name": "n", "type": "BIGINT"}])
    assert table["run_id"] == run["id"] and table["attempt"] == 1
    [file] = of(workspace, "raw.f")
    assert (file["rows"], file["bytes"]) == (2, 6)
    assert file["fingerprint"] == content_hash(b"n\n1\n2\n")
    assert [(one["partition"], one.get("rows"), one.get("fingerprint") or "") for one in of(workspace, "raw.s")] == [
        ("2026-03", 10, ""), ("2026-04", None, "f4")]
    assert of(workspace, "raw.s")[0]["metadata"] == {"from": "x"}
    steps = {step["step"]: step for step in run["steps"]}
    assert steps["say"]["facts"] == {"rows": 3}
    # The same once more is unchanged: of what has a fingerprint.
    assert server.wait_end(server.start("p"))["state"] == "succeeded"
    for asset in ("raw.t", "raw.f"):
        assert [one["unchanged"] for one in of(workspace, asset)] == [False, True], asset


def test_a_failed_run_publishes_only_what_was_published_after_a_step(workspace):
    workspace.pipeline("p", """
        steps:
          - { id: load, shell: true, run: "echo x > $EIDER_OUT_X; echo y > $EIDER_OUT_Y" }
          - { id: bad, shell: true, run: "cat out/x; exit 1", needs: [load] }
        publishes:
          - { asset: raw.x, path: out/x, after: load }
          - { asset: raw.y, path: out/y }
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and "exit code 1" in run["error"]
    assert [one["run_id"] for one in of(workspace, "raw.x")] == [run["id"]]
    assert of(workspace, "raw.y") == []
    assert (workspace.root / "out/x").read_text() == "x\n"
    assert not (workspace.root / "out/y").exists()


def test_it_is_committed_while_the_run_goes_on(workspace):
    workspace.pipeline("p", """
        steps:
          - { id: load, run: ["true"] }
          - { id: wait, shell: true, run: "until test -e go; do sleep 0.05; done", needs: [load] }
        publishes: [{ asset: raw.x, after: load }]
    """)
    server = workspace.serve()
    run_id = server.start("p")
    wait_for(lambda: len(of(workspace, "raw.x")) == 1, "it is published")
    assert server.run(run_id)["state"] == "running"
    (workspace.root / "go").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"
    assert len(of(workspace, "raw.x")) == 1, "the end of the run tells of it again, and it is the same event"


@pytest.mark.parametrize("place", ("publish.before_commit", "publish.after_commit", "publish.after_renames"))
def test_a_worker_that_dies_around_the_commit_point(workspace, place):
    """What is on record is put in place and recorded, though the worker did not live to do or tell it."""
    workspace.pipeline("p", """
        steps: [{ id: load, shell: true, run: "echo x > $EIDER_OUT_X" }, { id: last, run: ["true"], needs: [load] }]
        publishes: [{ asset: raw.x, path: out/x, after: load }]
    """)
    server = workspace.serve(env={"EIDER_FAULT": place})
    run = server.wait_end(server.start("p"))
    assert run["attempts"][0]["outcome"] == "crashed"
    published = place != "publish.before_commit"
    assert len(of(workspace, "raw.x")) == published
    assert (workspace.root / "out/x").exists() == published
    server.kill()
    server = workspace.serve()
    retried = server.wait_end(server.start("p"))
    assert retried["state"] == "succeeded"
    assert [one["unchanged"] for one in of(workspace, "raw.x")] == [False, True][: 1 + published]


def test_server_and_worker_die_after_the_commit_point(workspace):
    """The next server finds the record, and attempt 2 publishes the same event."""
    workspace.pipeline("p", """
        steps:
          - { id: load, shell: true, run: "echo x > $EIDER_OUT_X" }
          - { id: wait, shell: true, run: "touch waits; until test -e go; do sleep 0.05; done", needs: [load] }
        publishes: [{ asset: raw.x, path: out/x, after: load }]
    """)
    server = workspace.serve()
    run_id = server.start("p")
    wait_for((workspace.root / "waits").exists, "the file is published")
    workspace.kill_all()
    server = workspace.serve()
    (workspace.root / "go").touch()
    run = server.wait_end(run_id)
    assert run["state"] == "succeeded"
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["interrupted", "succeeded"]
    [event] = of(workspace, "raw.x")
    assert event["run_id"] == run_id


def test_a_run_for_data_knows_its_events(workspace):
    workspace.pipeline("a", """
        steps: [{ id: s, shell: true, run: "echo x > $EIDER_OUT_X" }]
        publishes: [{ asset: raw.x, path: out/x }]
    """)
    workspace.pipeline("b", """
        triggers: [{ id: on_x, assets: [raw.x] }]
        steps:
          - { id: s, shell: true, run: "cp $EIDER_EVENTS events; echo $EIDER_EVENT_ASSET $EIDER_EVENT_RUN > env" }
          - { id: q, sql: "COPY (SELECT getvariable('event_id') AS id) TO 'sql.csv' (HEADER false)" }
    """)
    server = workspace.serve()
    run_id = server.start("a")
    run = wait_for(lambda: server.runs("b"), "the consumer runs")[0]
    run = server.wait_end(run["id"])
    assert run["state"] == "succeeded"
    [event] = of(workspace, "raw.x")
    [told] = json.loads((workspace.root / "events").read_text())
    assert told["id"] == event["id"] and told["fingerprint"] == event["fingerprint"]
    assert (workspace.root / "env").read_text() == f"raw.x {run_id}\n"
    assert (workspace.root / "sql.csv").read_text() == event["id"] + "\n"


def test_a_step_may_tell_of_data_from_outside(workspace):
    """`eider` in a step finds the workspace, and the run is named as the cause."""
    workspace.write("eider.yaml", "assets: { raw.uploads: { description: 'from a partner' } }\n")
    workspace.pipeline("p", f"""
        steps: [{{ id: s, shell: true, run: "cd / && {PROGRAM} assets materialize raw.uploads --rows 3" }}]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "succeeded", run
    [event] = of(workspace, "raw.uploads")
    assert (event["rows"], event["run_id"], event["source"]) == (3, run["id"], "reported")


@pytest.mark.parametrize("line, says", (
    ('{"materialized": "raw.q"}', 'the asset "raw.q", which the pipeline does not publish; it publishes raw.x'),
    ('{"materialized": "raw.x", "partition": "../up"}', "is no name of a partition"),
    ('{"materialized": "raw.x", "colour": 1}', "its `colour` is not known"),
))
def test_a_line_that_cant_be_fails_its_step(workspace, line, says):
    workspace.pipeline("p", f"""
        steps: [{{ id: s, shell: true, run: "cat line > $EIDER_OUTPUT" }}]
        publishes: [{{ asset: raw.x }}]
    """)
    workspace.write("line", line + "\n")
    ended = workspace.cli("run", "p", expect=1)
    assert says in ended.stdout + ended.stderr
