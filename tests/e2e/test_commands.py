"""The commands as scripts and people meet them: JSON with fixed names, exit codes, tables, colour, completion."""

import json
import os
import pty
import re
import subprocess

import pytest

from clockwork import settle, tick
from eider import PROGRAM, wait_for

# Section 9 of the design: these names are fixed; more may be there.
OCCURRENCE = set("id schedule pipeline scheduled_for scheduled_until count timezone local offset shifted decided_at decision "
                 "reason run_id".split())
RUN = set("id pipeline trigger parent state attempt scheduled_for partition params priority created_at started_at finished_at "
          "definition waiting_for reason error attempts".split())
WAITING = {"kind", "name", "since"}
ATTEMPT = set("number outcome started_at finished_at worker_pid exit_code signal peak_memory_bytes".split())
SCHEDULE = set("key pipeline id rule description timezone overlap misfire grace paused note next last".split())
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

EVERY_MINUTE = """
    description: Says hello
    schedules: [{ id: s, cron: "* * * * *", timezone: Europe/Brussels }]
    steps: [{ id: one, run: [echo, hello] }]
"""


@pytest.fixture
def small(workspace):
    """A server at 10:00:30 with a pipeline that fires each minute, one that fails, and one that waits for a pool."""
    workspace.write("eider.yaml", "workers: { max: 4 }\npools: { one: 1 }\n")
    workspace.pipeline("tick", EVERY_MINUTE)
    workspace.pipeline("fails", "steps: [{ id: s, run: [sh, -c, 'echo no >&2; exit 3'] }]\n")
    for name in ("holds", "waits"):
        workspace.pipeline(name, 'pool: one\nsteps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]\n')
    workspace.server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    return workspace


def items(workspace, *arguments):
    page = workspace.json(*arguments)
    assert set(page) >= {"items", "next"}
    return page["items"]


def test_occurrences_in_json(small):
    """The names of an occurrence, with the local time and its offset."""
    tick(small.server, "60s", 2)
    found = items(small, "occurrences", "tick/s")
    assert [one["scheduled_for"] for one in found] == ["2026-01-01T10:02:00Z", "2026-01-01T10:01:00Z"], "newest first"
    one = found[0]
    assert OCCURRENCE <= set(one)
    assert one["schedule"] == "tick/s" and one["pipeline"] == "tick" and one["scheduled_until"] == one["scheduled_for"]
    assert (one["count"], one["timezone"], one["offset"], one["shifted"]) == (1, "Europe/Brussels", "+01:00", False)
    assert one["local"] == "2026-01-01T11:02:00+01:00" and one["decision"] == "run"
    assert TIME.fullmatch(one["decided_at"]) and UUID.fullmatch(one["run_id"]) and UUID.fullmatch(one["id"])


def test_runs_in_json(small):
    """The names of a run, of its attempts and of what it waits for, in a list and alone."""
    server = small.server
    tick(server, "60s")
    failed = server.wait_end(server.start("fails", params={"year": 2026}))["id"]
    holder, waiter = server.start("holds"), server.start("waits")
    server.wait_running(holder)
    found = {one["pipeline"]: one for one in items(small, "runs", "list")}
    assert set(found) == {"tick", "fails", "holds", "waits"}
    for one in found.values():
        assert RUN <= set(one) and set(one["trigger"]) >= {"kind", "id"}
        assert all(ATTEMPT <= set(attempt) for attempt in one["attempts"])
        assert UUID.fullmatch(one["id"]) and TIME.fullmatch(one["created_at"])
    assert found["tick"]["trigger"] == {"kind": "schedule", "id": "tick/s"} or found["tick"]["trigger"]["kind"] == "schedule"
    assert found["fails"]["trigger"]["kind"] == "manual" and found["fails"]["params"] == {"year": 2026}
    assert [set(one) >= WAITING and (one["kind"], one["name"]) for one in found["waits"]["waiting_for"]] == [("pool", "one")]
    assert found["waits"]["attempts"] == [] and found["waits"]["started_at"] is None
    shown = small.json("runs", "show", failed)
    [attempt] = shown["attempts"]
    assert (attempt["number"], attempt["outcome"], attempt["exit_code"], attempt["signal"]) == (1, "failed", 3, None)
    assert attempt["worker_pid"] > 0 and attempt["peak_memory_bytes"] > 0
    assert shown["state"] == "failed" and "no" in shown["error"] and shown["definition"]
    assert small.json("runs", "show", failed[:-4])["id"] == failed, "the beginning of an id is enough"
    [line] = [json.loads(text) for text in small.cli("logs", failed, "--json", expect=0).stdout.splitlines()
              if json.loads(text)["stream"] == "stderr"]
    assert set(line) == {"at", "step", "stream", "text"} and TIME.fullmatch(line["at"]) and line["step"] == "s"
    assert [one["id"] for one in items(small, "runs", "list", "--state", "failed")] == [failed]
    assert [one["id"] for one in items(small, "runs", "list", "--pipeline", "waits")] == [waiter]
    (small.root / "go").touch()
    settle(server)


