// What the store knows of assets, materializations, deliveries and triggers: the part of store.h that data triggers
// need. Same rules: the writer's queries run on the engine thread, inside a turn they see what it has applied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/asset.h"
#include "model/run.h"

namespace eider::store {

template <typename T>
struct Page;

struct MaterializationFilter {
  std::optional<std::string> asset{};  ///< at most one of asset, pipeline and run_id is set
  std::optional<std::string> pipeline{};
  std::optional<std::string> run_id{};
};
struct DeliveryFilter {
  std::optional<std::string>
      trigger{};  ///< `pipeline/id`; at most one of trigger, pipeline, event_id and run_id is set
  std::optional<std::string> pipeline{};
  std::optional<std::string> event_id{};
  std::optional<std::string> run_id{};
  std::optional<model::DeliveryState> state{};
};

/// Lists are newest first; the rules of Reader hold.
class DataReader {
 public:
  virtual ~DataReader() = default;
  virtual Result<Page<model::Materialization>> materializations(const MaterializationFilter& filter, int limit,
                                                                const std::string& cursor) = 0;
  virtual Result<std::optional<model::Materialization>> materialization(const std::string& id) = 0;
  /// The newest of an asset, whatever its partition.
  virtual Result<std::optional<model::Materialization>> newest_of(const std::string& asset) = 0;
  /// Every asset that has a materialization, in order of names; costs a step an asset, not an event.
  virtual Result<std::vector<std::string>> materialized_assets() = 0;
  virtual Result<Page<model::Delivery>> deliveries(const DeliveryFilter& filter, int limit,
                                                   const std::string& cursor) = 0;
  virtual Result<std::optional<model::Delivery>> delivery(const std::string& id) = 0;
  virtual Result<std::optional<model::Occurrence>> occurrence_of_run(const std::string& run_id) = 0;
  virtual Result<std::optional<model::Occurrence>> occurrence(const std::string& id) = 0;
  /// Ids of materializations, deliveries and occurrences that begin with `prefix` (at least 4 characters), at most two
  /// of each.
  struct Named {
    enum class Kind { run, materialization, delivery, occurrence } kind;
    std::string id;
  };
  virtual Result<std::vector<Named>> ids(const std::string& prefix) = 0;
  /// How many deliveries of each trigger are pending, by trigger.
  virtual Result<std::vector<std::pair<std::string, std::int64_t>>> pending_counts() = 0;
};

using model::PendingGroup;

/// The writer's queries. Each is found through an index that holds only what is still to be done, or by a key: its cost
/// does not grow with history.
class DataQueries {
 public:
  virtual ~DataQueries() = default;
  virtual Result<std::optional<model::Materialization>> find_event(const std::string& id) = 0;
  /// The newest of exactly this partition: what a republication is compared with.
  virtual Result<std::optional<model::Materialization>> newest_of(const std::string& asset,
                                                                  const std::string& partition) = 0;
  /// Number of the newest event; 0: there is none.
  virtual Result<std::int64_t> newest_event_number() = 0;
  /// Events with after < number <= until, oldest first.
  virtual Result<std::vector<model::Materialization>> events_between(std::int64_t after, std::int64_t until,
                                                                     int limit) = 0;
  /// Pending deliveries of the trigger in commit order; with a partition, only those of it.
  virtual Result<std::vector<model::Delivery>> pending(const std::string& trigger,
                                                       const std::optional<std::string>& partition, int limit) = 0;
  virtual Result<std::vector<PendingGroup>> pending_groups(const std::string& trigger) = 0;
  /// The failed delivery of the trigger that comes first in commit order (`order: strict`).
  virtual Result<std::optional<model::Delivery>> first_failed(const std::string& trigger) = 0;
  /// What a run was made for, in commit order: the deliveries, and the events of those that have not been skipped
  /// since.
  virtual Result<std::vector<model::Delivery>> deliveries_of(const std::string& run_id) = 0;
  /// Metadata comes with the first of them that hold no more than `metadata_bytes` together.
  virtual Result<std::vector<model::Materialization>> events_of(const std::string& run_id,
                                                                std::int64_t metadata_bytes) = 0;
  virtual Result<std::optional<model::Delivery>> find_delivery(const std::string& id) = 0;
  /// Ids of deliveries of a trigger in a state, in commit order.
  virtual Result<std::vector<std::string>> delivery_ids(const std::string& trigger, model::DeliveryState state,
                                                        int limit) = 0;
  virtual Result<std::optional<model::Run>> find_run(const std::string& id) = 0;
  virtual Result<std::optional<model::Attempt>> newest_attempt(const std::string& run_id) = 0;
};

/// What the engine loads at boot.
struct OpenData {
  std::vector<model::TriggerCursor> triggers;
  std::vector<std::pair<std::string, std::int64_t>> pending;  ///< by trigger, how many
};

}  // namespace eider::store
