"""A promise that was not kept."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    promise: str  # its name in the design: I2 … I7
    text: str
    subjects: tuple = ()  # ids of the rows that it is about

    def __str__(self):
        return f"{self.promise}: {self.text}"


def over_time(spans, limit):
    """Of (begin, end, weight, id), the ids that hold more than `limit` together at some instant, at the first such one; else
    None. What ends at an instant is gone when what begins at it comes."""
    changes = sorted([(end, 0, -weight, name) for _, end, weight, name in spans] +
                     [(begin, 1, weight, name) for begin, _, weight, name in spans])
    held, used = [], 0
    for _, begins, weight, name in changes:
        used += weight
        if begins:
            held.append(name)
        elif name in held:
            held.remove(name)
        if used > limit:
            return tuple(held)
    return None
