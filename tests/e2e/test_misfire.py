"""What was due while nobody looked: suspended, down, or waiting for a full pool."""

import os
import signal

from clockwork import (at, covered, cpu_seconds, decided, is_idle, schedule, series, settle, slots, tick,
                       wait_real_time)
from eider import SLOWER, wait_for

JOURNAL = "steps: [{ id: s, run: [sh, -c, \"echo start $EIDER_SCHEDULED_FOR >> journal; echo end >> journal\"] }]\n"
MISSED = series("2026-01-01T10:01:00Z", 78)


def suspended(workspace, policy):
    """A server that slept from 10:00:30 to 11:18:30, with one schedule of every minute; all that it started ended."""
    workspace.pipeline("tick", f"schedules: [{{ id: s, cron: \"* * * * *\", {policy} }}]\n" + JOURNAL)
    server = workspace.serve("--test-clock", "2026-01-01T10:00:30Z")
    server.advance("78m")
    settle(server)
    assert covered(server.occurrences("tick/s")) == MISSED, "each missed minute is decided, and once"
    assert schedule(server, "tick/s")["next"] == "2026-01-01T11:19:00Z"
    tick(server, "30s")
    assert server.occurrences("tick/s")[-1]["decision"] == "run"
    return server


def test_what_is_missed_can_be_listed_before(workspace):
    """O-06: the instants of the outage are 78 in number."""
    workspace.pipeline("tick", "schedules: [{ id: s, cron: \"* * * * *\" }]\n" + JOURNAL)
    rows = workspace.json("schedule", "preview", "tick/s", "--from", "2026-01-01T10:00:30Z", "--to",
                          "2026-01-01T11:18:30Z")["items"]
    assert slots(rows) == MISSED


def test_skip_runs_nothing_of_a_suspend(workspace):
    """O-06: misfire skip records the outage in one row and waits for the next minute."""
    server = suspended(workspace, "misfire: skip")
    [missed] = decided(server.occurrences("tick/s"), "missed")
    assert missed["count"] == 78 and missed["reason"] == "MisfireSkip"
    assert slots(server.runs("tick")) == ["2026-01-01T11:19:00Z"]


def test_latest_runs_once_after_a_suspend(workspace):
    """O-06: misfire latest makes one run, for the newest minute, into which the others are folded."""
    server = suspended(workspace, "misfire: latest")
    [coalesced] = decided(server.occurrences("tick/s"), "coalesced")
    caught, on_time = server.runs("tick")
    assert coalesced["count"] == 77 and coalesced["run_id"] == caught["id"]
    assert slots([caught, on_time]) == ["2026-01-01T11:18:00Z", "2026-01-01T11:19:00Z"]


def test_all_catches_up_in_order_and_within_its_bound(workspace):
    """O-06: misfire all with a cap of ten runs the ten newest one after the other, and says that the rest is dropped."""
    server = suspended(workspace, "misfire: all, max_catchup: 10, overlap: queue")
    [dropped] = decided(server.occurrences("tick/s"), "missed")
    assert dropped["count"] == 68 and dropped["reason"] == "CatchupLimit"
    expected = MISSED[-10:] + ["2026-01-01T11:19:00Z"]
    assert slots(server.runs("tick")) == expected
    lines = (workspace.root / "journal").read_text().split("\n")[:-1]
    assert lines == [line for slot in expected for line in (f"start {slot}", "end")], "one at a time, oldest first"


def test_a_server_that_is_stopped_for_a_while(workspace):
    """O-06: the same on the real clock: SIGSTOP and SIGCONT cost one record, no storm and no hole."""
    workspace.pipeline("tick", """
        schedules: [{ id: s, every: 200ms, misfire: skip, grace: 100ms, overlap: allow }]
        steps: [{ id: s, run: ["true"] }]
    """)
    server = workspace.serve()
    wait_for(lambda: decided(server.occurrences("tick/s"), "run"), "it fires")
    os.kill(server.process.pid, signal.SIGSTOP)
    wait_real_time(2)
    os.kill(server.process.pid, signal.SIGCONT)
    big = wait_for(lambda: [row for row in decided(server.occurrences("tick/s"), "missed") if row["count"] >= 8],
                   "the outage is on record")
    assert len(big) == 1
    after = big[0]["scheduled_until"]
    wait_for(lambda: [row for row in decided(server.occurrences("tick/s"), "run") if row["scheduled_for"] > after],
             "it goes on")
    rows = server.occurrences("tick/s")
    micros = [us(row["scheduled_for"]) + 200_000 * i for row in rows for i in range(row["count"])]
    assert micros == list(range(micros[0], micros[-1] + 1, 200_000)), "no instant is lost or decided twice"


def us(text):
    """RFC 3339 with or without a fraction, as microseconds."""
    instant = at(text)
    return int(instant.timestamp()) * 1_000_000 + instant.microsecond


