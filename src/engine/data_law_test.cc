// The laws of data triggers, under a random life with crashes: every event is owed to everybody who asks for it, once;
// a delivery has one run and follows it; memory is what a fresh load says; and in the end nothing is left undone.
#include <gtest/gtest.h>
#include <set>

#include "engine/data_fixture.h"

namespace eider::engine {
namespace {

using model::DeliveryState;
using model::Outcome;
using model::RunState;
using model::Trigger;
using namespace std::chrono_literals;

class DataLaws : public Data, public ::testing::WithParamInterface<unsigned> {
 protected:
  DataLaws() : random_(GetParam()) {
    external("raw.x");
    external("raw.y");
    publisher("maker", {"raw.x", "raw.y"});
    const auto retries = [](model::Pipeline& p) { p.retry.max_attempts = 2; };
    consumer("plain", {"raw.x"}, {}, retries);
    consumer(
        "wide", {"raw.?"}, [](Trigger& t) { t.same_partition = true; },
        [](model::Pipeline& p) { p.max_active_runs = 3; });
    consumer("batch", {"raw.*"}, [](Trigger& t) { t.batch = true; });
    consumer("strict", {"raw.y"}, [](Trigger& t) { t.order = Trigger::Order::strict; });
    consumer(
        "both", {"raw.x", "raw.y"}, [](Trigger& t) { t.match = Trigger::Match::all; }, retries);
    consumer("quiet", {"raw.x"}, [](Trigger& t) {
      t.debounce = 20s;
      t.max_wait = 60s;
    });
    consumer("middle", {"raw.x"}, {}, [](model::Pipeline& p) { p.publishes = {{"mid.z", "", "", "", false}}; });
    consumer("end", {"mid.z"});
    bench.workspace_value.settings.max_workers = 5;
    bench.boot();
  }

  bool coin(unsigned of) { return random_.next() % of == 0; }
  std::string any_busy() {
    auto at = bench.workers->busy.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.next() % bench.workers->busy.size()));
    return at->first;
  }
  void succeed(const std::string& id) {
    const std::string pipeline = bench.row(id).pipeline;
    const std::string content = std::to_string(random_.next() % 5);
    if (pipeline == "maker") {
      bench.workers->publish(id, {coin(2) ? "raw.x" : "raw.y"}, content);
    } else if (pipeline == "middle") {
      bench.workers->publish(id, {"mid.z"}, content);
    } else {
      bench.workers->over(id, Outcome::succeeded);
    }
    bench.settle();
  }
  void something() {
    switch (random_.next() % 8) {
      case 0:
        EXPECT_TRUE(
            materialize(coin(2) ? "raw.x" : "raw.y", coin(3) ? "eu" : "", std::to_string(random_.next() % 40)).ok());
        break;
      case 1:
        EXPECT_TRUE(bench.start("maker", true).ok());
        break;
      case 2:
        bench.advance(Micros(static_cast<std::int64_t>(random_.next() % 30) * 1'000'000));
        break;
      case 3:
        if (coin(3)) bench.crash_and_boot();
        break;
      case 4:
        if (!bench.workers->busy.empty()) {
          const std::string id = any_busy();
          if (coin(2))
            bench.workers->die(id, 9);
          else
            bench.workers->over(id, Outcome::failed);
          bench.settle();
        }
        break;
      case 5:
        person();
        break;
      default:
        if (!bench.workers->busy.empty()) succeed(any_busy());
    }
  }
  void person() {
    DeliverySelection which;
    which.state = DeliveryState::failed;
    if (coin(2)) retry();
    if (coin(4)) {
      EXPECT_TRUE(change<SkipDeliveries>(which).ok());
    }
    if (!bench.workers->busy.empty() && coin(4)) {
      EXPECT_TRUE(bench.cancel(any_busy()).ok());
    }
  }

