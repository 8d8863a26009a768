"""What steps do and how they end: programs and their children, cancel and time-outs, SQL errors, transactions, facts."""

import os
import re

import pytest

from clockwork import settle
from eider import SLOWER, group_members, process_exists, read_command, wait_for


def texts(server, run_id, stream="stdout", **query):
    return [line["text"] for line in server.log(run_id, **query) if line["stream"] == stream]


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def zombies(workspace):
    """Ended processes below the workspace's servers and workers that nobody has reaped."""
    return [child for pid in workspace.processes() for child in children(pid) if not process_exists(child)]


def number_in(path):
    return wait_for(lambda: path.exists() and path.read_text().strip() and int(path.read_text()), f"{path.name} is written")


# ---- children of steps -------------------------------------------------------------------------------------------


def test_a_child_that_outlives_its_shell_keeps_nothing_open(workspace):
    """O-14: a shell that leaves a child with its output open has ended with its own exit code; the child is given a
    moment, is then ended and reported, nobody stays unreaped, and the next slot starts."""
    workspace.pipeline("p", """
        schedules: [{ id: s, cron: "* * * * *", overlap: skip }]
        steps: [{ id: s, run: [sh, -c, "sleep 300 & echo $! > child; exit 0"] }]
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    for turn, passes in enumerate(("30s", "60s")):
        server.advance(passes)
        run = server.wait_end(server.runs("p")[turn]["id"], limit_s=10 * SLOWER)
        assert run["state"] == "succeeded" and run["attempt"] == 1, run
        assert run["attempts"][0]["exit_code"] == 0 and run["attempts"][0]["signal"] is None
        assert run["steps"][0]["left_over_processes"] == 1
        child = int((workspace.root / "child").read_text())
        assert not process_exists(child), "what is left over is ended"
        assert any("left 1 process" in text for text in texts(server, run["id"], "eider"))
        wait_for(lambda: not zombies(workspace), "every ended process is reaped", limit_s=2 * SLOWER)
    assert [row["decision"] for row in server.occurrences("p/s")] == ["run", "run"]


@pytest.mark.parametrize("code", [0, 3, 77])
def test_an_exit_code_is_never_lost(workspace, code):
    """O-14: the code is the shell's, however many children end at the same time."""
    workspace.pipeline("p", f"""
        steps: [{{ id: s, run: [sh, -c, "i=0; while [ $i -lt 30 ]; do true & i=$((i+1)); done; exit {code}"] }}]
    """)
    server = workspace.serve()
    for _ in range(5):
        run = server.wait_end(server.start("p"))
        assert run["attempts"][0]["exit_code"] == code and run["steps"][0]["exit_code"] == code
        assert run["state"] == ("failed" if code else "succeeded")


@pytest.mark.parametrize("stubborn", [False, True])
def test_cancel_ends_the_whole_family_then_frees_the_pool(workspace, stubborn):
    """O-21: every process of the step gets SIGTERM, what ignores it SIGKILL five seconds later; only when none is left
    the run is cancelled and its slot free. Everything else goes on."""
    ignore = "trap '' TERM; " if stubborn else ""
    workspace.write("eider.yaml", "workers: { max: 4 }\npools: { one: 1 }\n")
    workspace.pipeline("a", f"""
        pool: one
        steps: [{{ id: s, run: [bash, -c, "{ignore}echo $$ > leader; sleep 600 & sleep 600 & wait; wait"] }}]
    """)
    workspace.pipeline("b", """
        pool: one
        steps: [{ id: s, run: [sh, -c, "pgrep -g $(cat leader) > seen; until test -e go; do sleep 0.05; done"] }]
    """)
    workspace.pipeline("other", 'steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]\n')
    server = workspace.serve()
    other, a = server.start("other"), server.start("a")
    server.wait_running(other)
    leader = number_in(workspace.root / "leader")
    wait_for(lambda: len(group_members(leader)) == 3, "all three run")
    b = server.start("b")
    wait_for(lambda: [one["name"] for one in server.run(b)["waiting_for"]] == ["one"], "b waits for the pool")
    workspace.cli("cancel", a, expect=0)
    asked = server.run(a)
    assert asked["state"] == "cancelled" or asked["cancel_asked_at"]
    ended = server.wait_end(a)
    assert ended["state"] == "cancelled" and ended["attempts"][0]["outcome"] == "cancelled", ended
    assert group_members(leader) == []
    assert ended["attempts"][0]["signal"] == (9 if stubborn else 15), "how it ended stays as a detail"
    if stubborn:
        assert "did not end within 5s of SIGTERM: SIGKILL" in workspace.cli("logs", a, expect=0).stdout
        assert "SIGTERM and, 5 s later, SIGKILL" in workspace.cli("cancel", "--help", expect=0).stdout, "as it is"
    server.wait_running(b)
    wait_for((workspace.root / "seen").exists, "b has looked")
    assert (workspace.root / "seen").read_text() == "", "b began when nobody of a was left"
    assert server.run(other)["state"] == "running"
    (workspace.root / "go").touch()
    settle(server)
    assert server.run(other)["state"] == server.run(b)["state"] == "succeeded"


def test_a_cancelled_holder_gives_its_slot_to_the_next(workspace):
    """O-18: as soon as the holder's processes are gone the next in line starts, without any cleaning up."""
    workspace.write("eider.yaml", "workers: { max: 4 }\npools: { one: 1 }\n")
    for name in "abcd":
        workspace.pipeline(name, f"""
            pool: one
            steps: [{{ id: s, run: [sh, -c, "echo {name} >> order; until test -e go-{name}; do sleep 0.05; done"] }}]
        """)
    server = workspace.serve()
    ids = {}
    for name in "abcd":
        ids[name] = server.start(name)
    server.wait_running(ids["a"])
    [pool] = server.get("/api/v1/pools")["items"]
    assert (pool["used"], pool["waiting"], pool["holders"]) == (1, 3, [ids["a"]])
    server.post(f"/api/v1/runs/{ids['a']}/cancel")
    assert server.wait_end(ids["a"])["state"] == "cancelled"
    wait_for(lambda: server.run(ids["b"])["state"] == "running", "b takes the slot", limit_s=2 * SLOWER)
    [pool] = server.get("/api/v1/pools")["items"]
    assert (pool["used"], pool["waiting"], pool["holders"]) == (1, 2, [ids["b"]])
    # One that only waits leaves the line at once.
    assert server.post(f"/api/v1/runs/{ids['c']}/cancel")["state"] == "cancelled"
    (workspace.root / "go-b").touch()
    (workspace.root / "go-d").touch()
    settle(server)
    assert {name: server.run(ids[name])["state"] for name in "abcd"} == {
        "a": "cancelled", "b": "succeeded", "c": "cancelled", "d": "succeeded"}
    assert (workspace.root / "order").read_text().split() == ["a", "b", "d"]
    assert server.get("/api/v1/pools")["items"][0]["used"] == 0


@pytest.mark.parametrize("how", ["cancelled", "timed_out"])
def test_a_polite_end_is_no_success(workspace, how):
    """O-22: a program that answers SIGTERM with exit 0 was cancelled, or timed out, all the same: nothing after it
    runs, nothing is published, and the 0 stays as a detail."""
    workspace.pipeline("p", """
        steps:
          - id: s
            shell: true
            run: |
              trap 'exit 0' TERM
              echo early > "$EIDER_OUT_FILE"
              touch ready
              sleep 600 & wait
          - { id: next, run: [touch, next-ran], needs: [s] }
        publishes: [{ asset: out.file, path: out/file }]
        timeout: %s
    """ % ("700ms" if how == "timed_out" else "1h"))
    server = workspace.serve()
    run_id = server.start("p")
    if how == "cancelled":
        wait_for((workspace.root / "ready").exists, "it has set its trap")
        server.post(f"/api/v1/runs/{run_id}/cancel")
    run = server.wait_end(run_id)
    [attempt] = run["attempts"]
    assert attempt["outcome"] == how and run["state"] == ("cancelled" if how == "cancelled" else "failed"), run
    if (workspace.root / "ready").exists():  # a slow machine may reach the limit before the trap is set
        assert attempt["exit_code"] == 0
    assert {step["step"]: step["outcome"] for step in run["steps"]} == {"s": how, "next": "skipped"}
    assert not (workspace.root / "next-ran").exists()
    assert os.listdir(workspace.root / "out") == [], "neither the file nor a staged one"


# ---- errors of steps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program, says", [
    ("nonesuch-program", "there is no program `nonesuch-program` in the PATH"),
    ("./scripts/nonesuch", "there is no program"),
    ("./plain.txt", "chmod +x"),
    ("./scripts", "is a folder"),
    ("./lost.py", "/no/such/python"),
])
def test_a_program_that_cannot_start_is_told_in_words(workspace, program, says):
    """The message names the program and what to do; the run fails, and the server goes on."""
    workspace.write("plain.txt", "no program\n")
    workspace.write("scripts/x", "")
    workspace.write("lost.py", "#!/no/such/python\nprint(1)\n", executable=True)
    workspace.pipeline("p", f"steps: [{{ id: s, run: [{program}] }}]\n")
    workspace.pipeline("good", 'steps: [{ id: s, run: ["true"] }]\n')
    done = workspace.cli("run", "p", expect=1)
    assert says in done.stderr, done.stderr
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and says in run["error"] and run["attempts"][0]["outcome"] == "failed"
    assert server.wait_end(server.start("good"))["state"] == "succeeded"


