"""Many at once: requests, readers and instants. The store is never in anybody's way, and the API goes on answering."""

import threading
import time

from clockwork import settle
from eider import SLOWER, ApiError, wait_for

SCHEDULES = 10_000


class Poller(threading.Thread):
    """Asks for something over and over; keeps the slowest answer, and every answer that was none."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask
        self.done = threading.Event()
        self.slowest_s = 0.0
        self.answers = 0
        self.faults = []

    def run(self):
        while not self.done.is_set():
            begin = time.monotonic()
            try:
                self.ask()
            except Exception as error:  # pylint: disable=broad-except
                self.faults.append(error)
            self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
            self.answers += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        self.join()


def test_writers_and_readers_are_never_refused(workspace):
    """O-28: while many clients make runs, workers report and others read, by the API and from the files, nobody is told
    that the database is locked, and every run is done exactly once."""
    clients, each = 4, 40
    workspace.write("eider.yaml", "workers: { max: 2 }\n")
    workspace.pipeline("p", """
        schedules: [{ id: never, at: "2100-01-01T00:00:00Z", overlap: allow }]
        steps: [{ id: s, run: [sh, -c, "echo $EIDER_RUN_ID.$EIDER_ATTEMPT >> journal"] }]
    """)
    server = workspace.serve()
    made, faults = [], []

    def ask_for_runs():
        try:
            for _ in range(each):
                made.append(server.start("p", queue=True))
        except ApiError as error:
            faults.append(error)

    def read_files():
        done = workspace.cli("runs", "list", "--limit", "50")
        assert done.returncode == 0 and done.stderr == "", done.stderr

    def check_health():
        assert server.get("/api/v1/status")["health"] == "ok"

    readers = [Poller(lambda: server.get("/api/v1/runs?limit=50")), Poller(check_health), Poller(read_files)]
    writers = [threading.Thread(target=ask_for_runs) for _ in range(clients)]
    for thread in readers + writers:
        thread.start()
    for writer in writers:
        writer.join()
    settle(server)
    for reader in readers:
        reader.done.set()
        reader.join()
        assert reader.faults == [] and reader.answers > 0
    assert faults == []
    assert len(set(made)) == clients * each
    assert sorted((workspace.root / "journal").read_text().split()) == sorted(f"{run_id}.1" for run_id in made)
    assert all(run["state"] == "succeeded" and run["attempt"] == 1 for run in server.runs("p"))
    assert "locked" not in server.output()


def test_ten_thousand_schedules_of_one_instant(workspace):
    """O-32: ten thousand schedules load, rest, are all due at one instant, and are all decided in one go; the API
    answers meanwhile. What runs is bounded by the pool, and what waits says so."""
    workspace.write("eider.yaml", "workers: { max: 2 }\npools: { few: 2 }\n")
    for number in range(SCHEDULES):
        workspace.pipeline(f"p{number:05}", 'pool: few\nschedules: [{ id: s, cron: "1 23 * * *" }]\n'
                           'steps: [{ id: s, run: [sh, -c, "until test -e go; do sleep 0.2; done"] }]\n')
    server = workspace.start("--test-clock", "2026-01-01T22:59:30Z")
    begin = time.monotonic()
    server.ready()
    loaded_s = time.monotonic() - begin
    assert loaded_s < 15 * SLOWER, f"loading took {loaded_s:.1f} s"
    status = server.get("/api/v1/status")
    assert (status["schedules"], status["next_due"]) == (SCHEDULES, "2026-01-01T23:01:00Z")
    server.advance("60s")
    assert server.items("/api/v1/runs") == [], "not yet"
    with Poller(lambda: server.get("/api/v1/status")) as poller:
        begin = time.monotonic()
        server.advance("31s")
        decided_s = time.monotonic() - begin
    print(f'loaded {loaded_s:.2f} s, decided {decided_s:.2f} s, slowest {poller.slowest_s:.3f} s of {poller.answers}')
    assert poller.faults == [] and poller.answers > 0
    assert decided_s < 15 * SLOWER, f"deciding took {decided_s:.1f} s"
    assert poller.slowest_s < 3 * SLOWER, f"an answer took {poller.slowest_s:.1f} s"
    occurrences = server.items("/api/v1/occurrences")
    assert len(occurrences) == SCHEDULES == len({row["schedule"] for row in occurrences})
    assert {row["decision"] for row in occurrences} == {"run"}
    assert {row["decided_at"] for row in occurrences} == {"2026-01-01T23:01:01Z"}, "one instant, decided at once"
    status = server.get("/api/v1/status")
    assert (status["running"], status["queued"]) == (2, SCHEDULES - 2)
    waiting = server.get("/api/v1/runs?state=queued&limit=1")["items"][0]["waiting_for"]
    assert ("pool", "few") in [(one["kind"], one["name"]) for one in waiting], waiting
    [pool] = server.get("/api/v1/pools")["items"]
    assert (pool["used"], pool["waiting"]) == (2, SCHEDULES - 2)
    first = wait_for(lambda: server.get("/api/v1/runs?state=running")["items"], "two run")
    (workspace.root / "go").touch()
    for run in first:
        assert server.wait_end(run["id"])["state"] == "succeeded"
    wait_for(lambda: server.get("/api/v1/status")["queued"] < SCHEDULES - 20, "the others take their turns")
