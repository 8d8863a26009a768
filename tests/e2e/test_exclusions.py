"""Calendars, bounds, jitter and pauses, on the built program."""

import json
import shutil
from pathlib import Path

import pytest

from clockwork import at, covered, cpu_seconds, decided, schedule, series, settle, slots, tick
from eider import SLOWER, wait_for

NOOP = "steps: [{ id: s, run: [\"true\"] }]\n"
ZONES = Path("/usr/share/zoneinfo")


def calendar(workspace, name, text):
    workspace.write(f"calendars/{name}.yaml", text)


def test_a_calendar_excludes_its_days_and_says_so(workspace):
    """What is excluded is on record with the calendar's name, runs nothing, and is not what comes next."""
    calendar(workspace, "weekends", "weekdays: [sat, sun]\n")
    workspace.pipeline("daily", "schedules: [{ id: s, cron: \"30 2 * * *\", exclude: [weekends] }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T12:00:00Z")  # a Thursday
    tick(server, "24h", 3)
    assert slots(server.runs("daily")) == ["2026-01-02T02:30:00Z"]
    assert schedule(server, "daily/s")["next"] == "2026-01-05T02:30:00Z"
    [excluded] = decided(server.occurrences("daily/s"), "excluded")
    assert excluded["calendar"] == "weekends" and excluded["reason"] == "ExcludedByCalendar"
    assert excluded["count"] == 2 and excluded["scheduled_until"] == "2026-01-04T02:30:00Z"
    tick(server, "24h")
    assert slots(server.runs("daily")) == ["2026-01-02T02:30:00Z", "2026-01-05T02:30:00Z"]
    [listed] = workspace.json("occurrences", "daily/s", "--decision", "excluded")["items"]
    assert listed["id"] == excluded["id"]


def test_preview_marks_what_would_become_of_each_instant(workspace):
    """Clock changes, calendars, bounds, jitter and a pause are seen before they happen."""
    calendar(workspace, "days_off", "dates: [2026-03-30]\n")
    workspace.pipeline("daily", """
        timezone: Europe/Brussels
        schedules:
          - { id: s, cron: "30 2 * * *", exclude: [days_off], end: 2026-04-01T00:00:00Z, jitter: 1h }
        steps: [{ id: s, run: ["true"] }]
    """)
    server = workspace.serve("--test-clock", "2026-03-28T12:00:00Z")
    body = workspace.json("schedule", "preview", "daily/s", "--count", "4")
    rows = body["items"]
    assert slots(rows) == ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z", "2026-04-01T00:30:00Z"]
    assert [row["shifted"] for row in rows] == [True, False, False, False]
    assert [row["decision"] for row in rows] == ["run", "excluded", "run", "excluded"]
    assert [row["calendar"] for row in rows] == [None, "days_off", None, "end"]
    assert [row["reason"] for row in rows] == ["Due", "ExcludedByCalendar", "Due", "AfterEnd"]
    delays = {at(row["due_at"]) - at(row["scheduled_for"]) for row in rows}
    assert len(delays) == 1 and 0 < delays.pop().total_seconds() <= 3600
    told = workspace.cli("schedule", "preview", "daily/s", "--count", "4", expect=0).stdout
    assert "moved by a clock change" in told and "excluded: days_off" in told and "excluded: end" in told
    assert "later, at 2026-03-29T01:" in told
    workspace.cli("schedule", "pause", "daily/s", "--note", "why", expect=0)
    rows = workspace.json("schedule", "preview", "daily/s", "--count", "4")["items"]
    assert [row["decision"] for row in rows] == ["paused"] * 4
    assert server.runs() == []


