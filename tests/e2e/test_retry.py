"""Failure and what follows: tried again by cause, by hand, or not; a run that hangs; what `explain` and `doctor` say."""

import json
import os
import signal

import pytest

from clockwork import settle
from eider import wait_for

START = "2026-01-01T10:00:00Z"
HELD = 'steps: [{ id: s, shell: true, run: "until test -e go; do sleep 0.02; done" }]\n'


def served(workspace, start=START):
    return workspace.serve("--test-clock", start)


def outcomes(run):
    return [attempt["outcome"] for attempt in run["attempts"]]


def codes(items):
    return [item["code"] for item in items]


def steps_of(run):
    return {step["step"]: step for step in run["steps"]}


# ---- by cause ----------------------------------------------------------------------------------------------------


def test_the_cause_says_whether_it_is_tried_again(workspace):
    """O-20: backoff by the rule; an error is tried again, an exit code that means "never" and a cause that is not in
    `retry.on` are not, each with its reason."""
    workspace.write("fail.sh", "#!/bin/sh\nexit $(cat code)\n", executable=True)
    retry = "retry: { max_attempts: 4, backoff: 2s, factor: 2, max_backoff: 5s, jitter: 0, final_exit_codes: [64] }\n"
    workspace.pipeline("p", retry + "steps: [{ id: s, run: [./fail.sh] }]\n")
    workspace.pipeline("crash_only", 'retry: { max_attempts: 3, on: [crash], backoff: 1s, jitter: 0 }\n'
                                     'steps: [{ id: s, shell: true, run: "test -e go || kill -SEGV $$; exit 3" }]\n')
    (workspace.root / "code").write_text("1")
    server = served(workspace)
    run_id = server.start("p")
    for attempt, before in enumerate(("1s", "3s"), start=1):  # of 2 s, and of 4 s
        wait_for(lambda n=attempt: len(server.run(run_id)["attempts"]) == n and server.run(run_id)["state"] == "queued",
                 "it backs off")
        [waiting] = server.run(run_id)["waiting_for"]
        assert waiting["kind"] == "backoff"
        server.advance(before)
        assert server.run(run_id)["state"] == "queued", "not before its time"
        if attempt == 2:
            (workspace.root / "code").write_text("64")
        server.advance("1s")
    ended = server.wait_end(run_id)
    assert ended["state"] == "failed" and ended["reason"] == "FinalExitCode" and outcomes(ended) == ["failed"] * 3
    assert ended["attempts"][2]["exit_code"] == 64

    run_id = server.start("crash_only")
    wait_for(lambda: server.run(run_id)["state"] == "queued", "what a signal ended is a crash, and tried again")
    (workspace.root / "go").touch()
    server.advance("1s")
    ended = server.wait_end(run_id)
    assert ended["state"] == "failed" and ended["reason"] == "CauseNotRetried", ended
    assert ended["attempts"][0]["signal"] == 11 and ended["attempts"][1]["exit_code"] == 3
    told = server.get(f"/api/v1/explain/{run_id}")["history"]
    assert codes(told) == ["Requested", "Claimed", "Failed", "Claimed", "Failed", "CauseNotRetried"]
    assert "retry.on" in told[-1]["text"]
    shown = workspace.cli("explain", run_id, expect=0).stdout
    assert "attempt 2 failed: step s: exit code 3" in shown and "[CauseNotRetried]" in shown


def test_an_interrupted_run_may_not_begin_again(workspace):
    """`on_interrupt: fail`: after a power cut, and when `eider stop --now` ended it, the run has failed and says why."""
    workspace.pipeline("p", "on_interrupt: fail\n" + HELD)
    server = served(workspace)
    lost = server.start("p")
    server.wait_running(lost)
    workspace.kill_all()
    server = served(workspace)
    ended = server.wait_end(lost)
    assert ended["state"] == "failed" and ended["reason"] == "InterruptedFinal" and outcomes(ended) == ["interrupted"]
    assert ended["interruptions"] == 0 and "on_interrupt" in ended["reason_text"]

    stopped = server.start("p")
    server.wait_running(stopped)
    workspace.cli("stop", "--now", expect=0)
    server = served(workspace)
    ended = server.run(stopped)
    assert ended["state"] == "failed" and ended["reason"] == "InterruptedFinal", ended
    # A person may try it again all the same.
    workspace.cli("retry", stopped, expect=0)
    (workspace.root / "go").touch()
    assert server.wait_end(stopped)["state"] == "succeeded"


# ---- by hand -----------------------------------------------------------------------------------------------------

