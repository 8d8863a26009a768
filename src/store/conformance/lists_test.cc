// Lists: newest first, filtered, in pages that show each row exactly once.
#include <set>

#include "store/conformance/fixture.h"

namespace eider::store::conformance {
namespace {

using model::Decision;
using model::RunEvent;
using model::RunState;

class ListsTest : public ConformanceTest {
 protected:
  /// 60 runs of three pipelines, four of each twelve queued, one running, four succeeded, two failed, one cancelled.
  std::unique_ptr<Store> filled() {
    auto store = open();
    std::vector<model::ChangeSet> sets;
    for (int n = 0; n < 60; ++n) {
      model::ChangeSet set = {model::RunQueued{queued_run(n, fmt::format("p{}", n % 3))}};
      const int kind = n % 12;
      if (kind == 11) set.push_back(model::QueuedCancelled{run_id(n), "Requested", "", at(0)});
      if (kind >= 4 && kind < 11) set.push_back(claim(n, 1));
      if (kind >= 5 && kind < 9) set.push_back(succeeded(n, 1));
      if (kind == 9 || kind == 10) set.push_back(ended(n, 1, RunEvent::fail, model::Outcome::crashed));
      sets.push_back(set);
    }
    turn(*store, sets);
    return store;
  }
};
EIDER_FOR_EVERY_BACKEND(ListsTest);

std::vector<std::string> all_pages(Reader& reader, const RunFilter& filter, int limit) {
  std::vector<std::string> ids;
  std::string cursor;
  while (true) {
    const auto page = reader.runs(filter, limit, cursor).value();
    EXPECT_LE(page.items.size(), static_cast<std::size_t>(limit));
    for (const auto& run : page.items) ids.push_back(run.id);
    if (!page.next) return ids;
    EXPECT_EQ(page.items.size(), static_cast<std::size_t>(limit)) << "only the last page is short";
    cursor = *page.next;
  }
}

TEST_P(ListsTest, EveryFilterOfRunsIsAnsweredInPages) {
  auto store = filled();
  auto reader = this->reader();
  const auto everything = reader->runs({}, 1000, "").value().items;
  ASSERT_EQ(everything.size(), 60u);
  std::vector<RunFilter> filters;
  for (const auto& pipeline :
       {std::optional<std::string>(), std::optional<std::string>("p1"), std::optional<std::string>("none")}) {
    for (const bool open_only : {false, true}) {
      filters.push_back({pipeline, std::nullopt, open_only});
      for (const auto state :
           {RunState::queued, RunState::running, RunState::succeeded, RunState::failed, RunState::cancelled}) {
        filters.push_back({pipeline, state, open_only});
      }
    }
  }
  for (const auto& filter : filters) {
    std::vector<std::string> expected;
    for (const auto& run : everything) {
      if (filter.pipeline && run.pipeline != *filter.pipeline) continue;
      if (filter.state && run.state != *filter.state) continue;
      if (filter.open_only && model::is_terminal(run.state)) continue;
      expected.push_back(run.id);
    }
    for (const int limit : {1, 2, 7, 60, 1000}) {
      EXPECT_EQ(all_pages(*reader, filter, limit), expected)
          << filter.pipeline.value_or("*") << " " << (filter.state ? model::to_text(*filter.state) : "*") << " "
          << filter.open_only << " " << limit;
    }
  }
}

TEST_P(ListsTest, RunsAreNewestFirst) {
  auto store = filled();
  const auto items = reader()->runs({}, 1000, "").value().items;
  for (int n = 0; n < 60; ++n) EXPECT_EQ(items[static_cast<std::size_t>(n)].id, run_id(59 - n));
}

TEST_P(ListsTest, PagesShowEachRowOnceAlsoWhileRowsAreAdded) {
  auto store = filled();
  auto reader = this->reader();
  std::multiset<std::string> seen;
  std::string cursor;
  for (int added = 60;; ++added) {
    const auto page = reader->runs({}, 7, cursor).value();
    for (const auto& run : page.items) seen.insert(run.id);
    if (!page.next) break;
    cursor = *page.next;
    turn(*store, {{model::RunQueued{queued_run(added)}}});
  }
  EXPECT_EQ(seen.size(), 60u);
  for (int n = 0; n < 60; ++n) EXPECT_EQ(seen.count(run_id(n)), 1u) << n;
}

TEST_P(ListsTest, EveryFilterOfOccurrencesIsAnsweredInPages) {
  auto store = open();
  std::vector<model::Occurrence> all;
  for (const std::string schedule : {"p1/a", "p1/b", "p2/a"}) {
    std::vector<model::Occurrence> of_schedule;
    // Instants are shared by the schedules: the order within one is the order in which they were decided.
    for (int n = 0; n < 24; ++n) of_schedule.push_back(occurrence(schedule, at(n), static_cast<Decision>(n % 6)));
    turn(*store, {{placed(schedule, at(-1))}, {model::OccurrencesDecided{schedule, at(-1), at(100), of_schedule}}});
    all.insert(all.end(), of_schedule.begin(), of_schedule.end());
  }
  std::reverse(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.scheduled_for > b.scheduled_for; });
  auto reader = this->reader();
  for (const auto& schedule :
       {std::optional<std::string>(), std::optional<std::string>("p1"), std::optional<std::string>("p1/b"),
        std::optional<std::string>("p"), std::optional<std::string>("p1/")}) {
    for (int decision = -1; decision < 6; ++decision) {
      OccurrenceFilter filter{schedule, std::nullopt};
      if (decision >= 0) filter.decision = static_cast<Decision>(decision);
      std::vector<model::Occurrence> expected;
      for (const auto& one : all) {
        if (schedule && one.schedule != *schedule && one.pipeline != *schedule) continue;
        if (filter.decision && one.decision != *filter.decision) continue;
        expected.push_back(one);
      }
      for (const int limit : {1, 5, 1000}) {
        std::vector<model::Occurrence> got;
        std::string cursor;
        while (true) {
          const auto page = reader->occurrences(filter, limit, cursor).value();
          got.insert(got.end(), page.items.begin(), page.items.end());
          if (!page.next) break;
          cursor = *page.next;
        }
        EXPECT_EQ(got, expected) << schedule.value_or("*") << " " << decision << " " << limit;
      }
    }
  }
}

TEST_P(ListsTest, ACursorThatIsNoneIsRefused) {
  auto store = filled();
  auto reader = this->reader();
  for (const std::string cursor : {"x", "r", "o1.2", "r1x", "r1.2", "r99999999999999999999", " r1", "r1 "}) {
    auto page = reader->runs({}, 10, cursor);
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, ErrorCode::invalid);
    EXPECT_NE(page.error().message.find(cursor), std::string::npos);
  }
  for (const std::string cursor : {"o", "o1", "o1.", "o.1", "r1", "o1.2.3", "o1.2x"}) {
    auto page = reader->occurrences({}, 10, cursor);
    ASSERT_FALSE(page) << cursor;
    EXPECT_EQ(page.error().code, ErrorCode::invalid);
  }
  for (const int limit : {0, -1, 1001}) {
    EXPECT_EQ(reader->runs({}, limit, "").error().code, ErrorCode::invalid);
    EXPECT_EQ(reader->occurrences({}, limit, "").error().code, ErrorCode::invalid);
  }
}

