// What becomes of deliveries: with their runs, by a person's wish, and when their trigger is gone.
#include <gtest/gtest.h>

#include "engine/data_fixture.h"

namespace eider::engine {
namespace {

using model::DeliveryState;
using model::Outcome;
using model::RunState;
using model::Trigger;
using namespace std::chrono_literals;

TEST_F(Data, ADeliveryKeepsItsRunAcrossCrashesAndRetries) {
  external("raw.x");
  consumer("c", {"raw.x"}, {}, [](model::Pipeline& p) { p.retry.max_attempts = 2; });
  bench.boot();
  ASSERT_TRUE(materialize("raw.x").ok());
  const std::string run = deliveries()[0].run_id;
  bench.crash_and_boot();  // its worker died with the server
  EXPECT_EQ(bench.row(run).state, RunState::running);
  EXPECT_EQ(deliveries()[0].attempts, 2);
  EXPECT_EQ(runs_of("c").size(), 1u);
  bench.workers->over(run, Outcome::failed);
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::claimed) << "one attempt is left";
  bench.advance(1min);
  bench.workers->over(run, Outcome::failed);
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::failed);
  EXPECT_EQ(deliveries()[0].reason, model::reason::run_failed);
  EXPECT_EQ(deliveries()[0].error, "as the test says");
  // Retried by a person: the same delivery, the same run, a new attempt.
  DeliverySelection which;
  which.id = deliveries()[0].id;
  ASSERT_EQ(change<RetryDeliveries>(which).value(), std::vector<std::string>{which.id});
  EXPECT_EQ(deliveries()[0].state, DeliveryState::claimed);
  EXPECT_EQ(deliveries()[0].attempts, 4);
  EXPECT_EQ(runs_of("c").size(), 1u);
  EXPECT_FALSE(change<RetryDeliveries>(which).ok()) << "it is claimed";
  bench.workers->over(run, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::delivered);
}

TEST_F(Data, AFailedBatchIsRetriedTogether) {
  external("raw.x");
  consumer("c", {"raw.x"}, [](Trigger& t) {
    t.batch = true;
    t.debounce = 1s;
  });
  bench.boot();
  ASSERT_TRUE(materialize("raw.x").ok());
  ASSERT_TRUE(materialize("raw.x").ok());
  bench.advance(2s);
  const std::string run = deliveries()[0].run_id;
  bench.workers->over(run, Outcome::failed);
  bench.settle();
  DeliverySelection failed;
  failed.state = DeliveryState::failed;
  EXPECT_EQ(change<RetryDeliveries>(failed).value().size(), 2u);
  EXPECT_TRUE(change<RetryDeliveries>(failed).value().empty());
  for (const auto& delivery : deliveries()) {
    EXPECT_EQ(delivery.state, DeliveryState::claimed);
    EXPECT_EQ(delivery.run_id, run);
  }
  bench.workers->over(run, Outcome::succeeded);
  bench.settle();
  for (const auto& delivery : deliveries()) EXPECT_EQ(delivery.state, DeliveryState::delivered);
}

TEST_F(Data, WhatWasSkippedOfABatchIsNotInItsRetry) {
  external("raw.x");
  consumer("c", {"raw.x"}, [](Trigger& t) { t.debounce = 1s; });
  bench.boot();
  ASSERT_TRUE(materialize("raw.x").ok());
  ASSERT_TRUE(materialize("raw.x").ok());
  bench.advance(2s);
  bench.workers->over(deliveries()[0].run_id, Outcome::failed);
  bench.settle();
  DeliverySelection one;
  one.id = deliveries()[1].id;
  ASSERT_TRUE(change<SkipDeliveries>(one).ok());
  one.id = deliveries()[0].id;
  ASSERT_TRUE(change<RetryDeliveries>(one).ok());
  const auto& facts = bench.workers->handed_off.back().facts;
  EXPECT_EQ(facts.at("event_id"), deliveries()[0].event_id);
  EXPECT_EQ(facts.at("events").find(deliveries()[1].event_id), std::string::npos);
  bench.workers->over(deliveries()[0].run_id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::delivered);
  EXPECT_EQ(deliveries()[1].state, DeliveryState::skipped);
}

