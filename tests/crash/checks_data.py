"""Publications, deliveries and what comes from outside: I5 and I6 for data."""

import collections
import zlib

import workload
from finding import Finding


def check(history, executions, known, pipelines, final):
    found = []
    for part in (published(history, executions, pipelines), owed(history, pipelines), followed(history, pipelines),
                 in_order(history, pipelines), told(history, executions), heard(history, known, final), entered(history, known)):
        found += part
    return found


def published(history, executions, pipelines):
    """I5, I6: a success publishes each of its assets once, and nothing else publishes at its end: in one commit, since at no
    look at the store one is there without the other."""
    made, of_asset = collections.defaultdict(list), collections.defaultdict(list)
    runs = history.by_id("runs")
    for event in sorted(history.events, key=lambda one: one.number):
        of_asset[event.asset].append(event)
        if event.pipeline:
            made[event.run_id, event.asset].append(event)
    for (run_id, asset), events in made.items():
        run = runs.get(run_id)
        if len(events) > 1 and not each_after_another(events, of_asset[asset]):
            yield Finding("I6", f"run {run_id} published {asset} twice", (run_id, *(event.id for event in events)))
        if run is None:
            yield Finding("I5", f"an event of a run that is not there: {events[0]}", (events[0].id,))
            continue
        pipeline = pipelines[run.pipeline]
        if asset in pipeline.final() and len(events) > 1:
            yield Finding("I6", f"run {run_id} succeeded twice with {asset}", (run_id, *(event.id for event in events)))
        if asset in pipeline.final() and (run.state != "succeeded" or events[0].committed_at < run.finished_at):
            yield Finding("I5", f"it was not published by its run's success: {events[0]}; {run}", (events[0].id, run.id))
        if asset in pipeline.early() and not ended_step(executions, run, pipeline.early()[asset]):
            yield Finding("I5", f"it was published, and its step never ended: {events[0]}; {run}", (events[0].id, run.id))
        if asset not in pipeline.final() and asset not in pipeline.early():
            yield Finding("I5", f"{run.pipeline} does not publish this: {events[0]}", (events[0].id, run.id))
    for run in history.runs:
        for asset in (asset for asset, _ in pipelines[run.pipeline].publishes) if run.pipeline in pipelines else ():
            if run.state == "succeeded" and (run.id, asset) not in made:
                yield Finding("I5", f"it succeeded, and {asset} was not published: {run}", (run.id,))


def each_after_another(events, of_asset):
    """A run that is tried again puts its content back where another run's has come in between: that is news."""
    places = [of_asset.index(event) for event in events]
    return all(later > earlier + 1 for earlier, later in zip(places, places[1:]))


def ended_step(executions, run, step):
    return any(step in executions[run.id, one.number].steps("end") for one in run.attempts if (run.id, one.number) in executions)


def owed(history, pipelines):
    """I5, I6: each event is owed once to each trigger that takes it, and to no other."""
    triggers = {workload.trigger_key(name): one.trigger for name, one in pipelines.items() if one.trigger}
    events, found = history.by_id("events"), collections.Counter()
    for delivery in history.deliveries:
        found[delivery.trigger, delivery.event_id] += 1
        event, trigger = events.get(delivery.event_id), triggers.get(delivery.trigger)
        if event is None or trigger is None or not trigger.takes(event):
            yield Finding("I5", f"this is not owed: {delivery}; {event}", (delivery.id, delivery.event_id))
    for (trigger, event_id), count in found.items():
        if count > 1:
            yield Finding("I6", f"event {event_id} is owed {count} times to {trigger}", (event_id,))
    for event in history.events:
        for key, trigger in triggers.items():
            if trigger.takes(event) and not found[key, event.id]:
                yield Finding("I5", f"this was never owed to {key}: {event}", (event.id, event.run_id))


def expected_state(run):
    if not run.ended:
        return "claimed"
    return "delivered" if run.state == "succeeded" else "failed"


