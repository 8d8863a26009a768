"""What the store says, as the reading verbs show it (`--json`), in plain rows. Instants are whole microseconds, so that they
can be compared; a row keeps the names of the API."""

import dataclasses
import datetime
import json
import subprocess

from eider import LIMIT_S, PROGRAM, TERMINAL, wait_for

PAGE = 1000
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MICROSECOND = datetime.timedelta(microseconds=1)
LISTS = {"runs": ("runs", "list"), "occurrences": ("occurrences",), "events": ("materializations",),
         "deliveries": ("deliveries", "list")}


def micros(text):
    """RFC 3339 in UTC; None stays None."""
    return None if text is None else (datetime.datetime.fromisoformat(text) - EPOCH) // MICROSECOND


@dataclasses.dataclass
class Attempt:
    number: int
    outcome: str  # None: live
    claimed_at: int
    finished_at: int = None


@dataclasses.dataclass
class Run:
    id: str
    pipeline: str
    kind: str  # schedule, data, manual
    trigger: str
    state: str
    attempt: int
    parent: str = None
    partition: str = None
    scheduled_for: int = None
    created_at: int = 0
    finished_at: int = None
    reason: str = None
    attempts: list = dataclasses.field(default_factory=list)

    @property
    def ended(self):
        return self.state in TERMINAL

    def __str__(self):
        tries = ", ".join(f"{one.number} {one.outcome or 'live'} claimed {one.claimed_at} ended {one.finished_at}"
                          for one in self.attempts)
        return (f"run {self.id} of {self.pipeline} by {self.kind} {self.trigger}: {self.state}, attempt {self.attempt}, "
                f"reason {self.reason}, created {self.created_at} [{tries}]")


@dataclasses.dataclass
class Occurrence:
    id: str
    schedule: str
    scheduled_for: int
    scheduled_until: int
    count: int
    decision: str
    run_id: str = None

    def __str__(self):
        return f"occurrence of {self.schedule} at {self.scheduled_for} ({self.count}): {self.decision}, run {self.run_id}"


@dataclasses.dataclass
class Event:
    id: str
    asset: str
    partition: str = None
    pipeline: str = None
    run_id: str = None
    committed_at: int = 0
    rows: int = None
    bytes: int = None
    unchanged: bool = False
    number: int = 0  # in the order of commits

    def __str__(self):
        return (f"event {self.number} {self.id}: {self.asset} ({self.partition}) by run {self.run_id} at "
                f"{self.committed_at}, rows {self.rows}, unchanged {self.unchanged}")


@dataclasses.dataclass
class Delivery:
    id: str
    trigger: str
    event_id: str
    state: str
    run_id: str = None
    reason: str = None

    @property
    def ended(self):
        return self.state in ("delivered", "failed", "skipped")

    def __str__(self):
        return f"delivery {self.id} of event {self.event_id} to {self.trigger}: {self.state} ({self.reason}), run {self.run_id}"


@dataclasses.dataclass
class History:
    """Each list as it is shown, newest first, turned: oldest first. `events` are in the order of their commits."""
    runs: list = dataclasses.field(default_factory=list)
    occurrences: list = dataclasses.field(default_factory=list)
    events: list = dataclasses.field(default_factory=list)
    deliveries: list = dataclasses.field(default_factory=list)

    def by_id(self, name):
        """id -> row; a second row of one id is found by checks.twice()."""
        return {row.id: row for row in getattr(self, name)}


def run_of(item):
    attempts = [Attempt(one["number"], one["outcome"], micros(one["claimed_at"]), micros(one["finished_at"]))
                for one in item["attempts"]]
    return Run(item["id"], item["pipeline"], item["trigger"]["kind"], item["trigger"]["id"], item["state"],
               item["attempt"], item["parent"], item["partition"], micros(item["scheduled_for"]),
               micros(item["created_at"]), micros(item["finished_at"]), item["reason"],
               sorted(attempts, key=lambda one: one.number))


def occurrence_of(item):
    return Occurrence(item["id"], item["schedule"], micros(item["scheduled_for"]), micros(item["scheduled_until"]),
                      item["count"], item["decision"], item["run_id"])


def event_of(item):
    size = (item["metadata"] or {}).get("bytes") if item["source"] == "watched" else item["bytes"]
    return Event(item["id"], item["asset"], item["partition"], item["pipeline"], item["run_id"],
                 micros(item["committed_at"]), item["rows"], size, item["unchanged"], item["number"])


def delivery_of(item):
    return Delivery(item["id"], item["trigger"], item["event_id"], item["state"], item["run_id"], item.get("reason"))


ROWS = {"runs": run_of, "occurrences": occurrence_of, "events": event_of, "deliveries": delivery_of}


def ask(root, *arguments):
    """What a command prints. A process that the server was starting when it died has its socket for a moment longer: whoever
    calls just then is cut off, and asks again."""
    def answer():
        done = subprocess.run([str(PROGRAM), "-w", str(root), *arguments, "--json"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        last[:] = [done]
        return done.returncode == 0

    last = []
    try:
        wait_for(answer, "the store can be read", limit_s=LIMIT_S / 6)
    except AssertionError:
        error = last[0].stderr.decode(errors="replace")
        raise AssertionError(f"eider {' '.join(arguments)}: exit {last[0].returncode}: {error}") from None
    return json.loads(last[0].stdout)


def read_list(root, name):
    found, cursor = [], None
    while True:
        more = ("--cursor", cursor) if cursor else ()
        page = ask(root, *LISTS[name], "--limit", str(PAGE), *more)
        found += [ROWS[name](item) for item in page["items"]]
        cursor = page["next"]
        if not cursor:
            return found[::-1]


def read(root):
    """All of it, at a moment when no server is there: so the lists fit each other."""
    return History(**{name: read_list(root, name) for name in LISTS})
