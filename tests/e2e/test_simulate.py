"""`eider simulate`: what a workspace will do, on small ones of which that is known by hand."""

import json

STEP = "steps: [{ id: s, run: [\"true\"] }]\n"
POOL = "workers: { max: 4 }\npools: { heavy: { slots: 1 } }\n"


def nightly(workspace, *names, more=""):
    for name in names:
        workspace.pipeline(name, f"pool: heavy\nschedules: [{{ id: s, cron: \"0 2 * * *\"{more} }}]\n" + STEP)


def simulate(workspace, *options, days=10, start="2026-01-01T00:00:00Z"):
    return workspace.json("simulate", "--days", str(days), "--from", start, *options)


def by(items, key, name):
    [found] = [item for item in items if item[key] == name]
    return found


def test_two_schedules_on_one_slot(workspace):
    """Both at two o'clock, ten minutes each, one slot: each night one of them waits ten minutes."""
    workspace.write("eider.yaml", POOL)
    nightly(workspace, "a", "b")
    found = simulate(workspace, "--assume", "10m")
    assert found["runs"] == 20 and found["not_run"] == 0 and found["not_ended"] == 0
    assert found["runs_a_day"] == {"mean": 2, "max": 2, "max_on": "2026-01-01"}
    waits = sorted(pipeline["wait_seconds"]["max"] for pipeline in found["pipelines"])
    assert waits[-1] == 600
    waited = sum(schedule["waited"] for schedule in found["schedules"])
    assert waited == 10, "one a night"
    heavy = found["pools"]["heavy"]
    assert heavy["slots"] == 1 and heavy["max"] == 1 and heavy["max_at"] == "2026-01-01T02:00:00Z"
    assert round(heavy["hours"][2]["mean"], 3) == round(20 / 60, 3), "20 of the 60 minutes from two to three"
    assert heavy["hours"][3] == {"mean": 0, "max": 0}
    assert round(heavy["busiest_hour"], 3) == round(20 / 60, 3)
    assert found["workers"]["max"] == 1, "the slot keeps the second one out"
    assert not (workspace.root / ".eider").exists(), "nothing is written"


def test_collisions_are_counted_with_their_reason(workspace):
    """Each minute, 90 s a run, overlap skip: every second instant finds the run before."""
    workspace.pipeline("tick", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + STEP)
    workspace.pipeline("line", "schedules: [{ id: s, cron: \"* * * * *\", overlap: queue }]\n" + STEP)
    found = simulate(workspace, "--assume", "90s", days=1)
    tick = by(found["schedules"], "schedule", "tick/s")
    assert tick["due"] == 24 * 60 - 1, "from 00:01 to 23:59"
    assert tick["run"] == 720 and tick["not_run"] == {"ActiveRun": 719}
    line = by(found["schedules"], "schedule", "line/s")
    assert line["run"] + line["not_run"]["QueueFull"] == line["due"]
    assert 958 <= line["run"] <= 962, "one after the other without a pause: 1440 / 1.5, and what waits"


def test_clock_changes(workspace):
    workspace.pipeline("nightly", "schedules: [{ id: s, cron: \"30 2 * * *\", timezone: Europe/Brussels }]\n" + STEP)
    workspace.pipeline("hourly", "schedules: [{ id: s, cron: \"*/30 * * * *\", timezone: Europe/Brussels }]\n" + STEP)
    found = simulate(workspace, days=365)
    moved = by(found["clock_changes"], "schedule", "nightly/s")
    assert moved["kind"] == "moved" and moved["at"] == "2026-03-29T01:00:00Z" and moved["count"] == 1
    assert moved["local"] == "2026-03-29T03:00:00+02:00"
    doubled = by(found["clock_changes"], "schedule", "hourly/s")
    assert doubled["kind"] == "doubled" and doubled["count"] == 2 and doubled["at"] == "2026-10-25T01:00:00Z"
    assert by(found["schedules"], "schedule", "nightly/s")["run"] == 365