  void check_memory() {
    State fresh;
    fresh.set_workspace(std::make_shared<workspace::Workspace>(bench.workspace_value));
    fresh.load(bench.store->load_open().value(), bench.clock.now());
    const Subscriptions& is = bench.loop->state().subscriptions();
    ASSERT_EQ(fresh.subscriptions().pending(), is.pending());
    ASSERT_EQ(fresh.subscriptions().cursors(), is.cursors());
    ASSERT_EQ(fresh.runs(), bench.loop->state().runs());
    for (const auto& [key, entry] : is.triggers()) {
      ASSERT_EQ(fresh.subscriptions().open_runs(key), is.open_runs(key)) << key;
    }
    check_limits(is);
  }
  /// What a person has retried stands outside a trigger's limit of open runs; nothing stands outside the pipeline's of
  /// running ones.
  void check_limits(const Subscriptions& is) {
    std::map<std::string, int> open;
    std::map<std::string, int> running;
    for (const auto& [id, run] : bench.loop->state().runs()) {
      if (!retried_.contains(id)) ++open[run.trigger_id];
      if (run.state == RunState::running) ++running[run.pipeline];
    }
    for (const auto& [key, entry] : is.triggers()) {
      const int most = entry.trigger().order == Trigger::Order::strict ? 1 : entry.pipeline->max_active_runs;
      ASSERT_LE(open[key], most) << key;
      ASSERT_LE(running[entry.pipeline->name], entry.pipeline->max_active_runs) << key;
    }
  }
  void retry() {
    DeliverySelection failed;
    failed.state = DeliveryState::failed;
    const auto answer = change<RetryDeliveries>(failed);
    ASSERT_TRUE(answer.ok());
    for (const std::string& id : *answer) retried_.insert(bench.reader()->delivery(id).value()->run_id);
  }
  void check_store() {
    std::map<std::string, model::Run> runs;
    for (model::Run& run : bench.runs()) runs[run.id] = run;
    const auto all = deliveries();
    std::set<std::pair<std::string, std::string>> owed;
    std::map<std::string, std::int64_t> newest_claimed;
    for (const model::Delivery& delivery : all) {
      ASSERT_TRUE(owed.emplace(delivery.trigger, delivery.event_id).second) << "twice";
      if (delivery.state == DeliveryState::pending) continue;
      if (delivery.state == DeliveryState::skipped && delivery.run_id.empty()) continue;
      ASSERT_TRUE(runs.contains(delivery.run_id));
      const model::Run& run = runs.at(delivery.run_id);
      ASSERT_EQ(run.trigger_id, delivery.trigger);
      ASSERT_EQ(delivery.state == DeliveryState::claimed, !model::is_terminal(run.state));
      ASSERT_EQ(delivery.state == DeliveryState::delivered, run.state == RunState::succeeded);
    }
    for (const model::Materialization& event : events()) {
      for (const TriggerEntry* entry : bench.loop->state().subscriptions().asking_for(event.asset, event.pipeline)) {
        ASSERT_TRUE(owed.contains({entry->key, event.id})) << event.asset << " is not owed to " << entry->key;
      }
    }
  }
  /// Everybody succeeds from now on, and what failed is tried again.
  void finish() {
    for (int i = 0; i < 2000; ++i) {
      retry();
      if (bench.workers->busy.empty()) bench.advance(70s);
      if (bench.workers->busy.empty()) return;
      succeed(any_busy());
    }
    FAIL() << "it never ends";
  }

  SeededRandom random_;
  std::set<std::string> retried_;  ///< runs that a person has had tried again
};

TEST_P(DataLaws, HoldThroughARandomLife) {
  for (int i = 0; i < 150; ++i) {
    something();
    check_memory();
    if (HasFatalFailure()) FAIL() << "step " << i;
  }
  check_store();
  finish();
  check_memory();
  check_store();
  for (const model::Delivery& delivery : deliveries()) {
    const bool waits_for_the_other = delivery.state == DeliveryState::pending && delivery.trigger == "both/on";
    EXPECT_TRUE(waits_for_the_other || delivery.state == DeliveryState::delivered ||
                delivery.state == DeliveryState::skipped)
        << delivery.trigger << " " << to_text(delivery.state);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DataLaws, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace eider::engine
