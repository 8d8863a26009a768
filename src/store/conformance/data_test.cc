// Materializations, what is owed for them, and deliveries that follow their run.
#include "store/conformance/data_fixture.h"

namespace eider::store::conformance {
namespace {

using model::DeliveryState;
using model::Outcome;
using model::RunEvent;
using model::RunState;
using Applied = std::vector<bool>;

const std::string by_marts = "marts/on_flights";
const std::string by_checks = "checks/on_all";

class DataTest : public ConformanceTest {
 protected:
  model::Delivery delivery(Store& store, const std::string& trigger, const model::Materialization& event) {
    auto found = store.find_delivery(model::delivery_id(trigger, event.id));
    EIDER_CHECK(found && *found, "the delivery is there");
    return **found;
  }
  DeliveryState state(Store& store, const std::string& trigger, const model::Materialization& event) {
    return delivery(store, trigger, event).state;
  }
};
EIDER_FOR_EVERY_BACKEND(DataTest);

TEST_P(DataTest, AnEventIsKeptAsItWasSaid) {
  auto store = open();
  model::Materialization full = published(1, 1, "marts.daily", "2026-01-01");
  full.rows = 0;
  full.bytes = std::int64_t{5} << 40;
  full.columns = R"([{"name":"day","type":"DATE"}])";
  full.unchanged = true;
  full.metadata = R"({"file":"a.csv"})";
  full.depth = 7;
  model::Materialization bare = event(2);
  bare.source = model::Source::watched;
  ASSERT_EQ(turn(*store, {{model::RunQueued{queued_run(1)}, claim(1, 1)}, {materialized(full)}, {materialized(bare)}}),
            (Applied{true, true, true}));
  full.number = 1;
  bare.number = 2;
  auto reader = this->reader();
  EXPECT_EQ(reader->materialization(full.id).value(), full);
  EXPECT_EQ(reader->materialization("none").value(), std::nullopt);
  EXPECT_EQ(reader->materializations({}, 10, "")->items, (std::vector{bare, full}));
  EXPECT_EQ(store->newest_of(full.asset, full.partition).value(), full);
  EXPECT_EQ(store->events_between(0, 2, 10).value(), (std::vector{full, bare}));
}

TEST_P(DataTest, WhatIsOwedComesWithTheEventAndOnce) {
  auto store = open();
  const auto first = event(1);
  const auto second = event(2);
  EXPECT_FALSE(store->find_event(first.id).value().has_value());
  EXPECT_EQ(store->newest_event_number().value(), 0);
  EXPECT_EQ(turn(*store, {{materialized(first, {by_marts, by_checks})},
                          {materialized(first, {by_marts})},
                          {materialized(second, {by_marts})},
                          {materialized(first)}}),
            (Applied{true, false, true, false}));
  EXPECT_TRUE(store->find_event(first.id).value().has_value());
  EXPECT_EQ(store->newest_event_number().value(), 2);
  auto expected = owed(first, by_checks);
  expected.event = 1;
  EXPECT_EQ(store->pending(by_checks, {}, 10).value(), std::vector{expected});
  EXPECT_EQ(store->find_delivery(expected.id).value(), expected);
  EXPECT_EQ(reader()->delivery(expected.id).value(), expected);
  EXPECT_EQ(store->pending(by_marts, {}, 10)->size(), 2u);
  using Counts = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(store->load_open()->data.pending, (Counts{{by_checks, 1}, {by_marts, 2}}));
  EXPECT_EQ(reader()->pending_counts().value(), (Counts{{by_checks, 1}, {by_marts, 2}}));
}

TEST_P(DataTest, ADeliveryThatIsThereAlreadySpoilsItsSet) {
  auto store = open();
  const auto first = event(1);
  auto second = materialized(event(2), {by_checks, by_marts});
  second.owed[1].id = model::delivery_id(by_marts, first.id);
  EXPECT_EQ(turn(*store, {{materialized(first, {by_marts})}, {second}}), (Applied{true, false}));
  EXPECT_FALSE(store->find_event(second.event.id).value().has_value());
  EXPECT_TRUE(store->pending(by_checks, {}, 10)->empty()) << "all of the set, or nothing";
}

TEST_P(DataTest, ARunPublishesOnlyWhileItRunsThisAttempt) {
  auto store = open();
  ASSERT_EQ(turn(*store, {{materialized(published(1, 1))},
                          {model::RunQueued{queued_run(1)}},
                          {materialized(published(1, 0))},
                          {claim(1, 1)},
                          {materialized(published(1, 2))},
                          {ended(1, 1, RunEvent::interrupt, Outcome::interrupted), materialized(published(1, 1))},
                          {ended(1, 1, RunEvent::interrupt, Outcome::interrupted)},
                          {claim(1, 2)},
                          {materialized(published(1, 1), {by_marts})}}),
            (Applied{false, true, false, true, false, false, true, true, false}));
  EXPECT_EQ(store->newest_event_number().value(), 0);
  EXPECT_TRUE(store->pending(by_marts, {}, 10)->empty());
  // What an `after:` step says comes while the run goes on; the rest comes in the set of its end.
  ASSERT_EQ(turn(*store, {{materialized(published(1, 2, "early"))},
                          {materialized(published(1, 2, "late"), {by_marts}), succeeded(1, 2)},
                          {materialized(published(1, 2, "later"))}}),
            (Applied{true, true, false}));
  EXPECT_EQ(store->newest_event_number().value(), 2);
  EXPECT_EQ(store->find_run(run_id(1)).value()->state, RunState::succeeded);
}

TEST_P(DataTest, AClaimTiesDeliveriesToTheirRunOnce) {
  auto store = open();
  const auto one = event(1), three = event(3);
  auto two = event(2);
  two.run_id = run_id(99);  // whose step reported it
  two.depth = 4;
  turn(*store, {{materialized(one, {by_marts})}, {materialized(two, {by_marts})}, {materialized(three, {by_marts})}});
  EXPECT_EQ(
      turn(*store, {claimed(7, by_marts, {one, two}),
                    claimed(8, by_marts, {three, two}),  // one of them is taken
                    claimed(7, by_marts, {three}),       // the run is there
                    {model::DeliveriesClaimed{
                        by_marts, {model::delivery_id(by_marts, three.id), "none"}, run_id(9), "host/1", at(0)}}}),
      (Applied{true, false, false, false}));
  EXPECT_EQ(run(*store, 7), data_run(7, by_marts)) << "with its depth";
  EXPECT_EQ(store->find_run(run_id(7)).value(), data_run(7, by_marts));
  EXPECT_EQ(store->find_run(run_id(8)).value(), std::nullopt);
  auto expected = owed(two, by_marts);
  expected.event = 2;
  expected.event_run_id = run_id(99);
  expected.event_depth = 4;
  expected.state = DeliveryState::claimed;
  expected.run_id = run_id(7);
  expected.owner = "host/1";
  expected.claimed_at = at(107);
  EXPECT_EQ(delivery(*store, by_marts, two), expected);
  EXPECT_EQ(state(*store, by_marts, three), DeliveryState::pending);
  ASSERT_TRUE(apply_one(*store, {claim(7, 1)}));
  expected.attempts = 1;
  EXPECT_EQ(store->deliveries_of(run_id(7))->at(1), expected);
  const auto events = store->events_of(run_id(7), 1 << 20).value();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].id, one.id);
  EXPECT_EQ(events[1].id, two.id);
  EXPECT_EQ(events[1].number, 2);
  EXPECT_TRUE(store->deliveries_of(run_id(8))->empty());
  EXPECT_TRUE(store->deliveries_of("")->empty());
}

