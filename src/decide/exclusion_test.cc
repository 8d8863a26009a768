// Exclusions, jitter, pauses and what ran before the clock was set back, as decisions.
#include "decide/due_fixture.h"

namespace eider::decide {
namespace {

using model::Decision;
using model::Misfire;
using model::Overlap;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Exclusion, AnInstantInACalendarIsExcludedAndSaysWhich) {
  Case c("30 2 * * *");
  c.add_calendar("weekends", weekend());
  c.schedule().exclude = {"weekends"};
  c.cursor.decided_until = at("2026-01-03T00:00:00Z");  // a Saturday
  const auto decisions = c.decide(at("2026-01-03T02:30:00Z"));
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_TRUE(decisions[0].run_id.empty());
  const model::Occurrence& o = decisions[0].occurrences[0];
  EXPECT_EQ(o.decision, Decision::excluded);
  EXPECT_EQ(o.reason, model::reason::excluded_by_calendar);
  EXPECT_EQ(o.calendar, "weekends");
  EXPECT_EQ(decisions[0].decided_until, at("2026-01-03T02:30:00Z"));
}

TEST(Exclusion, EachKindHasItsReason) {
  Case c("30 2 * * *");
  c.add_calendar("weekends", weekend());
  c.schedule().only = {"weekends"};
  c.schedule().start = at("2026-01-02T00:00:00Z");
  c.schedule().end = at("2026-01-04T00:00:00Z");
  c.cursor.decided_until = at("2026-01-01T00:00:00Z");
  const auto decisions = c.decide(at("2026-01-05T03:00:00Z"));
  std::vector<std::pair<std::string, std::string>> said;
  for (const DueDecision& decision : decisions) {
    for (const model::Occurrence& o : decision.occurrences) said.emplace_back(o.reason, o.calendar);
  }
  const std::vector<std::pair<std::string, std::string>> expected = {
      {model::reason::before_start, "start"},
      {model::reason::not_in_calendar, "weekends"},
      {model::reason::late, ""},
      {model::reason::after_end, "end"},
  };
  EXPECT_EQ(said, expected);
}

TEST(Exclusion, TheRowBeforeGrows) {
  Case c("* * * * *");
  c.add_calendar("nights", nights());
  c.schedule().exclude = {"nights"};
  c.cursor.decided_until = at("2026-01-01T22:00:00Z");
  const auto first = c.decide(at("2026-01-01T22:01:00Z"));
  ASSERT_EQ(told(first).excluded, 1);
  c.excluded_before = first[0].occurrences[0];
  c.cursor.decided_until = first[0].decided_until;
  const auto second = c.decide(at("2026-01-01T22:02:00Z"));
  ASSERT_EQ(second.size(), 1u);
  const model::Occurrence& o = second[0].occurrences[0];
  EXPECT_EQ(o.id, first[0].occurrences[0].id);
  EXPECT_EQ(o.count, 2);
  EXPECT_EQ(o.scheduled_until, at("2026-01-01T22:02:00Z"));
  c.excluded_before->scheduled_until -= minutes(1);
  EXPECT_EQ(c.decide(at("2026-01-01T22:02:00Z"))[0].occurrences[0].count, 1) << "22:01 stands between, and has run";
  c.excluded_before->scheduled_until += minutes(1);
  c.excluded_before->calendar = "other";
  EXPECT_EQ(c.decide(at("2026-01-01T22:02:00Z"))[0].occurrences[0].count, 1) << "another reason is another row";
}

// O-07 with exclusions: an outage of five years costs a step a night and a weekend, not one a minute; and where nothing
// is excluded, one row.
TEST(Exclusion, FiveYearsOfOutage) {
  const Instant from = at("2021-01-01T00:00:00Z");
  const Instant now = at("2026-01-01T00:00:30Z");
  for (const Misfire misfire : {Misfire::skip, Misfire::latest, Misfire::all}) {
    Case c("* * * * *");
    c.add_calendar("nights", nights());
    c.schedule().exclude = {"nights"};
    c.schedule().misfire = misfire;
    c.schedule().overlap = Overlap::queue;
    c.schedule().max_catchup = 3;
    c.cursor.decided_until = from;
    Told all;
    int turns = 0;
    for (; turns < 100; ++turns) {
      const auto decisions = c.decide(now);
      if (decisions.empty()) break;
      const Told sum = told(decisions);
      EXPECT_LE(sum.rows, 503);
      all.runs += sum.runs;
      all.missed += sum.missed;
      all.coalesced += sum.coalesced;
      all.excluded += sum.excluded;
      all.rows += sum.rows;
      c.cursor.decided_until = decisions.back().decided_until;
    }
    EXPECT_LT(turns, 12);
    EXPECT_EQ(all.runs + all.missed + all.coalesced + all.excluded, 1826LL * 24 * 60);
    EXPECT_EQ(all.excluded, 1826LL * 8 * 60);
    EXPECT_LT(all.rows, 2 * 1826 + 20);
    EXPECT_EQ(all.runs, misfire == Misfire::skip ? 0 : misfire == Misfire::all ? 3 : 1);
  }
}

TEST(Exclusion, AnOutageInWhichAllIsExcludedIsOneRow) {
  Case c("* * * * * *");
  c.add_calendar("nothing", nothing());
  c.schedule().only = {"nothing"};
  c.cursor.decided_until = at("2021-01-01T00:00:00Z");
  const auto decisions = c.decide(at("2026-01-01T00:00:00Z"));
  ASSERT_EQ(told(decisions).rows, 1);
  EXPECT_EQ(told(decisions).excluded, 1826LL * 86'400);
}

TEST(Exclusion, LatestRunsTheNewestThatMayRun) {
  Case c("0 * * * *");
  c.add_calendar("nights", nights());
  c.schedule().exclude = {"nights"};
  c.cursor.decided_until = at("2026-01-01T19:30:00Z");
  const auto decisions = c.decide(at("2026-01-02T03:30:00Z"));
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].scheduled_for, at("2026-01-01T21:00:00Z"));
  ASSERT_EQ(decisions[0].occurrences.size(), 2u);
  EXPECT_EQ(decisions[0].occurrences[0].decision, Decision::coalesced);
  EXPECT_EQ(decisions[0].occurrences[0].run_id, decisions[0].run_id);
  EXPECT_EQ(decisions[1].occurrences[0].count, 6);
  EXPECT_EQ(told(decisions).excluded, 6);
}

