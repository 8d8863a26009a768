"""The checker finds what is wrong: forged histories, each with one fault in a history that is right."""

import dataclasses

import pytest

import checks
import journal
from history import Attempt, Delivery
from story import S, Story

FAULTS = []


def fault(promise, words, since=False):
    """One way to spoil a story, and the finding that must come of it; `since`: it was right when it was looked at before."""
    def keep(spoil):
        FAULTS.append((promise, words, since, spoil))
        return spoil
    return keep


def test_a_history_that_is_right_has_no_findings():
    story = Story()
    story.remember()
    assert story.findings() == []


@fault("I2", "no such claim is committed")
def one_attempt_less(story):
    story.row("source1").attempts.pop(0)


@fault("I3", "were executed at once")
def overlap_in_the_journal(story):
    """The first attempt writes after the second has begun."""
    story.line("source1", "source", 1, "beat", int(1.6 * S))


@fault("I3", "were executed at once")
def overlap_found_by_a_step(story):
    story.line("source1", "source", 2, "overlap", int(1.5 * S), "1")


@fault("I3", "was claimed before 1 was over")
def overlap_in_the_store(story):
    story.row("source1").attempts[0].finished_at = int(1.6 * S)


@fault("I3", "was claimed before 1 was over")
def two_live_attempts(story):
    story.row("source1").attempts[0].outcome = None


@fault("I3", "sink had more than 1 at once, by its claims")
def two_runs_of_a_pipeline_at_once(story):
    story.change("sink2", created_at=int(11.5 * S))
    story.row("sink2").attempts[0].claimed_at = int(11.5 * S)


@fault("I4", "its state is not what its newest attempt says")
def an_older_attempt_counts(story):
    story.row("source1").attempts[0].outcome = "succeeded"


@fault("I4", "never ended its step s")
def a_success_without_work(story):
    story.lines = [line for line in story.lines if not (line.run == "sink1" and line.what == "end")]


@fault("I4", "an attempt is live, and its run does not run")
def a_live_attempt_of_an_ended_run(story):
    story.row("sink1").attempts[0].outcome = None


@fault("I4", "its state is not what its newest attempt says")
def a_failure_that_succeeded(story):
    story.change("sql", state="failed")


@fault("I5", "1 instants of source/clock before this have no decision")
def an_instant_without_a_decision(story):
    story.change("o2", scheduled_for=3 * S, scheduled_until=3 * S)
    story.change("source2", scheduled_for=3 * S)


@fault("I6", "was decided twice")
def an_instant_decided_twice(story):
    story.copy("o1", "o1again", decision="skipped", run_id=None)


@fault("I6", "ran twice for")
def an_occurrence_that_ran_twice(story):
    story.copy("source2", "source2again", created_at=3 * S, attempts=[])


@fault("I5", "it was decided to run, and that run is not there")
def a_decision_without_its_run(story):
    story.remove("source2")
    story.history.events[:] = [event for event in story.history.events if event.run_id != "source2"]


@fault("I5", "nothing decided this run")
def a_run_without_a_decision(story):
    story.remove("o2")


@fault("I5", "it succeeded, and raw.a was not published")
def a_lost_publication(story):
    story.remove("a2")


@fault("I5", "not published by its run's success")
def a_publication_of_a_failure(story):
    story.change("source2", state="failed")


@fault("I5", "its step never ended")
def a_publication_before_its_step_ended(story):
    story.lines = [line for line in story.lines if not (line.run == "source2" and line.what == "end")]


@fault("I5", "not published by its run's success")
def a_publication_before_its_run_ended(story):
    story.change("a2", committed_at=2 * S)


@fault("I6", "published raw.a twice")
def published_twice(story):
    story.copy("a2", "a2again")


@fault("I5", "an event of a run that is not there")
def published_by_nobody(story):
    story.change("a2", run_id="nobody")


@fault("I5", "was never owed to sink/on")
def a_lost_delivery(story):
    story.remove("sink2-a2")


@fault("I6", "is owed 2 times to sink/on")
def a_delivery_too_many(story):
    story.copy("sink2-a2", "sink2-again")


