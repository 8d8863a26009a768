// Admission in the loop: what holds across turns, restarts and reloads. Cases O-nn are real faults of real schedulers.
#include <gtest/gtest.h>

#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using model::LockMode;
using model::Outcome;
using model::RunState;
using namespace std::chrono_literals;

std::vector<Waiting> waiting(TestBench& bench, const std::string& id) {
  return bench.ask<AskLive, std::vector<LiveRun>>({{id}, {}})[0].waiting_for;
}
std::vector<std::string> kinds(TestBench& bench, const std::string& id) {
  std::vector<std::string> out;
  for (const Waiting& each : waiting(bench, id)) out.push_back(each.kind + " " + each.name);
  return out;
}
LimitsView limits(TestBench& bench) { return bench.ask<AskPools, LimitsView>({}); }

void reload(TestBench& bench) {
  bool done = false;
  bench.inbox->post(Reload{[&](const auto& answer) { done = answer.ok(); }});
  bench.settle();
  ASSERT_TRUE(done);
}

std::vector<std::string> running(TestBench& bench) {
  std::vector<std::string> out;
  for (const auto& [id, attempt] : bench.workers->busy) out.push_back(id);
  return out;
}
/// What runs is over, and what was queued behind it starts.
void finish(TestBench& bench, const std::string& id) {
  bench.workers->over(id, Outcome::succeeded);
  bench.settle();
}

TEST(Limits, LocksAreSharedByReadersAndHeldAloneByAWriter) {
  TestBench bench;
  for (const char* name : {"r1", "r2"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) { p.locks["warehouse"] = LockMode::read; });
  }
  for (const char* name : {"w1", "w2"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) { p.locks["warehouse"] = LockMode::write; });
  }
  bench.boot();
  const std::string r1 = bench.start("r1").value();
  const std::string r2 = bench.start("r2").value();
  const std::string w1 = bench.start("w1").value();
  EXPECT_EQ(running(bench), (std::vector{r1, r2}));
  EXPECT_EQ(kinds(bench, w1), std::vector<std::string>{"lock warehouse"});
  EXPECT_EQ(waiting(bench, w1)[0].detail, "2 runs hold it to read, among them " + r1);
  auto view = limits(bench);
  ASSERT_EQ(view.locks.size(), 1u);
  EXPECT_FALSE(view.locks[0].alone);
  EXPECT_EQ(view.locks[0].waiting, 1);
  finish(bench, r1);
  finish(bench, r2);
  EXPECT_EQ(running(bench), std::vector{w1});
  const std::string w2 = bench.start("w2").value();
  const std::string r3 = bench.start("r1").value();
  EXPECT_EQ(waiting(bench, r3)[0].detail, fmt::format("run {} holds it alone", w1));
  bench.crash_and_boot();  // its attempt is interrupted, and takes its turn again
  bench.settle();
  EXPECT_EQ(running(bench), std::vector{w1});
  EXPECT_TRUE(limits(bench).locks[0].alone);
  finish(bench, w1);
  EXPECT_EQ(running(bench), std::vector{w2});
  finish(bench, w2);
  EXPECT_EQ(running(bench), std::vector{r3});
}

TEST(Limits, AConcurrencyKeyRunsOneAtOnceForEachValue) {
  TestBench bench;
  bench.add_pipeline("load", [](model::Pipeline& p) {
    p.max_active_runs = 0;
    p.concurrency_key = "params.customer";
  });
  bench.boot();
  const auto start = [&](const std::string& params) {
    StartRun command;
    command.pipeline = "load";
    command.queue = true;
    command.params = params;
    std::string id;
    command.reply = [&](const Result<std::string>& result) { id = result.value(); };
    bench.inbox->post(std::move(command));
    bench.settle();
    return id;
  };
  const std::string a1 = start(R"({"customer":"a"})");
  const std::string a2 = start(R"({"customer":"a"})");
  const std::string b1 = start(R"({"customer":"b"})");
  EXPECT_EQ(running(bench), (std::vector{a1, b1}));
  EXPECT_EQ(kinds(bench, a2), std::vector<std::string>{"concurrency load params.customer=\"a\""});
  EXPECT_EQ(waiting(bench, a2)[0].detail, fmt::format("run {} is for the same", a1));
  finish(bench, b1);
  EXPECT_EQ(bench.row(a2).state, RunState::queued);
  finish(bench, a1);
  EXPECT_EQ(running(bench), std::vector{a2});
}

