"""What runs while it is killed: schedules, triggers of every kind, retries, slow ones, events from outside. One table makes the
workspace's files, and tells the checks (checks.py) what must come of it.
"""

import dataclasses
import fnmatch
import json
import sys

STEP = (sys.executable, "-I", "-S", "step.py")
POOLS = {"narrow": 2, "gate": 1}
SETTINGS = """
workers: { max: 8 }
pools: { narrow: 2, gate: 1 }
assets:
  outside.orders: { description: what somebody else makes }
  outside.parts: { description: the same by partitions }
  outside.files: { watch: incoming, files: "*.txt", settle: 100ms }
defaults: { retry: { max_attempts: 40, backoff: 20ms, factor: 1.2, max_backoff: 200ms } }
"""


@dataclasses.dataclass(frozen=True)
class Schedule:
    every_ms: int
    policies: str = ""


@dataclasses.dataclass(frozen=True)
class Trigger:
    assets: tuple
    policies: str = ""  # as the file says them
    single: bool = True  # one run a delivery
    together: bool = False  # match: all
    changed: bool = False
    partitions: tuple = ()  # of the consumer: others are skipped

    def takes(self, event):
        matches = any(fnmatch.fnmatchcase(event.asset, pattern) for pattern in self.assets)
        return matches and not (self.changed and event.unchanged)

    def may_wait(self, pending):
        """For ever, while of these assets something is pending: others are missing."""
        return self.together and set(pending) < set(self.assets)


@dataclasses.dataclass(frozen=True)
class Pipeline:
    steps: tuple  # (id, arguments of step.py)
    schedule: Schedule = None
    trigger: Trigger = None
    publishes: tuple = ()  # (asset, what else the file says)
    pools: tuple = ()  # (name, slots)
    max_active: int = 1
    fails: bool = False  # always
    more: str = ""
    quiet: bool = False  # its steps write no journal

    def early(self):
        """Assets that are published when a step is done -> that step."""
        return {asset: more.split("after: ")[1].split(",")[0] for asset, more in self.publishes if "after: " in more}

    def final(self):
        return {asset for asset, _ in self.publishes} - set(self.early())


def after(asset, seconds=0.0, *options, **more):
    """A consumer of one asset, with a run for each event."""
    return Pipeline((("s", f"{seconds} {' '.join(options)}"),), trigger=Trigger((asset,)), **more)