CHAIN = """
database: w.duckdb
steps:
  - id: load
    shell: true
    run: |
      echo load >> done
      echo '{"rows": 3}' >> "$EIDER_OUTPUT"
      echo '{"materialized": "raw.x", "rows": 3}' >> "$EIDER_OUTPUT"
  - id: build
    needs: [load]
    sql: CREATE TABLE IF NOT EXISTS t AS SELECT getvariable('facts') AS facts
  - id: memory
    needs: [load]
    shell: true
    run: "echo memory >> done; echo 1 > $EIDER_OUT_FILE"
  - id: check
    needs: [build, memory]
    shell: true
    run: "echo check >> done; grep -q '\\"rows\\":3' $EIDER_FACTS && test -e go"
publishes:
  - { asset: raw.x }
  - { asset: out.file, path: out/file }
"""


def test_a_retry_from_what_failed_keeps_the_rest(workspace):
    """Steps that succeeded are kept with what they told; a step whose file waited for publication is done again."""
    workspace.pipeline("p", CHAIN)
    server = served(workspace)
    run_id = server.start("p")
    assert server.wait_end(run_id)["state"] == "failed"
    assert (workspace.root / "done").read_text().split() == ["load", "memory", "check"]
    (workspace.root / "go").touch()
    said = workspace.cli("retry", run_id, "--from-failed", expect=0).stdout
    assert "kept: load, build" in said
    assert "done again: memory (what it made of out.file was not published" in said
    ended = server.wait_end(run_id)
    assert ended["state"] == "succeeded" and ended["attempt"] == 2, ended
    assert (workspace.root / "done").read_text().split() == ["load", "memory", "check", "memory", "check"]
    steps = steps_of(ended)
    assert steps["load"]["kept_from"] == 1 and steps["load"]["facts"] == {"rows": 3} and "kept_from" not in steps["check"]
    assert "content" not in steps["load"] and ended["kept"] == ["load", "build"]
    [event] = server.events("raw.x")
    assert event["rows"] == 3 and event["run_id"] == run_id, "what the kept step said of it"
    assert (workspace.root / "out/file").read_text() == "1\n"
    shown = workspace.cli("runs", "show", run_id, expect=0).stdout
    assert "kept from attempt 1" in shown
    assert any("kept: attempt 1 has done it" in line["text"] for line in server.log(run_id))
    assert "StepsKept" in codes(server.get(f"/api/v1/explain/{run_id}")["history"])


def test_a_mended_script_runs_when_its_run_is_tried_again(workspace):
    """What has committed is not done twice, but a step that was changed since is another one."""
    pipeline = """
        database: w.duckdb
        steps:
          - { id: first, sql: "CREATE TABLE f AS SELECT 1 AS i" }
          - { id: build, needs: [first], sql: "CREATE OR REPLACE TABLE t AS SELECT %s AS i" }
          - { id: check, needs: [build], sql: "SELECT CASE WHEN i = 2 THEN 'good' ELSE error('bad') END FROM t" }
    """
    workspace.pipeline("p", pipeline % 1)
    server = served(workspace)
    run_id = server.start("p")
    assert server.wait_end(run_id)["state"] == "failed"
    workspace.cli("retry", run_id, expect=0)
    ended = server.wait_end(run_id)
    assert {name: step["outcome"] for name, step in steps_of(ended).items()} == {
        "first": "receipt_found", "build": "receipt_found", "check": "failed"}
    workspace.pipeline("p", pipeline % 2)
    workspace.cli("reload", expect=0)
    said = workspace.cli("retry", run_id, "--from-failed", expect=0).stdout
    assert "kept: first" in said and "done again: build (it has been changed since)" in said
    ended = server.wait_end(run_id)
    assert ended["state"] == "succeeded", ended
    assert {name: step["outcome"] for name, step in steps_of(ended).items()} == {
        "first": "receipt_found", "build": "succeeded", "check": "succeeded"}


def test_a_retry_is_refused_with_the_state(workspace):
    """Queued, running and succeeded runs are not tried again: 409, exit 2, and the state in words."""
    workspace.pipeline("p", HELD)
    server = served(workspace)
    run_id = server.start("p")
    server.wait_running(run_id)
    refused = workspace.cli("retry", run_id)
    assert refused.returncode == 2 and "is running; a failed or cancelled one can be tried again" in refused.stderr
    queued = server.start("p", queue=True)
    status, _, _ = server.request("POST", f"/api/v1/runs/{queued}/retry", {})
    assert status == 409
    (workspace.root / "go").touch()
    server.wait_end(run_id)
    refused = workspace.cli("retry", run_id)
    assert refused.returncode == 2 and "has succeeded" in refused.stderr
    assert workspace.cli("retry", "ffffffff").returncode == 2


