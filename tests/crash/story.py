"""A history that is right, to be spoilt: what the checks are tested with."""

import dataclasses
import zlib

import checks
import journal
from history import Attempt, Delivery, Event, History, Occurrence, Run
from workload import Pipeline, Schedule, Trigger

S = 1_000_000
PIPELINES = {
    "source": Pipeline((("s", ""),), Schedule(1000), publishes=(("raw.a", ""), ("raw.early", "after: s")), pools=(("one", 1),)),
    "sink": Pipeline((("s", ""),), trigger=Trigger(("raw.a",)), pools=(("one", 1),)),
    "fold": Pipeline((("s", ""),), trigger=Trigger(("raw.*",), single=False)),
    "both": Pipeline((("s", ""),), trigger=Trigger(("other.a", "other.b"), single=False, together=True)),
    "part": Pipeline((("s", ""),), trigger=Trigger(("outside.*",), partitions=("a",))),
    "ledger": Pipeline((("s", ""),), quiet=True),
    "asked": Pipeline((("s", ""),)),
}
POOLS = {"one": 1}


class Story:
    """A history that is right, to be spoilt: two occurrences of `source`, each with its events, deliveries and runs."""

    def __init__(self):
        self.history, self.known, self.lines = History(), checks.Known(), []
        for number in (1, 2):
            self.occurrence(number)
        for number in (1, 2):
            self.deliver(f"sink{number}", "sink", [f"a{number}"], 10 + number)
        self.deliver("fold1", "fold", ["early1", "a1", "early2", "a2"], 20)
        self.event("out1", "outside.x", 21, None, partition="b", rows=7)
        self.history.deliveries.append(Delivery("part-out1", "part/on", "out1", "skipped"))
        self.known.keys["key"] = ("outside.x", "b", 7)
        self.known.acknowledged.add("key")
        self.run("by-hand", "asked", "manual", "cli", [("succeeded", 22, 23)])
        self.known.asked["ask"] = "by-hand"
        self.run("sql", "ledger", "manual", "cli", [("failed", 24, 25), ("succeeded", 25, 26)], work=False)
        self.known.entries = {"sql": 1}
        self.before = History()

    def occurrence(self, number):
        at = number * S
        # The first one is tried twice.
        tries = [("crashed", number, number + 0.4), ("succeeded", number + 0.4, number + 0.8)]
        self.run(f"source{number}", "source", "schedule", "source/clock", tries if number == 1 else tries[1:], scheduled_for=at)
        self.history.occurrences.append(Occurrence(f"o{number}", "source/clock", at, at, 1, "run", f"source{number}"))
        self.event(f"early{number}", "raw.early", number + 0.5, f"source{number}")
        self.event(f"a{number}", "raw.a", number + 0.8, f"source{number}")

    def run(self, name, pipeline, kind, trigger, tries, scheduled_for=None, told="-", work=True):
        attempts = [Attempt(number, outcome, int(begin * S), int(end * S))
                    for number, (outcome, begin, end) in enumerate(tries, 1)]
        self.history.runs.append(Run(name, pipeline, kind, trigger, attempts[-1].outcome, len(attempts), scheduled_for=scheduled_for,
                                     created_at=attempts[0].claimed_at, finished_at=attempts[-1].finished_at, attempts=attempts))
        for one in attempts if work else ():
            self.line(name, pipeline, one.number, "begin", one.claimed_at + 1, told)
            self.line(name, pipeline, one.number, "end" if one.outcome == "succeeded" else "beat", one.finished_at - 1)

    def line(self, run, pipeline, attempt, what, wall_us, detail="-"):
        self.lines.append(journal.Line(wall_us * 1000, wall_us, 99, pipeline, run, attempt, "s", what, detail, len(self.lines)))

    def event(self, name, asset, at, run_id, **more):
        self.history.events.append(Event(name, asset, pipeline=run_id and "source", run_id=run_id, committed_at=int(at * S),
                                         number=len(self.history.events) + 1, **more))

    def deliver(self, name, pipeline, events, at):
        told = f"{len(events)}:{zlib.crc32(','.join(events).encode()):08x}"
        self.run(name, pipeline, "data", f"{pipeline}/on", [("succeeded", at, at + 0.9)], told=told)
        for event in events:
            self.history.deliveries.append(Delivery(f"{name}-{event}", f"{pipeline}/on", event, "delivered", name))

    # ---- to spoil it -------------------------------------------------------------------------------------------

    def row(self, name):
        every = self.history.runs + self.history.occurrences + self.history.events + self.history.deliveries
        return next(row for row in every if row.id == name)

    def change(self, name, **values):
        for key, value in values.items():
            setattr(self.row(name), key, value)

    def remove(self, name):
        for rows in (self.history.runs, self.history.occurrences, self.history.events, self.history.deliveries):
            rows[:] = [row for row in rows if row.id != name]

    def copy(self, name, new, **values):
        for rows in (self.history.runs, self.history.occurrences, self.history.events, self.history.deliveries):
            rows += [dataclasses.replace(row, id=new, **values) for row in rows if row.id == name]

    def forget_work(self, name, attempt):
        self.lines = [line for line in self.lines if (line.run, line.attempt) != (name, attempt)]

    def remember(self):
        """The store was looked at when it was as it is now."""
        self.before = History(*([dataclasses.replace(row) for row in rows] for rows in
                                (self.history.runs, self.history.occurrences, self.history.events, self.history.deliveries)))
        for run in self.before.runs:
            run.attempts = [dataclasses.replace(one) for one in run.attempts]

    def findings(self, final=True):
        executions = journal.executions(self.lines)
        return (checks.check(self.history, executions, self.known, PIPELINES, POOLS, final) +
                checks.check_since(self.before, self.history, self.known))
