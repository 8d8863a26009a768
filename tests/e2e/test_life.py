"""The main job: schedules fire, runs end, commands show it."""

from eider import wait_for


def test_a_schedule_fires_on_a_standing_clock(workspace):
    workspace.pipeline("tick", """
        schedules: [{ id: s, cron: "* * * * *" }]
        steps: [{ id: go, run: [sh, -c, "echo $EIDER_SCHEDULED_FOR"] }]
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    server.advance("30s")
    [run] = server.runs("tick")
    assert run["scheduled_for"] == "2026-01-01T10:01:00Z"
    ended = server.wait_end(run["id"])
    assert ended["state"] == "succeeded"
    assert ended["attempts"][0]["exit_code"] == 0
    assert [line["text"] for line in server.log(run["id"]) if line["stream"] == "stdout"] == ["2026-01-01T10:01:00Z"]
    [occurrence] = server.occurrences("tick/s")
    assert occurrence["decision"] == "run" and occurrence["run_id"] == run["id"]


def test_steps_run_in_order_and_side_by_side(workspace):
    workspace.pipeline("dag", """
        steps:
          - { id: a, run: [sh, -c, "touch a; until test -e b; do :; done"] }
          - { id: b, run: [sh, -c, "touch b; until test -e a; do :; done"] }
          - { id: c, run: [sh, -c, "test -e a && test -e b && echo both"], needs: [a, b] }
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("dag"))
    assert run["state"] == "succeeded", run
    assert [line["text"] for line in server.log(run["id"], step="c")] == ["both"]


def test_sql_reaches_the_file_once(workspace):
    workspace.pipeline("load", """
        database: w.duckdb
        steps:
          - { id: make, sql: "CREATE TABLE IF NOT EXISTS t (run VARCHAR); INSERT INTO t VALUES (getvariable('run_id'));" }
          - { id: fail_once, run: [sh, -c, "test $EIDER_ATTEMPT = 2"], needs: [make] }
        retry: { max_attempts: 2, backoff: 10ms }
    """)
    workspace.pipeline("count", """
        database: { file: w.duckdb, mode: read }
        steps: [{ id: c, sql: "SELECT 'rows=' || count(*) AS n FROM t" }]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("load"))
    assert run["state"] == "succeeded" and run["attempt"] == 2, run
    counted = server.wait_end(server.start("count"))
    assert counted["state"] == "succeeded", counted
    assert any("rows=1" in line["text"] for line in server.log(counted["id"])), "the second attempt skipped the step"


def test_run_without_a_server(workspace):
    workspace.pipeline("once", "steps: [{ id: s, run: [echo, hello] }]\n")
    done = workspace.cli("run", "once", expect=0)
    assert "succeeded" in done.stdout + done.stderr
    [run] = workspace.json("runs", "list")["items"]
    assert run["state"] == "succeeded" and run["trigger"]["kind"] == "manual"
    assert workspace.cli("cancel", run["id"]).returncode == 3, "cancel needs a server"


def test_stop_drains(workspace):
    workspace.pipeline("work", """
        steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]
    """)
    server = workspace.serve()
    run_id = server.start("work")
    server.wait_running(run_id)
    server.post("/api/v1/stop")
    wait_for(lambda: server.get("/api/v1/status")["health"] == "draining", "it drains")
    (workspace.root / "go").touch()
    assert server.process.wait(30) == 0
    [run] = workspace.json("runs", "list")["items"]
    assert run["state"] == "succeeded"
