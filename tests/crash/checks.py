"""Whether what happened is what the design promises (its section 4, I2 to I7): from the store, from what the steps did, and from
what the harness was told. Pure: a test feeds it forged histories (test_checker.py)."""

import dataclasses

import checks_data
import checks_runs
from finding import Finding

TRACE_LINES = 40


@dataclasses.dataclass
class Known:
    """What the harness knows apart from store and journal."""
    keys: dict = dataclasses.field(default_factory=dict)  # key of a foreign event -> (asset, partition, rows: its mark)
    acknowledged: set = dataclasses.field(default_factory=set)  # keys to which a server answered
    files: dict = dataclasses.field(default_factory=dict)  # name in the watched folder -> its size in bytes, its mark
    asked: dict = dataclasses.field(default_factory=dict)  # key of a run by hand -> its id, None: no answer yet
    restarted: set = dataclasses.field(default_factory=set)  # runs that were asked to be tried again
    entries: dict = None  # run -> how often its SQL step took effect; None: not looked at


def check(history, executions, known, pipelines, pools, final=False):
    """Every finding, in words. `final`: everything has been given its time, so nothing may be open."""
    found = checks_runs.check(history, executions, pipelines, pools)
    found += checks_data.check(history, executions, known, pipelines, final)
    if final:
        found += nothing_open(history, pipelines)
    return found


def nothing_open(history, pipelines):
    events, pending = history.by_id("events"), {}
    for delivery in history.deliveries:
        if delivery.state == "pending" and delivery.event_id in events:
            pending.setdefault(delivery.trigger.split("/")[0], set()).add(events[delivery.event_id].asset)
    waits = {name for name, assets in pending.items() if name in pipelines and pipelines[name].trigger.may_wait(assets)}
    for row in history.runs + history.deliveries:
        if not row.ended and not (row.state == "pending" and row.trigger.split("/")[0] in waits):
            yield Finding("I5", f"it is still open at the end: {row}", (row.id, getattr(row, "run_id", None)))


def check_since(before, history, known):
    """What may never change from one look at the store to a later one."""
    found = []
    for name in ("runs", "occurrences", "events", "deliveries"):
        rows = history.by_id(name)
        for old in getattr(before, name):
            new = rows.get(old.id)
            if new is None:
                # A decision that ran nothing may be joined to its neighbour: their instants are checked by coverage.
                if name != "occurrences" or old.decision == "run":
                    found.append(Finding("I5", f"it was committed and is gone: {old}", (old.id,)))
            elif name == "runs":
                found += run_since(old, new, known)
            elif name == "deliveries":
                found += delivery_since(old, new, known)
            elif name == "events" and old != new:
                found.append(Finding("I6", f"an event changed: {old}; now {new}", (old.id,)))
            elif name == "occurrences" and (old.decision, old.run_id) != (new.decision, new.run_id):
                found.append(Finding("I6", f"a decision changed: {old}; now {new}", (old.id, old.run_id)))
    return found


def run_since(old, new, known):
    if old.ended and (new.state, new.attempt) != (old.state, old.attempt) and old.id not in known.restarted:
        yield Finding("I4", f"an ended run changed: {old}; now {new}", (old.id,))
    if new.attempt < old.attempt:
        yield Finding("I4", f"the attempt's number went back: {old}; now {new}", (old.id,))
    later = {one.number: one for one in new.attempts}
    for attempt in old.attempts:
        now = later.get(attempt.number)
        if attempt.outcome and (now is None or now.outcome != attempt.outcome):
            yield Finding("I4", f"the outcome of attempt {attempt.number} changed: {old}; now {new}", (old.id,))


def delivery_since(old, new, known):
    if old.run_id and new.run_id != old.run_id:
        yield Finding("I6", f"a delivery got a second run: {old}; now {new}", (old.id, old.run_id, new.run_id))
    if old.ended and new.state != old.state and old.run_id not in known.restarted:
        yield Finding("I4", f"an ended delivery changed: {old}; now {new}", (old.id, old.run_id))


def trace(finding, history, lines):
    """The least that shows a finding: the rows and the lines of the journal that name one of its subjects, in order."""
    subjects = {subject for subject in finding.subjects if subject}
    rows = history.runs + history.occurrences + history.events + history.deliveries
    shown = [str(row) for row in rows if named(row) & subjects]
    shown += [str(line) for line in lines if line.run in subjects and line.what != "beat"]
    more = len(shown) - TRACE_LINES
    return shown[:TRACE_LINES] + ([f"… and {more} more"] if more > 0 else [])


def named(row):
    return {row.id, getattr(row, "run_id", None), getattr(row, "event_id", None)} - {None}