TEST_P(DataTest, ADeliveryFollowsItsRun) {
  auto store = open();
  int n = 0;
  for (const RunEvent event : model::all_run_events) {
    SCOPED_TRACE(model::to_text(event));
    ++n;
    const auto published = conformance::event(n);
    const auto others = conformance::event(100 + n);
    turn(*store, {{materialized(published, {by_marts, by_checks})}, {materialized(others, {by_marts})}});
    turn(*store, {claimed(n, by_marts, {published}), claimed(100 + n, by_marts, {others}), {claim(n, 1)}});
    const auto transition = model::next(RunState::running, event);
    const bool ends = transition && transition->sets_finished;
    auto expected = delivery(*store, by_marts, published);
    auto end = ended(n, 1, event, Outcome::failed);
    end.error = "exit code 1";
    apply_one(*store, {end});
    if (ends) {
      const bool delivered = transition->to == RunState::succeeded;
      expected.state = delivered ? DeliveryState::delivered : DeliveryState::failed;
      expected.finished_at = at(2000);
      expected.reason = delivered ? "" : transition->to == RunState::failed ? "RunFailed" : "RunCancelled";
      expected.error = delivered ? "" : "exit code 1";
    }
    EXPECT_EQ(delivery(*store, by_marts, published), expected);
    EXPECT_EQ(state(*store, by_checks, published), DeliveryState::pending) << "another trigger's";
    EXPECT_EQ(state(*store, by_marts, others), DeliveryState::claimed) << "another run's";
  }
}

