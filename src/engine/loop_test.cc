// The loop as a whole, cranked by hand. Cases O-nn are real faults of real schedulers (tests/e2e has them on the
// built program as well).
#include "engine/loop.h"

#include <gtest/gtest.h>

#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using model::Decision;
using model::Outcome;
using model::RunState;
using namespace std::chrono_literals;

TEST(Loop, ADueInstantIsDecidedClaimedAndHandedOffInOneTurn) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  EXPECT_EQ(bench.loop->turn().wake_at, at("2026-01-01T10:01:00Z"));
  bench.clock.advance(1min);
  bench.loop->turn();
  ASSERT_EQ(bench.workers->handed_off.size(), 1u);
  EXPECT_EQ(bench.workers->handed_off[0].facts.at("scheduled_for"), "2026-01-01T10:01:00Z");
  const auto runs = bench.runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].state, RunState::running);
  bench.workers->over(runs[0].id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.row(runs[0].id).state, RunState::succeeded);
  EXPECT_EQ(bench.workers->forgotten, std::vector<std::string>{runs[0].id});
}

TEST(Loop, NothingIsHandedOffBeforeItIsCommitted) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  auto other = store::open_sqlite_store({bench.folder + "/state.db", false});
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->begin().ok()) << "somebody outside holds the store";
  bench.clock.advance(1min);
  const Loop::Next next = bench.loop->turn();
  EXPECT_TRUE(bench.workers->handed_off.empty());
  EXPECT_TRUE(next.retry_in.has_value());
  EXPECT_EQ((bench.ask<AskStatus, StatusView>({}).health), "degraded") << "questions are answered all the same";
  // O-29: two instants fall due while the store is locked; afterwards the newest runs, and the next minute is on time.
  bench.clock.advance(1min);
  bench.loop->turn();
  (*other)->rollback();
  bench.settle();
  ASSERT_EQ(bench.workers->handed_off.size(), 1u);
  EXPECT_EQ(bench.workers->handed_off[0].facts.at("scheduled_for"), "2026-01-01T10:02:00Z");
  EXPECT_EQ((bench.ask<AskStatus, StatusView>({}).health), "ok");
  EXPECT_EQ(bench.loop->turn().wake_at, at("2026-01-01T10:03:00Z"));
}

// I4: a result of an older attempt changes nothing, and is counted.
TEST(Loop, TheFenceRefusesAnOldResult) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.retry.max_attempts = 3; });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.workers->over(id, Outcome::failed);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::queued);
  bench.advance(15s);
  ASSERT_EQ(bench.row(id).attempt, 2);
  bench.workers->over(id, 1, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::running);
  EXPECT_EQ((bench.ask<AskStatus, StatusView>({}).stale_results), 1);
  bench.workers->over(id, 2, Outcome::failed);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::queued);
}

TEST(Loop, ARunFailsAfterItsBudgetAndSaysWhy) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.retry.max_attempts = 2; });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.workers->die(id, 9);
  bench.settle();
  bench.advance(1min);
  bench.workers->die(id, 11);
  bench.settle();
  const model::Run run = bench.row(id);
  EXPECT_EQ(run.state, RunState::failed);
  EXPECT_EQ(run.reason, model::reason::budget_spent);
  EXPECT_NE(run.error.find("signal 11"), std::string::npos) << run.error;
  const auto attempts = bench.attempts(id);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].outcome, Outcome::crashed);
  EXPECT_EQ(attempts[0].signal, 9);
}

// O-10: many requests in the instant of a slot make one run.
TEST(Loop, OneRunWinsWhateverArrivesTogether) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  bench.clock.advance(1min);
  int started = 0;
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    StartRun command;
    command.pipeline = "p";
    command.reply = [&](const Result<std::string>& result) { ++(result.ok() ? started : refused); };
    bench.inbox->post(std::move(command));
  }
  bench.settle();
  EXPECT_EQ(started, 1);
  EXPECT_EQ(refused, 19);
  EXPECT_EQ(bench.runs().size(), 1u);
  ASSERT_EQ(bench.occurrences().size(), 1u);
  EXPECT_EQ(bench.occurrences()[0].decision, Decision::skipped);
}

