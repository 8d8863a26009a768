#include "timing/rule.h"
#include "timing/test_support.h"

#include <rapidcheck/gtest.h>

namespace eider::timing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Rule cron(const char* text, Zone zone = brussels()) { return Rule::cron(*Cron::parse(text), zone); }
Rule every(Micros period) {
  return Rule::every(*Interval::make(period, Interval::default_anchor(brussels())), brussels());
}
Rule delay(Micros period) {
  return Rule::after_completion(*Interval::make(period, Interval::default_anchor(brussels())), brussels());
}

std::vector<std::string> texts(const std::vector<Instant>& instants) {
  std::vector<std::string> out;
  for (const Instant one : instants) out.push_back(format_rfc3339(one));
  return out;
}

TEST(Rule, CronFollowsItsZone) {
  const Rule rule = cron("30 2 * * *");
  EXPECT_EQ(rule.next(at("2026-03-28T12:00:00Z")), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(rule.previous(at("2026-03-29T12:00:00Z")), at("2026-03-29T01:00:00Z"));
  EXPECT_TRUE(rule.shifted(at("2026-03-29T01:00:00Z")));
  EXPECT_FALSE(rule.shifted(at("2026-03-30T00:30:00Z")));
  EXPECT_EQ(rule.next_after_completion(at("2026-03-28T12:00:00Z")), rule.next(at("2026-03-28T12:00:00Z")));
}

TEST(Rule, OneShotFiresOnce) {
  const Rule rule = Rule::at(at("2026-05-05T12:07:00Z"), brussels());
  EXPECT_EQ(rule.next(at("2026-05-05T12:06:59Z")), at("2026-05-05T12:07:00Z"));
  EXPECT_EQ(rule.next(at("2026-05-05T12:07:00Z")), std::nullopt);
  EXPECT_EQ(rule.previous(at("2026-05-05T12:07:00Z")), at("2026-05-05T12:07:00Z"));
  EXPECT_EQ(rule.previous(at("2026-05-05T12:06:59Z")), std::nullopt);
  EXPECT_EQ(rule.count(at("2026-05-05T12:06:59Z"), at("2026-05-05T12:07:00Z")), 1);
  EXPECT_EQ(rule.count(at("2026-05-05T12:07:00Z"), at("2026-05-06T00:00:00Z")), 0);
  EXPECT_FALSE(rule.shifted(at("2026-05-05T12:07:00Z")));
}

TEST(Rule, FixedDelayIsAnchoredUntilARunHasEnded) {
  const Rule rule = delay(minutes(10));
  EXPECT_EQ(rule.next(at("2026-01-01T00:03:00Z")), at("2026-01-01T00:10:00Z"));
  EXPECT_EQ(rule.count(at("2026-01-01T00:03:00Z"), at("2026-01-01T01:00:00Z")), 6);
  EXPECT_EQ(rule.next_after_completion(at("2026-01-01T00:13:21.5Z")), at("2026-01-01T00:23:21.5Z"));
  EXPECT_EQ(rule.next_after_completion(Instant::max()), std::nullopt);
}

TEST(Rule, NewestAreTheLastOfTheSpan) {
  // 78 minutes were missed while the process stood still.
  const Rule rule = cron("* * * * *");
  const Instant after = at("2026-05-05T10:00:00Z"), until = at("2026-05-05T11:18:30Z");
  EXPECT_EQ(rule.count(after, until), 78);
  EXPECT_EQ(texts(rule.newest(after, until, 2)),
            (std::vector<std::string>{"2026-05-05T11:17:00Z", "2026-05-05T11:18:00Z"}));
  EXPECT_EQ(rule.newest(after, until, 100).size(), 78U);
  EXPECT_EQ(rule.newest(after, until, 100).front(), at("2026-05-05T10:01:00Z"));
  EXPECT_TRUE(rule.newest(after, until, 0).empty());
  EXPECT_TRUE(rule.newest(after, until, -1).empty());
  EXPECT_TRUE(rule.newest(until, after, 5).empty());
}

RC_GTEST_PROP(Rule, NewestIsTheTailOfAWalk, ()) {
  const Rule rule =
      *rc::gen::elementOf(std::vector<Rule>{cron("*/7 1-3 * * *"), cron("30 2 * * *"), every(minutes(13)),
                                            delay(hours(5)), Rule::at(at("2026-03-29T01:00:00Z"), brussels())});
  const Instant after = at("2026-03-27T00:00:00Z") + seconds(*rc::gen::inRange(0, 200'000));
  const Instant until = after + seconds(*rc::gen::inRange(0, 400'000));
  const int limit = *rc::gen::inRange(0, 30);
  std::vector<Instant> walk;
  for (auto next = rule.next(after); next && *next <= until; next = rule.next(*next)) walk.push_back(*next);
  RC_ASSERT(rule.count(after, until) == static_cast<std::int64_t>(walk.size()));
  if (walk.size() > static_cast<std::size_t>(limit)) walk.erase(walk.begin(), walk.end() - limit);
  RC_ASSERT(rule.newest(after, until, limit) == walk);
}

TEST(Rule, DescribesItselfInWords) {
  const std::pair<const char*, const char*> crons[] = {
      {"30 2 * * *", "at 02:30 every day in Europe/Brussels"},
      {"0 30 2 * * *", "at 02:30 every day in Europe/Brussels"},
      {"5 30 2 * * *", "at 02:30:05 every day in Europe/Brussels"},
      {"0 6,18 * * *", "at 06:00 and 18:00 every day in Europe/Brussels"},
      {"0 9 * * 1-5", "at 09:00 every Monday to Friday in Europe/Brussels"},
      {"0 9 * * 0,3,6", "at 09:00 every Wednesday, Saturday and Sunday in Europe/Brussels"},
      {"@monthly", "at 00:00 on day 1 of every month in Europe/Brussels"},
      {"@yearly", "at 00:00 on 1 January every year in Europe/Brussels"},
      {"0 0 L * *", "at 00:00 on the last day of every month in Europe/Brussels"},
      {"* * * * *", "every minute in Europe/Brussels"},
      {"*/15 * * * *", "every 15 minutes in Europe/Brussels"},
      {"@hourly", "every hour in Europe/Brussels"},
      {"20 * * * *", "at minute 20 of every hour in Europe/Brussels"},
      {"0 */6 * * *", "every 6 hours in Europe/Brussels"},
      {"*/5 * * * * *", "every 5 seconds in Europe/Brussels"},
      {"* * * * * *", "every second in Europe/Brussels"},
      // Too much for words, or not what the words would say.
      {"*/7 * * * *", "cron */7 * * * * in Europe/Brussels"},
      {"0 0 13 * 5", "cron 0 0 13 * 5 in Europe/Brussels"},
      {"*/15 9-17 * * 1-5", "cron */15 9-17 * * 1-5 in Europe/Brussels"},
      {"0 0 15W * *", "cron 0 0 15W * * in Europe/Brussels"},
      {"0 0 0 1 1 * 2030", "cron 0 0 0 1 1 * 2030 in Europe/Brussels"},
      {"0 0 29 2 *", "at 00:00 on 29 February every year in Europe/Brussels"},
      {"0 0,6,12,18,21 * * *", "cron 0 0,6,12,18,21 * * * in Europe/Brussels"},
      {"0 0 */2 * *", "cron 0 0 */2 * * in Europe/Brussels"},
  };
  for (const auto& [text, words] : crons) EXPECT_EQ(cron(text).describe(), words) << text;
  EXPECT_EQ(every(seconds(5)).describe(), "every 5 seconds");
  EXPECT_EQ(every(seconds(1)).describe(), "every second");
  EXPECT_EQ(every(minutes(90)).describe(), "every 1 hour 30 minutes");
  EXPECT_EQ(every(hours(24)).describe(), "every day");
  EXPECT_EQ(Rule::every(*Interval::make(hours(2), at("2026-01-01T00:30:00Z")), brussels()).describe(),
            "every 2 hours, counted from 2026-01-01T01:30:00+01:00");
  EXPECT_EQ(delay(minutes(1)).describe(), "1 minute after each run ends");
  EXPECT_EQ(Rule::at(at("2026-03-29T01:00:00Z"), brussels()).describe(),
            "once at 2026-03-29T03:00:00+02:00 (Europe/Brussels)");
}

TEST(Rule, TextTellsRulesApart) {
  EXPECT_EQ(cron("@daily").to_string(), "cron 0 0 * * * in Europe/Brussels");
  EXPECT_EQ(cron("@daily", Zone::utc()).to_string(), "cron 0 0 * * * in UTC");
  EXPECT_EQ(every(seconds(5)).to_string(), "every 5s from 1969-12-31T23:00:00Z");
  EXPECT_EQ(delay(seconds(5)).to_string(), "after 5s from 1969-12-31T23:00:00Z");
  EXPECT_EQ(Rule::at(at("2026-03-29T01:00:00Z"), brussels()).to_string(), "at 2026-03-29T01:00:00Z");
  EXPECT_EQ(cron("@daily"), cron("0 0 * * *"));
  EXPECT_NE(cron("@daily"), cron("@daily", Zone::utc()));
  EXPECT_NE(every(seconds(5)), delay(seconds(5)));
}

}  // namespace
}  // namespace eider::timing
