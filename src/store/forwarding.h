// A store in front of another one, which does nothing of its own: what stands between the engine and its store (faults,
// books of what was committed) overrides the few calls that it is about.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace eider::store {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::unique_ptr<Store> behind) : behind_(std::move(behind)) {}

  Result<void> begin() override { return behind_->begin(); }
  Result<bool> apply(const model::ChangeSet& changes) override { return behind_->apply(changes); }
  Result<void> commit() override { return behind_->commit(); }
  void rollback() override { behind_->rollback(); }
  Result<OpenState> load_open() override { return behind_->load_open(); }
  Result<std::vector<model::Occurrence>> decided_after(const std::string& schedule, Instant after) override {
    return behind_->decided_after(schedule, after);
  }
  Result<std::vector<model::Run>> runs_of_schedule(const std::string& schedule, int limit) override {
    return behind_->runs_of_schedule(schedule, limit);
  }
  Result<std::optional<model::Attempt>> newest_attempt(const std::string& run_id) override {
    return behind_->newest_attempt(run_id);
  }
  Result<std::vector<RecordedStart>> starts_after(Instant after) override { return behind_->starts_after(after); }
  Result<std::optional<std::string>> run_of_key(const std::string& idempotency_key) override {
    return behind_->run_of_key(idempotency_key);
  }
  Result<std::unique_ptr<Reader>> reader() override { return behind_->reader(); }
  Result<bool> checkpoint_aside() override { return behind_->checkpoint_aside(); }
  Result<void> finish_checkpoint() override { return behind_->finish_checkpoint(); }

  Result<std::optional<model::Materialization>> find_event(const std::string& id) override {
    return behind_->find_event(id);
  }
  Result<std::optional<model::Materialization>> newest_of(const std::string& asset,
                                                          const std::string& partition) override {
    return behind_->newest_of(asset, partition);
  }
  Result<std::int64_t> newest_event_number() override { return behind_->newest_event_number(); }
  Result<std::vector<model::Materialization>> events_between(std::int64_t after, std::int64_t until,
                                                             int limit) override {
    return behind_->events_between(after, until, limit);
  }
  Result<std::vector<model::Delivery>> pending(const std::string& trigger, const std::optional<std::string>& partition,
                                               int limit) override {
    return behind_->pending(trigger, partition, limit);
  }
  Result<std::vector<PendingGroup>> pending_groups(const std::string& trigger) override {
    return behind_->pending_groups(trigger);
  }
  Result<std::optional<model::Delivery>> first_failed(const std::string& trigger) override {
    return behind_->first_failed(trigger);
  }
  Result<std::vector<model::Delivery>> deliveries_of(const std::string& run_id) override {
    return behind_->deliveries_of(run_id);
  }
  Result<std::vector<model::Materialization>> events_of(const std::string& run_id,
                                                        std::int64_t metadata_bytes) override {
    return behind_->events_of(run_id, metadata_bytes);
  }
  Result<std::optional<model::Delivery>> find_delivery(const std::string& id) override {
    return behind_->find_delivery(id);
  }
  Result<std::vector<std::string>> delivery_ids(const std::string& trigger, model::DeliveryState state,
                                                int limit) override {
    return behind_->delivery_ids(trigger, state, limit);
  }
  Result<std::optional<model::Run>> find_run(const std::string& id) override { return behind_->find_run(id); }

 protected:
  Store& behind() { return *behind_; }

 private:
  std::unique_ptr<Store> behind_;
};

}  // namespace eider::store
