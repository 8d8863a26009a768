"""The example on real data. The expected values were computed apart from Eider and DuckDB: in plain Python, row by row,
from the same Parquet file."""

import csv
import os
import re
import shutil

import pytest

from clockwork import at
from eider import ROOT, SLOWER, Workspace, process_exists, wait_for

EXAMPLE = ROOT / "examples" / "flights"
# A query on a busy machine takes as long as the others let it.
LONG_S = 600 * SLOWER
MONTHS = {1: 508_201, 2: 458_142, 3: 511_471, 4: 500_996, 5: 518_801, 6: 502_184, 7: 6}
RAW = 3_000_000
FLIGHTS = 2_999_801
# airport, flights, more than 15 minutes late
WORST = [("JFK", 31_269, 9_233), ("BOS", 65_481, 16_387), ("SEA", 50_227, 12_433), ("ORD", 166_318, 41_076),
         ("PHL", 59_363, 14_538), ("PHX", 93_019, 22_423), ("DEN", 66_919, 15_955), ("LGA", 58_350, 13_614),
         ("ATL", 124_708, 28_624), ("MIA", 40_115, 9_126)]
CHECK = """
pipeline: check
database: { file: warehouse.duckdb, mode: read }
steps:
  - id: look
    sql: |
      SELECT unnest([
        'rows ' || (SELECT count(*) FROM airport_days),
        'flights ' || (SELECT sum(flights) FROM airport_days),
        'airports ' || (SELECT count(DISTINCT airport) FROM airport_days) || ' of ' || (SELECT count(*) FROM airports),
        'ORD ' || (SELECT flights || ' ' || mean_delay_min || ' ' || late_flights FROM airport_days
                   WHERE airport = 'ORD' AND flown_on = DATE '2001-01-02')]) AS fact
      UNION ALL
      SELECT 'month ' || month || ': ' || count(*)
      FROM read_parquet('out/flights/*/*.parquet', hive_partitioning = true) GROUP BY month;
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """A copy of the example, its data by a link inside the copy, with each link of the chain run once without a server."""
    for name in ("flights-3m.parquet", "airports.csv"):
        assert (EXAMPLE / "data" / name).exists(), "the data of the example is missing: ./run test fetches it"
    made = Workspace(tmp_path_factory.mktemp("flights") / "w")
    shutil.rmtree(made.root / "pipelines")
    for name in ("pipelines", "sql", "scripts"):
        shutil.copytree(EXAMPLE / name, made.root / name)
    shutil.copy(EXAMPLE / "eider.yaml", made.root)
    (made.root / "data").symlink_to(EXAMPLE / "data")
    # Two threads, so that it is slow enough on a large machine; a long limit, so that it is not too slow on a busy one.
    slow = made.root / "pipelines" / "history.yaml"
    text = slow.read_text()
    assert "timeout: 5m\n" in text and "resources: { memory: 2GB }" in text
    assert "range(288)" in text
    text = text.replace("timeout: 5m", "timeout: 1h").replace("{ memory: 2GB }", "{ threads: 2, memory: 2GB }")
    slow.write_text(text.replace("range(288)", "range(144)"))  # half as slow is slow enough
    # The clock of `ingest` would begin another chain at each full minute.
    clock = made.root / "pipelines" / "ingest.yaml"
    text = clock.read_text()
    assert "every: 1m\n" in text
    clock.write_text(text.replace("every: 1m\n", 'at: "2100-01-01T00:00:00Z"\n'))
    try:
        made.cli("validate", expect=0)
        for name in ("ingest", "canonical", "daily"):
            made.cli("run", name, expect=0, limit_s=LONG_S)
        yield made
    finally:
        made.close()


def test_the_data_is_clean_and_whole(flights):
    """Rows by month, by day and airport, and of one airport's day, as counted without DuckDB."""
    (flights.root / "pipelines" / "check.yaml").write_text(CHECK)
    shown = flights.cli("run", "check", expect=0, limit_s=LONG_S).stdout
    (flights.root / "pipelines" / "check.yaml").unlink()
    for fact in ("rows 39952", f"flights {FLIGHTS}", "airports 229 of 3376", "ORD 937 11.28 317"):
        assert fact in shown, shown
    assert sum(MONTHS.values()) == FLIGHTS
    assert sorted(os.listdir(flights.root / "out" / "flights")) == [f"month={month}" for month in MONTHS]
    for name, count in (("ingest", RAW), ("canonical", FLIGHTS)):
        run = flights.json("runs", "list", "--pipeline", name)["items"][0]
        assert f"COPY {count} rows" in flights.cli("logs", run["id"], expect=0).stdout
    for month, count in MONTHS.items():
        assert f"month {month}: {count}\n" in shown, shown


