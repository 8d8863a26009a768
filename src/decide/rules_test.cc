#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <limits>

#include "decide/recovery.h"
#include "decide/retry.h"

namespace eider::decide {
namespace {

using model::Outcome;
using model::RunEvent;

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