TEST_P(ListsTest, ARunIsFoundByItsIdOrTheBeginningOfIt) {
  auto store = filled();
  auto other = queued_run(99);
  other.id = "0190b111-0000-7000-8000-000000000000";
  turn(*store, {{model::RunQueued{other}}});
  auto reader = this->reader();
  EXPECT_EQ(reader->run(other.id).value(), other);
  EXPECT_EQ(reader->run("0190b111").value(), std::nullopt);
  EXPECT_EQ(reader->run_ids("0190b").value(), std::vector{other.id});
  EXPECT_EQ(reader->run_ids(other.id).value(), std::vector{other.id});
  EXPECT_EQ(reader->run_ids("0190").value().size(), 2u) << "enough to say that it is ambiguous";
  EXPECT_TRUE(reader->run_ids("0190b111%").value().empty());
  EXPECT_TRUE(reader->run_ids("ffff").value().empty());
  EXPECT_EQ(reader->run_ids("019").error().code, ErrorCode::invalid);
  EXPECT_TRUE(reader->attempts("ffff").value().empty());
}

TEST_P(ListsTest, AReaderOfAMissingStoreSaysSo) {
  auto reader = GetParam().reader(path());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(path())) << "a reader makes no file";
}

}  // namespace
}  // namespace eider::store::conformance