TEST_P(DataTest, AQueuedRunThatIsCancelledFailsItsDeliveries) {
  auto store = open();
  const auto one = event(1), two = event(2);
  turn(*store, {{materialized(one, {by_marts})}, {materialized(two, {by_marts})}, claimed(1, by_marts, {one, two})});
  const model::QueuedCancelled cancel{run_id(1), "Expired", "waited for 5m", at(50)};
  EXPECT_EQ(turn(*store, {{cancel}, {cancel}}), (Applied{true, false}));
  const auto ended = store->deliveries_of(run_id(1)).value();
  ASSERT_EQ(ended.size(), 2u);
  for (const auto& delivery : ended) {
    EXPECT_EQ(delivery.state, DeliveryState::failed);
    EXPECT_EQ(delivery.reason, model::reason::run_cancelled);
    EXPECT_EQ(delivery.error, "waited for 5m");
    EXPECT_EQ(delivery.finished_at, at(50));
  }
  EXPECT_EQ(store->first_failed(by_marts).value()->event, 1);
  EXPECT_EQ(store->first_failed(by_checks).value(), std::nullopt);
}

TEST_P(DataTest, ARestartedRunTakesItsFailedDeliveriesAlong) {
  auto store = open();
  const auto one = event(1), two = event(2);
  turn(*store, {{materialized(one, {by_marts})}, {materialized(two, {by_marts})}, claimed(1, by_marts, {one, two})});
  turn(*store, {{claim(1, 1)},
                {ended(1, 1, RunEvent::retry, Outcome::failed)},
                {claim(1, 2)},
                {model::CancelAsked{run_id(1), "Requested", at(1)}}});
  auto restarted = run(*store, 1);
  restarted.state = RunState::queued;
  restarted.failures = 0;
  restarted.cancel_asked_at = std::nullopt;
  restarted.not_before = at(3000);
  restarted.reason = model::reason::retried;
  EXPECT_FALSE(apply_one(*store, {model::RunRestarted{restarted, "host/2", at(3000)}})) << "it runs";
  turn(*store, {{ended(1, 2, RunEvent::fail, Outcome::crashed)},
                {model::DeliveriesSkipped{by_marts,
                                          {model::delivery_id(by_marts, one.id)},
                                          DeliveryState::failed,
                                          model::reason::skipped_by_person,
                                          "not needed",
                                          at(2500)}}});
  auto expected = delivery(*store, by_marts, two);
  ASSERT_EQ(expected.state, DeliveryState::failed);
  const model::RunRestarted restart{restarted, "host/2", at(3000)};
  EXPECT_EQ(turn(*store, {{restart}, {restart}}), (Applied{true, false}));
  EXPECT_EQ(run(*store, 1), restarted);
  expected.state = DeliveryState::claimed;
  expected.owner = "host/2";
  expected.claimed_at = at(3000);
  expected.finished_at = std::nullopt;
  expected.reason = expected.error = "";
  EXPECT_EQ(delivery(*store, by_marts, two), expected);
  EXPECT_EQ(state(*store, by_marts, one), DeliveryState::skipped) << "a person said so";
  EXPECT_EQ(run(*store, 1).state, model::RunState::queued);
  ASSERT_EQ(turn(*store, {{claim(1, 3)}, {succeeded(1, 3)}, {restart}}), (Applied{true, true, false}));
  EXPECT_EQ(state(*store, by_marts, two), DeliveryState::delivered);
  EXPECT_EQ(state(*store, by_marts, one), DeliveryState::skipped);
}

