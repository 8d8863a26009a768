// Data triggers through the loop: what is published is owed once, delivered once, and waits for nobody else's run.
#include <gtest/gtest.h>

#include "engine/data_fixture.h"

namespace eider::engine {
namespace {

using model::DeliveryState;
using model::Outcome;
using model::RunState;
using model::Trigger;
using namespace std::chrono_literals;

TEST_F(Data, WhatARunPublishesIsClaimedInTheSameTurn) {
  publisher("a", {"raw.x"});
  consumer("b", {"raw.x"});
  bench.boot();
  const std::string id = bench.start("a").value();
  bench.workers->publish(id, {"raw.x"});
  bench.loop->turn();
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(events()[0].run_id, id);
  ASSERT_EQ(deliveries().size(), 1u);
  const model::Delivery delivery = deliveries()[0];
  EXPECT_EQ(delivery.state, DeliveryState::claimed);
  EXPECT_EQ(delivery.owner, "here/1");
  EXPECT_EQ(delivery.event_id, events()[0].id);
  const model::Run run = bench.row(delivery.run_id);
  EXPECT_EQ(run.state, RunState::running);
  EXPECT_EQ(run.trigger, model::TriggerKind::data);
  EXPECT_EQ(run.trigger_id, "b/on");
  EXPECT_EQ(run.parent, id);
  EXPECT_EQ(run.depth, 1);
  const auto& facts = handed_off(run.id).facts;
  EXPECT_EQ(facts.at("event_asset"), "raw.x");
  EXPECT_EQ(facts.at("event_run"), id);
  EXPECT_NE(facts.at("events").find(delivery.event_id), std::string::npos);
  bench.workers->over(run.id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(deliveries()[0].state, DeliveryState::delivered);
  EXPECT_EQ(bench.loop->state().subscriptions().open_runs("b/on"), 0);
}

TEST_F(Data, FailedCancelledAndLateRunsPublishNothing) {
  publisher("a", {"raw.x"});
  consumer("b", {"raw.x"});
  bench.boot();
  std::vector<wire::Publication> said(1);
  said[0].asset = "raw.x";
  const std::string failed = bench.start("a").value();
  bench.workers->over(failed, 1, Outcome::failed, said);
  bench.settle();
  const std::string cancelled = bench.start("a").value();
  bench.workers->obeys_cancel = false;
  ASSERT_TRUE(bench.cancel(cancelled).ok());
  bench.workers->over(cancelled, 1, Outcome::cancelled, said);
  bench.settle();
  const std::string late = bench.start("a").value();
  bench.workers->over(late, 7, Outcome::succeeded, said);  // an attempt that never was
  bench.settle();
  EXPECT_TRUE(events().empty());
  EXPECT_TRUE(deliveries().empty());
}

// O-37, one run per event: what arrives during a run waits, and needs no further event.
TEST_F(Data, EventsThatArriveDuringARunAreDeliveredOneByOne) {
  publisher("a", {"raw.x"});
  consumer("c", {"raw.x"});
  bench.boot();
  for (const char* content : {"1", "2", "3", "4"}) publish("a", {"raw.x"}, content);
  for (int i = 0; i < 4; ++i) {
    const auto runs = runs_of("c");
    ASSERT_EQ(runs.size(), static_cast<std::size_t>(i + 1)) << "one at a time";
    EXPECT_EQ(handed_off(runs.back().id).facts.at("event_id"), events()[static_cast<std::size_t>(i)].id) << "in order";
    bench.workers->over(runs.back().id, Outcome::succeeded);
    bench.settle();
  }
  EXPECT_EQ(runs_of("c").size(), 4u);
  for (const auto& delivery : deliveries()) EXPECT_EQ(delivery.state, DeliveryState::delivered);
}

// O-37, batch: run 1 = {1}, run 2 = {2, 3, 4}.
TEST_F(Data, ABatchFoldsWhatArrivedDuringARun) {
  publisher("a", {"raw.x"});
  consumer("c", {"raw.x"}, [](Trigger& t) { t.batch = true; });
  bench.boot();
  for (const char* content : {"1", "2", "3", "4"}) publish("a", {"raw.x"}, content);
  ASSERT_EQ(runs_of("c").size(), 1u);
  bench.workers->over(runs_of("c")[0].id, Outcome::succeeded);
  bench.settle();
  ASSERT_EQ(runs_of("c").size(), 2u);
  const std::string second = runs_of("c")[1].id;
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(deliveries()[i].run_id, second);
  bench.workers->over(second, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(runs_of("c").size(), 2u);
  for (const auto& delivery : deliveries()) EXPECT_EQ(delivery.state, DeliveryState::delivered);
}

TEST_F(Data, AllTakesWhatIsPendingOfEachAssetAndLeavesTheRest) {
  publisher("a", {"raw.x", "raw.y"});
  consumer("c", {"raw.*"}, [](Trigger& t) { t.match = Trigger::Match::all; });
  bench.boot();
  publish("a", {"raw.x"}, "1");
  publish("a", {"raw.x"}, "2");
  EXPECT_TRUE(runs_of("c").empty());
  const auto views = bench.ask<AskTriggers, std::vector<TriggerView>>({});
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].pending, 2);
  EXPECT_EQ(views[0].waiting_for, "waits for raw.y, of which nothing is pending");
  publish("a", {"raw.y"}, "3");
  ASSERT_EQ(runs_of("c").size(), 1u);
  publish("a", {"raw.x"}, "4");
  bench.workers->over(runs_of("c")[0].id, Outcome::succeeded);
  bench.settle();
  EXPECT_EQ(runs_of("c").size(), 1u) << "what arrived during the run counts next time";
  EXPECT_EQ(deliveries().back().state, DeliveryState::pending);
  publish("a", {"raw.y"}, "5");
  EXPECT_EQ(runs_of("c").size(), 2u);
}

TEST_F(Data, DebounceWaitsForQuiet) {
  external("raw.x");
  consumer("c", {"raw.x"}, [](Trigger& t) {
    t.debounce = 30s;
    t.max_wait = 100s;
  });
  bench.boot();
  ASSERT_TRUE(materialize("raw.x").ok());
  bench.advance(20s);
  ASSERT_TRUE(materialize("raw.x").ok());
  bench.advance(20s);
  EXPECT_TRUE(runs_of("c").empty()) << "something came 20 s ago";
  EXPECT_EQ(bench.loop->turn().wake_at, at("2026-01-01T10:00:50Z"));
  bench.advance(10s);
  ASSERT_EQ(runs_of("c").size(), 1u);
  EXPECT_EQ(deliveries()[0].run_id, deliveries()[1].run_id);
  bench.workers->over(runs_of("c")[0].id, Outcome::succeeded);
  bench.settle();
  for (int i = 0; i < 12; ++i) {  // never quiet
    ASSERT_TRUE(materialize("raw.x").ok());
    bench.advance(10s);
  }
  EXPECT_EQ(runs_of("c").size(), 2u) << "max_wait after the first of them";
}

TEST_F(Data, AChangedOnlyTriggerIsNotOwedTheSameContentAgain) {
  publisher("a", {"raw.x"});
  consumer("c", {"raw.x"}, [](Trigger& t) { t.changed_only = true; });
  bench.boot();
  publish("a", {"raw.x"}, "same");
  publish("a", {"raw.x"}, "same");
  publish("a", {"raw.x"}, "other");
  ASSERT_EQ(events().size(), 3u);
  EXPECT_FALSE(events()[0].unchanged);
  EXPECT_TRUE(events()[1].unchanged);
  EXPECT_FALSE(events()[2].unchanged);
  EXPECT_EQ(deliveries().size(), 2u);
}

/// A run that goes from A to B and back to A has changed the data three times.
TEST_F(Data, TheSameContentAfterAnotherIsNews) {
  publisher("a", {"raw.x"});
  bench.boot();
  const std::string id = bench.start("a").value();
  const auto early = [&](int attempt, const std::string& content) {
    wire::Publication one;
    one.asset = "raw.x";
    one.fingerprint = content;
    one.step = "step";
    bench.workers->events.emplace_back(supervise::AttemptPublished{{id, attempt, one}});
    bench.settle();
  };
  early(1, "A");
  early(1, "A");
  EXPECT_EQ(events().size(), 1u) << "told twice";
  publish("a", {"raw.x"}, "B");
  early(1, "A");
  EXPECT_EQ(events().size(), 2u) << "of the same attempt: told again, late";
  bench.crash_and_boot();
  early(2, "A");
  ASSERT_EQ(events().size(), 3u) << "another attempt has put A back";
  EXPECT_FALSE(events()[2].unchanged);
  early(2, "A");
  bench.crash_and_boot();
  early(3, "A");
  EXPECT_EQ(events().size(), 3u) << "a third attempt leaves it as the second did";
  bench.workers->publish(id, {"raw.x"}, "A");
  bench.settle();
  EXPECT_EQ(events().size(), 3u);
  publish("a", {"raw.x"}, "B");
  EXPECT_FALSE(events().back().unchanged) << "it was A";
}

TEST_F(Data, MetadataThatNobodyCanReadReachesNobody) {
  external("raw.x");
  publisher("a", {"raw.y"});
  consumer("c", {"raw.x", "raw.y"});
  bench.boot();
  for (const char* bad : {R"({"a":1e400})", "nojson", "[1]", R"({"a":[1,{"b":-1e999}]})"}) {
    std::optional<Result<Materialize::Answer>> answer;
    Materialize command;
    command.asset = "raw.x";
    command.metadata = bad;
    command.reply = [&](const Result<Materialize::Answer>& result) { answer.emplace(result); };
    bench.inbox->post(std::move(command));
    bench.settle();
    EXPECT_EQ(answer->error().code, ErrorCode::invalid) << bad;
    const std::string id = bench.start("a", true).value();
    wire::Publication forged;
    forged.asset = "raw.y";
    forged.fingerprint = bad;
    forged.metadata = bad;
    bench.workers->over(id, 1, Outcome::succeeded, {forged});
    bench.settle();
    EXPECT_EQ(events().back().metadata, "");
    bench.workers->over(runs_of("c").back().id, Outcome::succeeded);
    bench.settle();
  }
  EXPECT_EQ(events().size(), 4u);
}

TEST_F(Data, ANewTriggerIsOwedThePastOnlyWhenItAsksForIt) {
  external("raw.x");
  bench.boot();
  for (int i = 0; i < 450; ++i) ASSERT_TRUE(materialize("raw.x", {}, std::to_string(i)).ok());
  consumer("late", {"raw.x"});
  consumer("all", {"raw.x"}, [](Trigger& t) {
    t.start = Trigger::Start::earliest;
    t.batch = true;
  });
  bench.crash_and_boot();
  EXPECT_TRUE(runs_of("late").empty());
  ASSERT_EQ(runs_of("all").size(), 1u);
  EXPECT_EQ(deliveries().size(), 450u);
  for (const auto& delivery : deliveries()) EXPECT_EQ(delivery.run_id, runs_of("all")[0].id);
  ASSERT_TRUE(materialize("raw.x").ok());
  EXPECT_EQ(runs_of("late").size(), 1u);
  bench.crash_and_boot();
  EXPECT_EQ(deliveries().size(), 452u) << "once";
}

TEST_F(Data, WhatIsPublishedWhileAFileIsWrongIsOwedWhenItIsMended) {
  external("raw.x");
  consumer("now", {"raw.x"}, [](Trigger& t) { t.batch = true; });
  consumer("past", {"raw.x"}, [](Trigger& t) {
    t.start = Trigger::Start::earliest;
    t.batch = true;
  });
  bench.boot();
  ASSERT_TRUE(materialize("raw.x").ok());
  const auto good = bench.workspace_value.pipelines;
  for (const std::string& nameless : {std::string(), std::string("now")}) {
    bench.workspace_value.pipelines.clear();
    bench.workspace_value.broken = {{"pipelines/now.yaml", {nameless, "1"}}, {"pipelines/past.yaml", {"past", "1"}}};
    bench.crash_and_boot();
    const std::size_t before = deliveries().size();
    ASSERT_TRUE(materialize("raw.x").ok());
    ASSERT_TRUE(materialize("raw.x").ok());
    EXPECT_EQ(deliveries().size(), before) << "nobody can say who asks for it";
    bench.crash_and_boot();  // still wrong
    bench.workspace_value.pipelines = good;
    bench.workspace_value.broken.clear();
    ASSERT_TRUE(bench.inbox->post(Reload{[](const auto&) {}}));
    bench.settle();
    EXPECT_EQ(deliveries().size(), before + 4);
  }
  EXPECT_EQ(bench.loop->state().subscriptions().replaying(), std::nullopt);
}

TEST_F(Data, AReplayThatWasCutShortGoesOnInCommitOrder) {
  external("raw.x");
  bench.boot();
  for (int i = 0; i < 450; ++i) ASSERT_TRUE(materialize("raw.x", {}, std::to_string(i)).ok());
  consumer("all", {"raw.x"}, [](Trigger& t) { t.start = Trigger::Start::earliest; });
  ASSERT_TRUE(bench.inbox->post(Reload{[](const auto&) {}}));
  bench.loop->turn();
  EXPECT_EQ(bench.loop->state().subscriptions().pending("all/on"), 200);
  EXPECT_TRUE(runs_of("all").empty()) << "not before it has all of its past";
  bench.crash_and_boot();
  EXPECT_EQ(deliveries().size(), 450u);
  ASSERT_EQ(runs_of("all").size(), 1u);
  EXPECT_EQ(handed_off(runs_of("all")[0].id).facts.at("event_id"), events()[0].id);
}

TEST_F(Data, ASlowConsumerKeepsNobodyWaiting) {
  external("raw.x");
  consumer("slow", {"raw.x"});
  consumer("fast", {"raw.x"}, {}, [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(materialize("raw.x").ok());
    bench.workers->over(runs_of("fast").back().id, Outcome::succeeded);
    bench.settle();
  }
  EXPECT_EQ(runs_of("slow").size(), 1u);
  EXPECT_EQ(runs_of("fast").size(), 20u);
  bench.advance(1min);
  EXPECT_EQ(runs_of("fast").size(), 21u) << "its clock goes on";
  EXPECT_EQ(bench.loop->state().subscriptions().pending("slow/on"), 19);
}

TEST_F(Data, SlowConsumersLeaveAWorkerForTheClock) {
  external("raw.x");
  bench.workspace_value.settings.max_workers = 4;
  consumer("many", {"raw.x"}, {}, [](model::Pipeline& p) {
    p.max_active_runs = 0;
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].overlap = model::Overlap::allow;
  });
  bench.boot();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(materialize("raw.x").ok());
  EXPECT_EQ(bench.workers->busy.size(), 3u);
  std::string waits;
  for (const model::Run& run : runs_of("many")) {
    if (run.state == RunState::queued) waits = run.id;
  }
  AskLive ask;
  ask.run_ids = {waits};
  const auto view = bench.ask<AskLive, std::vector<LiveRun>>(std::move(ask));
  ASSERT_EQ(view[0].waiting_for.size(), 1u);
  EXPECT_NE(view[0].waiting_for[0].detail.find("kept for clocks"), std::string::npos) << view[0].waiting_for[0].detail;
  bench.advance(1min);
  EXPECT_EQ(bench.workers->busy.size(), 4u) << "the clock's run passes those that wait for data's share";
  EXPECT_EQ(bench.workers->handed_off.back().facts.at("trigger"), "schedule");
}

TEST_F(Data, ForeignEventsAreIdempotentByKey) {
  external("raw.x");
  consumer("c", {"raw.x"}, [](Trigger& t) { t.same_partition = true; });
  bench.boot();
  const auto first = materialize("raw.x", "2026-03", "upload 7");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->owed, 1);
  EXPECT_FALSE(first->repeated);
  const auto again = materialize("raw.x", "2026-03", "upload 7");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(again->id, first->id);
  EXPECT_EQ(events().size(), 1u);
  ASSERT_EQ(runs_of("c").size(), 1u);
  EXPECT_EQ(runs_of("c")[0].partition, "2026-03");
  const auto unknown = materialize("raw.y");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("did you mean raw.x?"), std::string::npos) << unknown.error().message;
  EXPECT_FALSE(materialize("raw.x", "../etc").ok());
}

