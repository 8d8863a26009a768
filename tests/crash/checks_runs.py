"""Claims, attempts, clocks and pools: I2, I3, I4, I7, and I5 and I6 for occurrences."""

import collections
import math

from finding import Finding, over_time


def check(history, executions, pipelines, pools):
    found = []
    for part in (claimed(history, executions), one_at_a_time(history, executions), fenced(history, executions, pipelines),
                 bounded(history, executions, pipelines), covered(history, pipelines), within(history, executions, pipelines, pools)):
        found += part
    return found


def claimed(history, executions):
    """I2: nothing was executed without a claim that was committed."""
    runs = history.by_id("runs")
    for execution in executions.values():
        run = runs.get(execution.run)
        attempt = next((one for one in run.attempts if one.number == execution.attempt), None) if run else None
        if attempt is None:
            yield Finding("I2", f"attempt {execution.attempt} of run {execution.run} ({execution.pipeline}) was executed, and no "
                          f"such claim is committed: {run or 'there is no such run'}", (execution.run,))
        elif execution.lines[0].wall_us < attempt.claimed_at:
            yield Finding("I2", f"attempt {execution.attempt} was executed before it was claimed: {run}", (run.id,))


def one_at_a_time(history, executions):
    """I3: no two attempts of a run overlapped, in the store or in what was done."""
    for run in history.runs:
        if [one.number for one in run.attempts] != sorted({one.number for one in run.attempts}):
            yield Finding("I3", f"an attempt is there twice: {run}", (run.id,))
        for older, newer in zip(run.attempts, run.attempts[1:]):
            if older.outcome is None or older.finished_at > newer.claimed_at:
                yield Finding("I3", f"attempt {newer.number} was claimed before {older.number} was over: {run}", (run.id,))
    newest, told = {}, set()
    for line in sorted((line for one in executions.values() for line in one.lines), key=lambda line: line.place):
        last = newest.setdefault(line.run, line.attempt)
        if (line.what == "overlap" or line.attempt < last) and line.run not in told:
            told.add(line.run)
            which = line.detail if line.what == "overlap" else last
            yield Finding("I3", f"attempts {line.attempt} and {which} of run {line.run} were executed at once: {line}", (line.run,))
        newest[line.run] = max(last, line.attempt)


def fenced(history, executions, pipelines):
    """I4: one attempt's result counts, and it is the last one's; it did what it is said to have done."""
    for run in history.runs:
        last = run.attempts[-1] if run.attempts else None
        won = [one.number for one in run.attempts if one.outcome == "succeeded"]
        if last and last.number > run.attempt:
            yield Finding("I4", f"an attempt is newer than its run's fence: {run}", (run.id,))
        if run.state == "running" and not (last and last.outcome is None and last.number == run.attempt):
            yield Finding("I4", f"it runs, and its newest attempt does not: {run}", (run.id,))
        if run.state != "running" and any(one.outcome is None for one in run.attempts):
            yield Finding("I4", f"an attempt is live, and its run does not run: {run}", (run.id,))
        if won != ([run.attempt] if run.state == "succeeded" else []):
            yield Finding("I4", f"its state is not what its newest attempt says: {run}", (run.id,))
        elif won and run.pipeline in pipelines and not pipelines[run.pipeline].quiet:
            done = executions.get((run.id, run.attempt))
            missing = {step for step, _ in pipelines[run.pipeline].steps} - (done.steps("end") if done else set())
            if missing:
                yield Finding("I4", f"it succeeded, and attempt {run.attempt} never ended its step {min(missing)}: {run}", (run.id,))


def spans_of(history, executions, of):
    """(begin, end, weight, run) of what `of(pipeline)` weighs, by claims, then by what was done."""
    claims, done = [], []
    for run in history.runs:
        if weight := of(run.pipeline):
            claims += [(one.claimed_at, one.finished_at or math.inf, weight, run.id) for one in run.attempts]
    for one in executions.values():
        if weight := of(one.pipeline):
            done.append((one.begin_ns, one.last_ns, weight, one.run))
    return (("claims", claims), ("work", done))


def bounded(history, executions, pipelines):
    """I3: a pipeline never has more than its max_active_runs."""
    for name, pipeline in pipelines.items():
        for what, spans in spans_of(history, executions, lambda other, name=name: int(other == name)):
            if over := over_time(spans, pipeline.max_active):
                yield Finding("I3", f"{name} had more than {pipeline.max_active} at once, by its {what}: {', '.join(over)}", over)


def within(history, executions, pipelines, pools):
    """I7: no pool was ever used beyond its slots."""
    taken = {name: dict(pipeline.pools) for name, pipeline in pipelines.items()}
    for pool, slots in pools.items():
        for what, spans in spans_of(history, executions, lambda name, pool=pool: taken.get(name, {}).get(pool, 0)):
            if over := over_time(spans, slots):
                yield Finding("I7", f"pool {pool} was used beyond {slots}, by {what}: {', '.join(over)}", over)


def covered(history, pipelines):
    """I5, I6: each due instant has one decision, from the first to the last; one that ran has its run, and only one."""
    runs, by_schedule, made = history.by_id("runs"), collections.defaultdict(list), collections.defaultdict(list)
    for row in history.occurrences:
        by_schedule[row.schedule].append(row)
    for key, rows in by_schedule.items():
        name = key.split("/")[0]
        if name in pipelines:
            yield from gapless(key, rows, pipelines[name].schedule.every_ms * 1000)
    for run in history.runs:
        if run.kind == "schedule":
            made[run.trigger, run.scheduled_for].append(run)
    for (trigger, at), several in made.items():
        if len(several) > 1:
            yield Finding("I6", f"{trigger} ran twice for {at}", tuple(run.id for run in several))
    decided = {row.run_id: row for row in history.occurrences if row.decision == "run"}
    for row in decided.values():
        run = runs.get(row.run_id)
        if run is None or (run.trigger, run.scheduled_for) != (row.schedule, row.scheduled_for):
            yield Finding("I5", f"it was decided to run, and that run is not there: {row}", (row.id, row.run_id))
    for several in made.values():
        for run in several:
            if run.id not in decided:
                yield Finding("I5", f"nothing decided this run: {run}", (run.id,))


def gapless(key, rows, every_us):
    due = None
    for row in sorted(rows, key=lambda row: (row.scheduled_for, row.id)):
        if row.scheduled_until != row.scheduled_for + (row.count - 1) * every_us:
            yield Finding("I5", f"its count is not what lies between its instants: {row}", (row.id,))
        if due is not None and row.scheduled_for < due:
            yield Finding("I6", f"an instant of {key} was decided twice: {row}", (row.id,))
        if due is not None and row.scheduled_for > due:
            yield Finding("I5", f"{(row.scheduled_for - due) // every_us} instants of {key} before this have no decision: {row}", (row.id,))
        due = row.scheduled_until + every_us