def test_what_data_starts_is_simulated_too(workspace):
    workspace.pipeline("raw", "schedules: [{ id: s, cron: \"0 * * * *\" }]\npublishes: [{ asset: raw.x }]\n" + STEP)
    workspace.pipeline("marts", "triggers: [{ id: t, assets: [\"raw.*\"] }]\n" + STEP)
    found = simulate(workspace, "--assume", "1m", days=2)
    assert by(found["pipelines"], "pipeline", "raw")["runs"] == 47
    assert by(found["pipelines"], "pipeline", "marts")["runs"] == 47


def test_run_times_come_from_history(workspace):
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"0 2 * * *\" }]\nsteps: [{ id: s, run: [sleep, \"0.4\"] }]\n")
    workspace.cli("run", "p", expect=0)
    before = (workspace.root / ".eider" / "state.db").read_bytes()
    found = by(simulate(workspace)["pipelines"], "pipeline", "p")
    assert found["run_times_from"] == "history" and 0.4 <= found["run_seconds"]["median"] < 60
    assert found["runs"] == 10
    assert (workspace.root / ".eider" / "state.db").read_bytes() == before, "history is read only"


def test_limits_are_for_ci(workspace):
    workspace.write("eider.yaml", POOL)
    nightly(workspace, "a", "b")
    always = ["simulate", "--days", "10", "--from", "2026-01-01T00:00:00Z", "--assume", "10m"]
    workspace.cli(*always, "--max-skipped", "0", "--max-wait", "10m", "--max-use", "0.4", expect=0)
    over = workspace.cli(*always, "--max-wait", "9m59s", "--max-use", "0.3", expect=1)
    assert "the longest wait is 10 min 0 s; --max-wait is 9m59s" in over.stderr
    assert "--max-use is 0.3" in over.stderr
    for wrong in (["--days", "0"], ["--days", "x"], ["--max-use", "2"], ["--assume", "soon"], ["--max-skipped", "x"],
                  ["--max-use", "nan"], ["--from", "1969-12-31T23:59:59Z"]):
        assert wrong[0] in workspace.cli("simulate", *wrong, expect=2).stderr


def test_what_changes_beside_another_version(workspace, make_workspace):
    """The new version adds a schedule on the same slot: what waits now did not before."""
    other = make_workspace("other")
    for one in (workspace, other):
        one.write("eider.yaml", POOL)
        nightly(one, "a")
    nightly(workspace, "b")
    nightly(other, "c", more=", timezone: America/New_York")
    always = ["simulate", "--days", "10", "--from", "2026-01-01T00:00:00Z", "--assume", "10m", "--against",
              str(other.root)]
    shown = workspace.cli(*always, expect=0)
    assert "added    schedule b/s" in shown.stdout and "removed  schedule c/s" in shown.stdout
    found = json.loads(workspace.cli(*always, "--json", expect=0).stdout)
    assert {(change["kind"], change["what"]) for change in found["changes"]} >= {
        ("added", "schedule b/s"), ("removed", "schedule c/s"), ("added", "pipeline b"), ("removed", "pipeline c")}
    assert found["against"]["runs"] == 20 and found["runs"] == 20
    over = workspace.cli(*always, "--max-wait", "5m", expect=1)
    assert "10 min 0 s more than there" in over.stderr
    assert "nothing changes" in workspace.cli(*always[:-1], str(workspace.root), expect=0).stdout
    assert not (other.root / ".eider").exists()


def test_wrong_files_are_said_and_left_out(workspace):
    nightly_text = "schedules: [{ id: s, cron: \"0 2 * * *\" }]\n" + STEP
    workspace.pipeline("good", nightly_text)
    workspace.pipeline("bad", "scheduels: []\n" + STEP)
    done = workspace.cli("simulate", "--days", "2", "--from", "2026-01-01T00:00:00Z", expect=0)
    assert "good/s" in done.stdout and "pipelines/bad.yaml:2:1" in done.stderr
    assert "nowhere" in workspace.cli("simulate", "--against", "nowhere", expect=2).stderr
    workspace.write("eider.yaml", "wrokers: 4\n")
    assert "eider.yaml:1:1" in workspace.cli("simulate", expect=2).stderr