def test_a_cancelled_and_a_scheduled_run_and_their_deliveries(workspace):
    """A retry is for any run that ended without success; the deliveries of a data run follow it."""
    workspace.pipeline("s", 'schedules: [{ id: s, cron: "0 11 * * *" }]\n' + HELD)
    workspace.write("eider.yaml", "assets: { in.a: { description: from outside } }\n")
    workspace.pipeline("d", 'triggers: [{ id: on_a, assets: [in.a] }]\nsteps: [{ id: s, run: [test, -e, go] }]\n')
    server = served(workspace)
    server.advance("1h")
    [run] = server.runs("s")
    server.wait_running(run["id"])
    workspace.cli("cancel", run["id"], expect=0)
    assert server.wait_end(run["id"])["state"] == "cancelled"
    server.materialize("in.a")
    wait_for(lambda: [one["state"] for one in server.deliveries("d/on_a")] == ["failed"], "the delivery fails")
    [delivery] = server.deliveries("d/on_a")
    (workspace.root / "go").touch()
    for run_id in (run["id"], delivery["run_id"]):
        answer = json.loads(workspace.cli("retry", run_id, "--json", expect=0).stdout)
        assert answer["id"] == run_id and answer["state"] == "queued"
        ended = server.wait_end(run_id)
        assert ended["state"] == "succeeded" and ended["attempt"] == 2 and ended["failures"] == 0
    assert server.run(run["id"])["scheduled_for"] == "2026-01-01T11:00:00Z"
    [delivery] = server.deliveries("d/on_a")
    assert delivery["state"] == "delivered"
    assert [row["decision"] for row in server.occurrences("s/s")] == ["run"], "no second decision"


# ---- a hung owner ------------------------------------------------------------------------------------------------


def test_a_run_that_takes_longer_than_usual_is_shown(workspace):
    """Five runs teach what is usual; the sixth hangs, and status, list, explain and doctor say so."""
    workspace.write("eider.yaml", "pools: { heavy: { slots: 1 } }\n")
    workspace.pipeline("p", "pool: heavy\n" + HELD)
    server = served(workspace)
    for _ in range(5):
        run_id = server.start("p")
        server.wait_running(run_id)
        server.advance("1m")
        (workspace.root / "go").touch()
        assert server.wait_end(run_id)["state"] == "succeeded"
        (workspace.root / "go").unlink()
    assert workspace.cli("doctor", expect=0).stdout == "all is well\n"
    hung = server.start("p")
    server.wait_running(hung)
    server.advance("2m")
    assert not server.run(hung)["longer_than_usual"]
    server.advance("2m")
    shown = server.run(hung)
    assert shown["longer_than_usual"] and shown["usual"]["median"] == "1m" and shown["usual"]["runs"] == 5
    assert "longer than usual (1m)" in workspace.cli("runs", "list", expect=0).stdout
    assert "longer than usual (1m)" in workspace.cli("runs", "show", hung, expect=0).stdout
    assert "longer than usual" in workspace.cli("status", expect=0).stdout
    [long_run] = server.get("/api/v1/status")["longer_than_usual"]
    assert long_run["run_id"] == hung and long_run["usually"] == "1m"
    assert codes(server.get("/api/v1/explain/p")["reasons"])[:1] == ["LongerThanUsual"]
    found = workspace.cli("doctor", expect=1).stdout
    assert "[LongerThanUsual]" in found and f"eider cancel {hung}" in found and "1 of pool heavy" in found
    waits = server.start("p", queue=True)
    server.advance("15m")
    findings = json.loads(workspace.cli("doctor", "--json", expect=1).stdout)["findings"]
    assert {(one["code"], one["about"]) for one in findings} == {("NoProgress", hung), ("WaitsLong", waits)}
    (workspace.root / "go").touch()
    settle(server)
    workspace.cli("doctor", expect=0)


def test_doctor_sees_a_stopped_worker_and_says_how_to_go_on(workspace):
    """O-17: a worker that a signal has stopped keeps its run; doctor names both."""
    workspace.pipeline("p", HELD)
    server = served(workspace)
    run_id = server.start("p")
    worker = server.wait_running(run_id)["attempts"][0]["worker_pid"]
    os.kill(worker, signal.SIGSTOP)
    try:
        wait_for(lambda: codes(server.get("/api/v1/doctor")["findings"]) == ["WorkerStopped"], "doctor sees it")
        assert f"kill -CONT {worker}" in workspace.cli("doctor", expect=1).stdout
    finally:
        os.kill(worker, signal.SIGCONT)
    (workspace.root / "go").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"