TEST_P(DataTest, OnlyWhatIsPendingOrFailedIsSkipped) {
  auto store = open();
  std::vector<model::Materialization> events;
  std::vector<std::string> ids;
  for (int n = 0; n < 5; ++n) {
    events.push_back(event(n));
    ids.push_back(model::delivery_id(by_marts, events.back().id));
    turn(*store, {{materialized(events.back(), {by_marts})}});
  }
  // Pending, pending, claimed, delivered, failed.
  turn(*store, {claimed(2, by_marts, {events[2]}),
                claimed(3, by_marts, {events[3]}),
                {claim(3, 1), succeeded(3, 1)},
                claimed(4, by_marts, {events[4]}),
                {claim(4, 1), ended(4, 1, RunEvent::fail, Outcome::failed)}});
  const auto skip = [&](std::vector<std::string> which, DeliveryState from) {
    return model::ChangeSet{
        model::DeliveriesSkipped{by_marts, std::move(which), from, "TriggerRemoved", "gone", at(9)}};
  };
  for (int from = 0; from < 5; ++from) {
    for (const int wrong : {2, 3}) {
      EXPECT_FALSE(apply_one(*store, skip({ids[static_cast<std::size_t>(wrong)]}, static_cast<DeliveryState>(from))));
    }
  }
  EXPECT_EQ(
      turn(*store, {skip({ids[0], ids[2]}, DeliveryState::pending), skip({ids[0], ids[1]}, DeliveryState::pending),
                    skip({ids[4]}, DeliveryState::failed), skip({ids[4]}, DeliveryState::failed),
                    skip({"none"}, DeliveryState::pending), skip({}, DeliveryState::pending)}),
      (Applied{false, true, true, false, false, true}));
  for (const int n : {0, 1, 4}) {
    const auto skipped = delivery(*store, by_marts, events[static_cast<std::size_t>(n)]);
    EXPECT_EQ(skipped.state, DeliveryState::skipped);
    EXPECT_EQ(skipped.reason, "TriggerRemoved");
    EXPECT_EQ(skipped.error, "gone");
    EXPECT_EQ(skipped.finished_at, at(9));
  }
  EXPECT_EQ(delivery(*store, by_marts, events[4]).run_id, run_id(4)) << "the run that failed stays its run";
}

TEST_P(DataTest, ATriggerIsPlacedAndReplaysThePastInPortions) {
  auto store = open();
  std::vector<model::Delivery> past;
  for (int n = 1; n <= 4; ++n) {
    auto one = event(n);
    turn(*store, {{materialized(one)}});
    one.number = n;
    past.push_back(owed(one, by_marts));
  }
  const model::TriggerReplayed first{by_marts, 0, 2, {past[0], past[1]}};
  const model::TriggerReplayed second{by_marts, 2, 4, {past[3]}};
  EXPECT_EQ(turn(*store, {{first},  // it is not placed yet
                          {model::TriggerPlaced{{by_marts, 0, 4}}},
                          {first},
                          {first},
                          {model::TriggerReplayed{by_marts, 2, 4, {past[2], past[1]}}},  // the second is there
                          {second},
                          {model::TriggerReplayed{by_marts, 2, 4, {}}}}),
            (Applied{false, true, true, false, false, true, false}));
  EXPECT_EQ(store->pending(by_marts, {}, 10).value(), (std::vector{past[0], past[1], past[3]}));
  EXPECT_EQ(store->load_open()->data.triggers, (std::vector{model::TriggerCursor{by_marts, 4, 4}}));
  turn(*store, {{model::TriggerPlaced{{by_marts, 7, 9}}}, {model::TriggerPlaced{{by_checks, 0, 0}}}});
  EXPECT_EQ(store->load_open()->data.triggers,
            (std::vector{model::TriggerCursor{by_checks, 0, 0}, model::TriggerCursor{by_marts, 7, 9}}));
}

