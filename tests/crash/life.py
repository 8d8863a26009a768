"""One life of a server: it starts, things happen to it, and it is killed: at a named place (EIDER_FAULT, docs/lifecycle.md) or at
some instant, alone, or with its workers and their steps. What is left is looked at before the next one starts."""

import collections
import dataclasses
import http.client
import math
import os
import re
import signal
import subprocess
import time

from eider import LIMIT_S, PROGRAM, ROOT, SLOWER, ApiError, Server

LIFECYCLE = ROOT / "docs" / "lifecycle.md"
STEP_S = 0.004
RANDOM = "at random: "


def places():
    """Name of a fault point -> the process that dies there, as the documentation lists them."""
    rows = re.findall(r"^\| `([a-z_.]+)` \| (server|worker|either) \|", LIFECYCLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows, f"{LIFECYCLE} lists no places"
    return dict(rows)


@dataclasses.dataclass(frozen=True)
class Plan:
    fault: str  # NAME:n, or empty
    seconds: float  # after that it is killed, if it still lives
    linger: float  # seconds that it lives on after a worker has died at the named place
    worker_kills: tuple  # seconds after its start
    everything: bool  # workers and steps die with it

    def __str__(self):
        end = "everything" if self.everything else "the server"
        kills = ", ".join(f"{at:.2f}" for at in self.worker_kills) or "never"
        return f"EIDER_FAULT={self.fault or '-'}; a worker is killed at {kills} s; {end} at {self.seconds:.2f} s"


class Planner:
    """All chance is the seed's. What of it is asked for depends on how fast the machine is, so the same seed makes similar
    lives, not the same ones."""

    def __init__(self, rng):
        self.rng, self.deck = rng, []

    def plan(self, never_reached):
        rng = self.rng
        place = self.next_place(never_reached) if rng.random() < 0.85 else ""
        seconds = SLOWER * (rng.uniform(0.8, 2.0) if place else rng.uniform(0.15, 1.2))
        kills = sorted(rng.uniform(0.05, seconds) for _ in range(rng.choice((0, 0, 1, 1, 2))))
        fault = f"{place}:{self.count(place, never_reached)}" if place else ""
        return Plan(fault, seconds, SLOWER * rng.uniform(0, 0.3), tuple(kills), rng.random() < 0.3)

    def next_place(self, never_reached):
        """Each as often as every other."""
        if not self.deck:
            self.deck = sorted(places()) + sorted(never_reached)
            self.rng.shuffle(self.deck)
        return self.deck.pop()

    def count(self, place, never_reached):
        """Turns come by the hundred; the other places once a start or once an attempt."""
        if place in never_reached:
            return 1
        return 1 + int(self.rng.expovariate(1 / 12)) if place.startswith("turn.") else self.rng.choice((1, 1, 2, 3))


class Outside:
    """Who reports events, drops files and asks for runs, and does it again until a server has said that it is done."""

    ASSETS = (("outside.orders", None), ("outside.orders", None), ("outside.parts", "a"), ("outside.parts", "b"), ("outside.parts", "c"))

    def __init__(self, workspace, known, rng):
        self.workspace, self.known, self.rng = workspace, known, rng
        self.calls = []  # (key, process)
        self.refused = []  # what no server may say

    def deeds(self):
        """(when, what) for a life, in seconds after its start: while it comes up, and soon after."""
        kinds = (self.report, self.report, self.report_again, self.drop, self.ask)
        return [(SLOWER * self.rng.uniform(0, 0.6), self.rng.choice(kinds)) for _ in range(self.rng.choice((1, 2, 3)))]

    def report(self, _server):
        number = len(self.known.keys) + 1
        self.known.keys[f"event-{number}"] = (*self.rng.choice(self.ASSETS), number)
        self.send(f"event-{number}")

    def report_again(self, _server):
        """One that may be recorded already."""
        if self.known.keys:
            self.send(self.rng.choice(sorted(self.known.keys)))

    def send(self, key):
        asset, partition, rows = self.known.keys[key]
        more = ("--partition", partition) if partition else ()
        self.calls.append((key, subprocess.Popen(
            [str(PROGRAM), "-w", str(self.workspace.root), "assets", "materialize", asset, "--key", key, "--rows", str(rows), *more],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)))

    def drop(self, _server):
        """A file that is whole when it comes."""
        size = len(self.known.files) + 1
        name = f"file-{size}.txt"
        self.known.files[name] = size
        (self.workspace.root / "landing" / name).write_text("x" * size)
        os.rename(self.workspace.root / "landing" / name, self.workspace.root / "incoming" / name)

    def ask(self, server):
        """For a run; the same key again until there is an answer."""
        open_keys = [key for key, run_id in self.known.asked.items() if run_id is None]
        key = open_keys[0] if open_keys else f"ask-{len(self.known.asked) + 1}"
        self.known.asked.setdefault(key, None)
        try:
            run = server.call("POST", "/api/v1/runs", {"pipeline": "asked", "queue": True}, {"Idempotency-Key": key})
            self.known.asked[key] = run["id"]
        except ApiError as error:
            if error.status != 503:  # the store can't be written just now
                self.refused.append(f"a run was asked for, and the answer is {error}")
        except (OSError, http.client.HTTPException):
            pass  # nobody is there, or no longer

    def settle(self):
        """Every call has its answer, or will have none. What a call that was refused says is for the caller to judge."""
        refused = []
        for key, process in self.calls:
            output = process.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
            if process.returncode == 0:
                self.known.acknowledged.add(key)
            else:
                refused.append(f"{key}: exit {process.returncode}: {output}")
        self.calls = []
        return refused

    def unanswered(self):
        return [key for key in self.known.keys if key not in self.known.acknowledged]


class Life:
    def __init__(self, workspace, plan, outside, rng):
        self.workspace, self.plan, self.outside, self.rng = workspace, plan, outside, rng
        self.kills = collections.Counter()  # by place
        self.trouble = None  # what ended the server, when nobody killed it

    def live(self):
        fault_log = self.workspace.root / "faults"
        known = before = len(fallen(fault_log))
        server = self.workspace.start(env={"EIDER_FAULT": self.plan.fault, "EIDER_FAULT_LOG": str(fault_log)})
        deeds = self.outside.deeds() + [(at, self.kill_worker) for at in self.plan.worker_kills]
        deeds.sort(key=lambda deed: deed[0], reverse=True)
        begin, end = time.monotonic(), self.plan.seconds
        while server.process.poll() is None:
            now = time.monotonic() - begin
            if len(fallen(fault_log)) > before:
                end = min(end, now + self.plan.linger)
                before = math.inf
            if now >= end:
                break
            if deeds and deeds[-1][0] <= now:
                deeds.pop()[1](server)
            else:
                time.sleep(STEP_S)
        self.end(server)
        fell = fallen(fault_log)[known:]
        self.kills.update(name for name, _ in fell)
        if self.trouble is not None and server.process.pid in [pid for _, pid in fell]:
            self.trouble = None
        return self

    def end(self, server):
        """The server is dead when this returns. Its workers and steps too, if the plan says so: however it came to its end."""
        if server.process.poll() is None:
            server.kill()
            self.kills[RANDOM + ("everything" if self.plan.everything else "the server")] += 1
        else:
            self.trouble = f"the server ended with {server.process.returncode}: {server.output()[-2000:]}"
        if self.plan.everything:
            self.workspace.kill_all()
        server._output.close()

    def kill_worker(self, _server):
        """One of them, busy or not; its steps are left to whoever must end them."""
        workers = self.workspace.workers()
        if workers:
            try:
                os.kill(self.rng.choice(workers), signal.SIGKILL)
                self.kills[RANDOM + "a worker"] += 1
            except ProcessLookupError:
                pass


def fallen(path):
    """(place, process id) of every death at a named place."""
    rows = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(row.split()[0], int(row.split()[1])) for row in rows]


def start_calm(workspace):
    """A server that nothing happens to."""
    server = Server(workspace, env={"EIDER_FAULT": ""})
    return server.ready()