TEST(Exclusion, CatchUpCountsOnlyWhatMayRun) {
  Case c("0 * * * *");
  c.add_calendar("nights", nights());
  c.schedule().exclude = {"nights"};
  c.schedule().misfire = Misfire::all;
  c.schedule().overlap = Overlap::queue;
  c.schedule().max_catchup = 4;
  c.cursor.decided_until = at("2026-01-01T12:30:00Z");
  std::vector<Instant> ran;
  for (const DueDecision& decision : c.decide(at("2026-01-02T07:30:00Z"))) {
    if (!decision.run_id.empty()) ran.push_back(decision.scheduled_for);
  }
  EXPECT_EQ(ran, (std::vector{at("2026-01-01T20:00:00Z"), at("2026-01-01T21:00:00Z"), at("2026-01-02T06:00:00Z"),
                              at("2026-01-02T07:00:00Z")}));
}

TEST(Jitter, IsTheSameForOneScheduleAlwaysAndWithinItsBound) {
  EXPECT_EQ(jitter_delay("p/s", Micros(0)), Micros(0));
  EXPECT_EQ(jitter_delay("p/s", minutes(5)), jitter_delay("p/s", minutes(5)));
  EXPECT_NE(jitter_delay("p/s", minutes(5)), jitter_delay("p/t", minutes(5)));
  // A hash of the name: what it gives must not change with a version.
  EXPECT_EQ(jitter_delay("p/s", minutes(5)), jitter_delay(std::string("p/") + "s", seconds(300)));
}

