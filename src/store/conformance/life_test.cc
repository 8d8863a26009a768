// The life of a run, and every guard on its way.
#include "store/conformance/fixture.h"

namespace eider::store::conformance {
namespace {

using model::Outcome;
using model::RunEvent;
using model::RunState;
using Applied = std::vector<bool>;

class LifeTest : public ConformanceTest {};
EIDER_FOR_EVERY_BACKEND(LifeTest);

TEST_P(LifeTest, ARunIsQueuedClaimedAndSucceeds) {
  auto store = open();
  model::Run run = queued_run(1);
  run.trigger = model::TriggerKind::backfill;
  run.parent = run_id(9);
  run.priority = -3;
  run.catch_up = true;
  run.partition = "2026-01-01";
  run.params = R"({"a":1})";
  run.idempotency_key = "key";
  ASSERT_TRUE(apply_one(*store, {model::RunQueued{run}}));
  EXPECT_EQ(this->run(*store, 1), run);

  model::RunClaimed claimed = claim(1, 1, at(5));
  claimed.taken = {.pools = {{"heavy", 1}, {"network", 2}}, .files = {{"a.duckdb", true}}, .memory_bytes = 1 << 30};
  ASSERT_TRUE(apply_one(*store, {claimed}));
  run.state = RunState::running;
  run.attempt = 1;
  run.started_at = at(5);
  run.definition = "definition";
  EXPECT_EQ(this->run(*store, 1), run);
  model::Attempt attempt{.run_id = run.id,
                         .number = 1,
                         .outcome = {},
                         .claimed_at = at(5),
                         .started_at = {},
                         .finished_at = {},
                         .worker_pid = {},
                         .exit_code = {},
                         .signal = {},
                         .peak_memory_bytes = {},
                         .definition = "definition",
                         .error = "",
                         .steps = "",
                         .taken = claimed.taken};
  auto reader = this->reader();
  EXPECT_EQ(reader->live_attempts().value(), std::vector{attempt});

  model::AttemptEnded end = succeeded(1, 1);
  end.attempt.started_at = at(6);
  end.attempt.worker_pid = 4711;
  end.attempt.exit_code = 0;
  end.attempt.signal = 0;
  end.attempt.peak_memory_bytes = std::int64_t{5} << 30;
  end.attempt.steps = R"([{"id":"build"}])";
  end.attempt.error = "of the attempt";
  end.error = "of the run";
  ASSERT_TRUE(apply_one(*store, {end}));
  run.state = RunState::succeeded;
  run.finished_at = at(2000);
  run.not_before = at(2010);
  run.reason = "SomeReason";
  run.error = "of the run";
  EXPECT_EQ(this->run(*store, 1), run);
  attempt = end.attempt;
  attempt.claimed_at = at(5);
  attempt.definition = "definition";
  attempt.taken = claimed.taken;
  EXPECT_EQ(reader->attempts(run.id).value(), std::vector{attempt});
  EXPECT_TRUE(reader->live_attempts().value().empty());
}

TEST_P(LifeTest, EveryEndOfAnAttemptDoesWhatTheTableSays) {
  auto store = open();
  int n = 0;
  for (const RunEvent event : model::all_run_events) {
    SCOPED_TRACE(model::to_text(event));
    ++n;
    ASSERT_EQ(turn(*store, {{model::RunQueued{queued_run(n)}}, {claim(n, 1)}}), (std::vector<bool>{true, true}));
    const model::Run before = run(*store, n);
    const auto transition = model::next(RunState::running, event);
    const bool ends = transition && transition->closes_attempt;
    EXPECT_EQ(apply_one(*store, {ended(n, 1, event, Outcome::failed)}), ends);
    const model::Run after = run(*store, n);
    if (!ends) {
      EXPECT_EQ(after, before);
      continue;
    }
    EXPECT_EQ(after.state, transition->to);
    EXPECT_EQ(after.failures, transition->counts_failure ? 1 : 0);
    EXPECT_EQ(after.interruptions, transition->counts_interruption ? 1 : 0);
    EXPECT_EQ(after.finished_at.has_value(), transition->sets_finished);
    EXPECT_EQ(after.not_before, at(2010));
    EXPECT_EQ(after.started_at, before.started_at);
  }
}

TEST_P(LifeTest, AStaleAttemptsResultChangesNothing) {
  auto store = open();
  ASSERT_EQ(turn(*store, {{model::RunQueued{queued_run(1)}},
                          {claim(1, 1)},
                          {ended(1, 1, RunEvent::interrupt, Outcome::interrupted)},
                          {claim(1, 2)}}),
            (Applied{true, true, true, true}));
  const model::Run before = run(*store, 1);
  EXPECT_EQ(turn(*store, {{succeeded(1, 1)}, {succeeded(1, 3)}, {succeeded(1, 0)}}), (Applied{false, false, false}));
  EXPECT_EQ(run(*store, 1), before);
  auto attempts = reader()->attempts(run_id(1)).value();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].outcome, Outcome::interrupted);
  EXPECT_EQ(attempts[1].outcome, std::nullopt);
  EXPECT_EQ(turn(*store, {{succeeded(1, 2)}, {succeeded(1, 2)}}), (Applied{true, false})) << "a result is applied once";
}