TEST(Loop, AnIdempotencyKeyHasOneRunForEver) {
  TestBench bench;
  bench.add_pipeline("p");
  bench.boot();
  const std::string id = bench.start("p", false, "k").value();
  EXPECT_EQ(bench.start("p", false, "k").value(), id);
  bench.workers->over(id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(bench.start("p", false, "k").value(), id) << "also after it has ended";
  EXPECT_EQ(bench.runs().size(), 1u);
}

// O-11.
TEST(Loop, QueueKeepsOneWaitingAndDropsTheRestWithARecord) {
  TestBench bench("2026-01-01T09:59:30Z");
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].overlap = model::Overlap::queue;
  });
  bench.boot();
  std::map<std::string, Instant> began;
  for (int second = 0; second < 400; ++second) {
    bench.advance(1s);
    ASSERT_LE(bench.workers->busy.size(), 1u) << "never two at once";
    for (const auto& [id, attempt] : std::map(bench.workers->busy)) {
      const Instant start = began.try_emplace(id, bench.clock.now()).first->second;
      if (bench.clock.now() - start >= 150s) bench.workers->over(id, Outcome::succeeded);
    }
  }
  std::map<std::string, Decision> decided;
  for (const model::Occurrence& o : bench.occurrences())
    decided[format_rfc3339(o.scheduled_for).substr(11, 5)] = o.decision;
  EXPECT_EQ(decided["10:00"], Decision::run);
  EXPECT_EQ(decided["10:01"], Decision::run);
  EXPECT_EQ(decided["10:02"], Decision::skipped);
  EXPECT_EQ(decided["10:03"], Decision::run);
  EXPECT_EQ(decided.size(), 7u) << "no instant vanishes";
}

// O-05: the clock two hours ahead by mistake, and back.
TEST(Loop, AClockSetForwardAndBackPausesNothingAndRunsNothingTwice) {
  TestBench bench("2026-01-01T14:59:30Z");
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].misfire = model::Misfire::skip;
  });
  bench.boot();
  bench.workers->finish_at_once = true;
  bench.advance(30s);  // 15:00 runs
  bench.clock.step_to(at("2026-01-01T17:00:00Z"));
  bench.settle();  // 17:00 runs, 15:01 … 16:59 are missed
  bench.advance(30s);
  ASSERT_EQ(bench.runs().size(), 2u);
  bench.clock.step_to(at("2026-01-01T15:01:05Z"));
  const Loop::Next next = bench.settle();
  EXPECT_EQ(next.wake_at, at("2026-01-01T15:02:00Z"));
  bench.live(2 * 3600);
  std::map<Instant, int> runs;
  for (const model::Run& run : bench.runs()) ++runs[*run.scheduled_for];
  EXPECT_EQ(runs.size(), 1u + 119u + 1u) << "15:00, 15:02 … 17:00, 17:01";
  for (const auto& [instant, count] : runs) EXPECT_EQ(count, 1) << format_rfc3339(instant);
  EXPECT_TRUE(runs.contains(at("2026-01-01T17:00:00Z")));
  const auto first_missed = bench.occurrences()[1];
  EXPECT_EQ(first_missed.decision, Decision::missed);
  EXPECT_EQ(first_missed.count, 1) << "15:01 stays missed, what lay ahead was withdrawn";
}

