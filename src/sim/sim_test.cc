// The simulator itself: its oracle, that a seed is a life, and that a failure is made small.
#include <gtest/gtest.h>

#include "sim/almanac.h"
#include "sim/life.h"
#include "sim/oracle.h"
#include "workspace/rule.h"

namespace eider::sim {
namespace {

using namespace std::chrono_literals;

TEST(Oracle, AgreesWithTheRulesOfEider) {
  Dice dice(7);
  const Instant begin = parse_rfc3339("2026-01-01T00:00:00Z").value();
  for (int i = 0; i < 200; ++i) {
    const model::Timing timing = make_timing(dice, begin + dice.within(0s, 24h * 300));
    const Oracle oracle = Oracle::of(timing);
    const auto rule = workspace::make_rule(timing).value();
    if (oracle.from_completion()) continue;
    for (int j = 0; j < 50; ++j) {
      const Instant at = begin + dice.within(0us, 24h * 365);
      const Instant until = at + dice.within(0us, 24h * 40);
      ASSERT_EQ(oracle.next(at), rule.next(at)) << rule.to_string() << " after " << format_rfc3339(at);
      ASSERT_EQ(oracle.count(at, until), rule.count(at, until)) << rule.to_string() << " from " << format_rfc3339(at);
    }
  }
}

TEST(Almanac, AgreesWithTheCalendarsOfEider) {
  Dice dice(8);
  const Instant begin = parse_rfc3339("2026-01-01T00:00:00Z").value();
  const auto utc = timing::Zone::load("UTC").value();
  for (const auto& [name, calendar] : calendars()) {
    for (int i = 0; i < 5000; ++i) {
      const Instant at = begin + std::chrono::minutes(dice.below(60 * 24 * 365)) - Micros(dice.below(2));
      ASSERT_EQ(lies_in(name, at), calendar->contains(at, utc)) << name << " at " << format_rfc3339(at);
    }
  }
}

TEST(Life, ASeedIsALife) {
  const Report first = live(make_plan(11), Mutation::none, true);
  const Report second = live(make_plan(11), Mutation::none, true);
  EXPECT_EQ(first.finding.has_value(), false) << first.finding->what;
  EXPECT_GT(first.decisions, 10);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.decisions, live(make_plan(11)).decisions) << "traced or not";
}

TEST(Shrink, AFailureIsMadeSmall) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    const Plan plan = make_plan(seed);
    const Report report = live(plan, Mutation::forgotten_cursor);
    if (!report.finding || plan.actions.size() < 10) continue;
    const Plan least = shrink(plan, Mutation::forgotten_cursor, report.finding->law);
    EXPECT_LE(least.actions.size(), 2u) << "one power failure is enough";
    EXPECT_EQ(least.pipelines.size(), 1u);
    const std::string told = describe_failure(plan, Mutation::forgotten_cursor, *report.finding);
    EXPECT_NE(told.find("I5"), std::string::npos);
    EXPECT_NE(told.find("the power fails"), std::string::npos);
    return;
  }
  FAIL() << "no seed shows it";
}

}  // namespace
}  // namespace eider::sim
