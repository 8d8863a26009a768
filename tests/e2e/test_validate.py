"""Files that are wrong: `eider validate` names the exact place and how to mend it, exits with 2, and loses nothing."""

import json
import os

import pytest

from eider import ApiError

GOOD = 'steps: [{ id: s, run: ["true"] }]\n'
TWO_STEPS = "steps:\n  - { id: build, run: [sh] }\n"

# name: (text after `pipeline: p`, line, column, key, what the message must hold)
WRONG = {
    "yaml": ("steps:\n  - { id: s, run: [sh }\n", 3, 23, "", ['"]"', "begins on line 3"]),
    "tab": ("steps:\n\t- id: s\n", 3, 1, "", ["tab", "spaces"]),
    "cut in the middle": ('steps:\n  - id: s\n    run: ["tr', None, None, "", []),
    "unknown key": ("scheduels: []\n" + GOOD, 2, 1, "scheduels", ["unknown key", 'did you mean "schedules"?']),
    "unknown key of a step": ("steps:\n  - id: s\n    run: [sh]\n    neds: [x]\n", 5, 5, "steps[0].neds", ['"needs"']),
    "a key twice": ("timeout: 1h\ntimeout: 2h\n" + GOOD, 3, 1, "timeout", ["twice", "line 2"]),
    "a kind of value": ("timeout: soon\n" + GOOD, 2, 10, "timeout", ["soon", "1h30m"]),
    "cron without a day": (f'schedules:\n  - id: x\n    cron: "0 0 30 2 *"\n{GOOD}', 4, 11, "schedules[0].cron",
                           ["can never fire", '"day of month"', '"month"']),
    "cron out of range": (f'schedules:\n  - id: x\n    cron: "61 * * * *"\n{GOOD}', 4, 11, "schedules[0].cron",
                          ['"minute"', "61", "0-59"]),
    "empty cron": (f'schedules:\n  - id: x\n    cron: ""\n{GOOD}', 4, 11, "schedules[0].cron", ["0 fields", "expected 5"]),
    "zone": (f'schedules:\n  - id: x\n    cron: "0 9 * * *"\n    timezone: Europe/Brusels\n{GOOD}', 5, 15,
             "schedules[0].timezone", ["Europe/Brusels", "did you mean Europe/Brussels?"]),
    "cycle": ("steps:\n  - { id: a, run: [sh], needs: [c] }\n  - { id: b, run: [sh], needs: [a] }\n"
              "  - { id: c, run: [sh], needs: [b] }\n", 3, 32, "steps[0].needs", ["a needs c needs b needs a"]),
    "cycle of one": ("steps:\n  - { id: a, run: [sh], needs: [a] }\n", 3, None, "steps[0].needs", []),
    "step that is not there": (TWO_STEPS + "  - { id: b, run: [sh], needs: [biuld] }\n", 4, 33, "steps[1].needs[0]",
                               ['"biuld"', 'did you mean "build"?']),
    "step twice": (TWO_STEPS + "  - { id: build, run: [sh] }\n", 4, 11, "steps[1].id", ["line 3"]),
    "missing SQL file": ("steps:\n  - id: a\n    sql: sql/dayly.sql\n", 4, 10, "steps[0].sql", ["sql/dayly.sql", "no such file"]),
    "SQL file outside": ("steps: [{ id: a, sql: ../../etc/x.sql }]\n", 2, 23, "steps[0].sql", ["leaves the workspace"]),
    "output outside": ("publishes: [{ asset: a.b, path: ../out.csv }]\n" + GOOD, 2, 33, "publishes[0].path",
                       ["leaves the workspace"]),
    "pool": ("pool: heavvy\n" + GOOD, 2, 7, "pool", ["not declared", 'did you mean "heavy"?']),
    "no steps": ("description: x\n", 1, 1, "steps", ["required"]),
    "policies that contradict": (f'schedules:\n  - {{ id: x, cron: "* * * * *", misfire: all }}\n{GOOD}', 3, 42,
                                 "schedules[0].misfire", ["overlap: queue"]),
    "an asset that nothing makes": (f"triggers:\n  - {{ id: t, assets: [raw.fligths] }}\n{GOOD}", 3, 23,
                                    "triggers[0].assets[0]", ["raw.fligths", 'did you mean "raw.flights"?']),
    "all over nothing": (f'triggers:\n  - {{ id: t, match: all, assets: ["none.*"] }}\n{GOOD}', 3, 35,
                         "triggers[0].assets[0]", ["none.*", "matches no asset"]),
    "pattern": (f'triggers:\n  - {{ id: t, assets: ["raw.[ab"] }}\n{GOOD}', 3, 23, "triggers[0].assets[0]",
                ["not closed", "raw.*"]),
    "from nobody": (f"triggers:\n  - {{ id: t, assets: raw.flights, from: godo }}\n{GOOD}", 3, 41, "triggers[0].from",
                    ['did you mean "good"?']),
    "debounce without an end": (f"triggers:\n  - {{ id: t, assets: raw.flights, max_wait: 5s }}\n{GOOD}", 3, 45,
                                "triggers[0].max_wait", ["debounce"]),
    "starts itself": (f"triggers:\n  - {{ id: t, assets: mart.x }}\npublishes: [{{ asset: mart.x }}]\n{GOOD}", 3, 5,
                      "triggers[0]", ["p publishes mart.x, which starts p (trigger t)"]),
    "partition outside its series": ("partitions: { every: day, start: 2026-02-30 }\n" + GOOD, 2, 34, "partitions.start",
                                     ["2026-02-30", "a day, like 2026-03-29"]),
}