def test_preview_says_that_an_active_run_is_in_the_way(workspace):
    workspace.pipeline("p", """
        schedules: [{ id: s, cron: "0 * * * *" }]
        steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:30:00Z")
    run = server.start("p")
    first, second = workspace.json("schedule", "preview", "p/s", "--count", "2")["items"]
    assert (first["decision"], first["reason"], first["run_id"]) == ("skipped", "ActiveRun", run)
    assert second["decision"] == "run"
    (workspace.root / "go").touch()
    settle(server)


def test_a_condition_that_is_never_true_pins_nothing(workspace):
    """O-33: a schedule of every second that its calendar leaves nothing of delays no other, and is one row."""
    calendar(workspace, "empty", "dates: []\n")
    workspace.pipeline("never", "schedules: [{ id: s, cron: \"* * * * * *\", only: [empty] }]\n" + NOOP)
    workspace.pipeline("tick", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + NOOP)
    told = workspace.cli("validate", expect=0).stdout
    assert "calendars/empty.yaml: warning" in told and "nothing is left of its instants" in told
    server = workspace.serve("--test-clock", "2026-01-01T10:00:00.500Z")
    tick(server, "1s", 180)
    runs = server.runs("tick")
    assert slots(runs) == series("2026-01-01T10:01:00Z", 3)
    for run in runs:
        assert (at(run["created_at"]) - at(run["scheduled_for"])).total_seconds() < 1
    [row] = server.occurrences("never/s")
    assert row["count"] == 180 and row["reason"] == "NotInCalendar" and row["calendar"] == "empty"
    assert schedule(server, "never/s")["next"] is None
    server.advance("24h")
    settle(server)
    assert cpu_seconds(server.process.pid) < 5 * SLOWER
    [row] = server.occurrences("never/s")
    assert row["count"] == 180 + 86400
    shown = workspace.cli("schedule", "preview", "never/s", expect=0)
    assert "never runs" in shown.stdout + shown.stderr


def test_how_far_is_looked_ahead_is_bounded(workspace):
    """O-33: an instant a day that a calendar excludes each day: when it runs next is unknown, and said to be."""
    calendar(workspace, "nights", "hours: [\"22:00-06:00\"]\n")
    workspace.pipeline("never", "schedules: [{ id: s, cron: \"0 3 * * *\", exclude: [nights] }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:00Z")
    shown = schedule(server, "never/s")
    assert shown["next"] is None and shown["next_unknown"] is True
    told = workspace.cli("schedule", "preview", "never/s", expect=0)
    assert "not known" in told.stdout + told.stderr


def test_years_of_outage_with_calendars_cost_little(workspace):
    """O-07 with exclusions: the work grows with the nights of an outage, not with its minutes."""
    calendar(workspace, "nights", "hours: [\"22:00-06:00\"]\n")
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"* * * * *\", exclude: [nights] }]\n" + NOOP)
    workspace.serve("--test-clock", "2021-01-01T08:28:30Z").kill()
    server = workspace.serve("--test-clock", "2026-01-01T08:28:30Z")
    settle(server)
    assert cpu_seconds(server.process.pid) < 2 * SLOWER
    assert slots(server.runs("p")) == ["2026-01-01T08:28:00Z"]
    rows = server.occurrences("p/s")
    assert sum(row["count"] for row in rows) == (at("2026-01-01T08:28:30Z") - at("2021-01-01T08:28:30Z")).days * 24 * 60
    assert len(rows) < 2 * 1826 + 20


def test_a_wrong_calendar_disables_only_who_names_it(workspace):
    calendar(workspace, "good", "weekdays: [sun]\n")
    calendar(workspace, "bad", "weekdays: [sonday]\n")
    workspace.pipeline("a", "schedules: [{ id: s, cron: \"* * * * *\", exclude: [bad] }]\n" + NOOP)
    workspace.pipeline("b", "schedules: [{ id: s, cron: \"* * * * *\", exclude: [good] }]\n" + NOOP)
    told = workspace.cli("validate", expect=2).stdout
    assert "calendars/bad.yaml:1:12: error" in told
    assert "the calendar \"bad\" is not loaded: calendars/bad.yaml is wrong" in told
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    assert [row["name"] for row in server.get("/api/v1/pipelines")["items"] if not row["broken"]] == ["b"]
    tick(server, "1m")
    assert slots(server.runs("b")) == ["2026-01-01T10:01:00Z"]
    calendar(workspace, "bad", "weekdays: [thu]\n")
    server.post("/api/v1/reload")
    tick(server, "1m")
    [row] = server.occurrences("a/s")
    assert row["calendar"] == "bad", "mended, it is in force: it is a Thursday"
    calendar(workspace, "bad", "weekdays: [thursday]\n")
    server.post("/api/v1/reload")
    tick(server, "1m")
    [row] = server.occurrences("a/s")
    assert row["count"] == 2, "the last good version stays, with its calendar"


def test_a_pause_is_caught_up_as_asked(workspace):
    """What fell due in a pause is not missed: it is skipped, or its latest runs, or all of it."""
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"* * * * *\", overlap: queue, max_catchup: 3 }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    expected = []
    for how, ran in (("skip", []), ("latest", [10]), ("all", [8, 9, 10])):
        workspace.cli("schedule", "pause", "p/s", "--note", "why", expect=0)
        server.advance("10m")
        begun = at(server.get("/api/v1/status")["now"])
        workspace.cli("schedule", "resume", "p/s", "--catch-up", how, expect=0)
        settle(server)
        expected += [row for n in ran for row in series(server_minute(begun, n), 1)]
        assert slots(server.runs("p")) == expected
    rows = server.occurrences("p/s")
    assert covered(rows) == series("2026-01-01T10:01:00Z", 30)
    assert [row["count"] for row in decided(rows, "paused")] == [10, 9, 7]
    assert {row["reason"] for row in decided(rows, "run")} == {"Resumed"}
    workspace.cli("schedule", "resume", "p/s", "--catch-up", "everything", expect=2)


def server_minute(now, minute):
    """The n-th minute of the ten before `now`."""
    return now.replace(second=0, minute=now.minute - 10 + minute).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_all_needs_a_queue(workspace):
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    workspace.cli("schedule", "pause", "p/s", expect=0)
    server.advance("10m")
    told = workspace.cli("schedule", "resume", "p/s", "--catch-up", "all", expect=2)
    assert "overlap: queue" in told.stderr
    assert schedule(server, "p/s")["paused"] is True and server.occurrences("p/s") == []


def test_failures_in_a_row_pause_the_schedule(workspace):
    """In the transaction that ends the third; the count is what is stored, so a restart forgets nothing."""
    workspace.pipeline("p", """
        schedules: [{ id: s, cron: "* * * * *", pause_after_failures: 3 }]
        steps: [{ id: s, run: ["false"] }]
    """)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    tick(server, "1m", 2)
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:02:40Z")
    assert schedule(server, "p/s")["paused"] is False
    tick(server, "20s")
    shown = schedule(server, "p/s")
    assert shown["paused"] is True and shown["paused_reason"] == "PausedAfterFailures"
    assert server.runs("p")[-1]["id"] in shown["note"]
    told = workspace.cli("schedule", "describe", "p/s", expect=0).stdout
    assert "pause_after_failures" in told and "3 failed runs in a row" in told
    tick(server, "1m", 3)
    assert len(server.runs("p")) == 3
    workspace.cli("schedule", "resume", "p/s", expect=0)
    assert [row["reason"] for row in decided(server.occurrences("p/s"), "paused")] == ["PausedAfterFailures"]
    tick(server, "1m", 2)
    assert schedule(server, "p/s")["paused"] is False, "the count starts anew"
    tick(server, "1m")
    assert schedule(server, "p/s")["paused"] is True


def test_a_schedule_that_its_file_pauses(workspace):
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"* * * * *\", paused: true, note: not yet }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    tick(server, "1m", 2)
    shown = schedule(server, "p/s")
    assert shown["paused"] is True and shown["note"] == "not yet" and shown["paused_reason"] == "StartsPaused"
    workspace.cli("schedule", "resume", "p/s", expect=0)
    server.post("/api/v1/reload")
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:03:30Z")
    assert schedule(server, "p/s")["paused"] is False, "what a person said stays"


@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_a_schedule_goes_while_its_runs_wait(workspace, how):
    """O-35: what waits is cancelled with the reason, what runs ends as it ends, and a restart finds nothing odd."""
    text = """
        schedules: [{ id: NAME, cron: "* * * * *", overlap: queue, queue_limit: 2 }]
        steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]
    """
    workspace.pipeline("p", text.replace("NAME", "old"))
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    for _ in range(3):
        server.advance("1m")
    active, *waiting = [run["id"] for run in server.runs("p")]
    assert len(waiting) == 2
    server.wait_running(active)
    workspace.pipeline("p", text.replace("NAME", "new") if how == "renamed" else text.split("\n", 2)[2])
    server.post("/api/v1/reload")
    for run in waiting:
        shown = server.run(run)
        assert shown["state"] == "cancelled" and shown["reason"] == "ScheduleRemoved"
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:03:40Z")
    assert server.run(active)["state"] == "running"
    (workspace.root / "go").touch()
    assert server.wait_end(active)["state"] == "succeeded"
    settle(server)
    assert {row["decision"] for row in server.occurrences("p/old")} == {"run"}, "history stays under the old name"
    tick(server, "20s")
    assert len(server.runs("p")) == (4 if how == "renamed" else 3)


@pytest.mark.skipif(not (ZONES / "America/Phoenix").exists(), reason="needs tzdata")
def test_zone_rules_change_under_a_schedule(workspace):
    """O-04: with newer zone data the next instant is found anew; nothing runs by the old one, and nothing at the start."""
    old, new = workspace.root / "tz-old", workspace.root / "tz-new"
    for folder, source in ((old, "America/Los_Angeles"), (new, "America/Phoenix")):
        (folder / "America").mkdir(parents=True)
        shutil.copy(ZONES / source, folder / "America/Vancouver")
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"0 9 * * *\", timezone: America/Vancouver }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-10-31T20:00:00Z", env={"TZDIR": str(old)})
    assert schedule(server, "p/s")["next"] == "2026-11-01T17:00:00Z"
    server.stop()
    server = workspace.serve("--test-clock", "2026-10-31T21:00:00Z", env={"TZDIR": str(new)})
    assert schedule(server, "p/s")["next"] == "2026-11-01T16:00:00Z"
    assert server.runs() == []
    tick(server, "1h", 24)
    assert slots(server.runs("p")) == ["2026-11-01T16:00:00Z"]


def test_a_calendar_has_its_schema(workspace):
    schema = json.loads(workspace.cli("schema", "calendar", expect=0).stdout)
    assert {"dates", "ranges", "weekdays", "hours", "timezone"} <= set(schema["properties"])


def test_jitter_is_the_same_after_a_restart(workspace):
    workspace.pipeline("p", "schedules: [{ id: s, cron: \"0 * * * *\", jitter: 30m }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T10:30:00Z")
    next_due = schedule(server, "p/s")["next"]
    assert "2026-01-01T11:00:00Z" < next_due <= "2026-01-01T11:30:00Z"
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:59:00Z")
    assert schedule(server, "p/s")["next"] == next_due
    server.step_to(next_due)
    settle(server)
    [run] = server.runs("p")
    assert run["scheduled_for"] == "2026-01-01T11:00:00Z" and run["created_at"] == next_due
    wait_for(lambda: schedule(server, "p/s")["next"] > next_due, "the next one comes an hour later")
