// What stands in for the loop and the store in a command without a server: the same questions, answered from the
// workspace's files and the store.
#pragma once

#include "base/clock.h"
#include "engine/inbox.h"
#include "store/store.h"
#include "timing/rule.h"
#include "wire/layout.h"
#include "workspace/load.h"

namespace eider::api {

/// The store of a workspace that was never served: nothing is in it.
class EmptyReader final : public store::Reader {
 public:
  Result<store::Page<model::Run>> runs(const store::RunFilter&, int, const std::string&) override {
    return store::Page<model::Run>{};
  }
  Result<std::optional<model::Run>> run(const std::string&) override { return std::optional<model::Run>{}; }
  Result<std::vector<std::string>> run_ids(const std::string&) override { return std::vector<std::string>{}; }
  Result<std::vector<model::Attempt>> attempts(const std::string&) override { return std::vector<model::Attempt>{}; }
  Result<store::Page<model::Occurrence>> occurrences(const store::OccurrenceFilter&, int, const std::string&) override {
    return store::Page<model::Occurrence>{};
  }
  Result<std::vector<model::Cursor>> cursors() override { return std::vector<model::Cursor>{}; }
  Result<std::optional<model::Cursor>> cursor(const std::string&) override { return std::optional<model::Cursor>{}; }
  Result<std::optional<std::string>> definition(const std::string&) override { return std::optional<std::string>{}; }
  Result<std::vector<model::Attempt>> live_attempts() override { return std::vector<model::Attempt>{}; }
  Result<store::Page<model::Materialization>> materializations(const store::MaterializationFilter&, int,
                                                               const std::string&) override {
    return store::Page<model::Materialization>{};
  }
  Result<std::optional<model::Materialization>> materialization(const std::string&) override {
    return std::optional<model::Materialization>{};
  }
  Result<std::optional<model::Materialization>> newest_of(const std::string&) override {
    return std::optional<model::Materialization>{};
  }
  Result<std::vector<std::string>> materialized_assets() override { return std::vector<std::string>{}; }
  Result<store::Page<model::Delivery>> deliveries(const store::DeliveryFilter&, int, const std::string&) override {
    return store::Page<model::Delivery>{};
  }
  Result<std::optional<model::Delivery>> delivery(const std::string&) override {
    return std::optional<model::Delivery>{};
  }
  Result<std::optional<model::Occurrence>> occurrence_of_run(const std::string&) override {
    return std::optional<model::Occurrence>{};
  }
  Result<std::optional<model::Occurrence>> occurrence(const std::string&) override {
    return std::optional<model::Occurrence>{};
  }
  Result<std::vector<Named>> ids(const std::string&) override { return std::vector<Named>{}; }
  Result<std::vector<std::pair<std::string, std::int64_t>>> pending_counts() override {
    return std::vector<std::pair<std::string, std::int64_t>>{};
  }
};

/// One thread.
class Offline {
 public:
  /// `workspace` null: nothing is known of its files. `files_error`: why they cannot be used; empty: they can. What is
  /// given outlives this object.
  Offline(const workspace::Workspace* workspace, std::string files_error, store::Reader& reader, const Clock* clock,
          wire::Layout layout)
      : workspace_(workspace),
        files_error_(std::move(files_error)),
        reader_(reader),
        clock_(clock),
        layout_(std::move(layout)) {}

  /// Replies at once to a question. `no_server`: the command would change something, which only a server may;
  /// `invalid`: the question is about files that cannot be used.
  Result<void> answer(engine::Command command);

 private:
  std::vector<engine::ScheduleView> schedules(const std::optional<std::string>& key);
  std::optional<Instant> next_after_completion(const timing::Rule& rule, const engine::ScheduleView& view,
                                               const model::Cursor* cursor);
  std::vector<engine::TriggerView> triggers(const std::optional<std::string>& key);
  std::shared_ptr<const workspace::Workspace> files() const;
  std::vector<engine::PipelineView> pipelines();
  engine::LimitsView pools();
  engine::StatusView status();
  std::vector<engine::LiveRun> live(const std::vector<std::string>& run_ids);
  std::vector<engine::Waiting> waiting_for(const model::Run& run);
  std::string no_server() const;

  const workspace::Workspace* workspace_;
  std::string files_error_;
  store::Reader& reader_;
  const Clock* clock_;
  wire::Layout layout_;
};

}  // namespace eider::api
