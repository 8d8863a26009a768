#include "decide/usual.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace eider::decide {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(Usual, IsLearnedFromFiveRunsOn) {
  struct Row {
    std::vector<Micros> durations;
    std::optional<Micros> median;
    Micros limit;
  };
  const Row rows[] = {
      {{}, {}, {}},
      {{minutes(1), minutes(1), minutes(1), minutes(1)}, {}, {}},
      {{minutes(1), minutes(1), minutes(1), minutes(1), minutes(1)}, minutes(1), minutes(3)},
      {{minutes(5), minutes(1), minutes(3), minutes(2), minutes(4)}, minutes(3), minutes(9)},
      {std::vector<Micros>(6, seconds(1)), seconds(1), seconds(10)},  // never too long within ten seconds
      {{minutes(1), minutes(1), minutes(1), minutes(2), minutes(2), minutes(60)}, seconds(90), minutes(60)},
  };
  for (const Row& row : rows) {
    const auto learned = usual(row.durations);
    EXPECT_EQ(learned.has_value(), row.median.has_value());
    if (!learned) continue;
    EXPECT_EQ(learned->median, *row.median);
    EXPECT_EQ(learned->limit, row.limit);
    EXPECT_EQ(learned->runs, static_cast<int>(row.durations.size()));
  }
}

TEST(Usual, OneOutlierOfTwentyChangesNothing) {
  std::vector<Micros> durations(19, minutes(1));
  durations.push_back(std::chrono::hours(9));
  EXPECT_EQ(usual(durations)->limit, minutes(3));
}

RC_GTEST_PROP(Usual, IsNoMatterOfOrderAndAtLeastNineteenOfTwentyAreWithin, ()) {
  const auto raw = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 86'400'000'000));
  std::vector<Micros> durations;
  for (const std::int64_t each : raw) durations.emplace_back(each);
  const auto learned = usual(durations);
  RC_ASSERT(learned.has_value() == (durations.size() >= 5));
  if (!learned) return;
  const auto within =
      std::count_if(durations.begin(), durations.end(), [&](Micros each) { return each <= learned->limit; });
  RC_ASSERT(20 * within >= 19 * static_cast<std::int64_t>(durations.size()));
  std::reverse(durations.begin(), durations.end());
  RC_ASSERT(usual(durations)->limit == learned->limit);
}

TEST(Usual, SilenceIsLongerThanAnyUsualRun) {
  EXPECT_EQ(longest_silence({}), std::chrono::hours(1));
  EXPECT_EQ(longest_silence(Usual{seconds(5), seconds(15), 5}), minutes(10));
  EXPECT_EQ(longest_silence(Usual{minutes(20), minutes(60), 5}), minutes(60));
}

}  // namespace
}  // namespace eider::decide
