"""What the steps really did: the file that each of them appends to (step.py).

A line is `monotonic_ns wall_us pid pipeline run attempt step what detail .`, written at once, so the order of lines is the
order of what happened. A step that is killed while it writes leaves a line without its end, which is left out.
"""

import dataclasses

FIELDS = 10


@dataclasses.dataclass(frozen=True)
class Line:
    at_ns: int  # CLOCK_MONOTONIC: one for all processes of the machine
    wall_us: int
    pid: int
    pipeline: str
    run: str
    attempt: int
    step: str
    what: str  # begin, beat, end, fail, overlap
    detail: str  # begin: the events that the run was told of; overlap: the older attempt
    place: int = 0  # in the file: the order of what happened

    def __str__(self):
        return (f"{self.at_ns / 1e9:.3f} {self.pipeline} run {self.run} attempt {self.attempt} step {self.step}: "
                f"{self.what} {self.detail if self.detail != '-' else ''} (pid {self.pid})")


def parse(text):
    """Lines in order; what is torn is left out."""
    found = []
    for row in text.splitlines():
        fields = row.split(" ")
        if len(fields) == FIELDS and fields[-1] == ".":
            at_ns, wall_us, pid, pipeline, run, attempt, step, what, detail, _ = fields
            found.append(Line(int(at_ns), int(wall_us), int(pid), pipeline, run, int(attempt), step, what, detail,
                              len(found)))
    return found


def read(path):
    return parse(path.read_text(encoding="utf-8", errors="replace")) if path.exists() else []


@dataclasses.dataclass
class Execution:
    """All that one attempt of one run was seen to do."""
    pipeline: str
    run: str
    attempt: int
    lines: list

    @property
    def begin_ns(self):
        return self.lines[0].at_ns

    @property
    def last_ns(self):
        """The last moment at which it was seen alive."""
        return self.lines[-1].at_ns

    def steps(self, what):
        return {line.step for line in self.lines if line.what == what}


def executions(lines):
    """(run, attempt) -> Execution, in the order of their first lines."""
    found = {}
    for line in lines:
        key = (line.run, line.attempt)
        if key not in found:
            found[key] = Execution(line.pipeline, line.run, line.attempt, [])
        found[key].lines.append(line)
    return found
