#include "decide/delivery.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

namespace eider::decide {
namespace {

using model::PendingGroup;
using model::Trigger;
using namespace std::chrono_literals;

const Instant now = from_us(1'767'261'600'000'000);  // 2026-01-01T10:00:00Z

PendingGroup group(const std::string& asset, std::int64_t count, Micros first_ago = 1h, Micros last_ago = 1h,
                   const std::string& partition = {}) {
  return {partition, asset, count, now - first_ago, now - last_ago};
}

struct DeliveryCase {
  Trigger trigger{};
  int max_active_runs = 1;
  int open_runs = 0;
  std::vector<std::string> needed{};
  std::vector<PendingGroup> pending{};
  bool blocked = false;

  TriggerVerdict decide(int limit = 500) const {
    return decide_trigger({trigger, max_active_runs, open_runs, needed, pending, blocked}, now, limit);
  }
};

TEST(Delivery, OneRunEachUpToTheRoomThatThereIs) {
  struct Row {
    int max_active_runs;
    int open_runs;
    std::int64_t pending;
    std::size_t takes;
    bool waits;
  };
  const Row rows[] = {
      {1, 0, 1, 1, false}, {1, 0, 4, 1, true},    {1, 1, 4, 0, true},     {3, 1, 4, 2, true},  {3, 0, 2, 2, false},
      {3, 5, 2, 0, true},  {0, 7, 20, 20, false}, {0, 0, 600, 500, true}, {1, 0, 0, 0, false}, {1, 1, 0, 0, false},
  };
  for (const Row& row : rows) {
    DeliveryCase c;
    c.max_active_runs = row.max_active_runs;
    c.open_runs = row.open_runs;
    c.pending = {group("a", row.pending)};
    const auto verdict = c.decide();
    EXPECT_EQ(verdict.takes, std::vector<Take>(row.takes, Take{})) << row.max_active_runs << " " << row.open_runs;
    EXPECT_EQ(!verdict.waiting.empty(), row.waits) << verdict.waiting;
    EXPECT_FALSE(verdict.look_again_at);
  }
}

TEST(Delivery, ABatchTakesAllOfItOrAllOfAPartition) {
  DeliveryCase c;
  c.trigger.batch = true;
  c.pending = {group("a", 3, 2h, 1h, "x"), group("a", 1, 3h, 3h, "y"), group("b", 2, 1h, 1h, "x")};
  EXPECT_EQ(c.decide().takes, (std::vector<Take>{{std::nullopt, batch_limit}}));
  c.trigger.same_partition = true;
  EXPECT_EQ(c.decide().takes, (std::vector<Take>{{"y", batch_limit}})) << "the oldest first, and one at a time";
  EXPECT_NE(c.decide().waiting.find("max_active_runs"), std::string::npos) << c.decide().waiting;
  c.max_active_runs = 0;
  EXPECT_EQ(c.decide().takes, (std::vector<Take>{{"y", batch_limit}, {"x", batch_limit}}));
}

TEST(Delivery, AllWaitsForEachAsset) {
  DeliveryCase c;
  c.trigger.match = Trigger::Match::all;
  c.needed = {"a", "b"};
  c.pending = {group("a", 3)};
  EXPECT_TRUE(c.decide().takes.empty());
  EXPECT_EQ(c.decide().waiting, "waits for b, of which nothing is pending");
  EXPECT_EQ(c.decide().lacking, std::set<std::string>{"b"});
  c.pending.push_back(group("b", 1));
  EXPECT_EQ(c.decide().takes, (std::vector<Take>{{std::nullopt, batch_limit}}));
  c.needed.clear();
  EXPECT_TRUE(c.decide().takes.empty()) << "all over nothing never runs";
}

TEST(Delivery, AllOfAPartitionWaitsForEachAssetOfThatPartition) {
  DeliveryCase c;
  c.trigger.match = Trigger::Match::all;
  c.trigger.same_partition = true;
  c.max_active_runs = 0;
  c.needed = {"a", "b"};
  c.pending = {group("a", 1, 3h, 3h, "x"), group("b", 1, 2h, 2h, "y"), group("a", 1, 1h, 1h, "y")};
  const auto verdict = c.decide();
  EXPECT_EQ(verdict.takes, (std::vector<Take>{{"y", batch_limit}}));
  EXPECT_EQ(verdict.waiting, "waits for b of partition x, of which nothing is pending");
  c.pending.push_back(group("b", 1, 1h, 1h, "z"));
  const auto each = c.decide().waiting_by_partition;
  EXPECT_EQ(each.size(), 2u);
  EXPECT_EQ(each.at("x"), verdict.waiting);
  EXPECT_EQ(each.at("z"), "waits for a of partition z, of which nothing is pending");
}

TEST(Delivery, DebounceWaitsForQuietAndNotForEver) {
  struct Row {
    Micros first_ago;
    Micros last_ago;
    std::optional<Micros> again_in;  ///< none: it runs now
  };
  const Row rows[] = {
      {10s, 10s, 20s}, {10s, 0s, 30s}, {30s, 30s, {}}, {31s, 30s, {}}, {290s, 1s, 10s},
      {300s, 1s, {}},  {400s, 0s, {}}, {1h, 1h, {}},   {-1h, -1h, {}},  // the clock was set back: old
  };
  for (const Row& row : rows) {
    DeliveryCase c;
    c.trigger.debounce = 30s;
    c.trigger.max_wait = 300s;
    c.pending = {group("a", 2, row.first_ago, row.last_ago)};
    const auto verdict = c.decide();
    EXPECT_EQ(verdict.takes.empty(), row.again_in.has_value()) << row.first_ago.count();
    EXPECT_EQ(verdict.look_again_at, row.again_in ? std::optional(now + *row.again_in) : std::nullopt);
    EXPECT_EQ(verdict.waiting.find("debounce") != std::string::npos, row.again_in.has_value()) << verdict.waiting;
  }
}

TEST(Delivery, AFailedOneBlocksOnlyWithStrictOrder) {
  DeliveryCase c;
  c.pending = {group("a", 2)};
  c.max_active_runs = 5;
  EXPECT_EQ(c.decide().takes.size(), 2u);
  c.trigger.order = Trigger::Order::strict;
  EXPECT_EQ(c.decide().takes.size(), 1u) << "one at a time, or a later one could pass";
  c.open_runs = 1;
  EXPECT_TRUE(c.decide().takes.empty());
  EXPECT_NE(c.decide().waiting.find("order: strict"), std::string::npos);
  c.open_runs = 0;
  c.blocked = true;
  EXPECT_TRUE(c.decide().takes.empty());
  EXPECT_NE(c.decide().waiting.find("failed"), std::string::npos);
}

TEST(Delivery, UnchangedIsOwedToWhoeverDoesNotMind) {
  model::Materialization event;
  Trigger trigger;
  for (const bool unchanged : {false, true}) {
    for (const bool changed_only : {false, true}) {
      event.unchanged = unchanged;
      trigger.changed_only = changed_only;
      EXPECT_EQ(is_owed(trigger, event), !(unchanged && changed_only));
    }
  }
}

/// Whatever is pending: never more runs than there is room for, never a batch that lacks an asset or quiet, and who
/// gets nothing although something is pending is told why.
RC_GTEST_PROP(Delivery, KeepsItsLimitsAndExplainsItself, ()) {
  DeliveryCase c;
  c.trigger.match = *rc::gen::element(Trigger::Match::any, Trigger::Match::all);
  c.trigger.batch = *rc::gen::arbitrary<bool>();
  c.trigger.same_partition = *rc::gen::arbitrary<bool>();
  c.trigger.order = *rc::gen::element(Trigger::Order::commit, Trigger::Order::strict);
  if (*rc::gen::arbitrary<bool>()) {
    c.trigger.debounce = Micros(*rc::gen::inRange(1, 10));
    if (*rc::gen::arbitrary<bool>()) c.trigger.max_wait = Micros(*rc::gen::inRange(1, 30));
  }
  c.max_active_runs = *rc::gen::inRange(0, 4);
  c.open_runs = *rc::gen::inRange(0, 5);
  c.blocked = c.trigger.order == Trigger::Order::strict && *rc::gen::arbitrary<bool>();
  if (const int needed = *rc::gen::inRange(0, 3); needed > 0) {
    c.needed = needed == 1 ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
  }
  const int groups = *rc::gen::inRange(0, 6);
  std::int64_t pending = 0;
  std::map<std::string, std::set<std::string>> there;
  for (int i = 0; i < groups; ++i) {
    const Micros last(*rc::gen::inRange(0, 20));
    const Micros first = last + Micros(*rc::gen::inRange(0, 20));
    const std::string partition = *rc::gen::element<std::string>("", "x", "y");
    c.pending.push_back(
        group(*rc::gen::element<std::string>("a", "b"), *rc::gen::inRange(1, 4), first, last, partition));
    pending += c.pending.back().count;
    there[c.trigger.same_partition ? partition : ""].insert(c.pending.back().asset);
  }
  const int limit = *rc::gen::inRange(1, 6);
  const auto verdict = c.decide(limit);
  RC_ASSERT(static_cast<int>(verdict.takes.size()) <= limit);
  if (c.max_active_runs > 0 && !verdict.takes.empty())
    RC_ASSERT(static_cast<int>(verdict.takes.size()) + c.open_runs <= c.max_active_runs);
  if (c.trigger.order == Trigger::Order::strict)
    RC_ASSERT(verdict.takes.size() <= 1 && (!c.blocked || verdict.takes.empty()));
  if (pending > 0 && verdict.takes.empty()) RC_ASSERT(!verdict.waiting.empty());
  if (pending == 0) RC_ASSERT(verdict.takes.empty());
  if (verdict.look_again_at) RC_ASSERT(*verdict.look_again_at > now);
  std::set<std::optional<std::string>> partitions;
  for (const Take& take : verdict.takes) {
    if (!looks_at_groups(c.trigger)) continue;
    RC_ASSERT(partitions.insert(take.partition).second);
    if (c.trigger.match != Trigger::Match::all) continue;
    RC_ASSERT(!c.needed.empty());
    for (const std::string& asset : c.needed) RC_ASSERT(there[take.partition.value_or("")].contains(asset));
  }
}

}  // namespace
}  // namespace eider::decide