def test_two_hundred_schedules_for_a_month(workspace):
    """As people have them, most once a day: each instant is a run, or is counted with its reason."""
    workspace.write("eider.yaml", "workers: { max: 16 }\npools: { heavy: { slots: 4 } }\n")
    for i in range(200):
        rule = f"cron: \"{i % 60} {i % 24} * * *\"" if i % 4 else "cron: \"7 * * * *\"" if i % 20 else "cron: \"*/10 * * * *\""
        workspace.pipeline(f"p{i}", f"pool: heavy\nschedules: [{{ id: s, {rule}, overlap: queue }}]\n" + STEP)
    found = simulate(workspace, "--assume", "20s", days=30)
    a_day = 150 + 40 * 24 + 10 * 144
    midnights = 10
    assert sum(one["due"] for one in found["schedules"]) == 30 * a_day - midnights, "the first midnight is now"
    assert found["runs"] + found["not_run"] == 30 * a_day - midnights
    assert found["not_run"] == 0 and found["pools"]["heavy"]["max"] == 4


def test_what_a_calendar_excludes_is_counted_once(workspace):
    """Each five minutes but from 22:00 to 06:00: 96 of the 288 instants of a day are excluded."""
    workspace.write("calendars/nights.yaml", "hours: [\"22:00-06:00\"]\n")
    workspace.pipeline("day", "schedules: [{ id: s, cron: \"*/5 * * * *\", exclude: [nights] }]\n" + STEP)
    [schedule] = simulate(workspace, days=2)["schedules"]
    instants = 2 * 288 - 1  # the first midnight is now
    assert schedule["due"] == instants and schedule["run"] == 2 * 192, schedule
    assert schedule["not_run"] == {"ExcludedByCalendar": instants - 2 * 192}


def test_rates_locks_files_and_memory_are_measured(workspace):
    """Each hour one run of half an hour holds a lock, a file and half of the memory; its pool allows two starts a day."""
    workspace.write("eider.yaml", "workers: { max: 4 }\nresources: { memory: 2GB }\n"
                                  "pools: { api: { rate: 2/1h }, few: { rate: 2/24h } }\n")
    workspace.pipeline("hourly", "database: house.duckdb\npools: { api: 1 }\nlocks: { house: write }\n"
                                 "resources: { memory: 1GB }\n"
                                 "schedules: [{ id: s, cron: \"0 * * * *\" }]\n" + STEP)
    workspace.pipeline("reader", "database: { file: house.duckdb, mode: read }\nlocks: { house: read }\n"
                                 "schedules: [{ id: s, cron: \"0 4 * * *\" }]\n" + STEP)
    workspace.pipeline("rare", "pools: { few: 1 }\nschedules: [{ id: s, cron: \"0 */6 * * *\", overlap: queue }]\n" + STEP)
    found = simulate(workspace, "--assume", "30m", days=10)
    assert found["locks"]["house"]["holders"] == 1 and found["locks"]["house"]["max"] == 1
    assert round(found["locks"]["house"]["hours"][12]["mean"], 2) == 0.5
    assert found["locks"]["house"]["hours"][4]["mean"] > 0.9, "first the hourly one, then the reader"
    assert found["files"]["house.duckdb"]["hours"] == found["locks"]["house"]["hours"]
    assert found["memory"]["bytes"] == 2_000_000_000 and found["memory"]["max"] == 1_000_000_000
    assert round(found["memory"]["busiest_hour"], 2) == 0.25
    api = found["rates"]["api"]
    assert api["starts"] == 2 and api["max"] == 1 and round(api["hours"][12]["mean"], 2) == 1, "one in each hour"
    few = found["rates"]["few"]
    assert few["starts"] == 2 and few["max"] == 2 and few["busiest_hour"] > 0.9, "it is used up"
    assert by(found["schedules"], "schedule", "rare/s")["not_run"]["QueueFull"] > 10
    shown = workspace.cli("simulate", "--days", "10", "--assume", "30m", expect=0).stdout
    for name in ("lock house", "file house.duckdb", "memory", "rate api", "rate few", "workers"):
        assert f"\n{name} " in shown, name
    over = workspace.cli("simulate", "--days", "10", "--assume", "30m", "--max-use", "0.8", expect=1)
    assert "1.00 of lock house is in use in its busiest hour; --max-use is 0.8" in over.stderr


