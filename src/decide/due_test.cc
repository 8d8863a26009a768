#include "decide/due.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "decide/due_fixture.h"

namespace eider::decide {
namespace {

using model::Decision;
using model::Misfire;
using model::Overlap;

TEST(Due, OnTimeRuns) {
  Case c;
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  EXPECT_TRUE(c.decide(at("2026-01-01T10:00:59.999999Z")).empty());
  const auto decisions = c.decide(at("2026-01-01T10:01:00Z"));
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].run_id, "run1");
  EXPECT_EQ(decisions[0].reason, model::reason::due);
  EXPECT_EQ(decisions[0].scheduled_for, at("2026-01-01T10:01:00Z"));
  EXPECT_EQ(decisions[0].occurrences[0].id, model::occurrence_id("p/s", at("2026-01-01T10:01:00Z")));
}

// O-06, O-07: what a long gap becomes, for each misfire policy.
TEST(Misfire, SeventyEightMissedMinutes) {
  const Instant now = at("2026-01-01T11:18:30Z");
  Case c;
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");

  c.schedule().misfire = Misfire::skip;
  auto decisions = c.decide(now);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].occurrences[0].count, 78);
  EXPECT_EQ(decisions[0].occurrences[0].reason, model::reason::misfire_skip);
  EXPECT_EQ(decisions[0].decided_until, at("2026-01-01T11:18:00Z"));
  EXPECT_EQ(told(decisions).runs, 0);

  c.schedule().misfire = Misfire::latest;
  decisions = c.decide(now);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].scheduled_for, at("2026-01-01T11:18:00Z"));
  EXPECT_EQ(decisions[0].reason, model::reason::late);
  EXPECT_EQ(told(decisions).coalesced, 77);
  EXPECT_EQ(decisions[0].occurrences[0].run_id, decisions[0].run_id) << "coalesced into the run";

  c.schedule().misfire = Misfire::all;
  c.schedule().overlap = Overlap::queue;
  c.schedule().max_catchup = 10;
  decisions = c.decide(now);
  ASSERT_EQ(decisions.size(), 11u);
  EXPECT_EQ(told(decisions).missed, 68);
  EXPECT_EQ(decisions[1].scheduled_for, at("2026-01-01T11:09:00Z"));
  EXPECT_EQ(decisions[10].scheduled_for, at("2026-01-01T11:18:00Z"));
  for (std::size_t i = 1; i < decisions.size(); ++i) EXPECT_TRUE(decisions[i].catch_up);
}

TEST(Misfire, WhatIsWithinGraceRunsUnderSkip) {
  Case c("* * * * * *");
  c.schedule().misfire = Misfire::skip;
  c.schedule().overlap = Overlap::allow;
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  const auto decisions = c.decide(at("2026-01-01T10:01:00Z"));
  EXPECT_EQ(told(decisions).missed, 49);  // 10:00:01 … 10:00:49 are more than 10 s late
  EXPECT_EQ(told(decisions).runs, 11);    // 10:00:50 is 10 s late, no more
}

TEST(Misfire, CatchUpStopsAtItsWindow) {
  Case c("0 * * * *");
  c.schedule().misfire = Misfire::all;
  c.schedule().overlap = Overlap::queue;
  c.schedule().catchup_window = std::chrono::hours(5);
  c.cursor.decided_until = at("2026-01-01T00:00:00Z");
  const auto decisions = c.decide(at("2026-01-02T00:30:00Z"));
  EXPECT_EQ(told(decisions).runs, 5);  // 20:00 … 00:00
  EXPECT_EQ(told(decisions).missed, 19);
  EXPECT_EQ(decisions[0].occurrences[0].reason, model::reason::catchup_window);
}

TEST(Misfire, FiveYearsOfMinutesAreOneRow) {
  Case c;
  c.schedule().misfire = Misfire::skip;
  c.cursor.decided_until = at("2021-01-01T00:00:00Z");
  const auto decisions = c.decide(at("2026-01-01T00:00:30Z"));
  ASSERT_EQ(told(decisions).rows, 1);
  EXPECT_EQ(told(decisions).missed, 1826LL * 24 * 60);
}

