// What the loop does when the ground moves: the store is locked, changed by others or gone, the machine lacks
// something.
#include <gtest/gtest.h>

#include "base/log.h"
#include "engine/loop.h"
#include "engine/test_bench.h"

#include <sqlite3.h>

namespace eider::engine {
namespace {

using model::Outcome;
using model::RunState;
using namespace std::chrono_literals;

/// As a person with `sqlite3` would.
void change_by_hand(const TestBench& bench, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((bench.folder + "/state.db").c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_close(db);
}

std::unique_ptr<store::Store> lock_store(const TestBench& bench) {
  auto other = store::open_sqlite_store({bench.folder + "/state.db", false});
  EXPECT_TRUE(other.ok() && (*other)->begin().ok());
  return std::move(*other);
}

std::unique_ptr<TestBench> each_minute() {
  auto bench = std::make_unique<TestBench>();
  bench->add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].overlap = model::Overlap::allow;
    p.max_active_runs = 0;
  });
  bench->boot();
  return bench;
}

TEST(Trouble, RowsThatSomebodyElseChangedAreReadAnewAndTheLoopGoesOn) {
  const char* const changes[] = {
      "DELETE FROM cursors",
      "UPDATE cursors SET decided_until = decided_until + 30000000",
      "UPDATE cursors SET decided_until = decided_until - 30000000",
      "UPDATE runs SET state = 2, finished_at = created_at",
      "DELETE FROM attempts; DELETE FROM runs",
  };
  for (const char* const sql : changes) {
    const auto bench = each_minute();
    bench->advance(1min);
    const std::string id = bench->runs().at(0).id;
    change_by_hand(*bench, sql);
    bench->workers->over(id, Outcome::succeeded);
    bench->advance(1min);  // whatever it finds, this ends
    bench->advance(1s);
    EXPECT_EQ((bench->ask<AskStatus, StatusView>({}).health), "ok") << sql;
    const std::size_t before = bench->workers->handed_off.size();
    bench->advance(1min);
    bench->advance(1min);
    EXPECT_EQ(bench->workers->handed_off.size(), before + 2) << sql;
    ASSERT_TRUE(bench->runs().size() >= 2u) << sql;
  }
}

TEST(Trouble, AStoreThatWasReplacedIsNotWritten) {
  const auto bench = each_minute();
  std::filesystem::rename(bench->folder + "/state.db", bench->folder + "/aside");
  bench->clock.advance(1min);
  bench->loop->turn();
  const auto status = bench->ask<AskStatus, StatusView>({});
  EXPECT_EQ(status.health, "degraded");
  EXPECT_NE(status.health_detail.find("was removed or replaced"), std::string::npos) << status.health_detail;
  EXPECT_TRUE(bench->workers->handed_off.empty());
  std::filesystem::rename(bench->folder + "/aside", bench->folder + "/state.db");
  bench->settle();
  EXPECT_EQ(bench->workers->handed_off.size(), 1u);
  EXPECT_EQ((bench->ask<AskStatus, StatusView>({}).health), "ok");
}

TEST(Trouble, WhatTheMachineLacksIsNotTheRunsFault) {
  const auto bench = each_minute();
  bench->workers->lacks = "no inode is left";
  for (int i = 0; i < 3; ++i) bench->start("p", true).value();
  bench->advance(1s);
  for (int i = 0; i < 120; ++i) bench->advance(1s);
  const auto tries = bench->workers->handed_off.size();
  EXPECT_LT(tries, 60u) << "all wait while nothing can be started";
  EXPECT_GT(tries, 5u);
  const auto status = bench->ask<AskStatus, StatusView>({});
  EXPECT_EQ(status.health, "degraded");
  EXPECT_NE(status.health_detail.find("no inode is left"), std::string::npos) << status.health_detail;
  for (const model::Run& run : bench->runs()) {
    EXPECT_EQ(run.state, RunState::queued);
    EXPECT_EQ(run.failures, 0);
    EXPECT_TRUE(bench->attempts(run.id).empty());
  }
  bench->workers->lacks.clear();
  for (int i = 0; i < 31; ++i) bench->advance(1s);
  EXPECT_EQ(bench->workers->busy.size(), bench->runs().size());
  for (const model::Run& run : bench->runs()) bench->workers->over(run.id, Outcome::succeeded);
  bench->settle();
  EXPECT_EQ((bench->ask<AskStatus, StatusView>({}).health), "ok");
  for (const model::Run& run : bench->runs()) EXPECT_EQ(run.state, RunState::succeeded);
}

