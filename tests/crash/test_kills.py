"""The short form of the crash harness: some sixty kills under everything that Eider does. ./run crash is the long one."""

import os

import life
from eider import ROOT
from harness import Harness

KILLS = 500 if os.environ.get("EIDER_TEST_LONG") == "1" else 60
SEED = 2001
DELIVERED, AGAIN = 20, 5  # at least, so that the kills met some work


def test_every_place_is_named():
    """What can be asked to die is listed with its process, and what is listed is there."""
    named = set()
    for source in (ROOT / "src").rglob("*.cc"):
        for part in source.read_text(encoding="utf-8").split('fault::point("')[1:]:
            named.add(part.split('"')[0])
    assert named == set(life.places())


def test_nothing_is_lost_doubled_or_done_at_once(tmp_path):
    harness = Harness(tmp_path / "w", SEED)
    try:
        held = harness.run(KILLS)
    finally:
        harness.workspace.close()
    print(harness.summary())
    assert held, harness.report()
    assert sum(harness.kills.values()) >= KILLS
    assert {run.state for run in harness.history.runs} <= {"succeeded", "failed"}
    delivered = [one for one in harness.history.deliveries if one.state == "delivered"]
    again = [one for run in harness.history.runs for one in run.attempts if one.outcome in ("crashed", "interrupted")]
    assert len(delivered) >= DELIVERED and len(again) >= AGAIN, "hardly anything was hit"
