#include "decide/admission.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "decide/rate.h"

namespace eider::decide {
namespace {

using model::LockMode;
using model::TriggerKind;
using namespace std::chrono_literals;

const Instant noon = parse_rfc3339("2026-03-29T12:00:00Z").value();

model::Pipeline greedy() {
  model::Pipeline pipeline;
  pipeline.name = "p";
  pipeline.pools = {{"heavy", 2}, {"net", 1}};
  pipeline.locks = {{"a", LockMode::read}, {"b", LockMode::write}};
  pipeline.database = model::Database{"w.duckdb", false};
  pipeline.resources.memory_bytes = 100;
  pipeline.resources.temp_bytes = 200;
  pipeline.concurrency_key = "partition";
  return pipeline;
}

Capacity everything() {
  Capacity capacity;
  capacity.pools["heavy"] = {"heavy", 4, {}};
  capacity.pools["net"] = {"net", 0, model::Rate{3, 1min}};
  capacity.max_active_runs["p"] = 2;
  capacity.memory_bytes = 150;
  capacity.temp_bytes = 1000;
  return capacity;
}

std::vector<Need> needs_of(const model::Pipeline& pipeline, TriggerKind cause, const std::string& partition = "x") {
  model::Run run;
  run.partition = partition;
  model::Taken taken = wanted(pipeline, "/w.duckdb");
  taken.concurrency = concurrency_of(pipeline, run);
  return needs(pipeline.name, cause, taken);
}

TEST(Admission, ARunNeedsItsThingsInOneOrder) {
  std::vector<std::string> names;
  const auto all = needs_of(greedy(), TriggerKind::data);
  for (const Need& need : all) names.push_back(std::string(to_text(need.thing.kind)) + " " + need.thing.name);
  EXPECT_EQ(names, (std::vector<std::string>{"pipeline p", "concurrency p partition=x", "lock a", "lock b",
                                             "database /w.duckdb", "pool heavy", "pool net", "rate heavy", "rate net",
                                             "temp temp", "memory memory", "share data", "worker worker"}));
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [](const Need& a, const Need& b) { return a.thing.kind < b.thing.kind; }));
  EXPECT_EQ(needs_of({}, TriggerKind::schedule).size(), 2u) << "a run that says nothing needs its turn and a worker";
}

/// What of two runs that start one after the other keeps the second waiting.
std::vector<std::string> second_lacks(const model::Pipeline& first, const model::Pipeline& second,
                                      const Capacity& capacity, const std::string& partition = "x") {
  Room room(capacity);
  room.take(needs_of(first, TriggerKind::manual));
  std::vector<std::string> kinds;
  for (const Need& need : needs_of(second, TriggerKind::manual, partition)) {
    if (room.free(need.thing) < need.amount) kinds.emplace_back(to_text(need.thing.kind));
  }
  return kinds;
}

TEST(Admission, EachLimitKeepsTheSecondWaiting) {
  using Kinds = std::vector<std::string>;
  const model::Pipeline all = greedy();
  EXPECT_EQ(second_lacks(all, all, everything()), (Kinds{"concurrency", "lock", "database", "memory"}));
  EXPECT_EQ(second_lacks(all, all, everything(), "y"), (Kinds{"lock", "database", "memory"})) << "of another partition";
  model::Pipeline other = all;
  other.name = "other";
  other.resources.memory_bytes = 50;
  other.locks = {{"a", LockMode::read}, {"b", LockMode::read}};
  EXPECT_EQ(second_lacks(all, other, everything()), (Kinds{"lock", "database"})) << "of b a writer";
  other.locks = {{"a", LockMode::write}};
  other.database->file = "v.duckdb";
  EXPECT_EQ(second_lacks(all, other, everything()), (Kinds{"lock", "database"})) << "of a a reader";
  other.locks = {{"a", LockMode::read}};
  other.database.reset();
  EXPECT_EQ(second_lacks(all, other, everything()), Kinds{});
  other.pools = {{"heavy", 3}};
  other.resources.temp_bytes = 801;
  EXPECT_EQ(second_lacks(all, other, everything()), (Kinds{"pool", "temp"}));
  Capacity one = everything();
  one.workers = 1;
  EXPECT_EQ(second_lacks({}, {}, one), Kinds{"worker"});
  one.max_active_runs[""] = 1;
  EXPECT_EQ(second_lacks({}, {}, one), (Kinds{"pipeline", "worker"}));
}