// O-02 and a restart inside a repeated hour: a restart adds nothing and loses nothing.
TEST(Loop, ARestartInARepeatedHourAddsNoRun) {
  TestBench bench("2026-10-24T23:59:30Z");
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute("half"), TestBench::every_minute("fixed")};
    p.schedules[0].timing.cron = "*/30 * * * *";
    p.schedules[1].timing.cron = "30 2 * * *";
    for (auto& schedule : p.schedules) {
      schedule.timing.timezone = "Europe/Brussels";
      schedule.overlap = model::Overlap::allow;
    }
    p.max_active_runs = 0;
  });
  bench.boot();
  for (int i = 0; i < 3 * 3600; i += 10) {
    bench.workers->finish_at_once = true;
    bench.advance(10s);
    if (i % 600 == 0) bench.crash_and_boot();
  }
  std::map<std::string, int> runs;
  for (const model::Run& run : bench.runs()) ++runs[run.trigger_id];
  EXPECT_EQ(runs["p/half"], 6) << "00:00, 00:30, 01:00, 01:30 (both passes of 02:00 and 02:30), 02:00, 02:30";
  EXPECT_EQ(runs["p/fixed"], 1) << "02:30 local, the first pass only";
}

// O-07 and O-03 of the queue: a crash loses neither what waits nor what runs.
TEST(Loop, ACrashLosesNothingAndRepeatsNothing) {
  TestBench bench;
  bench.add_pipeline("a", [](model::Pipeline& p) { p.max_active_runs = 0; });
  bench.workspace_value.settings.max_workers = 5;
  bench.boot();
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(bench.start("a", true).value());
  ASSERT_EQ(bench.workers->busy.size(), 5u);
  // One left its result, one is alive, three are gone.
  bench.traces[ids[0]] = {true, false, false};
  bench.traces[ids[1]] = {false, true, true};
  bench.crash_and_boot();
  EXPECT_EQ(bench.row(ids[0]).state, RunState::succeeded);
  EXPECT_EQ(bench.row(ids[1]).state, RunState::running);
  EXPECT_EQ(bench.row(ids[1]).attempt, 1) << "adopted, not run again";
  for (int i = 2; i < 5; ++i) {
    EXPECT_EQ(bench.attempts(ids[static_cast<std::size_t>(i)])[0].outcome, Outcome::interrupted);
    EXPECT_EQ(bench.row(ids[static_cast<std::size_t>(i)]).attempt, 2) << "eligible at once, oldest first";
  }
  bench.workers->finish_at_once = true;
  while (!bench.workers->busy.empty()) {
    bench.workers->over(bench.workers->busy.begin()->first, Outcome::succeeded);
    bench.settle();
  }
  for (const std::string& id : ids) EXPECT_EQ(bench.row(id).state, RunState::succeeded);
}

TEST(Loop, InterruptedTooOftenFailsWithItsReason) {
  TestBench bench;
  bench.add_pipeline("p");
  bench.boot();
  const std::string id = bench.start("p").value();
  for (int i = 0; i < 3; ++i) {
    bench.crash_and_boot();
    ASSERT_EQ(bench.row(id).state, RunState::running) << i;
  }
  bench.crash_and_boot();
  EXPECT_EQ(bench.row(id).state, RunState::failed);
  EXPECT_EQ(bench.row(id).reason, model::reason::interruptions_spent);
}

// O-18.
TEST(Loop, ACancelledHolderFreesItsPoolWhenItIsGone) {
  TestBench bench;
  bench.workspace_value.settings.pools["heavy"] = {"heavy", 1, {}};
  for (const char* name : {"a", "b"}) bench.add_pipeline(name, [](model::Pipeline& p) { p.pools["heavy"] = 1; });
  bench.boot();
  const std::string a = bench.start("a").value();
  const std::string b = bench.start("b").value();
  EXPECT_EQ(bench.row(b).state, RunState::queued);
  auto live = bench.ask<AskLive, std::vector<LiveRun>>({{b}, {}});
  ASSERT_EQ(live[0].waiting_for.size(), 1u);
  EXPECT_EQ(live[0].waiting_for[0].kind, "pool");
  EXPECT_EQ(live[0].waiting_for[0].name, "heavy");
  bench.workers->obeys_cancel = false;
  EXPECT_EQ(bench.cancel(a).value(), RunState::running);
  EXPECT_EQ(bench.row(b).state, RunState::queued) << "a still lives";
  const auto pools = bench.ask<AskPools, LimitsView>({}).pools;
  EXPECT_EQ(pools[0].used, 1);
  EXPECT_EQ(pools[0].waiting, 1);
  bench.workers->over(a, Outcome::cancelled);
  bench.settle();
  EXPECT_EQ(bench.row(a).state, RunState::cancelled);
  EXPECT_EQ(bench.row(b).state, RunState::running);
}

