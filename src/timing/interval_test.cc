#include "timing/interval.h"
#include "timing/test_support.h"

#include <rapidcheck/gtest.h>

namespace eider::timing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(Interval, FiresTwelveTimesAMinuteWhateverTheStart) {
  const Interval interval = *Interval::make(seconds(5), Interval::default_anchor(*Zone::load("Europe/Brussels")));
  const Instant start = at("2026-03-29T00:59:33.123456Z");
  EXPECT_EQ(interval.next(start), at("2026-03-29T00:59:35Z"));
  EXPECT_EQ(interval.next(at("2026-03-29T00:59:35Z")), at("2026-03-29T00:59:40Z"));
  EXPECT_EQ(interval.previous(start), at("2026-03-29T00:59:30Z"));
  EXPECT_EQ(interval.previous(at("2026-03-29T00:59:35Z")), at("2026-03-29T00:59:35Z"));
  EXPECT_EQ(interval.count(start, start + seconds(60)), 12);
}

TEST(Interval, IsAnchoredAtMidnightOfTheZone) {
  const Zone zone = *Zone::load("Asia/Tokyo");
  const Interval daily = *Interval::make(hours(24), Interval::default_anchor(zone));
  EXPECT_EQ(zone.format(*daily.next(at("2026-06-01T00:00:00Z"))), "2026-06-02T00:00:00+09:00");
  const Interval moved = *Interval::make(hours(24), at("2026-01-01T06:30:00Z"));
  EXPECT_EQ(moved.next(at("2020-05-05T07:00:00Z")), at("2020-05-06T06:30:00Z"));  // before its anchor too
}

TEST(Interval, RefusesWhatIsTooShortOrTooLong) {
  EXPECT_EQ(Interval::make(Micros(99'999), kFirstInstant).error().message,
            "an interval of 99ms999us is outside 100ms to 36525d");
  EXPECT_TRUE(Interval::make(Micros(100'000), kFirstInstant).ok());
  EXPECT_FALSE(Interval::make(Micros(0), kFirstInstant).ok());
  EXPECT_FALSE(Interval::make(-seconds(5), kFirstInstant).ok());
  EXPECT_FALSE(Interval::make(kLongestInterval + Micros(1), kFirstInstant).ok());
  EXPECT_FALSE(Interval::make(seconds(5), Instant::max()).ok());
  EXPECT_FALSE(Interval::make(seconds(5), Instant::min()).ok());
}

TEST(Interval, StaysInBounds) {
  const Interval interval = *Interval::make(hours(1), kFirstInstant);
  EXPECT_EQ(interval.next(Instant::min()), kFirstInstant);
  EXPECT_EQ(interval.previous(Instant::max()), at("2200-12-31T23:00:00Z"));
  EXPECT_EQ(interval.next(Instant::max()), std::nullopt);
  EXPECT_EQ(interval.previous(Instant::min()), std::nullopt);
  EXPECT_EQ(interval.count(Instant::max(), Instant::min()), 0);
  EXPECT_EQ(interval.count(Instant::min(), Instant::max()), (kEndInstant - kFirstInstant) / hours(1));
}

RC_GTEST_PROP(Interval, NextPreviousAndCountAgree, ()) {
  const Micros every(*rc::gen::inRange<std::int64_t>(100'000, 40'000'000'000));
  const auto any = rc::gen::inRange<std::int64_t>(to_us(kFirstInstant), to_us(kEndInstant) - 80'000'000'000);
  const Interval interval = *Interval::make(every, from_us(*any));
  const Instant after = from_us(*any);
  const Instant next = *interval.next(after);
  RC_ASSERT(next > after);
  RC_ASSERT(next - after <= every);
  RC_ASSERT((next - interval.anchor()) % every == Micros(0));
  RC_ASSERT(interval.previous(next) == std::optional(next));
  RC_ASSERT(interval.count(after, next) == 1);
  RC_ASSERT(interval.count(after, next - Micros(1)) == 0);
  const auto previous = interval.previous(after);
  if (previous) RC_ASSERT(interval.next(*previous) == std::optional(next));
  const Instant until = after + every * *rc::gen::inRange(0, 1000) / 7;
  std::int64_t walked = 0;
  for (auto walk = interval.next(after); walk && *walk <= until; walk = interval.next(*walk)) ++walked;
  RC_ASSERT(interval.count(after, until) == walked);
}

}  // namespace
}  // namespace eider::timing