TEST_P(LifeTest, ARunIsClaimedOnceAndOnlyWhileQueued) {
  auto store = open();
  EXPECT_EQ(turn(*store, {{model::RunQueued{queued_run(1)}},
                          {claim(1, 2)},
                          {claim(1, 0)},
                          {claim(7, 1)},
                          {claim(1, 1)},
                          {claim(1, 1)},
                          {claim(1, 2)}}),
            (Applied{true, false, false, false, true, false, false}));
  EXPECT_EQ(run(*store, 1).attempt, 1);
  EXPECT_EQ(turn(*store, {{succeeded(1, 1)}, {claim(1, 2)}}), (Applied{true, false})) << "not after its end";
}

TEST_P(LifeTest, ARunIsQueuedOnce) {
  auto store = open();
  auto first = occurrence("flights/nightly", at(10), model::Decision::run);
  auto run = run_of(first, 1);
  run.idempotency_key = "key";
  auto same_occurrence = run_of(first, 2);
  auto same_key = queued_run(3);
  same_key.idempotency_key = "key";
  auto plain = queued_run(4);
  EXPECT_EQ(turn(*store, {{model::RunQueued{run}},
                          {model::RunQueued{run}},
                          {model::RunQueued{same_occurrence}},
                          {model::RunQueued{same_key}},
                          {model::RunQueued{plain}},
                          {model::RunQueued{queued_run(5)}}}),
            (Applied{true, false, false, false, true, true}));
  EXPECT_EQ(store->load_open()->runs, (std::vector{run, plain, queued_run(5)}));
  // An ended run still holds its occurrence and its key.
  EXPECT_EQ(turn(*store,
                 {{claim(1, 1)}, {succeeded(1, 1)}, {model::RunQueued{same_occurrence}}, {model::RunQueued{same_key}}}),
            (Applied{true, true, false, false}));
}

TEST_P(LifeTest, CancelIsAskedOnceOfARunningRun) {
  auto store = open();
  const model::CancelAsked ask{run_id(1), "Requested", at(7)};
  EXPECT_EQ(turn(*store, {{model::RunQueued{queued_run(1)}},
                          {ask},
                          {claim(1, 1)},
                          {ask},
                          {model::CancelAsked{run_id(1), "Replaced", at(8)}}}),
            (Applied{true, false, true, true, false}));
  EXPECT_EQ(run(*store, 1).cancel_asked_at, at(7));
  EXPECT_EQ(run(*store, 1).reason, "Requested");
}

TEST_P(LifeTest, AQueuedRunIsCancelledOnlyWhileQueued) {
  auto store = open();
  const model::QueuedCancelled cancel{run_id(1), "Expired", "waited 5 minutes", at(9)};
  EXPECT_EQ(turn(*store, {{model::RunQueued{queued_run(1)}}, {cancel}, {cancel}, {claim(1, 1)}}),
            (Applied{true, true, false, false}));
  const model::Run run = this->run(*store, 1);
  EXPECT_EQ(run.state, RunState::cancelled);
  EXPECT_EQ(run.finished_at, at(9));
  EXPECT_EQ(run.reason, "Expired");
  EXPECT_EQ(run.error, "waited 5 minutes");
  EXPECT_EQ(turn(*store, {{model::RunQueued{queued_run(2)}},
                          {claim(2, 1)},
                          {model::QueuedCancelled{run_id(2), "Expired", "", at(9)}}}),
            (Applied{true, true, false}));
}

TEST_P(LifeTest, ABadSetSpoilsNoOtherOfItsTurn) {
  auto store = open();
  ASSERT_TRUE(apply_one(*store, {model::RunQueued{queued_run(1)}}));
  // The second set writes twice before its guard fails: nothing of it may stay.
  EXPECT_EQ(turn(*store, {{model::RunQueued{queued_run(2)}},
                          {model::DefinitionStored{"hash", "flights", "{}", at(0)}, model::RunQueued{queued_run(3)},
                           claim(1, 9)},
                          {claim(1, 1)}}),
            (Applied{true, false, true}));
  const auto open_state = store->load_open().value();
  ASSERT_EQ(open_state.runs.size(), 2u);
  EXPECT_EQ(open_state.runs[0].state, RunState::running);
  EXPECT_EQ(open_state.runs[1].id, run_id(2));
  EXPECT_TRUE(open_state.definitions.empty());
}

TEST_P(LifeTest, WhatIsRolledBackWasNever) {
  auto store = open();
  ASSERT_TRUE(store->begin());
  ASSERT_TRUE(*store->apply({model::RunQueued{queued_run(1)}}));
  store->rollback();
  EXPECT_TRUE(store->load_open()->runs.empty());
  EXPECT_TRUE(apply_one(*store, {model::RunQueued{queued_run(1)}})) << "the next turn begins as if nothing had been";
}