// O-09: a full pool makes a run wait, it never loses an instant.
TEST(Loop, AFullPoolDelaysARunAndLosesNone) {
  TestBench bench("2026-01-01T08:55:00Z");
  bench.workspace_value.settings.pools["P"] = {"P", 1, {}};
  bench.add_pipeline("holder", [](model::Pipeline& p) { p.pools["P"] = 1; });
  bench.add_pipeline("s", [](model::Pipeline& p) {
    p.pools["P"] = 1;
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].timing.cron = "0 9 * * *";
  });
  bench.boot();
  for (int day = 0; day < 3; ++day) {
    const std::string holder = bench.start("holder").value();
    bench.advance(25min);
    bench.workers->over(holder, Outcome::succeeded);
    bench.settle();
    ASSERT_EQ(bench.workers->busy.size(), 1u);
    bench.workers->over(bench.workers->busy.begin()->first, Outcome::succeeded);
    bench.settle();
    bench.advance(23h + 35min);
  }
  int done = 0;
  for (const model::Run& run : bench.runs()) {
    if (run.pipeline != "s") continue;
    ++done;
    EXPECT_EQ(run.state, RunState::succeeded);
    EXPECT_EQ(format_rfc3339(*run.scheduled_for).substr(11, 5), "09:00");
    EXPECT_EQ(format_rfc3339(*run.started_at).substr(11, 5), "09:20");
  }
  EXPECT_EQ(done, 3);
}

TEST(Loop, PauseAndResume) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  bench.workers->finish_at_once = true;
  const auto pause = [&](bool paused) {
    std::optional<Result<void>> answer;
    bench.inbox->post(
        PauseSchedule{"p/s", paused, "maintenance", [&](const Result<void>& result) { answer.emplace(result); }});
    bench.settle();
    ASSERT_TRUE(answer && answer->ok());
  };
  pause(true);
  EXPECT_FALSE(bench.settle().wake_at) << "a paused schedule wakes nobody";
  bench.advance(10min);
  bench.crash_and_boot();
  bench.workers->finish_at_once = true;
  bench.advance(10min);
  pause(false);
  bench.advance(1min);
  const auto rows = bench.occurrences();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].decision, Decision::paused);
  EXPECT_EQ(rows[0].count, 20);
  EXPECT_EQ(rows[1].decision, Decision::run);
  EXPECT_EQ(rows[1].scheduled_for, at("2026-01-01T10:21:00Z"));
}

// O-35, O-36: what is removed ends with its reason; what is broken waits; what is good goes on.
TEST(Loop, ReloadTakesGoodFilesAndKeepsTheRest) {
  TestBench bench;
  bench.add_pipeline("stays", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.add_pipeline("goes");
  bench.boot();
  const std::string active = bench.start("goes").value();
  const std::string waiting = bench.start("goes", true).value();
  bench.workspace_value.pipelines.erase("goes");
  bench.inbox->post(Reload{[](const auto&) {}});
  bench.settle();
  EXPECT_EQ(bench.row(waiting).state, RunState::cancelled);
  EXPECT_EQ(bench.row(waiting).reason, model::reason::pipeline_removed);
  EXPECT_EQ(bench.row(active).state, RunState::running);
  bench.workers->over(active, Outcome::succeeded);
  bench.crash_and_boot();
  EXPECT_EQ(bench.start("goes").error().code, ErrorCode::not_found);
  bench.advance(1min);
  EXPECT_EQ(bench.runs().back().pipeline, "stays");
}

TEST(Loop, ReplaceAsksTheOldOneToEndAndStartsWhenItIsGone) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].overlap = model::Overlap::replace;
  });
  bench.boot();
  bench.workers->obeys_cancel = false;
  bench.advance(1min);
  bench.advance(1min);
  bench.advance(1min);
  const auto runs = bench.runs();
  ASSERT_EQ(runs.size(), 3u);
  ASSERT_EQ(bench.workers->cancelled.size(), 1u) << "asked once";
  EXPECT_EQ(runs[1].state, RunState::cancelled) << "superseded while it waited";
  EXPECT_EQ(runs[2].state, RunState::queued);
  bench.workers->over(runs[0].id, Outcome::cancelled);
  bench.settle();
  EXPECT_EQ(bench.row(runs[0].id).state, RunState::cancelled);
  EXPECT_EQ(bench.row(runs[0].id).reason, model::reason::replaced);
  EXPECT_EQ(bench.row(runs[2].id).state, RunState::running);
}