TEST(Limits, ARateLetsSoManyStartAndWakesTheNextByItself) {
  TestBench bench;
  bench.workspace_value.settings.pools["api"] = {"api", 0, model::Rate{2, 1min}};
  for (const char* name : {"a", "b", "c", "d"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) { p.pools["api"] = 1; });
  }
  bench.boot();
  bench.workers->finish_at_once = true;
  const std::string a = bench.start("a").value();
  bench.advance(20s);
  const std::string b = bench.start("b").value();
  const std::string c = bench.start("c").value();
  const std::string d = bench.start("d").value();
  EXPECT_EQ(bench.row(b).state, RunState::succeeded);
  EXPECT_EQ(kinds(bench, c), std::vector<std::string>{"rate api"});
  EXPECT_EQ(waiting(bench, c)[0].detail, "2 of 2 starts are used up in the last 1m; the next at 2026-01-01T10:01:00Z");
  EXPECT_EQ(bench.settle().wake_at, at("2026-01-01T10:01:00Z")) << "nothing is looked at before";
  const auto view = limits(bench);
  ASSERT_TRUE(view.pools[0].rate.has_value());
  EXPECT_EQ(view.pools[0].rate->started, 2);
  EXPECT_EQ(view.pools[0].rate->waiting, 2);
  EXPECT_EQ(view.pools[0].rate->next, at("2026-01-01T10:01:00Z"));
  // I7: a restart forgets no start.
  bench.crash_and_boot();
  bench.workers->finish_at_once = true;
  EXPECT_EQ(bench.row(c).state, RunState::queued);
  bench.advance(40s);
  EXPECT_EQ(bench.row(c).state, RunState::succeeded);
  EXPECT_EQ(bench.row(d).state, RunState::queued);
  bench.advance(20s);
  EXPECT_EQ(bench.row(d).state, RunState::succeeded);
}

TEST(Limits, AStartThatRanNothingIsNoneForTheRate) {
  TestBench bench;
  bench.workspace_value.settings.pools["api"] = {"api", 0, model::Rate{1, 1h}};
  bench.add_pipeline("a", [](model::Pipeline& p) { p.pools["api"] = 1; });
  bench.boot();
  bench.workers->lacks = "no room for the process";
  bench.workers->lacks_for_all = false;
  const std::string a = bench.start("a").value();
  bench.workers->lacks.clear();
  bench.advance(1min);
  EXPECT_EQ(bench.row(a).state, RunState::running);
}

/// Whatever the clock did between its start and its end, and whether or not a server has come back meanwhile.
TEST(Limits, AStartThatRanNothingIsNoneAlsoWhenTheClockWasSetBack) {
  for (const bool crash : {false, true}) {
    TestBench bench;
    bench.workspace_value.settings.pools["api"] = {"api", 0, model::Rate{1, 1h}};
    bench.add_pipeline("a", [](model::Pipeline& p) { p.pools["api"] = 1; });
    bench.boot();
    const std::string a = bench.start("a").value();
    bench.clock.step_to(bench.clock.now() - 5h);
    if (crash) {
      bench.traces[a].socket_answers = true;
      bench.crash_and_boot();
    }
    bench.settle();
    bench.workers->over(a, Outcome::released);
    bench.settle();
    ASSERT_EQ(bench.row(a).state, RunState::queued);
    bench.advance(1min);
    EXPECT_EQ(bench.row(a).state, RunState::running);
    EXPECT_EQ(limits(bench).pools[0].rate->started, 1);
  }
}

TEST(Limits, AClockThatIsSetBackHoldsNoRate) {
  TestBench bench;
  bench.workspace_value.settings.pools["api"] = {"api", 0, model::Rate{1, 1min}};
  for (const char* name : {"a", "b"}) bench.add_pipeline(name, [](model::Pipeline& p) { p.pools["api"] = 1; });
  bench.boot();
  bench.workers->finish_at_once = true;
  ASSERT_TRUE(bench.start("a").ok());
  bench.clock.step_to(bench.clock.now() - 5h);
  bench.settle();
  const std::string b = bench.start("b").value();
  bench.advance(1min);
  EXPECT_EQ(bench.row(b).state, RunState::succeeded);
}