def test_data_that_becomes_too_old(workspace, make_workspace):
    """Each morning but on Sundays, an hour a run: on Mondays the data is 48 hours old, which is more than 30 and 40."""
    workspace.write("calendars/sundays.yaml", "weekdays: [sun]\n")

    def at_six(wanted, more=""):
        return f"schedules: [{{ id: s, cron: \"0 6 * * *\"{more} }}]\nfreshness: {wanted}\n" + STEP

    workspace.pipeline("marts", at_six("{ warn_after: 30h, error_after: 40h }", ", exclude: [sundays]"))
    workspace.pipeline("raw", at_six("{ warn_after: 25h }"))
    found = simulate(workspace, "--assume", "1h", days=28)  # from a Thursday on
    marts = by(found["freshness"], "pipeline", "marts")
    assert marts["warn_after_seconds"] == 30 * 3600 and marts["oldest_seconds"] == 48 * 3600
    assert marts["warn"] == {"times": 4, "seconds": 4 * 18 * 3600, "first_at": "2026-01-04T13:00:00Z"}
    assert marts["error"] == {"times": 4, "seconds": 4 * 8 * 3600, "first_at": "2026-01-04T23:00:00Z"}
    raw = by(found["freshness"], "pipeline", "raw")
    assert raw["error_after_seconds"] is None and raw["warn"] == {"times": 0, "seconds": 0, "first_at": None}
    always = ["simulate", "--days", "28", "--from", "2026-01-01T00:00:00Z", "--assume", "1h"]
    workspace.cli(*always, "--max-stale", "4", expect=0)
    over = workspace.cli(*always, "--max-stale", "3", expect=1)
    assert "data becomes too old 4 times; --max-stale is 3" in over.stderr
    other = make_workspace("other")
    other.pipeline("marts", at_six("{ warn_after: 30h, error_after: 40h }"))
    changes = json.loads(workspace.cli(*always, "--against", str(other.root), "--json", expect=0).stdout)["changes"]
    assert by(changes, "what", "freshness of marts")["text"] == (
        "4 times older than warn_after, was 0; 4 times older than error_after, was 0")


def test_how_old_data_is_now_counts_from_its_newest_success(workspace):
    workspace.pipeline("p", "freshness: { error_after: 1h }\nschedules: [{ id: s, cron: \"0 2 * * *\" }]\n" + STEP)
    workspace.cli("run", "p", expect=0)
    ended = workspace.json("runs", "list")["items"][0]["finished_at"]
    found = by(simulate(workspace, days=1, start="2099-01-01T00:00:00Z")["freshness"], "pipeline", "p")
    assert found["error"]["times"] == 2, "now, and again at the end of the day"
    assert found["error"]["first_at"] == "2099-01-01T00:00:00Z" and ended < "2099"
    for wrong, said in (("{}", "says nothing"), ("{ warn_after: 2h, error_after: 1h }", "is less than warn_after (2h)")):
        workspace.pipeline("wrong", f"freshness: {wrong}\n" + STEP)
        assert said in workspace.cli("validate", expect=2).stdout