// Numbers of rows are given again after a rollback: what was queued in between is another run.
TEST_P(LifeTest, ARunThatWasTakenBackIsNotTakenForTheOneInItsPlace) {
  auto store = open();
  ASSERT_TRUE(store->begin());
  ASSERT_TRUE(store->apply({model::RunQueued{queued_run(1)}}).value());
  store->rollback();
  turn(*store, {{model::RunQueued{queued_run(2)}}});
  EXPECT_EQ(turn(*store, {{claim(1, 1)}}), std::vector<bool>{false});
  // The same within a turn, where only a set is taken back.
  auto other = queued_run(3);
  EXPECT_EQ(turn(*store, {{model::RunQueued{other}, claim(9, 1)}, {model::RunQueued{queued_run(4)}}, {claim(3, 1)}}),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(turn(*store, {{claim(2, 1)}, {claim(4, 1)}}), (std::vector<bool>{true, true}));
  EXPECT_EQ(turn(*store, {{succeeded(2, 1)}, {succeeded(4, 1)}}), (std::vector<bool>{true, true}));
}

// What rates count: a released attempt ran nothing and leaves no row, so it was no start.
TEST_P(LifeTest, StartsAreTheRecordedClaimsThatTookPools) {
  auto store = open();
  const auto claimed = [](int n, Instant when, std::map<std::string, int> pools) {
    auto change = claim(n, 1, when);
    change.taken.pools = std::move(pools);
    return change;
  };
  turn(*store, {{model::RunQueued{queued_run(1)}, claimed(1, at(1010), {{"a", 1}, {"b", 2}}), succeeded(1, 1)},
                {model::RunQueued{queued_run(2)}, claimed(2, at(1005), {{"a", 1}})},
                {model::RunQueued{queued_run(3)}, claimed(3, at(1006), {})},
                {model::RunQueued{queued_run(4)}, claimed(4, at(1007), {{"a", 1}})},
                {ended(4, 1, RunEvent::release, Outcome::released)}});
  const std::vector<RecordedStart> all = {{at(1005), {{"a", 1}}}, {at(1010), {{"a", 1}, {"b", 2}}}};
  EXPECT_EQ(store->starts_after(at(1000)).value(), all);
  EXPECT_EQ(store->starts_after(at(1005)).value(), std::vector{all[1]});
  EXPECT_TRUE(store->starts_after(at(1010))->empty());
}

TEST_P(LifeTest, WhatIsOpenIsLoadedAsItWasWrittenAfterAReopen) {
  auto store = open();
  auto retried = ended(3, 1, RunEvent::retry, Outcome::timed_out);
  turn(*store, {{placed("flights/nightly", at(0))},
                {model::SchedulePaused{"flights/nightly", true, "holiday", at(3)}},
                {model::DefinitionStored{"hash", "flights", R"({"pipeline":"flights"})", at(0)}},
                {model::DefinitionStored{"hash", "flights", "never twice", at(0)}},
                {model::RunQueued{queued_run(1)}},
                {model::RunQueued{queued_run(2)}, claim(2, 1)},
                {model::RunQueued{queued_run(3)}, claim(3, 1), retried},
                {model::RunQueued{queued_run(4)}, claim(4, 1), succeeded(4, 1)}});
  const auto before = store->load_open().value();
  ASSERT_EQ(before.runs.size(), 3u);
  ASSERT_EQ(before.live_attempts.size(), 1u);
  EXPECT_EQ(before.live_attempts[0].run_id, run_id(2));
  ASSERT_EQ(before.cursors.size(), 1u);
  EXPECT_TRUE(before.cursors[0].paused);
  EXPECT_EQ(before.cursors[0].paused_at, at(3));
  EXPECT_EQ(before.cursors[0].note, "holiday");
  EXPECT_EQ(before.definitions, std::vector<std::string>{"hash"});
  store.reset();
  store = open();
  const auto after = store->load_open().value();
  EXPECT_EQ(after.runs, before.runs);
  EXPECT_EQ(after.live_attempts, before.live_attempts);
  EXPECT_EQ(after.cursors, before.cursors);
  EXPECT_EQ(reader()->definition("hash").value(), R"({"pipeline":"flights"})");
  EXPECT_EQ(reader()->definition("other").value(), std::nullopt);
  EXPECT_EQ(reader()->cursor("flights/nightly").value(), before.cursors[0]);
  EXPECT_EQ(reader()->cursor("flights/other").value(), std::nullopt);
}

TEST_P(LifeTest, BytesAreKeptAsTheyAre) {
  auto store = open();
  auto run = queued_run(1);
  run.params = std::string("nul \0 quote ' \" \n", 17);
  run.reason = "\xff\xfe not UTF-8";
  run.partition = "Brüssel \xf0\x9f\x9a\x80";
  ASSERT_TRUE(apply_one(*store, {model::RunQueued{run}}));
  EXPECT_EQ(this->run(*store, 1), run);
}

}  // namespace
}  // namespace eider::store::conformance
