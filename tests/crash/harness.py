"""The crash harness: kills the program until it has been killed often enough, and checks after each life and at the end that nothing
was lost, nothing done twice and nothing done at once. ./run crash calls it.

usage: harness.py [--kills N] [--seed S] [--folder DIR]
"""

import argparse
import collections
import csv
import pathlib
import random
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

# pylint: disable=wrong-import-position
import checks  # noqa: E402
import history as store  # noqa: E402
import journal  # noqa: E402
import life  # noqa: E402
import workload  # noqa: E402
from eider import LIMIT_S, ROOT, Workspace, wait_for  # noqa: E402
from finding import Finding  # noqa: E402

ROUNDS = 5  # of retries at the end
MORE_KILLS = 200  # than asked for, so that each place has its turn


class Harness:
    def __init__(self, root, seed):
        self.workspace = Workspace(root)
        workload.write(self.workspace, HERE / "step.py")
        self.seed = seed
        # One source of chance for each purpose: what one of them asks for depends on how fast the machine is.
        self.planner = life.Planner(random.Random(f"{seed} plans"))
        self.deeds, self.victims = random.Random(f"{seed} deeds"), random.Random(f"{seed} victims")
        self.known = checks.Known()
        self.outside = life.Outside(self.workspace, self.known, self.deeds)
        self.kills, self.lives = collections.Counter(), 0
        self.history, self.lines = store.History(), []
        self.findings = []
        self.plan = None

    def run(self, kills):
        """True: everything holds."""
        while self.goes_on(kills) and not self.findings:
            self.plan = self.planner.plan(self.never_reached())
            lived = life.Life(self.workspace, self.plan, self.outside, self.victims).live()
            self.outside.settle()
            self.kills += lived.kills
            self.lives += 1
            self.look()
            trouble = self.outside.refused + ([lived.trouble] if lived.trouble else [])
            self.findings += [Finding("I1", text) for text in trouble]
        if not self.findings:
            self.plan = None
            self.drain()
            self.look(final=True)
        return not self.findings

    def never_reached(self):
        return [name for name in life.places() if not self.kills[name]]

    def goes_on(self, kills):
        """Until it was killed often enough, and at each place."""
        if sum(self.kills.values()) < kills:
            return True
        if self.never_reached() and sum(self.kills.values()) > kills + MORE_KILLS:
            self.findings.append(Finding("harness", f"nothing ever died at {', '.join(self.never_reached())}"))
        return bool(self.never_reached())

    def look(self, final=False):
        """No server is there. The journal first: what is done while the store is read may be newer than what it says."""
        self.lines = journal.read(self.workspace.root / "journal")
        before, self.history = self.history, store.read(self.workspace.root)
        executions = journal.executions(self.lines)
        self.findings += checks.check(self.history, executions, self.known, workload.PIPELINES, workload.POOLS, final)
        self.findings += checks.check_since(before, self.history, self.known)

    # ---- the end -----------------------------------------------------------------------------------------------

    def drain(self):
        """The clocks stop, and whatever is open gets its time; what has failed because it was killed too often is tried again."""
        server = life.start_calm(self.workspace)
        for name, pipeline in workload.PIPELINES.items():
            if pipeline.schedule:
                server.post(f"/api/v1/schedules/{workload.schedule_key(name)}/pause", {"note": "the end"})
        self.answer_all(server)
        try:
            for _ in range(ROUNDS):
                wait_for(lambda: self.is_quiet(server), "all that is owed is done", limit_s=3 * LIMIT_S, every_s=0.1)
                failed = self.failed_deliveries(server)
                if not failed:
                    break
                # One of each run: those that share it are claimed again together.
                for run_id, delivery in {item["run_id"]: item["id"] for item in failed}.items():
                    self.known.restarted.add(run_id)
                    self.workspace.cli("deliveries", "retry", delivery, expect=0)
            self.read_ledger(server)
        except AssertionError as error:
            self.findings.append(Finding("I5", str(error)))
        code = server.stop()
        if code != 0:
            self.findings.append(Finding("I1", f"eider serve ended with {code} when it was stopped: {server.output()[-2000:]}"))

    def answer_all(self, server):
        for key in self.outside.unanswered():
            self.outside.send(key)
        for refused in self.outside.settle():
            self.findings.append(Finding("I1", f"a server that nothing happened to refused {refused}"))
        while None in self.known.asked.values():
            self.outside.ask(server)

    def is_quiet(self, server):
        """Nothing runs, waits or is owed, and each file that landed is known."""
        status = server.get("/api/v1/status")
        if status["running"] or status["queued"]:
            return False
        pending = collections.defaultdict(set)
        for item in server.items("/api/v1/deliveries?state=pending"):
            pending[item["pipeline"]].add(item["asset"])
        # A failed delivery of a strict trigger holds the next ones until it is tried again.
        held = {item["pipeline"] for item in self.failed_deliveries(server)} if pending else set()
        if any(not (name == "strict" and name in held or workload.PIPELINES[name].trigger.may_wait(assets))
               for name, assets in pending.items()):
            return False
        landed = [item for item in server.items("/api/v1/materializations") if item["asset"] == "outside.files"]
        return len(landed) >= len(self.known.files)

    @staticmethod
    def failed_deliveries(server):
        fails = {workload.trigger_key(name) for name, pipeline in workload.PIPELINES.items() if pipeline.fails}
        return [item for item in server.items("/api/v1/deliveries?state=failed") if item["trigger"] not in fails]

    def read_ledger(self, server):
        """How often each run's SQL step took effect."""
        if not (self.workspace.root / "ledger.duckdb").exists():
            self.known.entries = {}
            return
        run = server.wait_end(server.start("entries"))
        assert run["state"] == "succeeded", run
        with open(self.workspace.root / "entries.csv", newline="", encoding="utf-8") as file:
            self.known.entries = {run_id: int(count) for run_id, count in csv.reader(file)}

    # ---- words -------------------------------------------------------------------------------------------------

    def summary(self):
        listed = life.places()
        rows = [(name, self.kills[name]) for name in listed] + sorted((name, count) for name, count in self.kills.items() if name not in listed)
        states = collections.Counter(delivery.state for delivery in self.history.deliveries)
        attempts = collections.Counter(one.outcome or "live" for run in self.history.runs for one in run.attempts)
        executed = len({(line.run, line.attempt) for line in self.lines})
        text = [f"{'killed':<34}{'times':>7}"] + [f"  {name:<32}{count:>7}" for name, count in rows]
        text += [f"  {'in all':<32}{sum(self.kills.values()):>7}", "",
                 f"restarts     {self.lives}",
                 f"runs         {len(self.history.runs)} ({told(collections.Counter(run.state for run in self.history.runs))})",
                 f"attempts     {sum(attempts.values())} ({told(attempts)}); {executed} were seen to work",
                 f"occurrences  {sum(row.count for row in self.history.occurrences)} instants "
                 f"({told(collections.Counter(row.decision for row in self.history.occurrences))})",
                 f"events       {len(self.history.events)}",
                 f"deliveries   {len(self.history.deliveries)} ({told(states)}); tried again at the end: {len(self.known.restarted)}",
                 f"findings     {len(self.findings)}"]
        return "\n".join(text)

    def report(self):
        """What was found, with the least that shows it."""
        text = [f"seed {self.seed}, life {self.lives}: {self.plan or 'the end, when all was given its time'}"]
        for finding in self.findings[:10]:
            text += ["", str(finding)] + [f"    {row}" for row in checks.trace(finding, self.history, self.lines)]
        if len(self.findings) > 10:
            text.append(f"\n… and {len(self.findings) - 10} more")
        text.append(f"\nThe workspace is kept: {self.workspace.root}")
        return "\n".join(text)


def told(counter):
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items())) or "none"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./run crash", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500, help="how often something is killed in all (default: 500)")
    parser.add_argument("--seed", type=int, default=None, help="of all chance (default: a new one, printed)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "crash", help="where the workspace is made")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}; ./run crash --kills {options.kills} --seed {seed} makes similar ones", flush=True)
    root = options.folder / f"seed-{seed}"
    shutil.rmtree(root, ignore_errors=True)
    harness = Harness(root, seed)
    begin = time.monotonic()
    try:
        held = harness.run(options.kills)
    finally:
        harness.workspace.close()
    print(f"{harness.summary()}\ntime         {time.monotonic() - begin:.0f} s")
    if not held:
        print(f"\n{harness.report()}")
        return 1
    shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