@pytest.fixture
def checked(workspace):
    """A workspace with one good pipeline, a pool and a SQL file."""
    workspace.write("eider.yaml", "pools: { heavy: 1 }\nassets: { raw.flights: }\n")
    workspace.write("sql/daily.sql", "SELECT 1;\n")
    workspace.pipeline("good", GOOD)
    return workspace


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_place(checked, name):
    """Line, column, key, expectation and suggestion; the good pipeline beside it stays good."""
    text, line, column, key, says = WRONG[name]
    checked.write("pipelines/p.yaml", "pipeline: p\n" + text)
    refused = checked.cli("validate", expect=2)
    assert f"pipelines/p.yaml:{line or ''}" in refused.stdout
    for part in says:
        assert part in refused.stdout, refused.stdout
    if line:
        source = (checked.root / "pipelines/p.yaml").read_text().splitlines()[line - 1]
        assert f" {line} | {source}\n" in refused.stdout, "the line is shown"
    answer = json.loads(checked.cli("validate", "--json", expect=2).stdout)
    assert answer["ok"] is False and answer["pipelines"] == 1 and answer["broken_files"] == 1
    found = answer["diagnostics"][0]
    assert found["file"] == "pipelines/p.yaml" and found["severity"] == "error"
    assert key in found["message"] or key == found.get("key", ""), found
    if line:
        assert found["line"] == line
    if column:
        assert found["column"] == column
        assert refused.stdout.splitlines()[2].index("^") == len(f" {line} | ") + column - 1, "the caret is below it"


def test_a_missing_sql_file_suggests_the_one_that_is_there(checked):
    checked.pipeline("p", "steps: [{ id: a, sql: sql/dayly.sql }]\n")
    assert "sql/daily.sql" in checked.cli("validate", expect=2).stdout


@pytest.mark.parametrize("text, says", [
    ("workers: { max: 0 }\n", "eider.yaml:1:17"),
    ("wrokers: { max: 2 }\n", 'did you mean "workers"?'),
    ("pools: { heavy: { slots: many } }\n", "eider.yaml:1:26"),
    ("defaults: { timezone: Mars/Olympus }\n", "eider.yaml:1:23"),
])
def test_an_error_in_the_settings_refuses_the_workspace(checked, text, says):
    """Nothing starts on settings that are wrong; the message has the same form."""
    checked.write("eider.yaml", text)
    assert says in checked.cli("validate", expect=2).stdout
    for verb in (["serve"], ["run", "good"]):
        refused = checked.cli(*verb, expect=2)
        assert "eider.yaml:1:" in refused.stdout + refused.stderr


def test_a_broken_pipeline_disables_itself_only(checked):
    """The server starts, the good pipeline runs, and the broken one is refused with the reason, each time it is asked."""
    checked.pipeline("bad", "steps: [{ id: a, sql: sql/nowhere.sql }]\n")
    server = checked.serve()
    assert server.wait_end(server.start("good"))["state"] == "succeeded"
    with pytest.raises(ApiError) as refused:
        server.start("bad")
    assert 400 <= refused.value.status < 500 and "sql/nowhere.sql" in refused.value.body["detail"], refused.value.body
    done = checked.cli("run", "bad", expect=2)
    assert "sql/nowhere.sql" in done.stderr
    [shown] = [one for one in server.get("/api/v1/pipelines")["items"] if one["broken"]]
    assert shown["file"] == "pipelines/bad.yaml" and "sql/nowhere.sql" in shown["error"]


# O-25: (as written in YAML, the name itself)
NAMES = {
    "upwards": ("../../etc/pwned", "../../etc/pwned"),
    "absolute": ("/etc/pwned", "/etc/pwned"),
    "slash": ("a/b", "a/b"),
    "parent": ('".."', ".."),
    "self": ('"."', "."),
    "empty": ('""', ""),
    "long": ("a" * 300, "a" * 300),
    "nul": (r'"a\0b"', "a\0b"),
    "newline": (r'"a\nb"', "a\nb"),
    "hidden": (".hidden", ".hidden"),
    "option": ("--help", "--help"),
    "backslash": (r"..\x", r"..\x"),
}