TEST_P(DataTest, WhatIsPendingIsAskedForInCommitOrderAndByPartition) {
  auto store = open();
  ASSERT_TRUE(store->begin());
  for (int n = 0; n < 12; ++n) {
    const auto one = event(n, n % 2 == 0 ? "raw.a" : "raw.b", n % 3 == 0 ? "" : fmt::format("p{}", n % 3));
    ASSERT_TRUE(store->apply({materialized(one, {by_marts, by_checks})}).value());
  }
  ASSERT_TRUE(store->apply(claimed(1, by_marts, {event(0, "raw.a", "")})).value());
  // Inside the turn, which has committed none of it.
  const auto numbers = [&](const std::optional<std::string>& partition, int limit) {
    std::vector<std::int64_t> out;
    const auto found = store->pending(by_marts, partition, limit).value();
    for (const auto& one : found) out.push_back(one.event);
    return out;
  };
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(numbers({}, 3), (Numbers{2, 3, 4}));
  EXPECT_EQ(numbers("", 10), (Numbers{4, 7, 10}));
  EXPECT_EQ(numbers("p1", 10), (Numbers{2, 5, 8, 11}));
  EXPECT_EQ(numbers("p1", 1), (Numbers{2}));
  EXPECT_EQ(numbers("p9", 10), Numbers{});
  std::vector<std::string> groups;
  const auto found = store->pending_groups(by_marts).value();
  for (const auto& one : found) {
    groups.push_back(fmt::format("{}/{}: {} {} {}", one.partition, one.asset, one.count,
                                 (one.first_at - at(0)) / std::chrono::seconds(1),
                                 (one.last_at - at(0)) / std::chrono::seconds(1)));
  }
  EXPECT_EQ(groups, (std::vector<std::string>{"/raw.a: 1 6 6", "/raw.b: 2 3 9", "p1/raw.a: 2 4 10", "p1/raw.b: 2 1 7",
                                              "p2/raw.a: 2 2 8", "p2/raw.b: 2 5 11"}));
  EXPECT_TRUE(store->pending_groups("marts/other")->empty());
  const auto ids = store->delivery_ids(by_marts, DeliveryState::pending, 2).value();
  EXPECT_EQ(ids, (std::vector{model::delivery_id(by_marts, event(1, "raw.b", "p1").id),
                              model::delivery_id(by_marts, event(2, "raw.a", "p2").id)}));
  EXPECT_EQ(store->delivery_ids(by_marts, DeliveryState::claimed, 9)->size(), 1u);
  EXPECT_EQ(store->newest_of("raw.a", "p1").value()->number, 11);
  EXPECT_EQ(store->newest_of("raw.a", "p9").value(), std::nullopt);
  EXPECT_EQ(store->events_between(3, 6, 2)->size(), 2u);
  EXPECT_EQ(store->events_between(3, 6, 9)->front().number, 4);
  EXPECT_EQ(store->events_between(3, 6, 9)->back().number, 6);
  store->rollback();
  EXPECT_TRUE(numbers({}, 10).empty());
  EXPECT_EQ(store->newest_event_number().value(), 0);
  EXPECT_EQ(store->find_run(run_id(1)).value(), std::nullopt);
}

}  // namespace
}  // namespace eider::store::conformance