TEST(Admission, WhatHasNoBoundKeepsNobodyWaiting) {
  Capacity capacity;
  Room room(capacity);
  for (int i = 0; i < 10; ++i) room.take(needs_of(greedy(), TriggerKind::manual));
  EXPECT_GT(room.free({Kind::memory, "memory"}), std::int64_t{1} << 60);
  EXPECT_GT(room.free({Kind::pipeline, "p"}), std::int64_t{1} << 60);
  EXPECT_EQ(room.free({Kind::pool, "heavy"}), -20) << "a pool that is nowhere has no slots";
}

// Section 6: data takes three quarters of the workers at most, backfills half.
TEST(Admission, ClocksAndPeopleFindAWorkerBesideAnyAmountOfData) {
  const std::pair<int, int> data[] = {{1, 1}, {2, 1}, {3, 2}, {4, 3}, {16, 12}, {500, 375}};
  for (const auto& [workers, share] : data) EXPECT_EQ(share_of(workers, 0.75), share) << workers;
  EXPECT_EQ(share_of(16, 0.5), 8);
  EXPECT_EQ(share_of(100, 0.29), 29);
  EXPECT_EQ(share_of(16, 0), 1) << "what has no share at all would wait for ever";
  EXPECT_EQ(share_of(16, 1), 16);
  Capacity capacity;
  Room room(capacity);
  const auto starts = [&](TriggerKind cause) {
    const auto all = needs("p", cause, {});
    for (const Need& need : all) {
      if (room.free(need.thing) < need.amount) return false;
    }
    room.take(all);
    return true;
  };
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(starts(TriggerKind::backfill));
  EXPECT_FALSE(starts(TriggerKind::backfill));
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(starts(i < 5 ? TriggerKind::data : TriggerKind::manual));
  EXPECT_FALSE(starts(TriggerKind::manual)) << "all are busy";
}

TEST(Admission, ConcurrencyKeys) {
  model::Pipeline pipeline;
  pipeline.name = "load";
  model::Run run;
  run.partition = "2026-03";
  run.params = R"({"customer":"acme","n":{"deep":1}})";
  const std::pair<const char*, const char*> rows[] = {{"", ""},
                                                      {"partition", "load partition=2026-03"},
                                                      {"params.customer", "load params.customer=\"acme\""},
                                                      {"params.n", "load params.n={\"deep\":1}"},
                                                      {"params.other", "load params.other="}};
  for (const auto& [key, value] : rows) {
    pipeline.concurrency_key = key;
    EXPECT_EQ(concurrency_of(pipeline, run), value);
  }
  run.params.clear();
  EXPECT_EQ(concurrency_of(pipeline, run), "load params.other=");
}

TEST(Admission, AStepOfPriorityIsTenMinutesOfAge) {
  const auto rank_of = [](Micros age, int priority) {
    model::Run run;
    run.created_at = noon - age;
    run.priority = priority;
    return rank(run);
  };
  EXPECT_LT(rank_of(0min, 1), rank_of(9min, 0));
  EXPECT_LT(rank_of(11min, 0), rank_of(0min, 1));
  EXPECT_LT(rank_of(1min, 0), rank_of(0min, 0));
  EXPECT_LT(rank_of(0min, 1000), rank_of(24h, 0));
}