def test_an_sql_error_shows_file_line_and_caret(workspace):
    """Inline SQL is counted in the pipeline file, a script in its own file; both show the line with a caret below."""
    workspace.pipeline("inline", """
        steps:
          - id: broken
            sql: |
              SELECT 1;

              SELECT nope
              FROM range(3);
    """)
    workspace.write("sql/x.sql", "-- a comment\nSELECT 1;\nSELEKT 2;\n")
    workspace.pipeline("script", "steps: [{ id: broken, sql: sql/x.sql }]\n")
    server = workspace.serve()
    for name, place, line in [("inline", "pipelines/inline.yaml:8", "SELECT nope"), ("script", "sql/x.sql:3:1", "SELEKT 2;")]:
        run = server.wait_end(server.start(name))
        assert run["state"] == "failed"
        error = run["error"]
        assert place in error and f"pipelines/{name}.yaml" in error, error
        assert error.startswith("step broken: ") and error.count("broken") == 1, error
        shown = error.splitlines()
        at = next(i for i, text in enumerate(shown) if text.strip() == line)
        caret = shown[at + 1]
        assert caret.strip() == "^" and caret.index("^") - shown[at].index(line) == line.index("nope" if name == "inline" else "SELEKT")
        done = workspace.cli("runs", "show", run["id"], expect=0).stdout
        assert place in done and "^" in done


