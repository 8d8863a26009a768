#include "base/clock.h"

#include <gtest/gtest.h>

namespace eider {
namespace {

TEST(FakeClock, TimePassesOnBothClocksAndASetOnOneOnly) {
  FakeClock clock(from_us(1'000'000'000));
  const Micros boot = clock.boottime();
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(clock.now(), from_us(1'005'000'000));
  EXPECT_EQ(clock.boottime() - boot, std::chrono::seconds(5));
  clock.step_to(from_us(500'000'000));
  EXPECT_EQ(clock.now(), from_us(500'000'000));
  EXPECT_EQ(clock.boottime() - boot, std::chrono::seconds(5));
}

TEST(FakeClockDeathTest, TimeDoesNotPassBackward) {
  FakeClock clock(from_us(0));
  EXPECT_DEATH(clock.advance(Micros(-1)), "time passes forward only");
}

TEST(SystemClock, ReadsThisCenturyAndNeverRunsBackSinceBoot) {
  const SystemClock clock;
  EXPECT_GT(clock.now(), *parse_rfc3339("2020-01-01T00:00:00Z"));
  const Micros first = clock.boottime();
  EXPECT_GT(first.count(), 0);
  EXPECT_GE(clock.boottime(), first);
}

}  // namespace
}  // namespace eider
