// Lists of materializations and deliveries, and what is found by an id or the beginning of one.
#include <set>

#include "store/conformance/data_fixture.h"

namespace eider::store::conformance {
namespace {

using model::DeliveryState;
using model::Outcome;
using model::RunEvent;

class DataListsTest : public ConformanceTest {
 protected:
  /// 30 events of three assets, two of them published by runs of two pipelines, each owed to one, two or three
  /// triggers of two pipelines; deliveries of every state.
  std::unique_ptr<Store> filled() {
    auto store = open();
    const std::vector<std::string> triggers = {"c/a", "c/b", "d/a"};
    for (int n = 0; n < 30; ++n) {
      auto one = n % 3 == 0 ? event(n, "raw.a") : published(100 + n, 1, fmt::format("raw.{}", n % 3), "p");
      one.pipeline = n % 3 == 0 ? "" : fmt::format("producer{}", n % 2);
      if (n % 3 != 0) turn(*store, {{model::RunQueued{queued_run(100 + n)}, claim(100 + n, 1)}});
      std::vector<std::string> owing(triggers.begin(), triggers.begin() + 1 + n % 3);
      turn(*store, {{materialized(one, owing)}});
      for (std::size_t t = 0; t < owing.size(); ++t) settle(*store, n, owing[t], one, static_cast<int>(n + t) % 5);
    }
    return store;
  }
  static void settle(Store& store, int n, const std::string& trigger, const model::Materialization& one, int state) {
    if (state == 0) return;
    const auto id = model::delivery_id(trigger, one.id);
    if (state == 4) {
      turn(store, {{model::DeliveriesSkipped{trigger, {id}, DeliveryState::pending, "TriggerRemoved", "", at(0)}}});
      return;
    }
    const int r = 1000 + n * 10 + (trigger == "c/a" ? 0 : trigger == "c/b" ? 1 : 2);
    turn(store, {claimed(r, trigger, {one}), {claim(r, 1)}});
    if (state == 2) turn(store, {{succeeded(r, 1)}});
    if (state == 3) turn(store, {{ended(r, 1, RunEvent::fail, Outcome::failed)}});
  }
};
EIDER_FOR_EVERY_BACKEND(DataListsTest);

template <typename T, typename List>
std::vector<T> all_pages(const List& list, int limit) {
  std::vector<T> out;
  std::string cursor;
  while (true) {
    const Page<T> page = list(limit, cursor).value();
    out.insert(out.end(), page.items.begin(), page.items.end());
    if (!page.next) return out;
    EXPECT_EQ(page.items.size(), static_cast<std::size_t>(limit)) << "only the last page is short";
    cursor = *page.next;
  }
}

TEST_P(DataListsTest, EveryFilterOfDeliveriesIsAnsweredInPages) {
  auto store = filled();
  auto reader = this->reader();
  const auto everything = reader->deliveries({}, 1000, "").value().items;
  ASSERT_EQ(everything.size(), 60u);
  for (std::size_t i = 1; i < everything.size(); ++i) EXPECT_LE(everything[i].event, everything[i - 1].event);
  std::vector<DeliveryFilter> filters(1);
  for (const std::string name : {"c/a", "d/a", "none/a"}) filters.push_back({.trigger = name});
  for (const std::string name : {"c", "d", "none"}) filters.push_back({.pipeline = name});
  for (const std::string& id : {everything[7].event_id, everything[30].event_id, std::string("none")})
    filters.push_back({.event_id = id});
  for (const auto& one : everything) {
    if (!one.run_id.empty() && one.event % 4 == 0) filters.push_back({.run_id = one.run_id});
  }
  for (const auto& plain : std::vector(filters)) {
    for (int state = 0; state < 5; ++state) {
      filters.push_back(plain);
      filters.back().state = static_cast<DeliveryState>(state);
    }
  }
  std::set<DeliveryState> seen;
  for (const auto& filter : filters) {
    std::vector<model::Delivery> expected;
    for (const auto& one : everything) {
      if (filter.trigger && one.trigger != *filter.trigger) continue;
      if (filter.pipeline && one.pipeline != *filter.pipeline) continue;
      if (filter.event_id && one.event_id != *filter.event_id) continue;
      if (filter.run_id && one.run_id != *filter.run_id) continue;
      if (filter.state && one.state != *filter.state) continue;
      expected.push_back(one);
      seen.insert(one.state);
    }
    for (const int limit : {1, 7, 1000}) {
      const auto list = [&](int n, const std::string& cursor) { return reader->deliveries(filter, n, cursor); };
      EXPECT_EQ(all_pages<model::Delivery>(list, limit), expected)
          << filter.trigger.value_or("*") << " " << filter.pipeline.value_or("*") << " "
          << filter.event_id.value_or("*") << " " << filter.run_id.value_or("*") << " "
          << (filter.state ? model::to_text(*filter.state) : "*") << " " << limit;
    }
  }
  EXPECT_EQ(seen.size(), 5u) << "every state is among them";
}

TEST_P(DataListsTest, EveryFilterOfMaterializationsIsAnsweredInPages) {
  auto store = filled();
  auto reader = this->reader();
  const auto everything = reader->materializations({}, 1000, "").value().items;
  ASSERT_EQ(everything.size(), 30u);
  for (std::size_t i = 0; i < everything.size(); ++i) {
    EXPECT_EQ(everything[i].number, 30 - static_cast<std::int64_t>(i));
  }
  std::vector<MaterializationFilter> filters(1);
  for (const std::string name : {"raw.a", "raw.1", "none"}) filters.push_back({.asset = name});
  for (const std::string name : {"producer0", "producer1", "none"}) filters.push_back({.pipeline = name});
  for (const std::string& id : {run_id(101), run_id(1)}) filters.push_back({.run_id = id});
  for (const auto& filter : filters) {
    std::vector<model::Materialization> expected;
    for (const auto& one : everything) {
      if (filter.asset && one.asset != *filter.asset) continue;
      if (filter.pipeline && one.pipeline != *filter.pipeline) continue;
      if (filter.run_id && one.run_id != *filter.run_id) continue;
      expected.push_back(one);
    }
    for (const int limit : {1, 4, 1000}) {
      const auto list = [&](int n, const std::string& cursor) { return reader->materializations(filter, n, cursor); };
      EXPECT_EQ(all_pages<model::Materialization>(list, limit), expected)
          << filter.asset.value_or("*") << " " << filter.pipeline.value_or("*") << " " << limit;
    }
  }
  EXPECT_EQ(reader->newest_of("raw.1").value(), everything[1]);
  EXPECT_EQ(reader->newest_of("none").value(), std::nullopt);
  EXPECT_EQ(reader->materialized_assets().value(), (std::vector<std::string>{"raw.1", "raw.2", "raw.a"}));
}

TEST_P(DataListsTest, AnEmptyStoreHasEmptyLists) {
  auto store = open();
  auto reader = this->reader();
  EXPECT_TRUE(reader->materialized_assets()->empty());
  EXPECT_TRUE(reader->materializations({}, 10, "")->items.empty());
  EXPECT_TRUE(reader->deliveries({}, 10, "")->items.empty());
  EXPECT_TRUE(reader->pending_counts()->empty());
}

TEST_P(DataListsTest, ACursorThatIsNoneIsRefused) {
  auto store = filled();
  auto reader = this->reader();
  for (const std::string cursor : {"x", "m", "r1", "m1x", "m1.2"}) {
    EXPECT_EQ(reader->materializations({}, 10, cursor).error().code, ErrorCode::invalid) << cursor;
  }
  for (const std::string cursor : {"d", "d1", "o1.2", "d1.2x"}) {
    EXPECT_EQ(reader->deliveries({}, 10, cursor).error().code, ErrorCode::invalid) << cursor;
  }
  for (const int limit : {0, 1001}) {
    EXPECT_EQ(reader->materializations({}, limit, "").error().code, ErrorCode::invalid);
    EXPECT_EQ(reader->deliveries({}, limit, "").error().code, ErrorCode::invalid);
  }
}

TEST_P(DataListsTest, ThingsAreFoundByTheBeginningOfTheirId) {
  auto store = open();
  auto decided = occurrence("flights/nightly", at(7), model::Decision::run);
  const auto made = run_of(decided, 1);
  const auto missed = occurrence("flights/nightly", at(3), model::Decision::missed);
  const auto one = event(1);
  turn(*store, {{placed("flights/nightly", at(0))},
                {model::OccurrencesDecided{"flights/nightly", at(0), at(7), {missed, decided}}, model::RunQueued{made}},
                {model::RunQueued{queued_run(2)}},
                {materialized(one, {"c/a", "c/b", "d/a"})}});
  auto reader = this->reader();
  using Kind = DataReader::Named::Kind;
  const auto kinds = [&](const std::string& prefix) {
    std::vector<Kind> out;
    const auto found = reader->ids(prefix).value();
    for (const auto& named : found) {
      EXPECT_EQ(named.id.substr(0, prefix.size()), prefix);
      out.push_back(named.kind);
    }
    return out;
  };
  EXPECT_EQ(kinds(run_id(1)), std::vector{Kind::run});
  EXPECT_EQ(kinds(run_id(1).substr(0, 8)), (std::vector{Kind::run, Kind::run})) << "enough to say it is ambiguous";
  EXPECT_EQ(kinds(one.id), std::vector{Kind::materialization});
  EXPECT_EQ(kinds(model::delivery_id("c/b", one.id).substr(0, 18)), std::vector{Kind::delivery});
  EXPECT_EQ(kinds(one.id.substr(0, 4)), (std::vector{Kind::materialization, Kind::delivery, Kind::delivery}));
  EXPECT_EQ(kinds(missed.id), std::vector{Kind::occurrence});
  EXPECT_TRUE(kinds("none").empty());
  EXPECT_EQ(reader->ids("abc").error().code, ErrorCode::invalid);
  EXPECT_EQ(reader->occurrence(missed.id).value(), missed);
  EXPECT_EQ(reader->occurrence("none").value(), std::nullopt);
  EXPECT_EQ(reader->occurrence_of_run(made.id).value(), decided);
  EXPECT_EQ(reader->occurrence_of_run(run_id(2)).value(), std::nullopt) << "a person's";
}

}  // namespace
}  // namespace eider::store::conformance