TEST_F(Data, WhatCanNotBeRetriedHidesNobody) {
  external("raw.x");
  for (const char* name : {"a", "b"}) {
    consumer(name, {"raw.x"}, [](Trigger& t) { t.debounce = 1s; });
  }
  bench.boot();
  for (int i = 0; i < 510; ++i) ASSERT_TRUE(materialize("raw.x").ok());
  bench.advance(2s);
  for (const char* name : {"a", "b"}) bench.workers->over(runs_of(name)[0].id, Outcome::failed);
  bench.settle();
  bench.workspace_value.pipelines.erase("a");
  ASSERT_TRUE(bench.inbox->post(Reload{[](const auto&) {}}));
  bench.settle();
  DeliverySelection failed;
  failed.state = DeliveryState::failed;
  EXPECT_EQ(change<RetryDeliveries>(failed).value().size(), 500u);
  EXPECT_EQ(runs_of("b")[0].state, RunState::running);
  failed.trigger = "a/on";
  EXPECT_EQ(change<RetryDeliveries>(failed).error().code, ErrorCode::conflict);
}

TEST_F(Data, ABatchIsToldAsMuchMetadataAsAWorkerCanTake) {
  external("raw.x");
  consumer("c", {"raw.x"}, [](Trigger& t) { t.debounce = 1s; });
  bench.boot();
  const std::string large = R"({"x":")" + std::string(60'000, 'y') + "\"}";
  for (int i = 0; i < 300; ++i) {
    Materialize command;
    command.asset = "raw.x";
    command.metadata = large;
    command.reply = [](const auto& answer) { EXPECT_TRUE(answer.ok()); };
    bench.inbox->post(std::move(command));
  }
  bench.settle();
  bench.advance(2s);
  const std::string events = bench.workers->handed_off.back().facts.at("events");
  EXPECT_LT(events.size(), 20u * 1024 * 1024);
  EXPECT_GT(events.size(), 15u * 1024 * 1024);
  EXPECT_NE(events.find(deliveries().back().event_id), std::string::npos) << "it is told of all of them";
}

TEST_F(Data, StrictOrderWaitsForTheFailedOne) {
  external("raw.x");
  consumer("c", {"raw.x"}, [](Trigger& t) { t.order = Trigger::Order::strict; });
  consumer("free", {"raw.x"});
  bench.boot();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(materialize("raw.x").ok());
  bench.workers->over(runs_of("c")[0].id, Outcome::failed);
  bench.workers->over(runs_of("free")[0].id, Outcome::failed);
  bench.settle();
  EXPECT_EQ(runs_of("c").size(), 1u);
  EXPECT_EQ(runs_of("free").size(), 2u) << "a failed one does not block the next";
  EXPECT_NE((bench.ask<AskTriggers, std::vector<TriggerView>>({"c/on", {}}))[0].waiting_for.find("strict"),
            std::string::npos);
  DeliverySelection which;
  which.trigger = "c/on";
  which.state = DeliveryState::failed;
  EXPECT_EQ(change<SkipDeliveries>(which).value().size(), 1u);
  EXPECT_EQ(runs_of("c").size(), 2u);
}

// O-35 for triggers.
TEST_F(Data, WhatIsOwedToARemovedTriggerEndsWithTheReason) {
  external("raw.x");
  consumer("c", {"raw.x"});
  bench.boot();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(materialize("raw.x").ok());
  bench.workspace_value.pipelines.erase("c");
  ASSERT_TRUE(bench.inbox->post(Reload{[](const auto&) {}}));
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::claimed) << "what runs ends as it ends";
  for (std::size_t i : {1u, 2u}) {
    EXPECT_EQ(deliveries()[i].state, DeliveryState::skipped);
    EXPECT_EQ(deliveries()[i].reason, model::reason::trigger_removed);
  }
  bench.workers->over(deliveries()[0].run_id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::delivered);
  EXPECT_TRUE(bench.loop->state().subscriptions().pending().empty());
}

TEST_F(Data, WhatIsOwedToABrokenFileWaits) {
  external("raw.x");
  consumer("c", {"raw.x"});
  bench.boot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(materialize("raw.x").ok());
  const auto good = bench.workspace_value.pipelines.at("c");
  bench.workspace_value.pipelines.erase("c");
  bench.workspace_value.broken["pipelines/c.yaml"] = {"c", "x"};
  ASSERT_TRUE(bench.inbox->post(Reload{[](const auto&) {}}));
  bench.settle();
  EXPECT_EQ(deliveries()[1].state, DeliveryState::pending);
  const auto views = bench.ask<AskTriggers, std::vector<TriggerView>>({"c/on", {}});
  ASSERT_EQ(views.size(), 1u);
  EXPECT_NE(views[0].waiting_for.find("file is wrong"), std::string::npos) << views[0].waiting_for;
  bench.workspace_value.pipelines["c"] = good;
  bench.workspace_value.broken.clear();
  ASSERT_TRUE(bench.inbox->post(Reload{[](const auto&) {}}));
  bench.workers->over(deliveries()[0].run_id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(deliveries()[1].state, DeliveryState::claimed);
}

}  // namespace
}  // namespace eider::engine
