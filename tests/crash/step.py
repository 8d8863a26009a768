"""What every step of the crash harness executes: it says in the journal what it does, and looks for anybody of an older
attempt of its run who still lives.

usage: step.py SECONDS [--fail-until N | --fail-always] [--same | --own] [PATH…]

Works for SECONDS; fails in attempts before N, or in all; writes the same text each time, or one of the run's own, to
the staged files whose environment variables are named. The format of a line: journal.py.
"""

import fcntl
import os
import sys
import time
import zlib

BEAT_S = 0.05
# The kernel closes the files of a dying process one after the other; whoever is alive keeps its lock for much longer.
GRACE_S = 0.1

run, attempt = os.environ["EIDER_RUN_ID"], int(os.environ["EIDER_ATTEMPT"])
journal = os.open("journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def write(what, detail="-"):
    fields = (time.monotonic_ns(), time.time_ns() // 1000, os.getpid(), os.environ["EIDER_PIPELINE"], run, attempt,
              os.environ["EIDER_STEP"], what, detail)
    os.write(journal, ("\n" + " ".join(map(str, fields)) + " .").encode())


def lock_of(number):
    return os.open(f"held/{run}.{number}", os.O_RDWR | os.O_CREAT, 0o600)


def lives(number):
    """Somebody of that attempt holds its lock; steps of one attempt share it."""
    end = time.monotonic() + GRACE_S
    lock = lock_of(number)
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
            except BlockingIOError:
                if time.monotonic() > end:
                    return True
                time.sleep(GRACE_S / 10)
    finally:
        os.close(lock)


def events():
    """How many events the run was told of, and a sum of their ids in order."""
    path = os.environ.get("EIDER_EVENTS")
    if not path:
        return "-"
    import json  # by those that need it: many of these processes start in a second

    with open(path, encoding="utf-8") as file:
        ids = [event["id"] for event in json.load(file)]
    return f"{len(ids)}:{zlib.crc32(','.join(ids).encode()):08x}"


def main(seconds, *options):
    fcntl.flock(lock_of(attempt), fcntl.LOCK_SH)
    write("begin", events())
    for older in range(1, attempt):
        if lives(older):
            write("overlap", older)
    end = time.monotonic() + float(seconds)
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, BEAT_S))
        write("beat")
    names = [option for option in options if option.startswith("EIDER_OUT_")]
    for name in names:
        with open(os.environ[name], "w", encoding="utf-8") as file:
            file.write("always the same\n" if "--same" in options else f"of {run}\n")
    fail_until = int(options[options.index("--fail-until") + 1]) if "--fail-until" in options else 0
    if attempt < fail_until or "--fail-always" in options:
        write("fail")
        return 3
    write("end")
    return 0


sys.exit(main(*sys.argv[1:]))