@pytest.mark.parametrize("written, place", [
    ("sql: 'SELECT nope FROM range(3)'", "pipelines/p.yaml:{line}:8: "),
    ("sql: >\n      SELECT 1;\n\n      SELECT nope\n      FROM range(3)\n", "pipelines/p.yaml: line 2 of the step's SQL, column 8: "),
    ('sql: "SELECT 1;\\nSELECT 2;\\nSELECT nope FROM range(3)"', "pipelines/p.yaml: line 3 of the step's SQL, column 8: "),
    ("sql: SELECT 1;\n      SELECT nope\n      FROM range(3)\n", "pipelines/p.yaml: line 1 of the step's SQL, column 18: "),
], ids=["one line", "folded", "escaped", "plain"])
def test_an_sql_error_names_a_line_of_the_file_only_where_it_is_one(workspace, written, place):
    """YAML folds lines and resolves escapes: there the error counts in the SQL, and says so."""
    workspace.pipeline("p", f"steps:\n  - id: broken\n    {written}\n")
    line = next(i for i, text in enumerate((workspace.root / "pipelines/p.yaml").read_text().splitlines(), 1) if "sql:" in text)
    server = workspace.serve()
    error = server.wait_end(server.start("p"))["error"]
    assert error.startswith("step broken: " + place.format(line=line)), error
    shown, caret = error.splitlines()[-2:]
    assert shown[caret.index("^"):].startswith("nope"), error


SQL_ENDS = {
    "begin": ("BEGIN; CREATE TABLE t (i INTEGER); COMMIT;", "transaction: none"),
    "commit": ("CREATE TABLE t (i INTEGER); COMMIT;", "transaction: none"),
    "rollback": ("CREATE TABLE t (i INTEGER);\n/* x */ rollback;", "transaction: none"),
}


