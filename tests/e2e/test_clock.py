"""Cron, zones and a clock that is set: cases of real schedulers, on the built program."""

import json
import os
import subprocess

import pytest

from clockwork import covered, decided, schedule, series, settle, slots, tick, wait_until_quiet
from eider import PROGRAM

NOOP = "steps: [{ id: s, run: [\"true\"] }]\n"


def preview(workspace, *arguments):
    return workspace.json("schedule", "preview", *arguments)["items"]


def test_an_impossible_date_is_refused_and_stops_nothing(workspace):
    """O-01: an expression that never fires made other servers search for ever; it must be refused, and the rest go on."""
    workspace.pipeline("good", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    workspace.pipeline("never", "schedules: [{ id: s, cron: \"0 0 30 2 *\" }]\n" + NOOP)

    told = workspace.cli("validate", expect=2)
    assert "never.yaml:2" in told.stdout + told.stderr and "cron" in told.stdout + told.stderr
    told = workspace.cli("schedule", "preview", "--cron", "0 0 30 2 *", expect=2)
    assert "never" in told.stdout + told.stderr
    [diagnostic] = server.post("/api/v1/reload")["diagnostics"]
    assert "never.yaml:2" in diagnostic["text"] and "cron" in diagnostic["text"]

    tick(server, "1m", 10)
    assert covered(server.occurrences("good/s")) == series("2026-01-01T10:01:00Z", 10)
    assert slots(server.runs("good")) == series("2026-01-01T10:01:00Z", 10)
    wait_until_quiet(server.process.pid)


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 31 FEB ?"])
def test_what_can_never_fire_is_told_at_once(workspace, cron):
    """O-01: whichever way a date is impossible."""
    told = workspace.cli("schedule", "preview", "--cron", cron, expect=2)
    assert "never" in told.stdout + told.stderr


SPRING = ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"]


def test_preview_of_a_daily_job_across_the_spring_gap(workspace):
    """O-02: 02:30 does not exist on the spring day; the job runs at 03:00, and is marked."""
    rows = preview(workspace, "--cron", "30 2 * * *", "--timezone", "Europe/Brussels", "--from", "2026-03-28T12:00:00Z",
                   "--to", "2026-03-31T12:00:00Z")
    assert slots(rows) == SPRING
    assert [row["shifted"] for row in rows] == [True, False, False]
    assert [row["local"] for row in rows] == [
        "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00", "2026-03-31T02:30:00+02:00"]


def test_a_daily_job_runs_once_on_the_spring_day(workspace):
    """O-02: and a server that dies just after that run does not make it a second time."""
    workspace.pipeline("daily", "timezone: Europe/Brussels\nschedules: [{ id: s, cron: \"30 2 * * *\" }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-03-28T12:00:00Z")
    tick(server, "30m", 26)
    assert slots(server.runs("daily")) == SPRING[:1]
    server.advance("20s")
    server.kill()
    server = workspace.serve("--test-clock", "2026-03-29T01:00:40Z")
    settle(server)
    assert slots(server.runs("daily")) == SPRING[:1]
    tick(server, "29m20s")
    tick(server, "30m", 117)
    assert slots(server.runs("daily")) == SPRING
    rows = server.occurrences("daily/s")
    assert [row["decision"] for row in rows] == ["run"] * 3
    assert [row["shifted"] for row in rows] == [True, False, False]


AUTUMN = series("2024-04-06T13:00:00Z", 50, 1800)


def test_preview_of_a_frequent_job_across_the_autumn_hour(workspace):
    """O-03: the day has 25 hours, so 50 half hours; the two passes of the repeated hour differ in their offset."""
    arguments = ("--cron", "*/30 * * * *", "--timezone", "Australia/Melbourne", "--from", "2024-04-06T12:59:59Z",
                 "--to", "2024-04-07T13:59:59Z")
    rows = preview(workspace, *arguments)
    assert slots(rows) == AUTUMN
    twice = [row for row in rows if "T02:30:00" in row["local"]]
    assert [row["offset"] for row in twice] == ["+11:00", "+10:00"]
    shown = workspace.cli("schedule", "preview", *arguments, expect=0).stdout
    lines = [line for line in shown.splitlines() if "T02:30:00+1" in line]
    assert len(lines) == 2 and "+11:00" in lines[0] and "+10:00" in lines[1], shown


def test_a_frequent_job_does_not_fall_silent_in_autumn(workspace):
    """O-03: the engine decides what the preview shows, in both passes."""
    workspace.pipeline("often", """
        schedules: [{ id: s, cron: "*/30 * * * *", timezone: Australia/Melbourne, overlap: allow }]
        steps: [{ id: s, run: ["true"] }]
    """)
    server = workspace.serve("--test-clock", "2024-04-06T12:30:00Z")
    for _ in AUTUMN:
        server.advance("30m")
    settle(server)
    assert slots(server.runs("often")) == AUTUMN
    repeated = [row for row in server.occurrences("often/s") if "T02:30:00" in row["local"]]
    assert [row["offset"] for row in repeated] == ["+11:00", "+10:00"]


def test_a_restart_inside_the_repeated_hour(workspace):
    """O-03: a server that comes back in the second pass neither repeats the fixed time nor loses the frequent one."""
    workspace.pipeline("fixed", "timezone: Europe/Brussels\nschedules: [{ id: s, cron: \"30 2 * * *\" }]\n" + NOOP)
    workspace.pipeline("often", "timezone: Europe/Brussels\nschedules: [{ id: s, cron: \"*/30 2 * * *\" }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-10-24T23:45:00Z")
    tick(server, "15m", 4)
    assert slots(server.runs("fixed")) == ["2026-10-25T00:30:00Z"]
    server.kill()
    # 02:10 for the second time.
    server = workspace.serve("--test-clock", "2026-10-25T01:10:00Z")
    settle(server)
    # 01:00Z fell into the outage: it is late, and the newest.
    assert slots(server.runs("often")) == series("2026-10-25T00:00:00Z", 3, 1800)
    tick(server, "10m", 12)
    assert slots(server.runs("fixed")) == ["2026-10-25T00:30:00Z"]
    assert slots(server.runs("often")) == series("2026-10-25T00:00:00Z", 4, 1800)
    assert [row["offset"] for row in server.occurrences("often/s")] == ["+02:00", "+02:00", "+01:00", "+01:00"]


def test_a_clock_set_forward_by_mistake_and_back(workspace):
    """O-05: nothing pauses until the wrong time is reached again, nothing runs twice, and no running run suffers."""
    workspace.pipeline("tick", """
        schedules: [{ id: s, cron: "* * * * *", misfire: skip, overlap: allow }]
        steps: [{ id: s, run: ["true"] }]
    """)
    workspace.pipeline("long", """
        timeout: 1h
        steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.05; done"] }]
    """)
    server = workspace.serve("--test-clock", "2026-01-01T14:59:30Z")
    long = server.start("long")
    server.wait_running(long)
    server.advance("30s")
    server.step_to("2026-01-01T17:00:00Z")
    assert slots(server.runs("tick")) == ["2026-01-01T15:00:00Z", "2026-01-01T17:00:00Z"]
    [missed] = decided(server.occurrences("tick/s"), "missed")
    assert missed["count"] == 119
    server.advance("30s")
    server.step_to("2026-01-01T15:01:05Z")
    assert schedule(server, "tick/s")["next"] == "2026-01-01T15:02:00Z"
    server.advance("55s")
    assert "2026-01-01T15:02:00Z" in slots(server.runs("tick"))
    for _ in range(119):
        server.advance("1m")
    server.advance("1m")
    run = server.run(long)
    assert run["state"] == "running" and run["attempt"] == 1
    (workspace.root / "go").touch()
    settle(server)
    assert server.run(long)["state"] == "succeeded"
    # 15:01 stays missed; every other minute ran once, 17:00 when the clock was wrong.
    expected = series("2026-01-01T15:00:00Z", 123)
    assert sorted(slots(server.runs("tick"))) == [slot for slot in expected if not slot.endswith("15:01:00Z")]
    assert covered(server.occurrences("tick/s")) == expected
    assert {run["state"] for run in server.runs("tick")} == {"succeeded"}


def test_a_clock_set_back_while_no_server_runs(workspace):
    """O-05: the mistake is found as well when the server was down while the clock was mended."""
    workspace.pipeline("tick", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + NOOP)
    server = workspace.serve("--test-clock", "2026-01-01T16:59:30Z")
    tick(server, "30s")
    assert slots(server.runs("tick")) == ["2026-01-01T17:00:00Z"]
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T15:01:05Z")
    assert schedule(server, "tick/s")["next"] == "2026-01-01T15:02:00Z"
    tick(server, "55s")
    assert sorted(slots(server.runs("tick"))) == ["2026-01-01T15:02:00Z", "2026-01-01T17:00:00Z"]


def test_preview_needs_no_workspace(tmp_path):
    """O-02, O-03: a rule can be tried before it is written down anywhere."""
    done = subprocess.run([str(PROGRAM), "schedule", "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Brussels",
                           "--from", "2026-10-24T12:00:00Z", "--count", "2", "--json"],
                          cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert slots(json.loads(done.stdout)["items"]) == ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
