// What the engine asks of materializations, deliveries and triggers, on the writer's connection.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace eider::store::sqlite {

/// The part of the Store that answers DataQueries, on the connection that it owns. Engine thread; inside a transaction
/// the answers have what was applied.
class DataStore : public Store {
 public:
  Result<std::optional<model::Materialization>> find_event(const std::string& id) override;
  Result<std::optional<model::Materialization>> newest_of(const std::string& asset,
                                                          const std::string& partition) override;
  Result<std::int64_t> newest_event_number() override;
  Result<std::vector<model::Materialization>> events_between(std::int64_t after, std::int64_t until,
                                                             int limit) override;
  Result<std::vector<model::Delivery>> pending(const std::string& trigger, const std::optional<std::string>& partition,
                                               int limit) override;
  Result<std::vector<PendingGroup>> pending_groups(const std::string& trigger) override;
  Result<std::optional<model::Delivery>> first_failed(const std::string& trigger) override;
  Result<std::vector<model::Delivery>> deliveries_of(const std::string& run_id) override;
  Result<std::vector<model::Materialization>> events_of(const std::string& run_id,
                                                        std::int64_t metadata_bytes) override;
  Result<std::optional<model::Delivery>> find_delivery(const std::string& id) override;
  Result<std::vector<std::string>> delivery_ids(const std::string& trigger, model::DeliveryState state,
                                                int limit) override;
  Result<std::optional<model::Run>> find_run(const std::string& id) override;
  Result<std::optional<model::Attempt>> newest_attempt(const std::string& run_id) override;

 protected:
  explicit DataStore(std::unique_ptr<Connection> connection);
  Result<OpenData> load_data();
  Connection& connection() { return *connection_; }

 private:
  std::unique_ptr<Connection> connection_;
  Statement find_event_;
  Statement newest_of_;
  Statement newest_number_;
  Statement events_between_;
  Statement pending_;
  Statement pending_of_partition_;
  Statement pending_groups_;
  Statement first_failed_;
  Statement deliveries_of_;
  Statement events_of_;
  Statement find_delivery_;
  Statement delivery_ids_;
  Statement find_run_;
  Statement newest_attempt_;
  Statement triggers_;
  Statement pending_counts_;
};

/// The texts of these queries, for the test that reads their plans.
namespace data_sql {
std::string newest_of();
std::string events_between();
std::string pending();
std::string pending_of_partition();
std::string pending_groups();
std::string first_failed();
std::string deliveries_of();
std::string events_of();
std::string delivery_ids();
std::string newest_attempt();
std::string pending_counts();
}  // namespace data_sql

}  // namespace eider::store::sqlite
