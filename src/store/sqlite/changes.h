// What each change of model/change.h writes. One function a change; its guard is in the WHERE of its first
// statement, with the state that transitions.h expects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/change.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/data_changes.h"

namespace eider::store::sqlite {

/// The writer's statements. Lives on the writer's connection, inside its transaction; engine thread.
class Changes {
 public:
  explicit Changes(Connection& connection);

  /// False: the guard did not hold. Statements before that one may have written: the caller holds a savepoint.
  Result<bool> apply(const model::Change& change);
  /// What was applied since the last commit may be gone.
  void forget() { found_.clear(); }

 private:
  Result<bool> write(const model::CursorPlaced& change);
  Result<bool> write(const model::OccurrencesDecided& change);
  Result<bool> write(const model::Occurrence& occurrence);
  Result<bool> write(const model::CursorWithdrawn& change);
  Result<bool> write(const model::SchedulePaused& change);
  Result<bool> write(const model::RunQueued& change);
  Result<bool> write(const model::RunClaimed& change);
  Result<bool> write(const model::AttemptEnded& change);
  Result<bool> write(const model::CancelAsked& change);
  Result<bool> write(const model::QueuedCancelled& change);
  Result<bool> write(const model::RunRestarted& change);
  Result<bool> write(const model::DefinitionStored& change);
  /// The row's number, by which its attempts are found, and whether deliveries follow it.
  struct FoundRun {
    std::int64_t seq = 0;
    bool made_for_data = false;
  };
  Result<std::optional<FoundRun>> find_run(const std::string& id);

  /// Of runs that this connection has queued or found, until they have ended: each is claimed and ended by the number.
  std::unordered_map<std::string, FoundRun> found_;
  Connection& connection_;
  DataChanges data_;

  Statement place_cursor_;
  Statement move_cursor_;
  Statement set_back_cursor_;
  Statement pause_;
  Statement decide_;
  Statement withdraw_later_;
  Statement withdraw_straddling_;
  Statement find_run_;
  Statement queue_run_;
  Statement claim_run_;
  Statement open_attempt_;
  Statement end_run_;
  Statement close_attempt_;
  Statement drop_attempt_;
  Statement ask_cancel_;
  Statement cancel_queued_;
  Statement restart_run_;
  Statement store_definition_;
};

/// What a claim runs, for the test that reads its plan.
std::vector<std::string> claim_queries();

}  // namespace eider::store::sqlite