def test_lists_have_pages(small):
    """--limit and --cursor walk a list without a gap or a repetition."""
    tick(small.server, "60s", 7)
    seen, cursor = [], []
    while True:
        page = small.json("runs", "list", "--limit", "3", *cursor)
        assert 1 <= len(page["items"]) <= 3
        seen += [one["scheduled_for"] for one in page["items"]]
        if page["next"] is None:
            break
        cursor = ["--cursor", page["next"]]
    assert seen == [f"2026-01-01T10:0{minute}:00Z" for minute in range(7, 0, -1)]


def test_the_other_verbs_in_json(small):
    """Schedules, pools, status, validation: lists are {items, next}, and pausing is seen."""
    [one] = items(small, "schedule", "list")
    assert SCHEDULE <= set(one) and one["key"] == "tick/s" and one["next"] == "2026-01-01T10:01:00Z" and one["paused"] is False
    small.cli("schedule", "pause", "tick/s", "--note", "holidays", expect=0)
    described = small.json("schedule", "describe", "tick/s")
    assert described["paused"] is True and described["note"] == "holidays"
    small.cli("schedule", "resume", "tick/s", expect=0)
    assert [one["scheduled_for"] for one in small.json("schedule", "describe", "tick/s")["upcoming"]][:2] == [
        "2026-01-01T10:01:00Z", "2026-01-01T10:02:00Z"]
    [pool] = items(small, "pools")
    assert pool == {"name": "one", "slots": 1, "used": 0, "waiting": 0, "rate": None, "holders": [], "held_by": []}
    status = small.json("status")
    assert status["health"] == "ok" and status["pipelines"] == 4 and status["schedules"] == 1
    assert status["pid"] == small.server.process.pid
    assert small.json("validate") == {"ok": True, "pipelines": 4, "schedules": 1, "broken_files": 0, "diagnostics": []}
    run = small.json("run", "tick")
    assert RUN <= set(run) and run["state"] == "succeeded"
    assert json.loads(small.cli("schema", expect=0).stdout)["$schema"]


def test_pipelines_are_listed_with_and_without_a_server(small):
    """Description, what comes next and open runs; the same from the files when no server is there."""
    holder = small.server.start("holds")
    small.server.wait_running(holder)
    for running in (1, 0):
        found = {one["name"]: one for one in items(small, "pipelines", "list")}
        assert set(found) == {"tick", "fails", "holds", "waits"}
        assert found["tick"]["description"] == "Says hello" and found["fails"]["next"] is None
        assert (found["tick"]["active_schedules"], found["tick"]["paused_schedules"]) == (1, 0)
        assert TIME.fullmatch(found["tick"]["next"])
        assert found["holds"]["running"] == running
        table = small.cli("pipelines", "list", expect=0).stdout
        assert re.search(r"^tick +active +\S.* Says hello$", table, re.M) and re.search(r"^fails +by hand$", table, re.M), table
        if running:
            assert re.search(r"^holds +by hand +1 running$", table, re.M), table
            (small.root / "go").touch()
            small.server.wait_end(holder)
            small.server.stop()
    missing = small.cli("schedule", "list", "--pipeline", "tik", expect=2).stderr
    assert missing == "eider: --pipeline: there is no pipeline `tik` in this workspace; did you mean `tick`?\n"