@fault("I5", "this is not owed")
def a_delivery_of_what_is_not_asked_for(story):
    story.change("sink2-a2", event_id="early2")


@fault("I5", "its run is not there: delivery")
def a_delivery_whose_run_is_lost(story):
    story.change("sink2-a2", run_id="nobody")


@fault("I5", "its state does not follow its run")
def a_delivery_ahead_of_its_run(story):
    story.change("sink2", state="running", finished_at=None)
    story.row("sink2").attempts[0].outcome = None


@fault("I5", "it has a run, and is pending")
def a_pending_delivery_with_a_run(story):
    story.change("sink2-a2", state="pending")


@fault("I5", "nobody skipped this")
def a_delivery_that_nobody_skipped(story):
    story.change("sink2-a2", state="skipped", run_id=None)


@fault("I6", "2 deliveries share a run")
def two_deliveries_in_a_run_of_one(story):
    story.change("sink2-a2", run_id="sink1")


@fault("I6", "a run without a delivery")
def a_run_for_nothing(story):
    story.copy("sink2", "sink3", attempts=[], state="cancelled", attempt=0)


@fault("order", "sink/on took event")
def deliveries_out_of_order(story):
    story.change("sink1-a1", run_id="sink2")
    story.change("sink2-a2", run_id="sink1")


@fault("I5", "it was told of 4:00000000")
def a_run_that_was_told_of_other_events(story):
    story.lines = [dataclasses.replace(line, detail="4:00000000") if line.run == "fold1" and line.what == "begin" else line
                   for line in story.lines]


@fault("I5", "key was reported, and is not there")
def a_lost_answer(story):
    story.remove("out1")
    story.remove("part-out1")


@fault("I6", "key was recorded 2 times")
def a_key_that_counted_twice(story):
    story.copy("out1", "out1again")
    story.copy("part-out1", "part-again", event_id="out1again")


@fault("I5", "nobody reported this")
def an_event_that_nobody_reported(story):
    story.known.keys.clear()


@fault("I5", "file-1.txt was reported, and is not there")
def a_file_that_was_not_seen(story):
    story.known.files["file-1.txt"] = 1


@fault("I5", "ask was asked for, and there is no run")
def a_run_by_hand_that_is_lost(story):
    story.known.asked["ask"] = "nobody"


@fault("I6", "1 runs were asked for, and 2 are there")
def a_key_that_ran_twice(story):
    story.copy("by-hand", "again", attempts=[], state="cancelled", attempt=0)


@fault("I6", "took effect 2 times")
def a_sql_step_that_happened_twice(story):
    story.known.entries["sql"] = 2


@fault("I6", "took effect 0 times")
def a_sql_step_that_was_lost(story):
    story.known.entries.clear()


@fault("I7", "pool one was used beyond 1, by claims")
def a_pool_beyond_its_slots_by_its_claims(story):
    story.row("sink1").attempts[0].finished_at = int(12.5 * S)


@fault("I7", "pool one was used beyond 1, by work")
def a_pool_beyond_its_slots_by_what_was_done(story):
    story.line("source2", "source", 1, "beat", int(11.5 * S))


@fault("I7", "pool one was used beyond 1, by claims")
def a_leaked_slot(story):
    """An attempt that never ends, in the store, while others go on."""
    story.row("source2").attempts[-1].finished_at = None


@fault("I5", "still open at the end: run")
def a_run_that_never_ends(story):
    story.copy("by-hand", "waits", pipeline="other", state="queued", attempt=0, attempts=[])


@fault("I5", "still open at the end: delivery")
def a_delivery_that_waits_for_ever(story):
    story.remove("sink2")
    story.change("sink2-a2", state="pending", run_id=None)
    story.lines = [line for line in story.lines if line.run != "sink2"]



@fault("I2", "was executed before it was claimed")
def work_that_began_before_its_claim(story):
    story.row("sink1").attempts[0].claimed_at += S // 2


@fault("I4", "the outcome of attempt 1 changed", since=True)
def an_outcome_that_changed(story):
    story.row("source1").attempts[0].outcome = "failed"


@fault("I4", "an ended run changed", since=True)
def an_ended_run_that_changed(story):
    story.change("by-hand", attempt=2)


