// Cursors and decisions: what a schedule has decided is decided once, also when the clock is set back (O-05, I6).
#include "store/conformance/fixture.h"

namespace eider::store::conformance {
namespace {

using model::Decision;
using Applied = std::vector<bool>;

const std::string nightly = "flights/nightly";

class ScheduleTest : public ConformanceTest {
 protected:
  std::vector<Instant> decided(const std::string& schedule) {
    std::vector<Instant> instants;
    const auto page = reader()->occurrences({.schedule = schedule, .decision = {}}, 1000, "").value();
    for (const auto& one : page.items) {
      instants.push_back(one.scheduled_for);
    }
    return instants;
  }
};
EIDER_FOR_EVERY_BACKEND(ScheduleTest);

model::OccurrencesDecided decide(Instant from, Instant to, std::vector<model::Occurrence> occurrences) {
  return {nightly, from, to, std::move(occurrences)};
}

TEST_P(ScheduleTest, ADecisionMovesTheCursorThatItExpects) {
  auto store = open();
  auto one = occurrence(nightly, at(10), Decision::run);
  const auto run = run_of(one, 1);
  const model::ChangeSet set = {decide(at(0), at(10), {one}), model::RunQueued{run}};
  EXPECT_EQ(turn(*store, {set, {placed(nightly, at(0))}, set, set}), (Applied{false, true, true, false}));
  EXPECT_EQ(store->load_open()->cursors[0].decided_until, at(10));
  EXPECT_EQ(store->load_open()->runs, std::vector{run});
  EXPECT_EQ(reader()->occurrences({}, 10, "")->items, std::vector{one});
  EXPECT_FALSE(apply_one(*store, {decide(at(9), at(20), {})})) << "another cursor was expected";
}

TEST_P(ScheduleTest, AChangedRulePlacesTheCursorAnew) {
  auto store = open();
  auto changed = placed(nightly, at(50));
  changed.cursor.rule = "other";
  turn(*store, {{placed(nightly, at(0))}, {changed}});
  EXPECT_EQ(store->load_open()->cursors, std::vector{changed.cursor});
}

TEST_P(ScheduleTest, PausingNeedsACursor) {
  auto store = open();
  EXPECT_EQ(turn(*store, {{model::SchedulePaused{nightly, true, "", at(0)}}, {model::CursorWithdrawn{nightly, at(0)}}}),
            (Applied{false, false}));
  turn(*store, {{placed(nightly, at(0))},
                {model::SchedulePaused{nightly, true, "why", at(1)}},
                {model::SchedulePaused{nightly, false, "", at(2)}}});
  auto resumed = placed(nightly, at(0)).cursor;
  resumed.resumed_at = at(2);
  EXPECT_EQ(store->load_open()->cursors, std::vector{resumed});
}

TEST_P(ScheduleTest, AClockSetBackWithdrawsWhatRanNothing) {
  auto store = open();
  auto ran = occurrence(nightly, at(40), Decision::run);
  const auto run = run_of(ran, 1);
  turn(*store,
       {{placed(nightly, at(0))},
        {decide(at(0), at(40),
                {occurrence(nightly, at(10), Decision::missed), occurrence(nightly, at(20), Decision::skipped),
                 occurrence(nightly, at(25), Decision::coalesced), occurrence(nightly, at(30), Decision::excluded),
                 occurrence(nightly, at(35), Decision::paused), ran}),
         model::RunQueued{run}},
        {placed("flights/other", at(0))},
        {model::OccurrencesDecided{
            "flights/other", at(0), at(30), {occurrence("flights/other", at(30), Decision::missed)}}}});
  ASSERT_TRUE(apply_one(*store, {model::CursorWithdrawn{nightly, at(10)}}));
  EXPECT_EQ(decided(nightly), (std::vector{at(40), at(10)}));
  EXPECT_EQ(decided("flights/other"), std::vector{at(30)});
  EXPECT_EQ(reader()->cursor(nightly).value()->decided_until, at(10));
  EXPECT_EQ(store->decided_after(nightly, at(10)).value(), std::vector{ran});
  EXPECT_TRUE(store->decided_after(nightly, at(40)).value().empty());
}

TEST_P(ScheduleTest, ARunDecisionIsUniqueForEver) {
  auto store = open();
  auto ran = occurrence(nightly, at(40), Decision::run);
  const auto run = run_of(ran, 1);
  turn(*store, {{placed(nightly, at(30))},
                {decide(at(30), at(40), {ran}), model::RunQueued{run}},
                {model::CursorWithdrawn{nightly, at(30)}}});
  auto again = occurrence(nightly, at(40), Decision::run);
  const auto second = run_of(again, 2);
  auto late = occurrence(nightly, at(35), Decision::run);
  const auto third = run_of(late, 3);
  EXPECT_EQ(turn(*store, {{decide(at(30), at(40), {again}), model::RunQueued{second}},  // a second run
                          {decide(at(30), at(40), {again})},                            // a second decision to run
                          {decide(at(30), at(40), {late, again}), model::RunQueued{third},
                           model::RunQueued{second}},  // all or nothing
                          {decide(at(30), at(40), {late, occurrence(nightly, at(40), Decision::missed)}),
                           model::RunQueued{third}}}),
            (Applied{false, false, false, true}));
  EXPECT_EQ(decided(nightly), (std::vector{at(40), at(35)}));
  EXPECT_EQ(store->load_open()->runs, (std::vector{run, third}));
  EXPECT_EQ(reader()->occurrences({.schedule = nightly, .decision = Decision::run}, 10, "")->items.size(), 2u)
      << "the decision that was there is left as it was";
}

TEST_P(ScheduleTest, ARowOfExcludedInstantsGrowsAndNoOtherDoes) {
  auto store = open();
  auto excluded = occurrence(nightly, at(10), Decision::excluded);
  excluded.calendar = "holidays";
  auto missed = occurrence(nightly, at(50), Decision::missed);
  turn(*store, {{placed(nightly, at(0))}, {decide(at(0), at(10), {excluded})}});
  excluded.scheduled_until = at(30);
  excluded.count = 3;
  ASSERT_TRUE(apply_one(*store, {decide(at(10), at(30), {excluded})}));
  auto shorter = excluded;
  shorter.scheduled_until = at(20);
  shorter.count = 2;
  ASSERT_TRUE(apply_one(*store, {decide(at(30), at(50), {shorter, missed})}));
  auto grown = missed;
  grown.scheduled_until = at(60);
  auto other = excluded;
  other.decision = Decision::paused;
  other.scheduled_until = at(60);
  ASSERT_TRUE(apply_one(*store, {decide(at(50), at(60), {grown, other})}));
  EXPECT_EQ(reader()->occurrences({.schedule = nightly, .decision = {}}, 10, "")->items,
            (std::vector{missed, excluded}));
}

TEST_P(ScheduleTest, TheNewestRunsOfAScheduleAreItsNewestInstants) {
  auto store = open();
  std::vector<model::ChangeSet> sets = {{placed(nightly, at(0))}};
  for (int n = 1; n <= 5; ++n) {
    auto ran = occurrence(nightly, at(10 * n), Decision::run);
    const auto run = run_of(ran, 10 - n);  // ids do not say the order
    sets.push_back({decide(at(10 * (n - 1)), at(10 * n), {ran}), model::RunQueued{run}});
  }
  turn(*store, sets);
  const auto newest = store->runs_of_schedule(nightly, 3).value();
  ASSERT_EQ(newest.size(), 3u);
  EXPECT_EQ(newest[0].scheduled_for, at(50));
  EXPECT_EQ(newest[1].scheduled_for, at(40));
  EXPECT_EQ(newest[2].scheduled_for, at(30));
  EXPECT_TRUE(store->runs_of_schedule("flights/other", 3)->empty());
}

TEST_P(ScheduleTest, APauseSaysWhyAndAResumeWhen) {
  auto store = open();
  turn(*store, {{placed(nightly, at(0))}, {model::SchedulePaused{nightly, true, "note", at(1), "SomeReason"}}});
  model::Cursor cursor = store->load_open()->cursors[0];
  EXPECT_EQ(cursor.reason, "SomeReason");
  EXPECT_FALSE(cursor.resumed_at);
  turn(*store, {{model::SchedulePaused{nightly, false, "", at(2), ""}}});
  turn(*store, {{model::SchedulePaused{nightly, true, "", at(3), "SomeReason"}}});
  cursor = store->load_open()->cursors[0];
  EXPECT_EQ(cursor.resumed_at, at(2)) << "a later pause keeps it";
  EXPECT_EQ(cursor.paused_at, at(3));
}

TEST_P(ScheduleTest, ADecisionThatReachesPastTheNewCursorIsWithdrawnAndCanBeMadeShorter) {
  auto store = open();
  auto many = occurrence(nightly, at(10), Decision::missed);
  many.scheduled_until = at(100);
  many.count = 10;
  auto older = occurrence(nightly, at(1), Decision::missed);
  older.scheduled_until = at(9);
  turn(*store, {{placed(nightly, at(0))}, {decide(at(0), at(100), {older, many})}});
  EXPECT_EQ(store->decided_after(nightly, at(30)).value(), std::vector{many});
  auto shorter = many;
  shorter.scheduled_until = at(30);
  shorter.count = 3;
  ASSERT_TRUE(apply_one(*store, {model::CursorWithdrawn{nightly, at(30)}, decide(at(30), at(30), {shorter})}));
  EXPECT_EQ(reader()->occurrences({.schedule = nightly, .decision = {}}, 10, "")->items, (std::vector{shorter, older}));
  EXPECT_EQ(reader()->cursor(nightly).value()->decided_until, at(30));
}

}  // namespace
}  // namespace eider::store::conformance