def test_a_waiting_run_says_who_holds_what_it_wants(small):
    """In JSON and in words; what is shown of an id can be typed in."""
    holder, waiter = small.server.start("holds"), small.server.start("waits")
    small.server.wait_running(holder)
    small.server.advance("12s")
    [waiting] = wait_for(lambda: small.json("runs", "show", waiter)["waiting_for"], "it waits")
    assert waiting["held_by"] == [{"run_id": holder, "pipeline": "holds"}]
    [pool] = items(small, "pools")
    assert pool["held_by"] == waiting["held_by"]
    shown = small.cli("runs", "show", waiter, expect=0).stdout
    found = re.search(r"^waits for +pool one: 1 of 1 slots in use, 1 wanted \(for .*; held by holds (\S+)\)$", shown, re.M)
    assert found, shown
    assert small.json("runs", "show", found[1])["id"] == holder
    small.cli("cancel", waiter, expect=0)
    assert small.cli("cancel", waiter, expect=2).stderr == f"eider: the run {waiter} is cancelled already\n"
    (small.root / "go").touch()
    settle(small.server)


def test_short_ids_of_one_instant_are_told_apart(workspace):
    """Many schedules that are due at one instant: each id that a terminal shows names one run."""
    for number in range(12):
        workspace.pipeline(f"p{number}", 'schedules: [{ id: s, cron: "* * * * *" }]\nsteps: [{ id: one, run: ["true"] }]\n')
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    server.advance("30s")
    settle(server)
    for words in (["occurrences"], ["runs", "list"]):
        _, text = on_terminal(workspace, *words, env={"NO_COLOR": "1"})
        short = re.findall(r"(?<=\s)([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3})(?=\s)", text)
        assert len(set(short)) == 12, text
        for each in short:
            assert workspace.json("runs", "show", each)["id"].startswith(each)


def test_facts_of_steps_are_shown(workspace):
    """What a program writes to $EIDER_OUTPUT, as a person reads it."""
    workspace.pipeline("told", """
        steps: [{ id: summary, run: [sh, -c, 'echo "{\\"rows\\": 1000, \\"note\\": \\"ok\\"}" > "$EIDER_OUTPUT"'] }]
    """)
    run = workspace.json("run", "told")
    shown = workspace.cli("runs", "show", run["id"], expect=0).stdout
    assert re.search(r"^STEP +FACTS\nsummary +rows=1000 note=ok$", shown, re.M), shown
    assert re.search(r"^cause +by hand$", shown, re.M) and "definition" not in shown