// O-08: an instant that is once missed under skip never runs.
TEST(Misfire, OneShotMissed) {
  Case c;
  c.schedule().timing = {};
  c.schedule().timing.at = at("2026-01-01T12:07:00Z");
  c.schedule().misfire = Misfire::skip;
  c.cursor.decided_until = at("2026-01-01T12:00:00Z");
  const auto decisions = c.decide(at("2026-01-01T12:21:00Z"));
  EXPECT_EQ(told(decisions).missed, 1);
  c.cursor.decided_until = decisions[0].decided_until;
  EXPECT_TRUE(c.decide(at("2027-01-01T00:00:00Z")).empty());
}

TEST(Misfire, APlanLongerThanATurnGoesOnWhereItStopped) {
  Case c;
  c.schedule().misfire = Misfire::all;
  c.schedule().overlap = Overlap::queue;
  c.cursor.decided_until = at("2026-01-01T00:00:00Z");
  const Instant now = at("2026-01-01T10:00:00Z");
  std::vector<Instant> ran;
  std::int64_t missed = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const auto decisions = c.decide(now, 7);
    if (decisions.empty()) break;
    missed += told(decisions).missed;
    for (const DueDecision& decision : decisions) {
      c.cursor.decided_until = decision.decided_until;
      if (decision.run_id.empty()) continue;
      ran.push_back(decision.scheduled_for);
      c.active.push_back({decision.run_id, c.key, false, true});
    }
  }
  ASSERT_EQ(ran.size(), 100u);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
  EXPECT_EQ(ran.back(), now);
  EXPECT_EQ(missed, 500);
}

struct OverlapRow {
  Overlap overlap;
  std::vector<ActiveRun> active;
  int max_active;
  bool runs;
  const char* reason;
  std::size_t cancels;
};

TEST(Overlap, EveryPolicyAgainstWhatIsActive) {
  const ActiveRun ours_running{"a", "p/s", true, false};
  const ActiveRun ours_queued{"b", "p/s", false, false};
  const ActiveRun other{"c", "", true, false};
  const ActiveRun catch_up{"d", "p/s", false, true};
  const OverlapRow rows[] = {
      {Overlap::skip, {}, 1, true, nullptr, 0},
      {Overlap::skip, {ours_running}, 1, false, model::reason::active_run, 0},
      {Overlap::skip, {ours_queued}, 1, false, model::reason::active_run, 0},
      {Overlap::skip, {other}, 1, false, model::reason::active_run, 0},
      {Overlap::queue, {}, 1, true, nullptr, 0},
      {Overlap::queue, {ours_running}, 1, true, nullptr, 0},
      {Overlap::queue, {ours_running, ours_queued}, 1, false, model::reason::queue_full, 0},
      {Overlap::queue, {ours_running, catch_up}, 1, true, nullptr, 0},
      {Overlap::queue, {ours_running, other, ours_queued}, 3, true, nullptr, 0},
      {Overlap::queue, {ours_running, ours_queued, other}, 0, true, nullptr, 0},
      {Overlap::replace, {ours_running, ours_queued, other}, 1, true, nullptr, 2},
      {Overlap::replace, {other}, 1, true, nullptr, 0},
      {Overlap::allow, {ours_running, ours_queued, other}, 0, true, nullptr, 0},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    Case c;
    c.cursor.decided_until = at("2026-01-01T10:00:00Z");
    c.schedule().overlap = rows[i].overlap;
    c.pipeline.max_active_runs = rows[i].max_active;
    c.active = rows[i].active;
    const auto decisions = c.decide(at("2026-01-01T10:01:00Z"));
    ASSERT_EQ(decisions.size(), 1u) << i;
    EXPECT_EQ(!decisions[0].run_id.empty(), rows[i].runs) << i;
    EXPECT_EQ(decisions[0].cancel_running.size() + decisions[0].cancel_queued.size(), rows[i].cancels) << i;
    EXPECT_EQ(decisions[0].occurrences[0].reason, rows[i].reason ? rows[i].reason : model::reason::due) << i;
  }
}

TEST(Overlap, SkipNamesWhomItYieldsTo) {
  Case c;
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  c.active = {{"busy", "", true, false}};
  EXPECT_EQ(c.decide(at("2026-01-01T10:01:00Z"))[0].occurrences[0].run_id, "busy");
}