TEST(Limits, MemoryAndTemporarySpaceAreSums) {
  TestBench bench;
  bench.workspace_value.settings.memory_bytes = 100;
  bench.workspace_value.settings.temp_bytes = 100;
  bench.add_pipeline("m", [](model::Pipeline& p) { p.resources.memory_bytes = 60; });
  bench.add_pipeline("t", [](model::Pipeline& p) { p.resources.temp_bytes = 60; });
  bench.add_pipeline("both", [](model::Pipeline& p) { p.resources.memory_bytes = p.resources.temp_bytes = 50; });
  bench.boot();
  const std::string m = bench.start("m").value();
  const std::string t = bench.start("t").value();
  const std::string both = bench.start("both").value();
  EXPECT_EQ(kinds(bench, both), (std::vector<std::string>{"temp temp", "memory memory"}));
  EXPECT_EQ(limits(bench).memory.used, 60);
  EXPECT_EQ(limits(bench).temp.waiting, 1);
  finish(bench, m);
  EXPECT_EQ(kinds(bench, both), std::vector<std::string>{"temp temp"});
  finish(bench, t);
  EXPECT_EQ(running(bench), std::vector{both});
}

TEST(Limits, SinceWhenARunWaitsIsNotMovedByOthers) {
  TestBench bench;
  bench.workspace_value.settings.pools["p"] = {"p", 1, {}};
  bench.workspace_value.settings.memory_bytes = 100;
  for (const char* name : {"a", "b", "c"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) {
      p.pools["p"] = 1;
      p.resources.memory_bytes = 100;
    });
  }
  bench.boot();
  const std::string a = bench.start("a").value();
  bench.advance(1min);
  const std::string b = bench.start("b").value();
  bench.advance(1min);
  const std::string c = bench.start("c").value();
  bench.advance(1min);
  finish(bench, a);
  ASSERT_EQ(running(bench), std::vector{b});
  reload(bench);
  const auto since = waiting(bench, c);
  ASSERT_EQ(since.size(), 2u);
  EXPECT_EQ(since[0].kind, "pool");
  EXPECT_EQ(since[0].since, at("2026-01-01T10:02:00Z")) << "the slot went from one to the other, never to it";
  EXPECT_EQ(since[1].kind, "memory");
  EXPECT_EQ(since[1].since, at("2026-01-01T10:03:00Z")) << "of its present holder";
}

TEST(Limits, WhatIsKeptForALongWaitIsNamed) {
  TestBench bench;
  bench.workspace_value.settings.pools["p"] = {"p", 2, {}};
  for (const char* name : {"n1", "n2"}) bench.add_pipeline(name, [](model::Pipeline& p) { p.pools["p"] = 1; });
  bench.add_pipeline("wide", [](model::Pipeline& p) { p.pools["p"] = 2; });
  bench.boot();
  const std::string n1 = bench.start("n1").value();
  const std::string wide = bench.start("wide").value();
  bench.advance(6min);
  const std::string n2 = bench.start("n2").value();
  EXPECT_EQ(bench.row(n2).state, RunState::queued);
  const auto why = waiting(bench, n2);
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].kind, "reserved");
  EXPECT_EQ(why[0].name, "p");
  EXPECT_NE(why[0].detail.find(wide), std::string::npos) << why[0].detail;
  finish(bench, n1);
  EXPECT_EQ(running(bench), std::vector{wide});
}

// Shrinking a pool evicts nobody, and nobody starts before there is room again.
TEST(Limits, ASmallerPoolEvictsNobody) {
  TestBench bench;
  bench.workspace_value.settings.pools["p"] = {"p", 3, {}};
  bench.add_pipeline("a", [](model::Pipeline& p) {
    p.pools["p"] = 1;
    p.max_active_runs = 0;
  });
  bench.boot();
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(bench.start("a", true).value());
  ASSERT_EQ(running(bench).size(), 3u);
  bench.workspace_value.settings.pools["p"].slots = 1;
  reload(bench);
  EXPECT_EQ(running(bench).size(), 3u);
  EXPECT_EQ(limits(bench).pools[0].used, 3);
  finish(bench, ids[0]);
  finish(bench, ids[1]);
  EXPECT_EQ(bench.row(ids[3]).state, RunState::queued);
  finish(bench, ids[2]);
  EXPECT_EQ(running(bench), std::vector{ids[3]});
  bench.workspace_value.settings.pools["p"].slots = 3;
  const std::string next = bench.start("a", true).value();
  EXPECT_EQ(bench.row(next).state, RunState::queued);
  reload(bench);
  EXPECT_EQ(bench.row(next).state, RunState::running) << "a larger one is used at once";
}