TEST_F(Data, APartitionThatTheConsumerHasNotIsSkippedWithTheReason) {
  external("raw.x");
  consumer(
      "c", {"raw.x"}, [](Trigger& t) { t.same_partition = true; },
      [](model::Pipeline& p) {
        p.partitions.emplace();
        p.partitions->every = model::Partitions::Every::month;
      });
  bench.boot();
  ASSERT_TRUE(materialize("raw.x", "eu").ok());
  ASSERT_TRUE(materialize("raw.x").ok());
  ASSERT_TRUE(materialize("raw.x", "2026-03").ok());
  ASSERT_EQ(deliveries().size(), 3u);
  for (std::size_t i : {0u, 1u}) {
    EXPECT_EQ(deliveries()[i].state, DeliveryState::skipped);
    EXPECT_EQ(deliveries()[i].reason, model::reason::unknown_partition);
  }
  EXPECT_NE(deliveries()[0].error.find("like 2026-03"), std::string::npos) << deliveries()[0].error;
  ASSERT_EQ(runs_of("c").size(), 1u);
  EXPECT_EQ(runs_of("c")[0].partition, "2026-03");
}

TEST_F(Data, ARunIsRefusedAPartitionThatItsPipelineHasNot) {
  consumer("c", {}, {}, [](model::Pipeline& p) {
    p.partitions.emplace();
    p.partitions->names = {"eu", "us"};
  });
  bench.boot();
  const auto start = [&](const std::string& partition) {
    std::optional<Result<std::string>> answer;
    StartRun command;
    command.pipeline = "c";
    command.partition = partition;
    command.queue = true;
    command.reply = [&](const Result<std::string>& result) { answer.emplace(result); };
    EXPECT_TRUE(bench.inbox->post(std::move(command)));
    bench.settle();
    return answer->ok() ? std::string() : answer->error().message;
  };
  EXPECT_EQ(start("eu"), "");
  EXPECT_EQ(start(""), "");
  EXPECT_EQ(start("asia"), "pipeline \"c\" has no partition \"asia\"; it expects one of eu, us");
  EXPECT_NE(start("../etc").find("is not the name of a partition"), std::string::npos);
}