def test_doctor_without_a_server(workspace):
    """Exit 3, with what files and store say: no server, a broken file, a paused schedule, what ran when it ended."""
    workspace.pipeline("p", 'schedules: [{ id: s, cron: "0 11 * * *" }]\n' + HELD)
    server = served(workspace)
    workspace.cli("schedule", "pause", "p/s", "--note", "source is down", expect=0)
    run_id = server.start("p")
    server.wait_running(run_id)
    workspace.write("pipelines/bad.yaml", "pipeline: bad\nsteps: 7\n")
    workspace.kill_all()
    said = workspace.cli("doctor", expect=3).stdout
    for part in ("[NoServer]", "[BrokenFile]", "[SchedulePaused]", "source is down", f"run {run_id} of p was running"):
        assert part in said, said
    assert codes(json.loads(workspace.cli("doctor", "--json", expect=3).stdout)["findings"])[:4] == [
        "NoServer", "BrokenFile", "RunWithoutServer", "SchedulePaused"]


# ---- explain a pipeline ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("serving", [True, False])
def test_what_keeps_a_pipeline_from_running(workspace, serving):
    """`eider explain PIPELINE` with and without a server: a pause with its note, what comes next, what nothing starts."""
    workspace.pipeline("paused", 'schedules: [{ id: s, cron: "0 11 * * *" }]\nsteps: [{ id: s, run: ["true"] }]\n')
    workspace.pipeline("due", 'schedules: [{ id: s, cron: "30 11 * * *" }]\nsteps: [{ id: s, run: ["true"] }]\n')
    workspace.pipeline("by_hand", 'steps: [{ id: s, run: ["true"] }]\n')
    server = served(workspace)
    workspace.cli("schedule", "pause", "paused/s", "--note", "source is down", expect=0)
    if not serving:
        server.stop()
    said = workspace.cli("explain", "paused", expect=0).stdout
    assert "schedule paused/s is paused: source is down" in said and "eider schedule resume paused/s" in said
    due = workspace.json("explain", "due")
    assert due["kind"] == "pipeline" and due["id"] == "due"
    assert ("NoServer" in codes(due["reasons"])) != serving
    assert "Due" in codes(due["reasons"])
    if serving:
        assert due["text"] == "nothing keeps due from running: it is due next at 2026-01-01T11:30:00Z"
    assert "NothingStartsIt" in codes(workspace.json("explain", "by_hand")["reasons"])
    assert workspace.cli("explain", "nobody").returncode == 2


def test_a_waiting_run_and_a_broken_file_are_named(workspace):
    """`eider explain PIPELINE`: what its queued run waits for, and that a wrong file leaves the last good version."""
    workspace.write("eider.yaml", "pools: { one: { slots: 1 } }\n")
    workspace.pipeline("a", "pool: one\n" + HELD)
    workspace.pipeline("b", "pool: one\n" + HELD)
    server = served(workspace)
    server.wait_running(server.start("a"))
    waiting = server.start("b")
    wait_for(lambda: server.run(waiting)["waiting_for"], "b waits")
    told = server.get("/api/v1/pipelines/b/explain")
    assert told["text"].startswith(f"b does not run: run {waiting} is queued, and waits for pool one")
    assert codes(told["reasons"])[0] == "WaitsForPool"
    workspace.pipeline("b", "pool: one\nsteps: 7\n")
    assert workspace.cli("reload").returncode == 2
    told = server.get("/api/v1/explain/b")
    [broken] = [one for one in told["reasons"] if one["code"] == "FileBroken"]
    assert "the last good version is in force" in broken["text"] and not broken["keeps"]
    (workspace.root / "go").touch()
    settle(server)


def test_doctor_names_data_that_is_too_old_and_settings_that_are_wrong(workspace):
    """Of `freshness`, counted from the newest success; a wrong eider.yaml leaves every pipeline in force."""
    workspace.pipeline("p", "freshness: { warn_after: 1h, error_after: 2h }\nsteps: [{ id: s, run: [\"true\"] }]\n")
    server = workspace.serve("--test-clock", "2026-01-01T10:00:00Z")
    assert workspace.cli("doctor", expect=0).stdout == "all is well\n", "it never ran"
    server.wait_end(server.start("p"))
    server.advance("61m")
    assert "[AgeingData]" in workspace.cli("doctor", expect=1).stdout
    server.advance("1h")
    [stale] = json.loads(workspace.cli("doctor", "--json", expect=1).stdout)["findings"]
    assert stale["code"] == "StaleData" and stale["about"] == "p" and "error_after is 2h" in stale["text"]
    server.wait_end(server.start("p"))
    workspace.cli("doctor", expect=0)
    workspace.write("eider.yaml", "[")
    workspace.cli("reload")
    [broken] = json.loads(workspace.cli("doctor", "--json", expect=1).stdout)["findings"]
    assert broken["code"] == "BrokenFile" and "the last good version is in force" in broken["text"]
