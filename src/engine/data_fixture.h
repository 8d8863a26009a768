// What tests of data triggers stand on: publishers, consumers, and what the store says of events and deliveries.
#pragma once

#include <gtest/gtest.h>

#include "engine/test_bench.h"

namespace eider::engine {

class Data : public ::testing::Test {
 protected:
  Data() { bench.options.owner = "here/1"; }

  void publisher(const std::string& name, const std::vector<std::string>& assets) {
    bench.add_pipeline(name, [&](model::Pipeline& p) {
      for (const std::string& asset : assets) {
        model::Publish publish;
        publish.asset = asset;
        p.publishes.push_back(publish);
      }
      p.max_active_runs = 0;
    });
  }
  void consumer(const std::string& name, const std::vector<std::string>& assets,
                const std::function<void(model::Trigger&)>& change = {},
                const std::function<void(model::Pipeline&)>& change_pipeline = {}) {
    bench.add_pipeline(name, [&](model::Pipeline& p) {
      model::Trigger trigger;
      trigger.id = "on";
      trigger.assets = assets;
      if (change) change(trigger);
      p.triggers = {trigger};
      if (change_pipeline) change_pipeline(p);
    });
  }
  void external(const std::string& asset) { bench.workspace_value.settings.assets[asset].name = asset; }

  std::string publish(const std::string& pipeline, const std::vector<std::string>& assets,
                      const std::string& content = "1") {
    std::string id = bench.start(pipeline, true).value();
    bench.workers->publish(id, assets, content);
    bench.settle();
    return id;
  }
  Result<Materialize::Answer> materialize(const std::string& asset, const std::string& partition = {},
                                          const std::string& key = {}, const std::string& fingerprint = {},
                                          const std::string& cause = {}) {
    std::optional<Result<Materialize::Answer>> answer;
    Materialize command;
    command.asset = asset;
    command.partition = partition;
    command.idempotency_key = key;
    command.fingerprint = fingerprint;
    command.cause_run_id = cause;
    command.asked_by = "test";
    command.reply = [&](const Result<Materialize::Answer>& result) { answer.emplace(result); };
    EXPECT_TRUE(bench.inbox->post(std::move(command)));
    bench.settle();
    return answer ? *answer : Result<Materialize::Answer>(Error{ErrorCode::unavailable, "no answer"});
  }
  template <typename Command>
  Result<std::vector<std::string>> change(const DeliverySelection& which) {
    std::optional<Result<std::vector<std::string>>> answer;
    Command command;
    command.which = which;
    command.asked_by = "test";
    command.reply = [&](const Result<std::vector<std::string>>& result) { answer.emplace(result); };
    EXPECT_TRUE(bench.inbox->post(std::move(command)));
    bench.settle();
    return answer ? *answer : Result<std::vector<std::string>>(Error{ErrorCode::unavailable, "no answer"});
  }

  /// Oldest first.
  std::vector<model::Delivery> deliveries() {
    auto page = bench.reader()->deliveries({}, 1000, "");
    EXPECT_TRUE(page.ok());
    std::reverse(page->items.begin(), page->items.end());
    return page->items;
  }
  std::vector<model::Materialization> events() {
    auto page = bench.reader()->materializations({}, 1000, "");
    EXPECT_TRUE(page.ok());
    std::reverse(page->items.begin(), page->items.end());
    return page->items;
  }
  std::vector<model::Run> runs_of(const std::string& pipeline) {
    std::vector<model::Run> out;
    for (model::Run& run : bench.runs()) {
      if (run.pipeline == pipeline) out.push_back(std::move(run));
    }
    return out;
  }
  const supervise::HandOff& handed_off(const std::string& run_id) {
    for (const auto& job : bench.workers->handed_off) {
      if (job.run_id == run_id) return job;
    }
    ADD_FAILURE() << run_id << " was not handed off";
    return bench.workers->handed_off.front();
  }

  TestBench bench;
};

}  // namespace eider::engine
