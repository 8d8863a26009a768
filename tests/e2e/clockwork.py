"""What tests about schedules share: instants as text, what a schedule's decisions cover, and turning the clock."""

import datetime
import os
import time

from eider import LIMIT_S, wait_for

UTC = datetime.timezone.utc
# A server that looks busy for the whole of this window is spinning.
WINDOW_S = 0.3


def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def text_of(instant):
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def series(first, count, step_s=60):
    """`count` instants as text, the first of them included."""
    return [text_of(at(first) + datetime.timedelta(seconds=step_s * i)) for i in range(count)]


def covered(occurrences, step_s=60):
    """Every instant that the decisions cover, in order and as often as they do; neighbours share a row."""
    return sorted(instant for row in occurrences for instant in series(row["scheduled_for"], row["count"], step_s))


def decided(occurrences, decision):
    return [row for row in occurrences if row["decision"] == decision]


def slots(runs):
    return [run["scheduled_for"] for run in runs]


def is_idle(server):
    status = server.get("/api/v1/status")
    return status["running"] == 0 and status["queued"] == 0


def settle(server):
    """Every run has ended. (A disk that stalls holds many runs at once, so the limit is a long one.)"""
    wait_for(lambda: is_idle(server), "all runs end", limit_s=2 * LIMIT_S)


def tick(server, duration, times=1):
    """Time passes in steps, and what each step starts ends before the next one."""
    for _ in range(times):
        server.advance(duration)
        settle(server)


def schedule(server, key):
    return server.get(f"/api/v1/schedules/{key}")


def cpu_seconds(pid):
    """What all threads of a process have used so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(pid):
    """The process uses less than a fifth of one processor over a short window; one that spins never does."""
    last = [time.monotonic(), cpu_seconds(pid)]

    def quiet():
        now = time.monotonic()
        if now - last[0] < WINDOW_S:
            return False
        used, span = cpu_seconds(pid) - last[1], now - last[0]
        last[:] = [now, last[1] + used]
        return used < span / 5

    wait_for(quiet, f"process {pid} comes to rest")


def wait_real_time(seconds):
    """For what must be shown on the real clock: a server that was stopped misses this much of it."""
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= end, "real time passes", limit_s=seconds * 10)