/// A loop that no validation can see: a step reports the asset that starts its own pipeline.
TEST_F(Data, AChainOfCausesIsBounded) {
  external("raw.x");
  consumer("c", {"raw.x"});
  bench.boot();
  ASSERT_TRUE(materialize("raw.x").ok());
  int turns = 0;
  for (; turns < 200 && runs_of("c").back().state == RunState::running; ++turns) {
    const std::string id = runs_of("c").back().id;
    ASSERT_TRUE(materialize("raw.x", {}, {}, {}, id).ok());
    bench.workers->over(id, Outcome::succeeded);
    bench.settle();
  }
  EXPECT_EQ(turns, decide::depth_limit);
  EXPECT_EQ(deliveries().back().state, DeliveryState::skipped);
  EXPECT_EQ(deliveries().back().reason, model::reason::chain_too_long);
  ASSERT_TRUE(materialize("raw.x").ok());
  EXPECT_EQ(runs_of("c").back().depth, 1) << "what has another cause goes on";
}

TEST_F(Data, PublishedBeforeItsEndIsOwedAtOnceAndOnce) {
  publisher("a", {"raw.x", "raw.y"});
  consumer("c", {"raw.x"});
  bench.boot();
  const std::string id = bench.start("a").value();
  wire::Publication early;
  early.asset = "raw.x";
  early.fingerprint = "1";
  early.step = "step";
  bench.workers->events.emplace_back(supervise::AttemptPublished{{id, 1, early}});
  bench.settle();
  ASSERT_EQ(deliveries().size(), 1u);
  EXPECT_EQ(bench.row(id).state, RunState::running);
  bench.workers->over(id, 1, Outcome::succeeded, {early});
  bench.settle();
  EXPECT_EQ(events().size(), 1u) << "the result names it as well";
  bench.workers->events.emplace_back(supervise::AttemptPublished{{id, 1, early}});
  bench.settle();
  EXPECT_EQ(events().size(), 1u) << "too late";
}

TEST_F(Data, WhatADeadAttemptHadPublishedIsRecordedWithItsEnd) {
  publisher("a", {"raw.x"});
  consumer("c", {"raw.x"});
  bench.boot();
  const std::string id = bench.start("a").value();
  supervise::AttemptOver dead;
  dead.run_id = id;
  dead.attempt = 1;
  dead.signal = 9;
  dead.published.resize(1);
  dead.published[0].asset = "raw.x";
  bench.workers->events.emplace_back(dead);
  bench.settle();
  EXPECT_EQ(bench.row(id).state, RunState::failed);
  ASSERT_EQ(events().size(), 1u);
  EXPECT_EQ(deliveries().size(), 1u);
}

}  // namespace
}  // namespace eider::engine