RC_GTEST_PROP(Law, JitterStaysWithinItsBound, (const std::string& key)) {
  const Micros jitter(*rc::gen::inRange<std::int64_t>(0, 86'400'000'000));
  const Micros delay = jitter_delay(key, jitter);
  RC_ASSERT(delay >= Micros(0) && delay <= jitter);
}

TEST(Jitter, DelaysWhatIsDueAndWhatIsLate) {
  Case c("0 * * * *");
  c.schedule().jitter = minutes(30);
  const Micros delay = jitter_delay(c.key, minutes(30));
  ASSERT_GT(delay, Micros(0));
  c.cursor.decided_until = at("2026-01-01T10:00:00Z");
  const Instant due = at("2026-01-01T11:00:00Z") + delay;
  EXPECT_EQ(c.next(), due);
  EXPECT_TRUE(c.decide(due - Micros(1)).empty());
  const auto on_time = c.decide(due + c.schedule().grace);
  ASSERT_EQ(on_time.size(), 1u);
  EXPECT_EQ(on_time[0].scheduled_for, at("2026-01-01T11:00:00Z")) << "its identity is the instant of the rule";
  EXPECT_EQ(on_time[0].reason, model::reason::due) << "grace counts from when it is due";
  EXPECT_EQ(c.decide(due + c.schedule().grace + Micros(1))[0].reason, model::reason::late);
}

TEST(Pause, DecidesNothingAndTheResumeCoversItInOneRow) {
  Case c;
  c.add_calendar("nights", nights());
  c.schedule().exclude = {"nights"};
  c.cursor.decided_until = at("2021-01-01T00:00:00Z");
  c.cursor.paused = true;
  const Instant now = at("2026-01-01T00:00:30Z");
  EXPECT_TRUE(c.decide(now).empty());
  EXPECT_FALSE(c.next());
  const auto decisions = c.resume(now, Misfire::skip).value();
  ASSERT_EQ(told(decisions).rows, 1);
  EXPECT_EQ(told(decisions).paused, 1826LL * 24 * 60) << "a pause says more than a calendar";
  EXPECT_EQ(c.ask([&](const DueFacts& facts) { return cursor_after_pause(facts, now); }), now);
}

TEST(Pause, LatestRunsTheNewestInstantThatMayRun) {
  Case c("0 * * * *");
  c.add_calendar("nights", nights());
  c.schedule().exclude = {"nights"};
  c.cursor.paused = true;
  c.cursor.reason = model::reason::paused_after_failures;
  c.cursor.decided_until = at("2026-01-01T10:30:00Z");
  const auto decisions = c.resume(at("2026-01-02T00:30:00Z"), Misfire::latest).value();
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_EQ(decisions[0].occurrences[0].count, 10);
  EXPECT_EQ(decisions[0].occurrences[0].reason, model::reason::paused_after_failures);
  EXPECT_EQ(decisions[1].scheduled_for, at("2026-01-01T21:00:00Z"));
  EXPECT_EQ(decisions[1].reason, model::reason::resumed);
  EXPECT_EQ(decisions[2].occurrences[0].count, 3);
  EXPECT_EQ(told(decisions).paused, 13);
}

TEST(Pause, LatestYieldsToAnActiveRunAsOverlapSays) {
  Case c("0 * * * *");
  c.cursor.paused = true;
  c.cursor.decided_until = at("2026-01-01T10:30:00Z");
  c.active = {{"busy", "", true, false}};
  const auto decisions = c.resume(at("2026-01-01T12:30:00Z"), Misfire::latest).value();
  EXPECT_EQ(told(decisions).skipped, 1);
  EXPECT_EQ(told(decisions).paused, 1);
}

TEST(Pause, AllRunsTheNewestWithinTheBoundsOfCatchUp) {
  Case c("0 * * * *");
  c.cursor.paused = true;
  c.cursor.decided_until = at("2026-01-01T10:30:00Z");
  c.schedule().max_catchup = 3;
  const Instant now = at("2026-01-01T20:30:00Z");
  const auto refused = c.resume(now, Misfire::all);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("overlap: queue"), std::string::npos);
  c.schedule().overlap = Overlap::queue;
  const auto decisions = c.resume(now, Misfire::all).value();
  EXPECT_EQ(told(decisions).runs, 3);
  EXPECT_EQ(told(decisions).paused, 7);
  EXPECT_TRUE(decisions.back().catch_up);
  c.schedule().max_catchup = 100;
  c.schedule().catchup_window = std::chrono::hours(2);
  EXPECT_EQ(told(c.resume(now, Misfire::all).value()).runs, 2);
  c.schedule().catchup_window = std::chrono::hours(200);
  EXPECT_FALSE(c.resume(now, Misfire::all, 9)) << "ten are more than one command starts";
  EXPECT_EQ(told(c.resume(now, Misfire::all, 10).value()).runs, 10);
}

// What ran before the clock was set back is decided for ever: rows about several instants end before it and go on after
// it, so that nothing is said of it twice, and nothing of its neighbours is lost.
TEST(ClockSetBack, RowsPassOverWhatHasRun) {
  for (const Misfire misfire : {Misfire::skip, Misfire::latest, Misfire::all}) {
    Case c;
    c.schedule().misfire = misfire;
    c.schedule().overlap = Overlap::queue;
    c.schedule().max_catchup = 5;
    c.cursor.decided_until = at("2026-01-01T10:00:00Z");
    c.ran = {at("2026-01-01T10:01:00Z"), at("2026-01-01T10:30:00Z"), at("2026-01-01T11:00:00Z")};
    const Instant now = at("2026-01-01T11:00:30Z");
    const timing::Rule rule = c.rule();
    std::int64_t covered = 0;
    const auto decisions = c.decide(now);
    for (const DueDecision& decision : decisions) {
      for (const model::Occurrence& o : decision.occurrences) {
        covered += o.count;
        EXPECT_EQ(rule.count(o.scheduled_for - Micros(1), o.scheduled_until), o.count);
        for (const Instant ran : c.ran) EXPECT_FALSE(o.scheduled_for <= ran && ran <= o.scheduled_until);
      }
    }
    EXPECT_EQ(covered, 57);
    EXPECT_EQ(decisions.back().decided_until, at("2026-01-01T11:00:00Z"));
    EXPECT_EQ(told(decisions).runs, misfire == Misfire::skip ? 0 : misfire == Misfire::all ? 5 : 1);
  }
}

TEST(FixedDelay, OwesOneRunHoweverLateItIs) {
  for (const Misfire misfire : {Misfire::skip, Misfire::latest, Misfire::all}) {
    Case c;
    c.schedule().timing = {};
    c.schedule().timing.every = seconds(10);
    c.schedule().timing.from_completion = true;
    c.schedule().misfire = misfire;
    c.schedule().overlap = Overlap::queue;
    c.cursor.decided_until = at("2021-01-01T10:00:00Z");
    const Instant now = at("2026-01-01T10:00:00Z");
    const auto decisions = c.decide(now);
    ASSERT_EQ(told(decisions).rows, 1);
    EXPECT_EQ(told(decisions).runs, misfire == Misfire::skip ? 0 : 1);
    c.cursor.decided_until = decisions.back().decided_until;
    EXPECT_TRUE(c.decide(now).empty());
    EXPECT_EQ(c.next(), now + seconds(10)) << "not one for each delay that has passed";
  }
}

TEST(FixedDelay, OwesOneRunForAPauseHoweverLongItWas) {
  for (const Misfire catch_up : {Misfire::skip, Misfire::latest, Misfire::all}) {
    Case c;
    c.schedule().timing = {};
    c.schedule().timing.every = seconds(10);
    c.schedule().timing.from_completion = true;
    c.schedule().overlap = Overlap::queue;
    c.cursor.decided_until = at("2026-01-01T10:00:00Z");
    c.cursor.paused = true;
    const auto decisions = c.resume(at("2026-01-01T12:00:00Z"), catch_up).value();
    ASSERT_EQ(told(decisions).rows, 1) << "an instant after it is not known before its run has ended";
    EXPECT_EQ(told(decisions).runs, catch_up == Misfire::skip ? 0 : 1);
    EXPECT_EQ(told(decisions).paused, catch_up == Misfire::skip ? 1 : 0);
    EXPECT_EQ(decisions[0].occurrences[0].scheduled_for, at("2026-01-01T10:00:10Z"));
    EXPECT_EQ(decisions[0].decided_until, at("2026-01-01T12:00:00Z"));
  }
}

model::Run ended(const char* id, model::RunState state, int minute = 0) {
  model::Run run;
  run.id = id;
  run.state = state;
  if (model::is_terminal(state)) run.finished_at = at("2026-01-01T10:00:00Z") + minutes(minute);
  return run;
}

TEST(FailuresInARow, CountsBackToTheLastSuccess) {
  using model::RunState;
  const model::Run failing = ended("now", RunState::running);
  EXPECT_EQ(failures_in_a_row({failing}, "now", {}), 1);
  EXPECT_EQ(failures_in_a_row({failing, ended("b", RunState::failed), ended("a", RunState::failed)}, "now", {}), 3);
  EXPECT_EQ(failures_in_a_row({failing, ended("b", RunState::succeeded), ended("a", RunState::failed)}, "now", {}), 1);
  EXPECT_EQ(failures_in_a_row({failing, ended("b", RunState::cancelled), ended("a", RunState::failed)}, "now", {}), 2)
      << "a cancelled run says nothing";
  EXPECT_EQ(failures_in_a_row({ended("c", RunState::queued), failing, ended("a", RunState::failed)}, "now", {}), 2)
      << "an open run says nothing yet";
  EXPECT_EQ(failures_in_a_row({ended("c", RunState::succeeded), failing}, "now", {}), 0) << "a newer one has succeeded";
  EXPECT_EQ(failures_in_a_row({failing, ended("b", RunState::failed, 20), ended("a", RunState::failed, 10)}, "now",
                              at("2026-01-01T10:10:00Z")),
            2)
      << "a resume starts the count anew";
}

}  // namespace
}  // namespace eider::decide