def test_a_fixed_delay_shows_no_grid(workspace):
    """`from: completion`: the next instant, then in words; none while its own run goes on."""
    workspace.pipeline("loop", """
        schedules: [{ id: again, every: 3s, from: completion }]
        steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:00Z")
    for verb, name in (("describe", "upcoming"), ("preview", "items")):
        shown = workspace.json("schedule", verb, "loop/again")
        assert [one["scheduled_for"] for one in shown[name]] == ["2026-01-01T10:00:03Z"]
        assert shown["then"] == "3 seconds after each run ends"
        assert workspace.cli("schedule", verb, "loop/again").stdout.endswith("\nthen 3 seconds after each run ends\n")
    server.advance("3s")
    assert workspace.json("schedule", "preview", "loop/again")["items"] == []
    (workspace.root / "go").touch()
    settle(server)
    assert len(workspace.json("schedule", "preview", "loop/again")["items"]) == 1


def test_exit_codes(workspace, tmp_path):
    """0 done, 1 the run failed, 2 the request or a file is wrong, 3 no server."""
    workspace.pipeline("good", 'steps: [{ id: s, run: ["true"] }]\n')
    workspace.pipeline("bad", 'steps: [{ id: s, run: ["false"] }]\n')
    for server in (None, workspace.serve):
        if server:
            server()
        workspace.cli("run", "good", expect=0)
        workspace.cli("run", "bad", expect=1)
        refused = workspace.cli("run", "goood", expect=2)
        assert "did you mean `good`?" in refused.stderr and refused.stdout == ""
        workspace.cli("runs", "list", expect=0)
        workspace.cli("runs", "show", "01234567", expect=2)
        workspace.cli("logs", "01234567", expect=2)
        workspace.cli("runs", "list", "--state", "lost", expect=2)
        workspace.cli("runs", "list", "--limit", "0", expect=2)
        workspace.cli("nonsense", expect=2)
        workspace.cli("runs", "lits", expect=2)
        workspace.cli("run", "good", "--nonsense", expect=2)
        workspace.cli("run", "good", "--params", "{", expect=2)
        workspace.cli(expect=2)
        workspace.cli("--help", expect=0)
        workspace.cli("run", "--help", expect=0)
        workspace.cli("validate", expect=0)
        health = workspace.json("status")["health"]
        assert health == ("ok" if server else "stopped")
        workspace.cli("stop" if not server else "pools", expect=0 if server else 3)
        workspace.cli("cancel", "01234567", expect=2 if server else 3)
        workspace.cli("schedule", "pause", "good/x", expect=2 if server else 3)
    nowhere = subprocess.run([str(PROGRAM), "-w", str(tmp_path), "runs", "list"], capture_output=True, text=True, check=False)
    assert nowhere.returncode == 2 and "eider.yaml" in nowhere.stderr


def anywhere(tmp_path, *arguments, **more):
    """A command outside of any workspace."""
    environment = {name: value for name, value in os.environ.items() if name != "EIDER_WORKSPACE"}
    return subprocess.run([str(PROGRAM), *arguments], cwd=tmp_path, capture_output=True, text=True, env=environment,
                          stdin=subprocess.DEVNULL, timeout=60, check=False, **more)


def test_a_rule_is_previewed_without_a_workspace(tmp_path):
    """`schedule preview --cron` needs no workspace, shows the offset and what the clock change moved."""
    done = anywhere(tmp_path, "schedule", "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Brussels",
                    "--from", "2026-03-28T00:00:00Z", "--count", "3", "--json")
    assert done.returncode == 0, done.stderr
    page = json.loads(done.stdout)
    assert page["next"] is None
    assert [(one["scheduled_for"], one["local"], one["offset"], one["shifted"]) for one in page["items"]] == [
        ("2026-03-28T01:30:00Z", "2026-03-28T02:30:00+01:00", "+01:00", False),
        ("2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00", "+02:00", True),
        ("2026-03-30T00:30:00Z", "2026-03-30T02:30:00+02:00", "+02:00", False)]
    people = anywhere(tmp_path, "schedule", "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Brussels",
                      "--from", "2026-03-28T00:00:00Z", "--count", "3")
    assert people.returncode == 0 and "2026-03-29" in people.stdout and "+02:00" in people.stdout
    bounded = anywhere(tmp_path, "schedule", "preview", "--cron", "*/30 * * * *", "--timezone", "Australia/Melbourne",
                       "--from", "2024-04-06T12:59:00Z", "--to", "2024-04-07T13:59:00Z", "--json")
    assert len(json.loads(bounded.stdout)["items"]) == 50
    for wrong, says in [(["--cron", "61 * * * *"], "0-59"), (["--cron", "0 0 30 2 *"], "never"),
                        (["--cron", "* * * * *", "--timezone", "Europe/Brusels"], "Europe/Brussels"),
                        (["--cron", "* * * * *", "--from", "yesterday"], "RFC 3339"), ([], "workspace")]:
        refused = anywhere(tmp_path, "schedule", "preview", *wrong)
        assert refused.returncode == 2 and says in refused.stderr, (wrong, refused.stderr)


@pytest.mark.parametrize("shell, check", [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "-n"])])
def test_completion_scripts_are_valid(tmp_path, shell, check):
    """Each script is accepted by its shell, where that shell is installed."""
    done = anywhere(tmp_path, "completion", shell)
    assert done.returncode == 0 and "eider" in done.stdout and done.stderr == ""
    script = tmp_path / "script"
    script.write_text(done.stdout)
    try:
        checked = subprocess.run([*check, str(script)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        assert shell != "bash", "bash is there"
        return
    assert checked.returncode == 0 and checked.stderr == "", checked.stderr


def test_bash_completes_verbs_and_names(workspace):
    """What the script offers in a real bash: verbs, and names of this workspace."""
    workspace.pipeline("flights_daily", 'steps: [{ id: s, run: ["true"] }]\n')
    script = f"""
        PATH={PROGRAM.parent}:$PATH
        source <(eider completion bash)
        complete_words() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _eider; printf '%s\\n' "${{COMPREPLY[@]}}"; }}
        complete_words eider ru; echo --; complete_words eider run fli; echo --; complete_words eider schedule pre
    """
    done = subprocess.run(["bash", "-c", script], cwd=workspace.root, capture_output=True, text=True, check=True)
    verbs, names, inner = [part.split() for part in done.stdout.split("--\n")]
    assert {"run", "runs"} <= set(verbs) and names == ["flights_daily"] and inner == ["preview"]


def on_terminal(workspace, *arguments, env=None):
    """The output of a command whose standard output and error are a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([str(PROGRAM), "-w", str(workspace.root), *arguments], stdin=follower, stdout=follower,
                               stderr=follower, env={**os.environ, "TERM": "xterm", **(env or {})}, start_new_session=True)
    os.close(follower)
    output = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        output += part
    os.close(leader)
    return process.wait(60), output.decode()


