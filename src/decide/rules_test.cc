#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <limits>

#include "decide/overlap.h"
#include "decide/recovery.h"
#include "decide/retry.h"

namespace eider::decide {
namespace {

using model::Outcome;
using model::RunEvent;

// However many are active, those that are looked at say the same as all.
RC_GTEST_PROP(Overlap, EnoughActiveRunsSayWhatAllSay, ()) {
  model::Pipeline pipeline;
  pipeline.max_active_runs = *rc::gen::inRange(0, 4);
  model::Schedule schedule;
  schedule.overlap =
      *rc::gen::element(model::Overlap::skip, model::Overlap::queue, model::Overlap::replace, model::Overlap::allow);
  schedule.queue_limit = *rc::gen::inRange(1, 4);
  std::vector<ActiveRun> all;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    all.push_back({std::to_string(i), *rc::gen::element<std::string>("p/s", "p/other", ""), *rc::gen::arbitrary<bool>(),
                   *rc::gen::arbitrary<bool>()});
  }
  std::vector<ActiveRun> looked_at;
  std::size_t counted = 0;
  for (const ActiveRun& run : all) {
    if (!looked_at.empty() && counted >= enough_active(pipeline, schedule)) break;
    looked_at.push_back(run);
    counted += run.catch_up ? 0 : 1;
  }
  const OverlapVerdict some = decide_overlap(pipeline, schedule, "p/s", looked_at);
  const OverlapVerdict every = decide_overlap(pipeline, schedule, "p/s", all);
  RC_ASSERT(some.run == every.run);
  RC_ASSERT(some.reason == every.reason);
  RC_ASSERT(some.active_run_id == every.active_run_id);
  RC_ASSERT(some.cancel_running == every.cancel_running);
  RC_ASSERT(some.cancel_queued == every.cancel_queued);
}

// O-20.
TEST(Backoff, GrowsToItsCapAndNeverOverflows) {
  model::RetryPolicy policy;
  policy.backoff = std::chrono::seconds(2);
  policy.factor = 2;
  policy.max_backoff = std::chrono::seconds(300);
  policy.jitter = 0;
  const std::pair<int, int> rows[] = {
      {1, 2},    {2, 4},    {3, 8},    {4, 16},     {5, 32},
      {6, 64},   {7, 128},  {8, 256},  {9, 300},    {31, 300},
      {32, 300}, {63, 300}, {64, 300}, {1000, 300}, {std::numeric_limits<int>::max(), 300}};
  for (const auto& [failures, expected_s] : rows) {
    EXPECT_EQ(backoff_delay(policy, failures, 0.5), std::chrono::seconds(expected_s)) << failures;
  }
}

RC_GTEST_PROP(Backoff, StaysWithinItsJitter, ()) {
  model::RetryPolicy policy;
  policy.backoff = Micros(*rc::gen::inRange<std::int64_t>(0, 3'600'000'000));
  policy.factor = *rc::gen::element(0.5, 1.0, 2.0, 1e300);
  policy.max_backoff = Micros(*rc::gen::inRange<std::int64_t>(1, 86'400'000'000));
  policy.jitter = *rc::gen::element(0.0, 0.1, 1.0);
  const Micros delay = backoff_delay(policy, *rc::gen::arbitrary<int>(), *rc::gen::element(0.0, 0.25, 0.999999));
  RC_ASSERT(delay.count() >= 0);
  RC_ASSERT(static_cast<double>(delay.count()) <=
            static_cast<double>(policy.max_backoff.count()) * (1 + policy.jitter) + 1);
}

TEST(AttemptEnd, EveryOutcomeWithAndWithoutBudgetAndCancel) {
  model::RetryPolicy policy;
  policy.max_attempts = 3;
  struct Row {
    Outcome outcome;
    bool cancel_asked;
    int failures;
    int interruptions;
    RunEvent event;
    Outcome recorded;
  };
  const Row rows[] = {
      {Outcome::succeeded, false, 0, 0, RunEvent::succeed, Outcome::succeeded},
      {Outcome::succeeded, true, 2, 3, RunEvent::succeed, Outcome::succeeded},  // the commit point was reached first
      {Outcome::failed, false, 0, 0, RunEvent::retry, Outcome::failed},
      {Outcome::failed, false, 1, 3, RunEvent::retry, Outcome::failed},
      {Outcome::failed, false, 2, 0, RunEvent::fail, Outcome::failed},
      {Outcome::failed, true, 0, 0, RunEvent::cancel, Outcome::cancelled},
      {Outcome::timed_out, false, 0, 0, RunEvent::retry, Outcome::timed_out},
      {Outcome::timed_out, false, 2, 0, RunEvent::fail, Outcome::timed_out},
      {Outcome::timed_out, true, 0, 0, RunEvent::cancel, Outcome::cancelled},
      {Outcome::crashed, false, 0, 0, RunEvent::retry, Outcome::crashed},
      {Outcome::crashed, false, 2, 0, RunEvent::fail, Outcome::crashed},
      {Outcome::crashed, true, 0, 0, RunEvent::cancel, Outcome::cancelled},
      {Outcome::cancelled, true, 0, 0, RunEvent::cancel, Outcome::cancelled},
      {Outcome::cancelled, false, 0, 0, RunEvent::cancel, Outcome::cancelled},
      {Outcome::interrupted, false, 2, 0, RunEvent::interrupt, Outcome::interrupted},
      {Outcome::interrupted, false, 0, 2, RunEvent::interrupt, Outcome::interrupted},
      {Outcome::interrupted, false, 0, 3, RunEvent::fail, Outcome::interrupted},
      {Outcome::interrupted, true, 0, 0, RunEvent::cancel, Outcome::interrupted},
      {Outcome::released, false, 2, 3, RunEvent::release, Outcome::released},
      {Outcome::released, true, 0, 0, RunEvent::cancel, Outcome::cancelled},
  };
  for (const Row& row : rows) {
    const auto verdict =
        decide_attempt_end({row.outcome, row.cancel_asked, row.failures, row.interruptions}, policy, 0.5);
    EXPECT_EQ(verdict.event, row.event) << to_text(row.outcome) << row.cancel_asked << row.failures
                                        << row.interruptions;
    EXPECT_EQ(verdict.outcome, row.recorded) << to_text(row.outcome);
    EXPECT_TRUE(model::next(model::RunState::running, verdict.event).has_value());
  }
}

TEST(AttemptEnd, WhatIsNotTriedAgainSaysWhy) {
  using model::RetryCause;
  model::RetryPolicy policy;
  policy.max_attempts = 3;
  policy.on = {RetryCause::timeout, RetryCause::crash};
  policy.final_exit_codes = {64, 65};
  model::RetryPolicy on_error = policy;
  on_error.on = {RetryCause::error};
  struct Row {
    const model::RetryPolicy& policy;
    Outcome outcome;
    int failures;
    std::optional<int> exit_code;
    bool by_signal;
    RunEvent event;
    std::string reason;
  };
  const Row rows[] = {
      {policy, Outcome::timed_out, 0, 143, false, RunEvent::retry, ""},
      {policy, Outcome::crashed, 0, {}, true, RunEvent::retry, ""},
      {policy, Outcome::failed, 0, {}, true, RunEvent::retry, ""},  // a program that a signal ended has crashed
      {policy, Outcome::failed, 0, 1, false, RunEvent::fail, "CauseNotRetried"},
      {policy, Outcome::failed, 0, {}, false, RunEvent::fail, "CauseNotRetried"},  // SQL has no exit code
      {policy, Outcome::failed, 0, 64, false, RunEvent::fail, "FinalExitCode"},
      {policy, Outcome::failed, 2, 64, false, RunEvent::fail, "BudgetSpent"},
      {policy, Outcome::timed_out, 0, 65, false, RunEvent::retry, ""},  // the code of a killed program says nothing
      {policy, Outcome::crashed, 0, 64, false, RunEvent::retry, ""},    // nor does the worker's own
      {on_error, Outcome::failed, 0, 1, false, RunEvent::retry, ""},
      {on_error, Outcome::failed, 1, 65, false, RunEvent::fail, "FinalExitCode"},
      {on_error, Outcome::timed_out, 0, {}, false, RunEvent::fail, "CauseNotRetried"},
      {on_error, Outcome::crashed, 0, {}, false, RunEvent::fail, "CauseNotRetried"},
      {on_error, Outcome::interrupted, 0, {}, false, RunEvent::interrupt, ""},  // has a budget of its own
  };
  int number = 0;
  for (const Row& row : rows) {
    AttemptEndFacts facts{row.outcome, false, row.failures, 0, {}};
    facts.exit_code = row.exit_code;
    facts.by_signal = row.by_signal;
    const auto verdict = decide_attempt_end(facts, row.policy, 0.5);
    EXPECT_EQ(verdict.event, row.event) << number;
    EXPECT_EQ(verdict.reason, row.reason) << number;
    EXPECT_EQ(verdict.outcome, row.outcome) << number++;
  }
}

TEST(AttemptEnd, AnInterruptionCanBeTheEnd) {
  AttemptEndFacts facts{Outcome::interrupted, false, 0, 0, {}};
  facts.on_interrupt = model::OnInterrupt::fail;
  auto verdict = decide_attempt_end(facts, {}, 0.5);
  EXPECT_EQ(verdict.event, RunEvent::fail);
  EXPECT_EQ(verdict.outcome, Outcome::interrupted);
  EXPECT_EQ(verdict.reason, model::reason::interrupted_final);
  facts.cancel_asked = true;
  EXPECT_EQ(decide_attempt_end(facts, {}, 0.5).event, RunEvent::cancel) << "a cancel wins";
  facts = {Outcome::released, false, 0, 0, {}};
  facts.on_interrupt = model::OnInterrupt::fail;
  EXPECT_EQ(decide_attempt_end(facts, {}, 0.5).event, RunEvent::release) << "what has not begun is not interrupted";
}

TEST(AttemptEnd, InterruptionsWaitForNothing) {
  EXPECT_EQ(decide_attempt_end({Outcome::interrupted, false, 0, 0}, {}, 0.5).delay, Micros(0));
}

TEST(Retry, WhatIsKeptFromStartingLooksAgainLessOftenTheLongerItWaits) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const std::pair<Micros, Micros> table[] = {{Micros(-5), seconds(1)},   {Micros(0), seconds(1)},
                                             {seconds(4), seconds(1)},   {seconds(6), milliseconds(1500)},
                                             {seconds(60), seconds(15)}, {std::chrono::hours(9), seconds(30)}};
  for (const auto& [waited, delay] : table) {
    AttemptEndFacts facts{Outcome::released, false, 0, 0, waited};
    EXPECT_EQ(decide_attempt_end(facts, {}, 0.5).delay, delay) << waited.count();
  }
}

TEST(Recovery, EveryCombination) {
  for (const bool result : {false, true}) {
    for (const bool socket : {false, true}) {
      for (const bool lock : {false, true}) {
        const RecoveryAction action = recover({result, socket, lock});
        const RecoveryAction expected = socket   ? RecoveryAction::adopt
                                        : result ? RecoveryAction::finish
                                                 : RecoveryAction::end_left_overs;
        EXPECT_EQ(action, expected) << result << socket << lock;
      }
    }
  }
}

}  // namespace
}  // namespace eider::decide
