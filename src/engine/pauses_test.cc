// Schedules that stand still: excluded, paused by a person, by their file or by failures; and what a clock that is set
// back leaves of them.
#include <gtest/gtest.h>

#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using model::Decision;
using model::Outcome;
using model::RunState;
using namespace std::chrono_literals;

Result<void> pause(TestBench& bench, bool paused, model::Misfire catch_up = model::Misfire::skip,
                   std::optional<std::string> note = std::nullopt) {
  std::optional<Result<void>> answer;
  PauseSchedule command;
  command.key = "p/s";
  command.paused = paused;
  command.note = std::move(note);
  command.catch_up = catch_up;
  command.reply = [&](const Result<void>& result) { answer.emplace(result); };
  EXPECT_TRUE(bench.inbox->post(std::move(command)));
  bench.settle();
  return answer ? *answer : Result<void>(Error{ErrorCode::unavailable, "no answer"});
}

ScheduleView view(TestBench& bench, const std::string& key = "p/s") {
  AskSchedules ask;
  ask.key = key;
  const auto views = bench.ask<AskSchedules, std::vector<ScheduleView>>(std::move(ask));
  EXPECT_EQ(views.size(), 1u);
  return views.empty() ? ScheduleView() : views.front();
}

void add_minutely(TestBench& bench, const std::function<void(model::Schedule&)>& change = {}) {
  bench.add_pipeline("p", [&](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    if (change) change(p.schedules[0]);
  });
}

timing::Calendar hours(int from, int to) {
  return {std::nullopt, std::nullopt, std::vector<timing::DayHours>{{from * 60, to * 60}}, std::nullopt};
}

TEST(Exclusions, AnHourThatIsExcludedIsOneRowThatGrows) {
  TestBench bench("2026-01-01T10:58:30Z");
  bench.workspace_value.calendars["lunch"] = std::make_shared<const timing::Calendar>(hours(11, 12));
  add_minutely(bench, [](model::Schedule& s) { s.exclude = {"lunch"}; });
  bench.boot();
  bench.workers->finish_at_once = true;
  for (int minute = 0; minute < 30; ++minute) bench.advance(1min);
  auto rows = bench.occurrences();
  ASSERT_EQ(rows.size(), 2u) << "10:59, and all since 11:00";
  EXPECT_EQ(rows[1].decision, Decision::excluded);
  EXPECT_EQ(rows[1].calendar, "lunch");
  EXPECT_EQ(rows[1].count, 29);
  EXPECT_EQ(view(bench).next, at("2026-01-01T12:00:00Z")) << "what is excluded is not what comes next";
  bench.crash_and_boot();
  bench.workers->finish_at_once = true;
  for (int minute = 0; minute < 32; ++minute) bench.advance(1min);
  rows = bench.occurrences();
  std::int64_t excluded = 0;
  for (const model::Occurrence& row : rows) excluded += row.decision == Decision::excluded ? row.count : 0;
  EXPECT_EQ(excluded, 60) << "each minute of the hour, and once";
  EXPECT_EQ(rows.size(), 4u) << "a restart begins another row, and 12:00 runs";
  EXPECT_EQ(bench.runs().size(), 2u);
}