def test_more_than_a_hundred_missed_slots(workspace):
    """O-07: there is no number of missed instants after which a schedule gives up."""
    workspace.pipeline("tick", "schedules: [{ id: s, cron: \"* * * * *\", misfire: latest }]\n" + JOURNAL)
    server = workspace.serve("--test-clock", "2026-01-01T08:28:30Z")
    tick(server, "30s")
    server.advance("30s")
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T10:21:30Z")
    settle(server)
    assert slots(server.runs("tick")) == ["2026-01-01T08:29:00Z", "2026-01-01T10:21:00Z"]
    [coalesced] = decided(server.occurrences("tick/s"), "coalesced")
    assert coalesced["count"] == 111
    tick(server, "30s")
    assert slots(server.runs("tick"))[-1] == "2026-01-01T10:22:00Z"
    assert covered(server.occurrences("tick/s")) == series("2026-01-01T08:29:00Z", 114)


def start_after(workspace, now):
    """(Processor time of a server until it has decided everything that is due, the server)."""
    server = workspace.serve("--test-clock", now)
    settle(server)
    return cpu_seconds(server.process.pid), server


def test_five_years_of_outage_cost_no_more_than_an_hour(workspace):
    """O-07: what a start does must not grow with the length of the outage."""
    for policy in ("skip", "latest", "all"):
        workspace.pipeline(policy, f"""
            schedules: [{{ id: s, cron: "* * * * *", misfire: {policy}, max_catchup: 3, overlap: queue }}]
            steps: [{{ id: s, run: ["true"] }}]
        """)
    workspace.serve("--test-clock", "2026-01-01T08:28:30Z").kill()
    hour, server = start_after(workspace, "2026-01-01T09:28:30Z")
    server.kill()
    years, server = start_after(workspace, "2031-01-01T09:28:30Z")
    assert years < hour + 1 * SLOWER, f"five years: {years} s of processor time, an hour: {hour} s"
    minutes = (at("2031-01-01T09:28:30Z") - at("2026-01-01T09:28:30Z")).total_seconds() / 60
    for policy in ("skip", "latest", "all"):
        rows = [row for row in server.occurrences(f"{policy}/s") if row["scheduled_for"] > "2026-01-01T09:28:30Z"]
        assert sum(row["count"] for row in rows) == minutes
    assert slots(server.runs("latest"))[-1] == "2031-01-01T09:28:00Z"
    assert slots(server.runs("all"))[-3:] == series("2031-01-01T09:26:00Z", 3)


def test_no_catch_up_means_none(workspace):
    """O-08: with misfire skip neither a frequent schedule nor a one-shot runs late, at the start or afterwards."""
    workspace.pipeline("often", "schedules: [{ id: s, cron: \"*/5 * * * *\", misfire: skip }]\n" + JOURNAL)
    workspace.pipeline("single", "schedules: [{ id: s, at: 2026-01-01T12:07:00Z, misfire: skip }]\n" + JOURNAL)
    server = workspace.serve("--test-clock", "2026-01-01T12:02:30Z")
    server.advance("30s")
    server.kill()
    server = workspace.serve("--test-clock", "2026-01-01T12:21:00Z")
    for _ in range(3):
        server.advance("1m")
        assert server.runs() == []
    assert schedule(server, "often/s")["next"] == "2026-01-01T12:25:00Z"
    [missed] = server.occurrences("often/s")
    assert missed["decision"] == "missed" and covered([missed], 300) == series("2026-01-01T12:05:00Z", 4, 300)
    [missed] = server.occurrences("single/s")
    assert missed["decision"] == "missed" and missed["scheduled_for"] == "2026-01-01T12:07:00Z"
    assert schedule(server, "single/s")["next"] is None
    tick(server, "1m")
    assert slots(server.runs()) == ["2026-01-01T12:25:00Z"]
    tick(server, "24h")
    assert server.runs("single") == []


def test_a_full_pool_delays_a_run_and_loses_none(workspace):
    """O-09: a slot whose pool is full is a queued run, which starts when the pool has room."""
    workspace.write("eider.yaml", "workers: { max: 10 }\npools: { p: { slots: 8 } }\n")
    workspace.pipeline("holder", """
        pool: p
        max_active_runs: 8
        steps: [{ id: s, run: [sh, -c, "until test -e go-$EIDER_PARTITION; do sleep 0.05; done"] }]
    """)
    workspace.pipeline("daily", "pool: p\nschedules: [{ id: s, cron: \"0 9 * * *\" }]\n" + JOURNAL)
    server = workspace.serve("--test-clock", "2026-01-01T08:54:00Z")
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        server.advance("1m" if day == "2026-01-01" else "23h35m")
        for _ in range(8):
            server.start("holder", partition=day, queue=True)
        wait_for(lambda: server.get("/api/v1/pools")["items"][0]["used"] == 8, "the pool is full")
        server.advance("5m")
        run = server.runs("daily")[-1]
        assert run["state"] == "queued" and run["created_at"] == run["scheduled_for"] == f"{day}T09:00:00Z"
        assert [(what["kind"], what["name"]) for what in run["waiting_for"]] == [("pool", "p")]
        server.advance("20m")
        assert server.run(run["id"])["state"] == "queued"
        (workspace.root / f"go-{day}").touch()
        ended = server.wait_end(run["id"])
        assert ended["state"] == "succeeded" and ended["started_at"] == f"{day}T09:20:00Z"
        wait_for(lambda: is_idle(server), "the holders end")
    assert [row["decision"] for row in server.occurrences("daily/s")] == ["run"] * 3
    assert len(server.runs("daily")) == 3
