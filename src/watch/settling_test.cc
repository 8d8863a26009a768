#include "watch/settling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <map>

#include "base/clock.h"

namespace eider::watch {
namespace {

using Files = std::vector<std::string>;
using std::chrono::seconds;

class SettlingTest : public ::testing::Test {
 protected:
  Files take(std::size_t limit = 100) { return files_.take(clock_.boottime(), limit); }
  void landed(const std::string& file) { files_.landed(file, clock_.boottime()); }

  FakeClock clock_{from_us(0)};
  Settling files_{seconds(2)};
};

TEST_F(SettlingTest, AFileIsWholeWhenItLandedAndStayedAsItIs) {
  EXPECT_EQ(files_.next(), std::nullopt);
  landed("a");
  EXPECT_EQ(files_.next(), clock_.boottime() + seconds(2));
  clock_.advance(seconds(2) - Micros(1));
  EXPECT_EQ(take(), Files{});
  clock_.advance(Micros(1));
  EXPECT_EQ(take(), Files{"a"});
  EXPECT_EQ(take(), Files{}) << "once";
  EXPECT_EQ(files_.next(), std::nullopt);
}

TEST_F(SettlingTest, EachLandingBeginsTheWaitAnew) {
  landed("a");
  clock_.advance(seconds(1));
  landed("a");
  clock_.advance(seconds(1));
  EXPECT_EQ(take(), Files{});
  clock_.advance(seconds(1));
  EXPECT_EQ(take(), Files{"a"});
}

TEST_F(SettlingTest, WhatIsWrittenWaitsForItsEndHoweverLong) {
  landed("a");
  files_.written("a");
  EXPECT_EQ(files_.next(), std::nullopt);
  clock_.advance(seconds(1000));
  EXPECT_EQ(take(), Files{});
  landed("a");
  clock_.advance(seconds(2));
  EXPECT_EQ(take(), Files{"a"});
}

TEST_F(SettlingTest, WhatIsGoneIsForgotten) {
  landed("a");
  landed("b");
  files_.gone("a");
  files_.gone("never");
  clock_.advance(seconds(2));
  EXPECT_EQ(take(), Files{"b"});
}

TEST_F(SettlingTest, ManyComeInPortionsTheOldestFirst) {
  for (const char* file : {"c", "a", "b"}) {
    landed(file);
    clock_.advance(Micros(1));
  }
  clock_.advance(seconds(2));
  EXPECT_EQ(take(2), (Files{"c", "a"}));
  EXPECT_EQ(take(2), Files{"b"});
}

/// Beside a list of all that happened, looked through for each question.
RC_GTEST_PROP(SettlingProperty, FollowsItsDefinition, ()) {
  constexpr int settle = 5;
  FakeClock clock(from_us(0));
  Settling files{Micros(settle)};
  std::map<std::string, std::optional<Micros>> landed_at;  // none: being written, gone, or taken
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::string>>>(
      rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::elementOf(Files{"a", "b", "c"})));
  for (const auto& [what, file] : steps) {
    if (what == 0) files.landed(file, clock.boottime()), landed_at[file] = clock.boottime();
    if (what == 1) files.written(file), landed_at[file].reset();
    if (what == 2) files.gone(file), landed_at[file].reset();
    if (what >= 3) clock.advance(Micros(what - 2));
    std::optional<Micros> next;
    Files whole;
    for (auto& [name, at] : landed_at) {
      if (at && (!next || *at + Micros(settle) < *next)) next = *at + Micros(settle);
    }
    RC_ASSERT(files.next() == next);
    for (auto& [name, at] : landed_at) {
      if (!at || *at + Micros(settle) > clock.boottime()) continue;
      whole.push_back(name);
      at.reset();
    }
    Files taken = files.take(clock.boottime(), 100);
    std::sort(taken.begin(), taken.end());
    RC_ASSERT(taken == whole);
  }
}

}  // namespace
}  // namespace eider::watch