// O-17, the limit: a late owner's result changes neither the run nor what is in use.
TEST(Limits, ALateOwnerGivesNothingBackTwice) {
  TestBench bench;
  bench.workspace_value.settings.pools["p"] = {"p", 1, {}};
  for (const char* name : {"a", "b"}) {
    bench.add_pipeline(name, [](model::Pipeline& p) {
      p.pools["p"] = 1;
      p.retry.max_attempts = 2;
      p.retry.backoff = 0s;
      p.retry.jitter = 0;
    });
  }
  bench.boot();
  const std::string a = bench.start("a").value();
  bench.workers->die(a, 9);
  bench.settle();
  bench.advance(1s);
  ASSERT_EQ(bench.row(a).attempt, 2);
  const std::string b = bench.start("b").value();
  for (int i = 0; i < 3; ++i) {
    bench.workers->over(a, 1, Outcome::succeeded);
    bench.workers->busy[a] = 2;
    bench.settle();
    EXPECT_EQ(limits(bench).pools[0].used, 1);
    EXPECT_EQ(bench.row(b).state, RunState::queued);
  }
  bench.workers->over(a, 2, Outcome::failed);
  bench.settle();
  EXPECT_EQ(bench.row(a).state, RunState::failed) << "one final state, of its second owner";
  EXPECT_EQ(limits(bench).pools[0].used, 1);
  EXPECT_EQ(running(bench), std::vector{b});
}

// O-19: a thousand runs of higher priority in a full pool, one slot of which turns over, and an empty pool beside.
TEST(Limits, AFullPoolStarvesNoEmptyOne) {
  TestBench bench;
  bench.workspace_value.settings.max_workers = 64;
  for (const char* name : {"p1", "p2"}) {
    bench.workspace_value.settings.pools[name] = {name, 20, {}};
    bench.add_pipeline(name, [name](model::Pipeline& p) {
      p.pools[name] = 1;
      p.max_active_runs = 0;
      p.priority = std::string(name) == "p1" ? 2 : 1;
    });
  }
  bench.boot();
  const auto ask = [&](const char* pipeline, int count) {
    for (int i = 0; i < count; ++i) {
      StartRun command;
      command.pipeline = pipeline;
      command.queue = true;
      command.reply = [](const auto&) {};
      ASSERT_TRUE(bench.inbox->post(std::move(command)));
    }
    bench.settle();
  };
  ask("p1", 1020);
  ask("p2", 120);
  const auto used = [&](std::size_t pool) { return limits(bench).pools[pool].used; };
  EXPECT_EQ(used(0), 20);
  EXPECT_EQ(used(1), 20);
  const auto one_of = [&](const char* pipeline) {
    for (const std::string& id : running(bench)) {
      if (bench.loop->state().run(id)->pipeline == pipeline) return id;
    }
    return std::string();
  };
  for (int i = 0; i < 50; ++i) {
    for (const char* pipeline : {"p1", "p2"}) finish(bench, one_of(pipeline));
    ASSERT_EQ(used(0), 20);
    ASSERT_EQ(used(1), 20) << "full again in the same turn";
  }
}

TEST(Limits, BackfillsAndDataHaveTheSharesThatAreSet) {
  TestBench bench;
  bench.workspace_value.settings.max_workers = 8;
  bench.workspace_value.settings.data_share = 0.25;
  bench.add_pipeline("a");
  bench.boot();
  const auto view = limits(bench);
  EXPECT_EQ(view.workers.limit, 8);
  EXPECT_EQ(view.data_workers.limit, 2);
  EXPECT_EQ(view.backfill_workers.limit, 4);
}

}  // namespace
}  // namespace eider::engine