// O-33: a condition that is never true costs its own schedule, and no other.
TEST(Exclusions, AScheduleThatNothingIsLeftOfDelaysNoOther) {
  TestBench bench("2026-01-01T10:00:00.500Z");
  bench.workspace_value.calendars["empty"] =
      std::make_shared<const timing::Calendar>(std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  add_minutely(bench);
  bench.add_pipeline("q", [](model::Pipeline& q) {
    q.schedules = {TestBench::every_minute()};
    q.schedules[0].timing.cron = "* * * * * *";
    q.schedules[0].only = {"empty"};
  });
  bench.boot();
  bench.workers->finish_at_once = true;
  bench.live(300);
  EXPECT_EQ(bench.runs().size(), 5u);
  for (const model::Run& run : bench.runs()) EXPECT_LE(run.created_at - *run.scheduled_for, 1s);
  const ScheduleView seen = view(bench, "q/s");
  EXPECT_FALSE(seen.next);
  std::vector<model::Occurrence> excluded;
  for (const model::Occurrence& row : bench.occurrences()) {
    if (row.schedule == "q/s") excluded.push_back(row);
  }
  ASSERT_EQ(excluded.size(), 1u);
  EXPECT_EQ(excluded[0].count, 300);
  EXPECT_EQ(excluded[0].reason, model::reason::not_in_calendar);
}

TEST(Jitter, AnInstantIsDecidedWhenItsDelayIsOver) {
  TestBench bench("2026-01-01T10:00:30Z");
  add_minutely(bench, [](model::Schedule& s) { s.jitter = 50s; });
  bench.boot();
  const Micros delay = view(bench).delay;
  ASSERT_GT(delay, Micros(0));
  EXPECT_EQ(view(bench).next, at("2026-01-01T10:01:00Z") + delay);
  bench.advance(30s + delay - Micros(1));
  EXPECT_TRUE(bench.runs().empty());
  bench.advance(Micros(1));
  ASSERT_EQ(bench.runs().size(), 1u);
  EXPECT_EQ(bench.runs()[0].scheduled_for, at("2026-01-01T10:01:00Z"));
  EXPECT_EQ(bench.occurrences()[0].reason, model::reason::due);
}

TEST(Pause, ANewScheduleStartsPausedAndWhatAPersonSaidStays) {
  TestBench bench;
  add_minutely(bench, [](model::Schedule& s) {
    s.paused = true;
    s.note = "not before the move";
  });
  bench.boot();
  bench.advance(5min);
  EXPECT_TRUE(bench.runs().empty());
  EXPECT_TRUE(view(bench).paused);
  EXPECT_EQ(view(bench).note, "not before the move");
  EXPECT_EQ(view(bench).reason, model::reason::starts_paused);
  ASSERT_TRUE(pause(bench, false));
  std::optional<Result<std::vector<workspace::Diagnostic>>> reloaded;
  EXPECT_TRUE(bench.inbox->post(Reload{[&](const auto& answer) { reloaded.emplace(answer); }}));
  bench.settle();
  bench.crash_and_boot();
  EXPECT_FALSE(view(bench).paused) << "neither a reload nor a restart pauses it again";
  bench.advance(1min);
  EXPECT_EQ(bench.runs().size(), 1u);
}

TEST(Pause, WhatFellDueInItIsOneRowAndNothingIsMissed) {
  TestBench bench;
  add_minutely(bench);
  bench.boot();
  ASSERT_TRUE(pause(bench, true, {}, "source is down"));
  bench.advance(std::chrono::hours(24 * 365));
  EXPECT_TRUE(bench.occurrences().empty());
  ASSERT_TRUE(pause(bench, false));
  const auto rows = bench.occurrences();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].decision, Decision::paused);
  EXPECT_EQ(rows[0].count, 365 * 24 * 60);
  EXPECT_EQ(view(bench).next, bench.clock.now() + 1min);
}

TEST(Pause, TheLatestOfItRunsWhereThatIsAskedFor) {
  TestBench bench;
  add_minutely(bench);
  bench.boot();
  ASSERT_TRUE(pause(bench, true));
  bench.advance(10min);
  ASSERT_TRUE(pause(bench, false, model::Misfire::latest));
  ASSERT_EQ(bench.runs().size(), 1u);
  EXPECT_EQ(bench.runs()[0].scheduled_for, at("2026-01-01T10:10:00Z"));
  EXPECT_EQ(bench.runs()[0].reason, model::reason::resumed);
  EXPECT_EQ(bench.workers->handed_off.size(), 1u);
  const auto rows = bench.occurrences();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].count, 9);
}

TEST(Pause, AllOfItRunsOneAfterTheOther) {
  TestBench bench;
  add_minutely(bench);
  bench.boot();
  ASSERT_TRUE(pause(bench, true));
  bench.advance(10min);
  EXPECT_FALSE(pause(bench, false, model::Misfire::all)) << "overlap: skip can't";
  EXPECT_TRUE(view(bench).paused) << "what is refused changes nothing";
  EXPECT_TRUE(bench.occurrences().empty());

  TestBench queue;
  add_minutely(queue, [](model::Schedule& s) {
    s.overlap = model::Overlap::queue;
    s.max_catchup = 4;
  });
  queue.boot();
  ASSERT_TRUE(pause(queue, true));
  queue.advance(10min);
  ASSERT_TRUE(pause(queue, false, model::Misfire::all));
  ASSERT_EQ(queue.runs().size(), 4u);
  EXPECT_EQ(queue.runs()[0].scheduled_for, at("2026-01-01T10:07:00Z"));
  EXPECT_EQ(queue.runs()[0].state, RunState::running);
  EXPECT_EQ(queue.runs()[1].state, RunState::queued);
  EXPECT_EQ(queue.occurrences()[0].count, 6);
}

/// Runs that fail, one a minute.
void fail_for(TestBench& bench, int minutes) {
  for (int minute = 0; minute < minutes; ++minute) {
    bench.advance(1min);
    for (const auto& [id, attempt] : std::map(bench.workers->busy)) bench.workers->over(id, Outcome::failed);
    bench.settle();
  }
}