@pytest.mark.parametrize("name", SQL_ENDS)
def test_a_script_does_not_end_its_own_transaction(workspace, name):
    """BEGIN and COMMIT are refused with the way out, and nothing of the script stays."""
    script, says = SQL_ENDS[name]
    workspace.write("sql/x.sql", script)
    workspace.pipeline("p", "database: w.duckdb\nsteps: [{ id: s, sql: sql/x.sql }]\n")
    workspace.pipeline("look", """
        database: { file: w.duckdb, mode: read }
        steps: [{ id: s, sql: "SELECT 'tables=' || count(*) AS n FROM duckdb_tables() WHERE table_name = 't'" }]
    """)
    workspace.pipeline("make", 'database: w.duckdb\nsteps: [{ id: s, sql: "CREATE TABLE other (i INTEGER)" }]\n')
    server = workspace.serve()
    assert server.wait_end(server.start("make"))["state"] == "succeeded"
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and says in run["error"], run["error"]
    assert "sql/x.sql" in run["error"]
    looked = server.wait_end(server.start("look"))
    assert any("tables=0" in text for text in texts(server, looked["id"])), texts(server, looked["id"])


def test_a_script_without_a_transaction_of_ours_commits_itself(workspace):
    """With `transaction: none` each statement stands alone: what was committed before an error stays."""
    workspace.pipeline("p", """
        database: w.duckdb
        steps:
          - id: s
            transaction: none
            sql: |
              CREATE TABLE t (i INTEGER);
              BEGIN;
              INSERT INTO t VALUES (1);
              COMMIT;
              CHECKPOINT;
              INSERT INTO t VALUES (2);
              SELECT error('stop here');
    """)
    workspace.pipeline("look", """
        database: { file: w.duckdb, mode: read }
        steps: [{ id: s, sql: "SELECT 'rows=' || count(*) AS n FROM t" }]
    """)
    workspace.pipeline("open", """
        database: w.duckdb
        steps: [{ id: s, transaction: none, sql: "BEGIN; INSERT INTO t VALUES (9);" }]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and "stop here" in run["error"] and "pipelines/p.yaml:14" in run["error"], run["error"]
    left_open = server.wait_end(server.start("open"))
    assert left_open["state"] == "failed" and "COMMIT" in left_open["error"]
    looked = server.wait_end(server.start("look"))
    assert any("rows=2" in text for text in texts(server, looked["id"])), texts(server, looked["id"])


def test_a_failed_script_leaves_nothing(workspace):
    """A step is one transaction: an error in its last statement takes back the first one, and a retry does it once."""
    workspace.pipeline("p", """
        database: w.duckdb
        retry: { max_attempts: 2, backoff: 10ms }
        steps:
          - id: s
            sql: |
              CREATE TABLE t AS SELECT getvariable('attempt') AS attempt;
              SELECT CASE WHEN getvariable('attempt') = '1' THEN error('first') END;
    """)
    workspace.pipeline("look", """
        database: { file: w.duckdb, mode: read }
        steps: [{ id: s, sql: "SELECT 'made by ' || string_agg(attempt, ',') AS n FROM t" }]
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "succeeded" and [one["outcome"] for one in run["attempts"]] == ["failed", "succeeded"], run
    looked = server.wait_end(server.start("look"))
    assert any("made by 2" in text for text in texts(server, looked["id"]))


# ---- facts -------------------------------------------------------------------------------------------------------


def test_run_facts_reach_programs_and_sql(workspace):
    """What section 9 promises a step: the same facts as EIDER_* and as DuckDB variables."""
    workspace.pipeline("p", """
        schedules: [{ id: s, cron: "* * * * *" }]
        steps:
          - { id: program, run: [sh, -c, "env | grep ^EIDER_ | sort; pwd"] }
          - id: query
            sql: |
              SELECT unnest(['run ' || getvariable('run_id'), 'step ' || getvariable('step'), 'attempt ' || getvariable('attempt'),
                'pipeline ' || getvariable('pipeline'), 'day ' || getvariable('scheduled_for')::DATE,
                'due ' || (getvariable('scheduled_for') = TIMESTAMPTZ '2026-01-01 10:01:00+00')]) AS fact;
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    server.advance("30s")
    [run] = server.runs("p")
    run = server.wait_end(run["id"])
    lines = texts(server, run["id"], step="program")
    facts = dict(line.split("=", 1) for line in lines if line.startswith("EIDER_"))
    assert facts["EIDER_RUN_ID"] == run["id"] and facts["EIDER_ATTEMPT"] == "1"
    assert facts["EIDER_PIPELINE"] == "p" and facts["EIDER_STEP"] == "program"
    assert facts["EIDER_WORKSPACE"] == str(workspace.root) == lines[-1]
    assert facts["EIDER_SCHEDULED_FOR"] == "2026-01-01T10:01:00Z" and facts["EIDER_PARTITION"] == ""
    assert facts["EIDER_TRIGGER"] and os.path.isabs(facts["EIDER_OUTPUT"])
    shown = texts(server, run["id"], step="query")
    for fact in (f"run {run['id']}", "step query", "attempt 1", "pipeline p", "day 2026-01-01", "due true"):
        assert fact in shown, shown


def test_a_step_tells_facts(workspace):
    """JSON lines in $EIDER_OUTPUT are shown with the step and given to later ones, to programs and to SQL."""
    workspace.pipeline("p", """
        steps:
          - id: count
            shell: true
            run: |
              echo '{"rows": 41}' >> "$EIDER_OUTPUT"
              echo '{"rows": 42, "source": "näive \\"x\\""}' >> "$EIDER_OUTPUT"
          - { id: use, run: [sh, -c, 'cat "$EIDER_FACTS"'], needs: [count] }
          - { id: query, sql: "SELECT 'got ' || (getvariable('facts')::JSON ->> '$.count.rows') AS n", needs: [count] }
    """)
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "succeeded", run
    step = next(one for one in run["steps"] if one["step"] == "count")
    assert step["rows"] == 42 and step["facts"] == {"rows": 42, "source": 'näive "x"'}
    assert '"rows":42' in "".join(texts(server, run["id"], step="use")).replace(" ", "")
    assert any("got 42" in text for text in texts(server, run["id"], step="query"))


@pytest.mark.parametrize("written, says", [("rows=42", "line 1"), ('{"a": 1}\n[1]', "line 2"), ('{"a": ', "line 1")])
def test_facts_that_are_no_json_fail_the_step(workspace, written, says):
    """A wrong line is named; facts that cannot be read are not dropped in silence."""
    workspace.write("facts", written)
    workspace.pipeline("p", "steps: [{ id: s, run: [sh, -c, 'cat facts > \"$EIDER_OUTPUT\"'] }]\n")
    server = workspace.serve()
    run = server.wait_end(server.start("p"))
    assert run["state"] == "failed" and says in run["error"] and "EIDER_OUTPUT" in run["error"], run


# ---- progress ----------------------------------------------------------------------------------------------------


def test_a_long_query_shows_its_progress(workspace):
    """`runs show` tells how far a SQL step is while it runs, in JSON and in words."""
    hashed = "sha256(" * 30 + "i::VARCHAR" + ")" * 30
    workspace.pipeline("p", f"""
        database: w.duckdb
        resources: {{ threads: 1 }}
        steps:
          - {{ id: make, sql: "CREATE TABLE t AS SELECT range AS i FROM range(4000000)" }}
          - id: scan
            needs: [make]
            sql: SELECT count(*) FILTER ({hashed} LIKE '00%') FROM t;
    """)
    server = workspace.serve()
    run_id = server.start("p")

    def on_the_way():
        run = server.run(run_id)
        assert run["state"] in ("queued", "running"), "the query is too short for this machine"
        return [step for step in run["steps"] if step["step"] == "scan" and 0 < (step["progress"] or 0) < 1]

    def in_words():
        return re.search(r"scan +running \d+ %", workspace.cli("runs", "show", run_id, expect=0).stdout)

    [step] = wait_for(on_the_way, "a part of the query is done")
    assert step["outcome"] is None
    wait_for(in_words, "the command shows it")
    shown = server.run(run_id)
    assert 0 < shown["progress"] < 1
    server.post(f"/api/v1/runs/{run_id}/cancel")
    run = server.wait_end(run_id)
    assert run["state"] == "cancelled" and run["progress"] is None


def test_step_pids_are_shown_while_they_live(workspace):
    """A person finds the process of a step, and the worker's, in the run."""
    workspace.pipeline("p", 'steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]\n')
    server = workspace.serve()
    run_id = server.start("p")
    run = server.wait_running(run_id)
    [step] = run["steps"]
    assert b"until test -e go" in read_command(step["pid"])
    assert run["attempts"][0]["worker_pid"] in workspace.workers()
    (workspace.root / "go").touch()
    assert server.wait_end(run_id)["state"] == "succeeded"