def followed(history, pipelines):
    """I5, I6: a delivery is what its run is; a run has the deliveries that it was made for."""
    runs, of_run, events = history.by_id("runs"), collections.Counter(), history.by_id("events")
    for delivery in history.deliveries:
        name = delivery.trigger.split("/")[0]
        if delivery.state in ("pending", "skipped"):
            event = events.get(delivery.event_id)
            allowed = name in pipelines and event and pipelines[name].trigger.partitions
            if delivery.state == "skipped" and not (allowed and event.partition not in allowed):
                yield Finding("I5", f"nobody skipped this: {delivery}", (delivery.id, delivery.event_id))
            if delivery.run_id:
                yield Finding("I5", f"it has a run, and is {delivery.state}: {delivery}", (delivery.id, delivery.run_id))
            continue
        run = runs.get(delivery.run_id)
        of_run[delivery.run_id] += 1
        if run is None or run.trigger != delivery.trigger:
            yield Finding("I5", f"its run is not there: {delivery}; {run}", (delivery.id, delivery.run_id))
        elif delivery.state != expected_state(run):
            yield Finding("I5", f"its state does not follow its run: {delivery}; {run}", (delivery.id, run.id))
    for run in history.runs:
        count = of_run[run.id]
        if run.kind == "data" and count == 0:
            yield Finding("I6", f"a run without a delivery: {run}", (run.id,))
        elif count > 1 and run.pipeline in pipelines and pipelines[run.pipeline].trigger.single:
            yield Finding("I6", f"{count} deliveries share a run, and they may not: {run}", (run.id,))


def deliveries_of(history):
    """run -> its deliveries' events, in the order of commits."""
    events, found = history.by_id("events"), collections.defaultdict(list)
    for delivery in history.deliveries:
        if delivery.run_id and delivery.event_id in events:
            found[delivery.run_id].append(events[delivery.event_id])
    return {run_id: sorted(several, key=lambda event: event.number) for run_id, several in found.items()}


def in_order(history, pipelines):
    """A trigger's deliveries are claimed in the order of their events."""
    made_for, last = deliveries_of(history), {}
    for run in history.runs:  # oldest first
        events = made_for.get(run.id)
        if run.kind != "data" or not events or (run.pipeline in pipelines and pipelines[run.pipeline].trigger.partitions):
            continue
        before = last.get(run.trigger)
        if before and events[0].number < before[1]:
            yield Finding("order", f"{run.trigger} took event {events[0].number} after {before[1]}", (run.id, before[0]))
        last[run.trigger] = (run.id, events[-1].number)


def told(history, executions):
    """A run was told of the events of its deliveries, all of them and no other."""
    made_for = deliveries_of(history)
    for execution in executions.values():
        ids = [event.id for event in made_for.get(execution.run, [])]
        expected = f"{len(ids)}:{zlib.crc32(','.join(ids).encode()):08x}" if ids else "-"
        for line in execution.lines:
            if line.what == "begin" and line.detail != expected:
                yield Finding("I5", f"it was told of {line.detail}, and its deliveries are {expected}: {line}", (execution.run,))


def heard(history, known, final):
    """I5, I6: what came from outside is there once: when a server said so, and at the end in any case."""
    events, runs = collections.Counter(), history.by_id("runs")
    for event in history.events:
        if not event.pipeline:
            events[event.asset, event.partition, mark_of(event)] += 1
    expected = {(asset, partition, rows): key for key, (asset, partition, rows) in known.keys.items()}
    expected.update({(WATCHED, None, size): name for name, size in known.files.items()})
    for what, count in events.items():
        if what not in expected:
            yield Finding("I5", f"nobody reported this: {what}")
        elif count > 1:
            yield Finding("I6", f"{expected[what]} was recorded {count} times: {what}")
    for what, key in expected.items():
        if not events[what] and (final or key in known.acknowledged):
            yield Finding("I5", f"{key} was reported, and is not there: {what}")
    for key, run_id in known.asked.items():
        if run_id is None and final or run_id and run_id not in runs:
            yield Finding("I5", f"{key} was asked for, and there is no run {run_id}", (run_id,))
    asked = set(known.asked.values())
    by_hand = [run for run in history.runs if run.pipeline == "asked"]
    if len(by_hand) > len(known.asked):
        several = tuple(run.id for run in by_hand if run.id not in asked)
        yield Finding("I6", f"{len(known.asked)} runs were asked for, and {len(by_hand)} are there", several)


WATCHED = "outside.files"


def mark_of(event):
    return event.bytes if event.asset == WATCHED else event.rows


def entered(history, known):
    """I6: a SQL step took effect once in each run that succeeded, and in no other more than once."""
    if known.entries is None:
        return
    for run in history.runs:
        if run.pipeline == "ledger":
            count = known.entries.get(run.id, 0)
            if count > 1 or (count == 0 and run.state == "succeeded"):
                yield Finding("I6", f"its SQL step took effect {count} times: {run}", (run.id,))
    for run_id in set(known.entries) - {run.id for run in history.runs}:
        yield Finding("I2", f"a SQL step took effect for run {run_id}, which is not there", (run_id,))
