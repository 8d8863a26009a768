#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <limits>

#include "decide/admission.h"
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

// Section 6: data takes three quarters of the workers at most.
TEST(Admission, ClocksAndPeopleFindAWorkerBesideAnyAmountOfData) {
  const std::pair<int, int> shares[] = {{1, 1}, {2, 1}, {3, 2}, {4, 3}, {16, 12}, {500, 375}};
  for (const auto& [workers, share] : shares) {
    Capacity capacity;
    capacity.workers = workers;
    capacity.data_workers = data_share(workers);
    EXPECT_EQ(capacity.data_workers, share);
    model::Pipeline data;
    data.max_active_runs = 0;
    Use use;
    int started = 0;
    while (started <= workers && shortages(data, model::TriggerKind::data, {}, use, capacity).empty()) {
      use.add("p", std::to_string(started++), model::TriggerKind::data, {});
    }
    EXPECT_EQ(started, share);
    for (const auto cause : {model::TriggerKind::schedule, model::TriggerKind::manual}) {
      EXPECT_EQ(shortages(data, cause, {}, use, capacity).empty(), share < workers) << workers;
    }
  }
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

model::Pipeline pipeline(const std::string& name) {
  model::Pipeline p;
  p.name = name;
  return p;
}

std::vector<std::string> kinds(const std::vector<Shortage>& missing) {
  std::vector<std::string> out;
  for (const Shortage& shortage : missing) out.push_back(shortage.kind);
  return out;
}

TEST(Admission, NothingIsMissingOnAnIdleServer) {
  EXPECT_TRUE(shortages(pipeline("a"), model::TriggerKind::manual, {}, Use{}, Capacity{}).empty());
}

TEST(Admission, EachLimitIsNamed) {
  Capacity capacity;
  capacity.workers = 2;
  capacity.pools = {{"heavy", 2}};
  capacity.memory_bytes = 100'000'000;
  Use use;
  model::Taken held;
  held.pools = {{"heavy", 1}};
  held.files = {{"/w/a.duckdb", false}};
  held.memory_bytes = 60'000'000;
  use.add("a", "run1", model::TriggerKind::manual, held);
  use.add("b", "run2", model::TriggerKind::data, {});
  model::Taken wants = held;
  wants.pools["heavy"] = 2;
  const auto missing = shortages(pipeline("a"), model::TriggerKind::manual, wants, use, capacity);
  EXPECT_EQ(kinds(missing), (std::vector<std::string>{"pipeline", "pool", "database", "memory", "worker"}));
  EXPECT_EQ(missing[1].detail, "1 of 2 slots in use, 2 wanted");
  EXPECT_NE(missing[2].detail.find("run1"), std::string::npos);
  EXPECT_EQ(missing[3].detail, "60 MB of 100 MB in use, 60 MB wanted");
  EXPECT_EQ(missing[4].detail, "2 of 2 busy");
}

TEST(Admission, ADuckdbFileHasOneWriterOrSeveralReaders) {
  const Capacity capacity;
  const model::Taken reads{{}, {{"/w/a.duckdb", true}}, 0};
  const model::Taken writes{{}, {{"/w/a.duckdb", false}}, 0};
  const model::Taken elsewhere{{}, {{"/w/b.duckdb", false}}, 0};
  Use read;
  read.add("r", "reader", model::TriggerKind::manual, reads);
  Use written;
  written.add("w", "writer", model::TriggerKind::manual, writes);
  EXPECT_TRUE(shortages(pipeline("x"), model::TriggerKind::manual, reads, read, capacity).empty());
  EXPECT_EQ(kinds(shortages(pipeline("x"), model::TriggerKind::manual, writes, read, capacity)),
            std::vector<std::string>{"database"});
  EXPECT_EQ(kinds(shortages(pipeline("x"), model::TriggerKind::manual, reads, written, capacity)),
            std::vector<std::string>{"database"});
  EXPECT_EQ(kinds(shortages(pipeline("x"), model::TriggerKind::manual, writes, written, capacity)),
            std::vector<std::string>{"database"});
  EXPECT_TRUE(shortages(pipeline("x"), model::TriggerKind::manual, elsewhere, written, capacity).empty());
}

TEST(Admission, APoolThatIsNotDeclaredHasNoSlots) {
  EXPECT_EQ(kinds(shortages(pipeline("a"), model::TriggerKind::manual, {{{"ghost", 1}}, {}, 0}, Use{}, Capacity{})),
            std::vector<std::string>{"pool"});
}

// I7: whatever arrives in whatever order, what was admitted fits.
RC_GTEST_PROP(Admission, APlanNeverExceedsALimit, ()) {
  Capacity capacity;
  capacity.workers = *rc::gen::inRange(1, 8);
  capacity.pools = {{"x", *rc::gen::inRange(0, 4)}, {"y", *rc::gen::inRange(0, 4)}};
  capacity.memory_bytes = 50;
  struct Live {
    std::string pipeline;
    model::Taken taken;
  };
  std::vector<Live> live;
  for (int step = 0; step < 60; ++step) {
    if (!live.empty() && *rc::gen::inRange(0, 3) == 0) {
      live.erase(live.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(live.size())));
      continue;
    }
    Use use;
    for (std::size_t i = 0; i < live.size(); ++i)
      use.add(live[i].pipeline, std::to_string(i), model::TriggerKind::manual, live[i].taken);
    model::Pipeline p = pipeline(std::string(1, static_cast<char>('a' + *rc::gen::inRange(0, 4))));
    p.max_active_runs = 2;
    model::Taken wants;
    if (*rc::gen::arbitrary<bool>()) wants.pools["x"] = *rc::gen::inRange(1, 3);
    if (*rc::gen::arbitrary<bool>()) wants.pools["y"] = 1;
    if (*rc::gen::arbitrary<bool>()) wants.files.push_back({"/f", *rc::gen::arbitrary<bool>()});
    wants.memory_bytes = *rc::gen::inRange(0, 30);
    if (shortages(p, model::TriggerKind::manual, wants, use, capacity).empty()) live.push_back({p.name, wants});
  }
  std::map<std::string, int> pools, pipelines;
  std::int64_t memory = 0;
  int readers = 0, writers = 0;
  for (const Live& one : live) {
    ++pipelines[one.pipeline];
    memory += one.taken.memory_bytes;
    for (const auto& [pool, slots] : one.taken.pools) pools[pool] += slots;
    for (const auto& file : one.taken.files) ++(file.read_only ? readers : writers);
  }
  RC_ASSERT(static_cast<int>(live.size()) <= capacity.workers);
  RC_ASSERT(memory <= 50);
  RC_ASSERT(pools["x"] <= capacity.pools["x"]);
  RC_ASSERT(pools["y"] <= capacity.pools["y"]);
  RC_ASSERT(writers == 0 || (writers == 1 && readers == 0));
  for (const auto& [name, count] : pipelines) RC_ASSERT(count <= 2);
}

}  // namespace
}  // namespace eider::decide