def files_around(workspace):
    """Everything in the folder above the workspace, without what the state folder holds."""
    return sorted(str(path) for path in workspace.root.parent.rglob("*") if ".eider" not in path.parts)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_never_becomes_a_path(checked, name):
    """O-25: a name with a slash, dots, a NUL or no end is refused in files, in the API's paths and bodies, and by
    every verb, and no file appears outside of the workspace's own folder."""
    written, value = NAMES[name]
    checked.write("pipelines/x.yaml", f"pipeline: {written}\n" + GOOD)
    checked.write("pipelines/y.yaml", f'pipeline: y\nschedules: [{{ id: {written}, cron: "* * * * *" }}]\n{GOOD}')
    checked.write("pipelines/z.yaml", f"pipeline: z\nsteps: [{{ id: {written}, run: [sh] }}]\n")
    before = files_around(checked)
    refused = checked.cli("validate", expect=2).stdout
    for file in ("x", "y", "z"):
        assert f"pipelines/{file}.yaml:" in refused, refused
    server = checked.serve()
    before += [str(server.output_path)]
    assert server.get("/api/v1/status")["broken_files"] == 3
    coded = "".join(f"%{byte:02X}" for byte in value.encode())
    for method, path, body in [
            ("POST", "/api/v1/runs", {"pipeline": value}),
            ("GET", f"/api/v1/pipelines/{coded or '%20'}", None),
            ("GET", f"/api/v1/runs/{coded or '%20'}", None),
            ("GET", f"/api/v1/runs/{coded or '%20'}/logs", None),
            ("POST", f"/api/v1/runs/{coded or '%20'}/cancel", {}),
            ("GET", f"/api/v1/schedules/{coded or '%20'}/{coded or '%20'}", None),
            ("POST", f"/api/v1/schedules/good/{coded or '%20'}/pause", {"note": "x"})]:
        status, text, headers = server.request(method, path, body)
        assert 400 <= status < 500, (method, path, status, text)
        assert headers["Content-Type"] == "application/problem+json" and json.loads(text)["status"] == status
    if "\0" not in value:  # no argument of a program can hold it
        for verb in (["run"], ["logs"], ["runs", "show"], ["cancel"], ["schedule", "describe"], ["schedule", "pause"]):
            assert checked.cli(*verb, "--", value).returncode == 2, verb
    assert server.wait_end(server.start("good"))["state"] == "succeeded"
    assert sorted(set(files_around(checked))) == sorted(set(before))


def test_a_device_name_is_a_name_like_any_other(checked):
    """O-25: what is special elsewhere is allowed, and runs."""
    checked.pipeline("CON", GOOD)
    checked.cli("validate", expect=0)
    server = checked.serve()
    assert server.wait_end(server.start("CON"))["state"] == "succeeded"


def test_a_partition_or_key_of_a_person_is_data_and_no_path(checked):
    """O-25: texts that a person gives with a run reach the program as they are, and name no file. A partition may become
    part of a path in a step, so one that would lead out is refused."""
    checked.pipeline("p", 'steps: [{ id: s, run: [sh, -c, "echo $EIDER_PARTITION"] }]\n')
    before = files_around(checked)
    server = checked.serve()
    before += [str(server.output_path)]
    with pytest.raises(ApiError) as refused:
        server.start("p", partition="../../../pwned")
    assert refused.value.status == 400 and "../../../pwned" in refused.value.body["detail"]
    run_id = server.post("/api/v1/runs", {"pipeline": "p", "partition": "a..=:b"},
                         headers={"Idempotency-Key": "../../key"})["id"]
    assert server.wait_end(run_id)["partition"] == "a..=:b"
    assert [line["text"] for line in server.log(run_id) if line["stream"] == "stdout"] == ["a..=:b"]
    assert sorted(files_around(checked)) == sorted(before)


@pytest.mark.parametrize("link", ["sql/out.sql", "pipelines/out.yaml"])
def test_a_link_out_of_the_workspace_gives_nothing_away(checked, tmp_path, link):
    """O-25: a link that leads to a file outside is refused, and named."""
    outside = tmp_path / "outside"
    outside.write_text("SELECT 'secret';\n" if link.endswith("sql") else "pipeline: linked\n" + GOOD)
    os.symlink(outside, checked.root / link)
    if link.endswith("sql"):
        checked.pipeline("p", f"steps: [{{ id: a, sql: {link} }}]\n")
    refused = checked.cli("validate", expect=2).stdout
    assert link in refused and "a symbolic link leads out of the workspace" in refused
    server = checked.serve()
    assert server.wait_end(server.start("good"))["state"] == "succeeded"


def test_what_has_no_effect_is_warned_of(workspace):
    """Settings that contradict each other are not accepted in silence; no temporary space at all is refused."""
    step = "steps: [{ id: s, run: [\"true\"] }]\n"
    for text, said in (
            ("retry: { max_attempts: 3, backoff: 10m }\n", "retry.backoff: is more than max_backoff (5m)"),
            ("retry: { max_attempts: 3, on: [] }\n", "retry.max_attempts: has no effect with on: []"),
            ("max_active_runs: 0\nschedules: [{ id: s, every: 1m, overlap: queue, queue_limit: 2 }]\n",
             "queue_limit: has no effect with max_active_runs: 0")):
        workspace.pipeline("p", text + step)
        assert said in workspace.cli("validate", expect=0).stdout, text
    workspace.pipeline("p", "resources: { temp: 0 }\n" + step)
    assert "resources.temp" in workspace.cli("validate", expect=2).stdout