PIPELINES = {
    # clocks
    "tick": Pipeline((("s", "0.02 EIDER_OUT_TICK"),), Schedule(1000, "grace: 300ms"), publishes=(("raw.tick", "path: out/tick.txt"),)),
    "beat": Pipeline((("s", "0.15"),), Schedule(400, "overlap: queue, queue_limit: 2, misfire: all, max_catchup: 3, grace: 200ms"),
                     publishes=(("raw.beat", ""),)),
    "slow_clock": Pipeline((("one", "0 EIDER_OUT_CLOCK"), ("two", "0.8")), Schedule(1500, "overlap: skip, misfire: skip"),
                           publishes=(("raw.clock", "path: out/clock.txt, after: one"),), pools=(("narrow", 1),)),
    # one event, many consumers
    "plain": after("raw.tick", 0.3),
    "narrow": after("raw.tick", 0.05, pools=(("narrow", 1),)),
    "wide": after("raw.tick", 0.05, pools=(("narrow", 2), ("gate", 1))),
    "many": after("raw.tick", 0.5, max_active=3, more="max_active_runs: 3"),
    "flaky": after("raw.tick", 0.0, "--fail-until 3", pools=(("gate", 1),)),
    "folded": Pipeline((("s", "0.3"),), trigger=Trigger(("raw.*",), "batch: true", single=False)),
    "settled": Pipeline((("s", "0"),),
                        trigger=Trigger(("raw.beat",), "debounce: 300ms, max_wait: 1s", single=False)),
    "ledger": Pipeline((("s", ""),), trigger=Trigger(("raw.tick",), "batch: true", single=False), quiet=True,
                       more="database: ledger.duckdb"),
    # a chain of three, and what hangs on it
    "first": after("raw.tick", 0.0, "--same EIDER_OUT_SAME", publishes=(("mid.first", ""), ("mid.same", "path: out/same.txt"))),
    "second": Pipeline((("one", "0 --fail-until 2 EIDER_OUT_EARLY"), ("two", "0.05")), trigger=Trigger(("mid.first",)),
                       publishes=(("mid.early", "path: out/early.txt, after: one"), ("mid.second", ""))),
    "third": after("mid.second", 0.2, "EIDER_OUT_THIRD", publishes=(("marts.third", "path: out/third.txt"),)),
    "early": after("mid.early", 0.3),
    "joined": Pipeline((("s", "0.3"),), trigger=Trigger(("mid.first", "raw.beat"), "match: all", single=False, together=True)),
    "changed": Pipeline((("s", "0"),), trigger=Trigger(("mid.same",), '"on": changed', changed=True)),
    # what comes from outside
    "slow": after("outside.orders", 0.6),
    "strict": Pipeline((("s", "0 --fail-until 2"),), trigger=Trigger(("outside.orders",), "order: strict")),
    "hopeless": after("outside.orders", 0.0, "--fail-always", publishes=(("never.made", ""),), fails=True,
                      more="retry: { max_attempts: 2 }"),
    "never": after("never.made"),
    "parts": Pipeline((("s", "0"),), more="partitions: { names: [a, b] }",
                      trigger=Trigger(("outside.parts",), "partition: same", partitions=("a", "b"))),
    "landed": after("outside.files", 0.4),
    "asked": Pipeline((("s", "0.3"),)),
}
SQL = {"ledger": "CREATE TABLE IF NOT EXISTS entries (run TEXT); INSERT INTO entries VALUES (getvariable('run_id'));"}
# Started when all is over: what the SQL steps did.
ENTRIES = """
pipeline: entries
database: { file: ledger.duckdb, mode: read }
steps: [{ id: s, sql: "COPY (SELECT run, count(*) FROM entries GROUP BY run) TO 'entries.csv' (HEADER false)" }]
"""


def trigger_key(name):
    return f"{name}/on"


def schedule_key(name):
    return f"{name}/clock"


def text_of(name, pipeline):
    lines = [f"pipeline: {name}"]
    if pipeline.schedule:
        policies = f", {pipeline.schedule.policies}" if pipeline.schedule.policies else ""
        lines.append(f"schedules: [{{ id: clock, every: {pipeline.schedule.every_ms}ms{policies} }}]")
    if pipeline.trigger:
        policies = f", {pipeline.trigger.policies}" if pipeline.trigger.policies else ""
        assets = ", ".join(f'"{asset}"' for asset in pipeline.trigger.assets)
        lines.append(f"triggers: [{{ id: \"on\", assets: [{assets}]{policies} }}]")
    lines.append("steps:")
    for index, (step, arguments) in enumerate(pipeline.steps):
        work = f"sql: \"{SQL[name]}\"" if name in SQL else f"run: {json.dumps([*STEP, *arguments.split()])}"
        needs = f", needs: [{pipeline.steps[index - 1][0]}]" if index else ""
        lines.append(f"  - {{ id: {step}, {work}{needs} }}")
    if pipeline.publishes:
        lines.append("publishes:")
        lines += [f"  - {{ asset: {asset}{', ' + more if more else ''} }}" for asset, more in pipeline.publishes]
    if pipeline.pools:
        lines.append("pools: { " + ", ".join(f"{pool}: {slots}" for pool, slots in pipeline.pools) + " }")
    lines.append(pipeline.more)
    return "\n".join(lines) + "\n"


def write(workspace, step_file):
    workspace.write("eider.yaml", SETTINGS)
    workspace.write("step.py", step_file.read_text())
    for name, pipeline in PIPELINES.items():
        workspace.write(f"pipelines/{name}.yaml", text_of(name, pipeline))
    workspace.write("pipelines/entries.yaml", ENTRIES)
    for folder in ("held", "incoming", "landing"):
        (workspace.root / folder).mkdir()