// A stray process may hold one run's lock for hours.
TEST(Trouble, WhatKeepsOneRunFromStartingHoldsNoOther) {
  TestBench bench;
  bench.add_pipeline("p");
  bench.add_pipeline("q");
  bench.boot();
  bench.workers->lacks = "its lock is held";
  bench.workers->lacks_for_all = false;
  const std::string kept = bench.start("p").value();
  EXPECT_EQ(bench.row(kept).state, RunState::queued);
  bench.workers->lacks.clear();
  const std::string other = bench.start("q").value();
  EXPECT_EQ(bench.row(other).state, RunState::running) << "at the same instant";
  EXPECT_EQ((bench.ask<AskStatus, StatusView>({}).health), "ok");
  bench.advance(1s);
  EXPECT_EQ(bench.row(kept).state, RunState::running);
  EXPECT_EQ(bench.row(kept).failures, 0);
}

TEST(Trouble, AScheduleThatWasAwayWhenTheClockWasSetBackStandsStillForNobody) {
  const auto bench = each_minute();
  bench->advance(2h);
  auto file = bench->workspace_value.pipelines.extract("p");
  bench->workspace_value.broken["pipelines/p.yaml"] = {"p", "broken"};
  bench->crash_and_boot();
  bench->clock.step_to(at("2026-01-01T10:00:30Z"));
  bench->settle();
  bench->workspace_value.pipelines.insert(std::move(file));
  bench->workspace_value.broken.clear();
  bench->inbox->post(Reload{[](const auto&) {}});
  EXPECT_EQ(bench->settle().wake_at, at("2026-01-01T10:01:00Z")) << "not in two hours";
}

// What was interrupted is queued again, and waits for the next server: this one has nothing to look at.
TEST(Trouble, AServerThatDrainsDoesNotSpin) {
  TestBench bench;
  bench.workspace_value.settings.drain_timeout = 30s;
  bench.add_pipeline("p");
  bench.add_pipeline("slow");
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.start("slow").value();
  bench.advance(1s);
  bench.workers->obeys_cancel = false;
  bench.inbox->post(Stop{});
  bench.advance(31s);
  bench.workers->over(id, Outcome::cancelled);
  const auto next = bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::queued);
  EXPECT_FALSE(next.ended);
  EXPECT_FALSE(next.wake_at);
}

// SIGTERM, a locked store, and a run that goes on: the server leaves in time, and the next one picks the run up.
TEST(Trouble, AServerThatCannotWriteStopsAllTheSame) {
  for (const bool now : {false, true}) {
    TestBench bench;
    bench.workspace_value.settings.drain_timeout = 30s;
    bench.add_pipeline("p");
    bench.boot();
    const std::string id = bench.start("p").value();
    {
      const auto lock = lock_store(bench);
      bench.workers->over(id, Outcome::succeeded);  // can't be recorded
      EXPECT_FALSE(bench.loop->turn().ended);
      bool answered = false;
      bench.inbox->post(Stop{false, now, [&](const auto&) { answered = true; }});
      EXPECT_EQ(bench.loop->turn().ended, now);
      EXPECT_TRUE(answered);
      bench.clock.advance(31s);
      EXPECT_TRUE(bench.loop->turn().ended);
      lock->rollback();
    }
    bench.traces[id].result_there = true;
    bench.crash_and_boot();
    EXPECT_EQ(bench.row(id).state, RunState::succeeded);
  }
}

}  // namespace
}  // namespace eider::engine