@fault("I4", "the attempt's number went back", since=True)
def a_fence_that_went_back(story):
    story.change("source1", attempt=1)


@fault("I6", "a delivery got a second run", since=True)
def a_delivery_with_a_second_run(story):
    story.change("sink2-a2", run_id="fold1")


@fault("I6", "an event changed", since=True)
def an_event_that_changed(story):
    story.change("a1", rows=5)


@fault("I6", "a decision changed", since=True)
def a_decision_that_changed(story):
    story.change("o1", run_id="source2")


@fault("I5", "it was committed and is gone: run", since=True)
def a_run_that_vanished(story):
    story.remove("by-hand")


@fault("I5", "it was committed and is gone: delivery", since=True)
def a_delivery_that_vanished(story):
    story.remove("fold1-a1")


@fault("I3", "an attempt is there twice")
def an_attempt_twice(story):
    story.row("source2").attempts *= 2


@fault("I4", "an attempt is newer than its run's fence")
def an_attempt_beyond_the_fence(story):
    story.change("source1", attempt=1)


@fault("I4", "it runs, and its newest attempt does not")
def a_run_that_runs_without_an_attempt(story):
    story.change("sink2", state="running")


@fault("I5", "its count is not what lies between its instants")
def a_count_that_is_wrong(story):
    story.change("o2", count=2)


@fault("I5", "source does not publish this")
def a_publication_of_something_else(story):
    story.change("a2", asset="raw.other")


@fault("I2", "a SQL step took effect for run nobody")
def a_sql_step_of_nobody(story):
    story.known.entries["nobody"] = 1


@fault("I4", "an ended delivery changed", since=True)
def an_ended_delivery_that_changed(story):
    story.change("sink2-a2", state="failed")


@pytest.mark.parametrize("promise, words, since, spoil", [pytest.param(*one, id=one[-1].__name__) for one in FAULTS])
def test_it_finds(promise, words, since, spoil):
    story = Story()
    if since:
        story.remember()
    spoil(story)
    found = story.findings()
    assert [finding for finding in found if finding.promise == promise and words in finding.text], found


def test_a_trace_is_what_a_finding_is_about_and_no_more():
    story = Story()
    overlap_in_the_journal(story)
    finding = story.findings()[0]
    shown = checks.trace(finding, story.history, story.lines)
    assert shown[0].startswith("run source1 of source") and shown[1].startswith("occurrence of source/clock at 1000000")
    assert "attempt 2 step s: begin" in "\n".join(shown) and "source2" not in "\n".join(shown)


def test_what_was_asked_to_be_tried_again_may_change():
    story = Story()
    story.change("sink2", state="failed")
    story.row("sink2").attempts[0].outcome = "failed"
    story.change("sink2-a2", state="failed")
    story.remember()
    assert story.findings() == []
    run = story.row("sink2")
    run.attempts.append(Attempt(2, "succeeded", 30 * S, 31 * S))
    story.change("sink2", state="succeeded", attempt=2, finished_at=31 * S)
    story.change("sink2-a2", state="delivered")
    told = next(line.detail for line in story.lines if line.run == "sink2")
    story.line("sink2", "sink", 2, "begin", 30 * S + 1, told)
    story.line("sink2", "sink", 2, "end", 31 * S - 1)
    assert {finding.promise for finding in story.findings()} == {"I4"}
    story.known.restarted.add("sink2")
    assert story.findings() == []


def both(story, *assets):
    for asset in assets:
        story.known.keys[f"key of {asset}"] = (asset, None, 1)
        story.event(asset, asset, 30, None, rows=1)
        story.history.deliveries.append(Delivery(f"both-{asset}", "both/on", asset, "pending"))
    return story.findings()


def test_what_waits_for_another_asset_may_wait():
    assert both(Story(), "other.a") == []
    assert {finding.promise for finding in both(Story(), "other.a", "other.b")} == {"I5"}


def test_a_torn_line_of_the_journal_is_left_out():
    whole = "5 6 7 p r 1 s begin - ."
    [first, second] = journal.parse(f"\n{whole}\n5 6 7 p r 1 s be\n{whole}")
    assert (first.run, first.what, first.place, second.place) == ("r", "begin", 0, 1)