TEST(Admission, WhatIsLackingIsSaidInWords) {
  const auto text = [](Kind kind, const char* name, std::int64_t amount, std::int64_t used, std::int64_t limit) {
    return shortage_text({{kind, name}, amount}, used, limit, {"r1", "r2"});
  };
  EXPECT_EQ(text(Kind::pool, "heavy", 2, 3, 4), "3 of 4 slots in use, 2 wanted");
  EXPECT_EQ(text(Kind::lock, "w", 1, whole, whole), "run r1 holds it alone");
  EXPECT_EQ(text(Kind::lock, "w", whole, 2, whole), "2 runs hold it to read, among them r1");
  EXPECT_EQ(text(Kind::database, "w", whole, 1, whole), "1 run read it, among them r1");
  EXPECT_EQ(text(Kind::memory, "memory", 512 << 20, 1 << 30, 1 << 30), "1 GiB of 1 GiB in use, 512 MiB wanted");
  EXPECT_EQ(text(Kind::share, "backfill", 1, 8, 8),
            "8 of 8 busy with runs that backfills have caused; the rest is kept for clocks and people");
  EXPECT_EQ(text(Kind::concurrency, "p partition=x", 1, 1, 1), "run r1 is for the same");
}

// ---- rates ---------------------------------------------------------------------------------------------------------

TEST(Rate, OpensWhenTheOldestOfSoManyStartsIsOldEnough) {
  const model::Rate rate{2, 1min};
  RecentStarts starts;
  EXPECT_EQ(starts.opens_at(rate), std::nullopt);
  starts.add(noon, noon, rate.per);
  EXPECT_EQ(starts.opens_at(rate), std::nullopt);
  starts.add(noon + 10s, noon + 10s, rate.per);
  EXPECT_EQ(starts.opens_at(rate), noon + 1min);
  EXPECT_EQ(starts.within(rate.per, noon + 59s), 2);
  EXPECT_EQ(starts.within(rate.per, noon + 60s), 1) << "a minute later it is another minute";
  starts.take_back(noon + 10s);
  EXPECT_EQ(starts.within(rate.per, noon + 30s), 1);
  starts.shift(1h);
  EXPECT_EQ(starts.within(rate.per, noon - 1h + 30s), 1);
}

TEST(Rate, AStartIsTakenBackAsItIsRecordedWheneverItCounts) {
  const model::Rate rate{2, 1min};
  RecentStarts starts;
  starts.add(noon + 1h, noon, rate.per);
  EXPECT_EQ(starts.within(rate.per, noon + 59s), 1) << "recorded by a clock that has been set back since";
  EXPECT_EQ(starts.within(rate.per, noon + 60s), 0);
  starts.add(noon, noon, rate.per);
  starts.shift(10s);
  starts.take_back(noon - 10s);
  EXPECT_EQ(starts.within(rate.per, noon), 2) << "none is recorded as of then";
  starts.take_back(noon + 1h);
  starts.take_back(noon);
  EXPECT_EQ(starts.within(rate.per, noon), 0);
}

// I7: in no stretch of time of the rate's length start more than it allows.
RC_GTEST_PROP(Rate, IsNeverExceededInAnyStretchOfTime, ()) {
  const model::Rate rate{*rc::gen::inRange(1, 6), Micros(*rc::gen::inRange<std::int64_t>(1, 1000))};
  RecentStarts starts;
  std::vector<Instant> started;
  Instant now = noon;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 300))) {
    now += Micros(step);
    const auto opens = starts.opens_at(rate);
    const bool open = !opens || *opens <= now;
    RC_ASSERT(open == (starts.within(rate.per, now) < rate.starts));
    if (!open) continue;
    starts.add(now, now, rate.per);
    started.push_back(now);
  }
  for (std::size_t i = 0; i + static_cast<std::size_t>(rate.starts) < started.size(); ++i) {
    RC_ASSERT(started[i + static_cast<std::size_t>(rate.starts)] - started[i] >= rate.per);
  }
}

}  // namespace
}  // namespace eider::decide