TEST(Loop, StopDrainsThenInterruptsAndNothingIsCounted) {
  TestBench bench;
  bench.workspace_value.settings.drain_timeout = 30s;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  const std::string id = bench.start("p").value();
  bench.inbox->post(Stop{false, false, {}});
  EXPECT_FALSE(bench.settle().ended);
  EXPECT_EQ(bench.start("p", true).error().code, ErrorCode::unavailable);
  bench.clock.advance(31s);
  bench.loop->turn();
  EXPECT_TRUE(bench.settle().ended);
  const model::Run run = bench.row(id);
  EXPECT_EQ(run.state, RunState::queued) << "it goes on with the next server";
  EXPECT_EQ(run.failures, 0);
  EXPECT_EQ(run.interruptions, 0);
  EXPECT_EQ(run.error, "") << "nothing is wrong with it";
  EXPECT_EQ(run.reason, model::reason::server_stopped);
  EXPECT_EQ(bench.attempts(id)[0].outcome, Outcome::interrupted);
  ASSERT_EQ(bench.workers->cancelled.size(), 1u);
  EXPECT_EQ(bench.workers->cancelled[0].second, "interrupted: the server is stopping");
}

TEST(Loop, AQueueTimeoutEndsTheWait) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.queue_timeout = 10min; });
  bench.boot();
  bench.start("p").value();
  const std::string waits = bench.start("p", true).value();
  bench.advance(10min);
  EXPECT_EQ(bench.row(waits).state, RunState::cancelled);
  EXPECT_EQ(bench.row(waits).reason, model::reason::expired);
}

// Memory is what the store says: after any of the above, a fresh load is equal.
TEST(Loop, MemoryIsWhatAFreshLoadSays) {
  TestBench bench;
  bench.workspace_value.settings.max_workers = 2;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.max_active_runs = 0;
    p.retry.max_attempts = 2;
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].overlap = model::Overlap::allow;
  });
  bench.boot();
  for (int i = 0; i < 200; ++i) {
    bench.advance(20s);
    if (!bench.workers->busy.empty()) {
      const std::string id = bench.workers->busy.begin()->first;
      if (bench.random.next() % 3 == 0)
        bench.workers->die(id, 9);
      else
        bench.workers->over(id, bench.random.next() % 2 ? Outcome::succeeded : Outcome::failed);
      bench.settle();
    }
    State fresh;
    fresh.set_workspace(std::make_shared<workspace::Workspace>(bench.workspace_value));
    fresh.load(bench.store->load_open().value(), bench.clock.now());
    ASSERT_EQ(fresh.runs(), bench.loop->state().runs()) << i;
    ASSERT_EQ(fresh.live(), bench.loop->state().live()) << i;
    ASSERT_EQ(fresh.cursors(), bench.loop->state().cursors()) << i;
    ASSERT_EQ(fresh.first_due(), bench.loop->state().first_due()) << i;
    ASSERT_EQ(fresh.first_backoff(), bench.loop->state().first_backoff()) << i;
  }
}

}  // namespace
}  // namespace eider::engine