TEST(Overlap, WhatIsDecidedInATurnCountsForTheRestOfIt) {
  Case c("* * * * * *");
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  EXPECT_EQ(told(c.decide(at("2026-01-01T10:00:05Z"))).runs, 1);
  c.schedule().overlap = Overlap::queue;
  EXPECT_EQ(told(c.decide(at("2026-01-01T10:00:05Z"))).runs, 2);
  c.schedule().overlap = Overlap::replace;
  const auto replaced = c.decide(at("2026-01-01T10:00:05Z"));
  ASSERT_EQ(replaced.size(), 5u);
  EXPECT_EQ(replaced[4].cancel_queued, std::vector<std::string>{replaced[3].run_id}) << "only the newest is left";
}

TEST(Overlap, AFullServerSkipsWithItsOwnReason) {
  Case c;
  c.room = 0;
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  EXPECT_EQ(c.decide(at("2026-01-01T10:01:00Z"))[0].occurrences[0].reason, model::reason::server_queue_full);
}

TEST(FixedDelay, CountsFromTheEndOfItsRun) {
  Case c;
  c.schedule().timing = {};
  c.schedule().timing.every = std::chrono::seconds(10);
  c.schedule().timing.from_completion = true;
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  ASSERT_EQ(c.decide(at("2026-01-01T10:00:10Z")).size(), 1u);
  c.active = {{"mine", "p/s", true, false}};
  EXPECT_TRUE(c.decide(at("2026-01-01T11:00:00Z")).empty()) << "its own run is active";
  c.active.clear();
  c.cursor.decided_until = cursor_after_completion(c.cursor, at("2026-01-01T11:00:00Z"));
  EXPECT_TRUE(c.decide(at("2026-01-01T11:00:09Z")).empty());
  EXPECT_EQ(told(c.decide(at("2026-01-01T11:00:10Z"))).runs, 1);
  EXPECT_EQ(told(c.decide(at("2026-01-01T12:00:00Z"))).runs, 1) << "late: the one that is owed, no more";
}

// I5: whatever the policy, every instant of (cursor, now] is in exactly one row, in order, and the cursor ends behind
// them.
RC_GTEST_PROP(Law, EveryDueInstantIsDecidedOnce, ()) {
  Case c("*/3 * * * *");
  c.schedule().misfire = *rc::gen::element(Misfire::skip, Misfire::latest, Misfire::all);
  c.schedule().overlap = c.schedule().misfire == Misfire::all
                             ? Overlap::queue
                             : *rc::gen::element(Overlap::skip, Overlap::queue, Overlap::replace, Overlap::allow);
  c.schedule().grace = std::chrono::seconds(*rc::gen::inRange(0, 1000));
  c.schedule().max_catchup = *rc::gen::inRange(1, 20);
  c.schedule().catchup_window = std::chrono::minutes(*rc::gen::inRange(1, 200));
  c.room = *rc::gen::inRange(0, 30);
  if (*rc::gen::arbitrary<bool>())
    c.active.push_back({"x", *rc::gen::element(std::string("p/s"), std::string()), true, false});
  const Instant from = at("2026-03-29T00:00:00Z") + std::chrono::seconds(*rc::gen::inRange(0, 600));
  const Instant now = from + std::chrono::seconds(*rc::gen::inRange(0, 20000));
  c.cursor.decided_until = from;
  const timing::Rule rule = c.rule();
  const int limit = *rc::gen::inRange(1, 12);
  std::int64_t covered = 0;
  Instant last = from;
  for (int turn = 0; turn < 10000; ++turn) {
    const auto decisions = c.decide(now, limit);
    if (decisions.empty()) break;
    RC_ASSERT(decisions.size() <= static_cast<std::size_t>(limit) + 2);
    for (const DueDecision& decision : decisions) {
      for (const model::Occurrence& o : decision.occurrences) {
        RC_ASSERT(o.scheduled_for > last);
        RC_ASSERT(rule.count(last, o.scheduled_for) == 1);
        RC_ASSERT(rule.count(last, o.scheduled_until) == o.count);
        last = o.scheduled_until;
        covered += o.count;
      }
      RC_ASSERT(decision.decided_until >= last && decision.decided_until <= now);
      c.cursor.decided_until = decision.decided_until;
    }
  }
  RC_ASSERT(covered == rule.count(from, now));
}

}  // namespace
}  // namespace eider::decide