def test_colour_is_for_terminals_only(workspace):
    """A terminal gets colour and a progress line, a pipe neither; NO_COLOR and --color are obeyed; JSON is never painted."""
    workspace.pipeline("bad", "steps: [{ id: s, run: [sh, -c, 'echo oops >&2; exit 1'] }]\n")
    piped = workspace.cli("run", "bad", expect=1)
    assert "\x1b" not in piped.stdout + piped.stderr and "\r" not in piped.stdout + piped.stderr
    code, shown = on_terminal(workspace, "run", "bad")
    assert code == 1 and "\x1b[" in shown and "oops" in shown
    assert "\x1b[3" in on_terminal(workspace, "runs", "list")[1]
    for off in ({"env": {"NO_COLOR": "1"}}, {"env": {"TERM": "dumb"}}):
        assert "\x1b[3" not in on_terminal(workspace, "runs", "list", **off)[1]
    assert "\x1b" not in on_terminal(workspace, "runs", "list", "--color", "never")[1]
    assert "\x1b[3" in workspace.cli("runs", "list", "--color", "always", expect=0).stdout
    assert "\x1b" not in on_terminal(workspace, "runs", "list", "--json")[1]


def test_a_reader_that_goes_away_is_no_error(workspace):
    """`eider runs list | head -1`: quiet, whether the pipe closes early or is closed already."""
    workspace.pipeline("p", 'steps: [{ id: s, run: ["true"] }]\n')
    server = workspace.serve()
    for _ in range(3):
        server.wait_end(server.start("p"))
    done = subprocess.run(["bash", "-c", '"$0" -w "$1" runs list | head -n 1', str(PROGRAM), str(workspace.root)],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("RUN") and done.stderr == ""
    for arguments in (["runs", "list"], ["runs", "list", "--json"], ["occurrences"], ["--help"], ["schema"]):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.Popen([str(PROGRAM), "-w", str(workspace.root), *arguments], stdout=write,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        os.close(write)
        assert process.communicate(timeout=60)[1] == b"", arguments


def test_an_output_that_cannot_be_written_is_an_error(workspace):
    """Standard output on a full disk: whoever reads the file later must not take what is there for all."""
    workspace.pipeline("p", 'steps: [{ id: s, run: ["true"] }]\n')
    for arguments in (["validate"], ["validate", "--json"], ["schema"], ["completion", "bash"], ["--help"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([str(PROGRAM), "-w", str(workspace.root), *arguments], stdout=full,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "No space left on device" in done.stderr, (arguments, done)


def test_serve_tells_what_it_does(workspace):
    """One line an event, for the person who started it."""
    workspace.pipeline("tick", EVERY_MINUTE)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    tick(server, "30s")
    [run] = server.runs("tick")
    told = wait_for(lambda: (lambda text: text if "succeeded" in text else None)(server.output()), "the end is told")
    lines = told.splitlines()
    assert all("\x1b" not in line for line in lines)
    for word in ("queued", "started", "ended"):
        assert any(word in line and run["id"] in line and "tick" in line for line in lines), lines


def test_init_makes_a_workspace_that_works(tmp_path):
    """`eider init`, then `eider run` of what it made; a second init overwrites nothing."""
    made = anywhere(tmp_path, "init", "mine")
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "mine"
    assert anywhere(folder, "validate").returncode == 0
    done = anywhere(folder, "run", "hello")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "eider.yaml").write_text("workers: { max: 1 }\n")
    assert ".eider" not in made.stdout, "the made .gitignore says it"
    (tmp_path / "two words").mkdir()
    (tmp_path / "two words/.gitignore").write_text("*.csv\n")
    beside = anywhere(tmp_path, "init", "two words").stdout
    assert "add `.eider/` to .gitignore" in beside and "`cd 'two words' && eider run hello`" in beside
    again = anywhere(tmp_path, "init", "mine")
    assert again.returncode == 2 and (folder / "eider.yaml").read_text() == "workers: { max: 1 }\n"
