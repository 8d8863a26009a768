// A store that remembers what is still to be done, and forgets what is over: a forecast lives through years and is
// asked about none of their runs. Every decision holds in it, because nobody else writes it and its clock is never set
// back. One thread.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace eider::sim {

class ForgetfulStore final : public store::Store {
 public:
  Result<void> begin() override { return {}; }
  Result<bool> apply(const model::ChangeSet& changes) override;
  Result<void> commit() override { return {}; }
  void rollback() override {}
  Result<store::OpenState> load_open() override { return store::OpenState{}; }
  Result<std::vector<model::Occurrence>> decided_after(const std::string&, Instant) override {
    return std::vector<model::Occurrence>();
  }
  Result<std::vector<model::Run>> runs_of_schedule(const std::string&, int) override {
    return std::vector<model::Run>();  // none fails
  }
  Result<std::vector<store::RecordedStart>> starts_after(Instant) override {
    return std::vector<store::RecordedStart>();  // asked for at the beginning, where nothing has started yet
  }
  Result<std::optional<model::Attempt>> newest_attempt(const std::string&) override {
    return std::optional<model::Attempt>();  // nobody retries
  }
  Result<std::optional<std::string>> run_of_key(const std::string&) override { return std::optional<std::string>(); }
  Result<std::unique_ptr<store::Reader>> reader() override {
    return Error{ErrorCode::not_found, "a forecast has no history"};
  }
  Result<bool> checkpoint_aside() override { return false; }
  Result<void> finish_checkpoint() override { return {}; }

  Result<std::optional<model::Materialization>> find_event(const std::string&) override {
    return std::optional<model::Materialization>();  // no run publishes twice
  }
  Result<std::optional<model::Materialization>> newest_of(const std::string&, const std::string&) override {
    return std::optional<model::Materialization>();  // whatever is published is new
  }
  Result<std::int64_t> newest_event_number() override { return events_; }
  Result<std::vector<model::Materialization>> events_between(std::int64_t, std::int64_t, int) override {
    return std::vector<model::Materialization>();
  }
  Result<std::vector<model::Delivery>> pending(const std::string& trigger, const std::optional<std::string>& partition,
                                               int limit) override;
  Result<std::vector<store::PendingGroup>> pending_groups(const std::string& trigger) override;
  Result<std::optional<model::Delivery>> first_failed(const std::string&) override {
    return std::optional<model::Delivery>();
  }
  Result<std::vector<model::Delivery>> deliveries_of(const std::string&) override {
    return std::vector<model::Delivery>();
  }
  Result<std::vector<model::Materialization>> events_of(const std::string&, std::int64_t) override {
    return std::vector<model::Materialization>();
  }
  Result<std::optional<model::Delivery>> find_delivery(const std::string&) override {
    return std::optional<model::Delivery>();
  }
  Result<std::vector<std::string>> delivery_ids(const std::string& trigger, model::DeliveryState state,
                                                int limit) override;
  Result<std::optional<model::Run>> find_run(const std::string&) override { return std::optional<model::Run>(); }

 private:
  void take(const std::string& trigger, const std::vector<std::string>& ids);

  std::int64_t events_ = 0;
  std::map<std::string, std::deque<model::Delivery>> pending_;  ///< by trigger, in commit order
};

}  // namespace eider::sim
