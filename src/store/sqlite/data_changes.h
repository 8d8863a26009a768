// What the changes about materializations, deliveries and triggers write, as changes.h does for the others.
#pragma once

#include <string>
#include <vector>

#include "model/change.h"
#include "store/sqlite/connection.h"

namespace eider::store::sqlite {

/// The writer's statements about them. Engine thread, inside its transaction.
class DataChanges {
 public:
  explicit DataChanges(Connection& connection);

  // False: the guard did not hold. Statements before that one may have written: the caller holds a savepoint.
  Result<bool> write(const model::AssetMaterialized& change);
  Result<bool> write(const model::TriggerPlaced& change);
  Result<bool> write(const model::TriggerReplayed& change);
  Result<bool> write(const model::DeliveriesClaimed& change);
  Result<bool> write(const model::DeliveriesSkipped& change);

  /// The claimed deliveries of a run that has ended as `state`, end with it.
  Result<void> follow_end(const std::string& run_id, model::RunState state, const std::string& error, Instant at);
  /// The failed deliveries of a run that is queued again are claimed again.
  Result<void> follow_restart(const std::string& run_id, const std::string& owner, Instant at);

 private:
  Result<bool> owe(const std::vector<model::Delivery>& owed, std::optional<std::int64_t> event);

  Connection& connection_;
  Statement runs_attempt_;
  Statement materialize_;
  Statement owe_;
  Statement place_trigger_;
  Statement move_trigger_;
  Statement claim_;
  Statement skip_;
  Statement end_;
  Statement claim_again_;
};

}  // namespace eider::store::sqlite