def test_the_report_names_the_worst_airports(flights):
    """The extract and the report of the last step, name by name and number by number."""
    with open(flights.root / "out" / "worst_airports.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["airport"], int(row["flights"])) for row in rows] == [(name, count) for name, count, _ in WORST]
    for row, (_, count, late) in zip(rows, WORST):
        assert abs(float(row["late_percent"]) - 100 * late / count) <= 0.051
    report = (flights.root / "out" / "delays.md").read_text()
    assert "| JFK John F Kennedy Intl | New York, NY | 31269 | 29.5 % |" in report
    assert len(re.findall(r"^\| [A-Z]{3} ", report, re.MULTILINE)) == 10
    run = flights.json("runs", "list", "--pipeline", "daily")["items"][0]
    assert f"Made by run {run['id']}, attempt 1." in report
    shown = flights.json("runs", "show", run["id"])
    assert [step["step"] for step in shown["steps"]] == ["airports", "metrics", "extract", "report"]
    assert shown["steps"][3]["facts"] == {"rows": 10, "worst": "JFK"}
    assert sorted(os.listdir(flights.root / "out")) == ["delays.md", "flights", "raw", "worst_airports.csv"]


def delivered(server, trigger):
    """The deliveries of a trigger that have been delivered, newest first."""
    return [item for item in server.items(f"/api/v1/deliveries?trigger={trigger}") if item["state"] == "delivered"]


def fired(server, history, since):
    """Instants of `now` that came while the slow one was running."""
    assert server.run(history)["state"] == "running", "the slow one is too fast for this machine"
    return [row for row in server.occurrences("now/every_5s") if at(row["scheduled_for"]) > since]


def check_on_time(rows):
    first, second = rows[:2]
    assert (at(second["scheduled_for"]) - at(first["scheduled_for"])).total_seconds() == 5
    for row in (first, second):
        late_s = (at(row["decided_at"]) - at(row["scheduled_for"])).total_seconds()
        assert 0 <= late_s < 5, f"decided {late_s} s late: not before the next one is due"
        # On a machine where a query of `now` takes more than five seconds, the next one is skipped, and says so.
        assert row["decision"] == "run" or row["reason"] == "ActiveRun", row
    assert "run" in {row["decision"] for row in rows}


def check_chain(server, daily):
    """`daily` runs because `canonical` published, which ran because `ingest` published: run by run, and event by event."""
    run = server.run(daily)
    canonical = server.run(run["parent"])
    ingest = server.run(canonical["parent"])
    assert [(one["pipeline"], one["trigger"]["kind"]) for one in (run, canonical, ingest)] == \
        [("daily", "data"), ("canonical", "data"), ("ingest", "manual")]
    told = server.workspace.cli("explain", daily, expect=0).stdout
    for name in ("raw.flights", "canonical.flights", daily, canonical["id"], ingest["id"]):
        assert name in told, told


def test_nobody_waits_for_the_slow_one_and_runs_outlive_the_server(flights):
    """The point of it all, on the real clock: `daily` is served with an event that `history`, which was served with the one
    before, has no time for yet; `now` fires on time beside it; a killed server leaves `history` alone, and the next one
    takes it over and records its end."""
    server = flights.serve()
    # `ingest` and `canonical` have published: `canonical`, `daily` and `history` are owed that, and work at once.
    [history] = wait_for(lambda: server.runs("history"), "the slow consumer has its run")
    history = server.wait_running(history["id"])["id"]
    [again] = [run for run in server.runs("canonical") if run["trigger"]["kind"] == "data"]
    assert server.wait_end(again["id"], limit_s=LONG_S)["state"] == "succeeded"
    served = wait_for(lambda: (lambda found: found if len(found) == 2 else None)(delivered(server, "daily/on_canonical")),
                      "the fast consumer has both events", limit_s=LONG_S)
    rows = wait_for(lambda: (lambda found: found if len(found) >= 2 else None)(fired(server, history, at(server.run(history)["started_at"]))),
                    "`now` fires twice", limit_s=60)
    assert delivered(server, "history/on_canonical") == [], "the slow one is still busy with the first"
    check_on_time(rows)
    check_chain(server, served[0]["run_id"])
    running = {run["id"]: run for run in server.runs() if run["state"] == "running"}
    workers = {run_id: run["attempts"][-1]["worker_pid"] for run_id, run in running.items()}
    assert history in workers
    server.kill()
    assert process_exists(workers[history]), "its worker does not mind"
    server = flights.serve()
    wait_for(lambda: server.run(history)["state"] == "succeeded" or server.run(history)["adopted"],
             "the slow one is taken over, or has ended by itself")
    ended = server.wait_end(history, limit_s=LONG_S)
    assert ended["state"] == "succeeded" and ended["attempt"] == 1 and ended["interruptions"] == 0, ended
    assert ended["attempts"][0]["worker_pid"] == workers[history], "the same process did all of it"
    for run_id in running:
        assert server.wait_end(run_id, limit_s=LONG_S)["state"] == "succeeded"
        assert server.run(run_id)["interruptions"] == 0
    assert history in [item["run_id"] for item in delivered(server, "history/on_canonical")]