TEST(PauseAfterFailures, CountsWhatIsStored) {
  TestBench bench;
  add_minutely(bench, [](model::Schedule& s) { s.pause_after_failures = 3; });
  bench.boot();
  fail_for(bench, 2);
  bench.crash_and_boot();
  EXPECT_FALSE(view(bench).paused);
  fail_for(bench, 1);
  const ScheduleView paused = view(bench);
  EXPECT_TRUE(paused.paused) << "the count survives a restart";
  EXPECT_EQ(paused.reason, model::reason::paused_after_failures);
  EXPECT_NE(paused.note.find("3 runs failed one after the other, at last " + bench.runs()[2].id), std::string::npos)
      << paused.note;
  fail_for(bench, 5);
  EXPECT_EQ(bench.runs().size(), 3u);
  ASSERT_TRUE(pause(bench, false));
  EXPECT_EQ(bench.occurrences().back().reason, model::reason::paused_after_failures);
  fail_for(bench, 2);
  EXPECT_FALSE(view(bench).paused) << "the resume started the count anew";
  fail_for(bench, 1);
  EXPECT_TRUE(view(bench).paused);
}

TEST(PauseAfterFailures, ASuccessStartsTheCountAnewAndACancelSaysNothing) {
  TestBench bench;
  add_minutely(bench, [](model::Schedule& s) { s.pause_after_failures = 2; });
  bench.boot();
  fail_for(bench, 1);
  bench.advance(1min);
  bench.workers->over(bench.runs()[1].id, Outcome::succeeded);
  bench.settle();
  fail_for(bench, 1);
  EXPECT_FALSE(view(bench).paused);
  bench.advance(1min);
  const std::string cancelled = bench.runs()[3].id;
  ASSERT_TRUE(bench.cancel(cancelled));
  ASSERT_EQ(bench.row(cancelled).state, RunState::cancelled);
  EXPECT_FALSE(view(bench).paused);
  fail_for(bench, 1);
  EXPECT_TRUE(view(bench).paused);
}

TEST(PauseAfterFailures, AnAttemptThatIsTriedAgainIsNoFailedRun) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].pause_after_failures = 1;
    p.retry.max_attempts = 2;
  });
  bench.boot();
  fail_for(bench, 1);
  EXPECT_FALSE(view(bench).paused);
  fail_for(bench, 1);
  EXPECT_TRUE(view(bench).paused);
}

// A clock that was wrong for a while: what ran then has run, what is folded later passes over it and loses nothing.
TEST(ClockSetBack, WhatIsFoldedLaterLosesNothing) {
  TestBench bench("2026-01-01T14:59:30Z");
  add_minutely(bench, [](model::Schedule& s) { s.misfire = model::Misfire::latest; });
  bench.boot();
  bench.workers->finish_at_once = true;
  bench.clock.step_to(at("2026-01-01T15:59:30Z"));
  bench.settle();
  bench.advance(30s);  // 16:00 runs while the clock is an hour ahead
  bench.advance(1min);
  bench.clock.step_to(at("2026-01-01T15:00:30Z"));
  bench.settle();
  bench.crash_and_boot();
  bench.workers->finish_at_once = true;
  // The server sleeps over the instants that have run: what it finds then begins at 15:01.
  bench.clock.step_to(at("2026-01-01T15:59:59Z"));
  bench.settle();
  bench.clock.step_to(at("2026-01-01T16:30:30Z"));
  bench.settle();
  const timing::Rule rule = bench.loop->state().schedules().at("p/s").rule();
  std::map<Instant, int> covered;
  for (const model::Occurrence& o : bench.occurrences()) {
    for (auto each = std::optional(o.scheduled_for); each && *each <= o.scheduled_until; each = rule.next(*each)) {
      ++covered[*each];
    }
  }
  for (Instant each = at("2026-01-01T15:00:00Z"); each <= at("2026-01-01T16:30:00Z"); each += 1min) {
    EXPECT_EQ(covered[each], 1) << format_rfc3339(each);
  }
  std::map<Instant, int> runs;
  for (const model::Run& run : bench.runs()) ++runs[*run.scheduled_for];
  for (const auto& [instant, count] : runs) EXPECT_EQ(count, 1) << format_rfc3339(instant);
  EXPECT_TRUE(runs.contains(at("2026-01-01T16:00:00Z")));
  EXPECT_TRUE(runs.contains(at("2026-01-01T16:30:00Z")));
}

TEST(FixedDelay, AServerThatWasAwayOwesOneRun) {
  TestBench bench;
  add_minutely(bench, [](model::Schedule& s) {
    s.timing = {};
    s.timing.every = 10s;
    s.timing.from_completion = true;
  });
  bench.boot();
  bench.clock.advance(std::chrono::hours(48));
  bench.settle();
  ASSERT_EQ(bench.runs().size(), 1u);
  bench.advance(1min);
  ASSERT_EQ(bench.runs().size(), 1u) << "its own run is active";
  bench.workers->over(bench.runs()[0].id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(view(bench).next, bench.clock.now() + 10s);
  bench.advance(10s);
  EXPECT_EQ(bench.runs().size(), 2u);
}

}  // namespace
}  // namespace eider::engine
