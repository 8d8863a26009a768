// What one turn of the loop decides, as values. The store applies them in one transaction, the engine's memory
// applies the same values; nothing else changes either. Each says in its guard when it still may apply.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/run.h"
#include "model/transitions.h"

namespace eider::model {

/// A schedule is new, or its rule changed: its cursor starts here, never in the past. Guard: none (upsert).
struct CursorPlaced {
  Cursor cursor;
};

/// Decisions about due instants, with the cursor they move to. Guard: the cursor still stands at `expected`.
/// An occurrence whose id is decided already is left as it is (I6).
struct OccurrencesDecided {
  std::string schedule;
  Instant expected_decided_until{};
  Instant decided_until{};
  std::vector<Occurrence> occurrences;
};

/// The clock was set back: the cursor moves back to `to`, and this schedule's missed, skipped, coalesced, paused
/// and excluded decisions later than `to` are withdrawn; `run` decisions stay for ever. Guard: none.
struct CursorWithdrawn {
  std::string schedule;
  Instant to{};
};

struct SchedulePaused {
  std::string schedule;
  bool paused = true;
  std::string note;
  Instant at{};
};

/// A run enters the queue. Guard: neither its id, its occurrence_id nor its idempotency_key is there (I6).
struct RunQueued {
  Run run;
};

/// Admission gave the run what it needs. Guard: state queued and attempt = number - 1 (I2, I3, I4).
struct RunClaimed {
  std::string run_id;
  int number = 0;  ///< of the new attempt
  Instant at{};
  std::string definition;
  Taken taken;
};

/// An attempt is over and its outcome is known. Guard: state running and attempt = number (I4). One that was
/// `released` leaves no row: it ran nothing and costs no attempt; its number stays used, as the fence.
struct AttemptEnded {
  Attempt attempt;  ///< run_id, number, outcome and what is known of its end
  RunEvent event = RunEvent::succeed;
  Instant at{};
  Instant not_before{};  ///< of a retry
  std::string reason;
  std::string error;
};

/// Somebody wants a running run to end; the worker is told after the commit. Guard: state running, not asked yet.
struct CancelAsked {
  std::string run_id;
  std::string reason;
  Instant at{};
};

/// A queued run ends without running. Guard: state queued.
struct QueuedCancelled {
  std::string run_id;
  std::string reason;
  std::string error;
  Instant at{};
};

/// A definition that a claim will name. Guard: none (the same hash is the same text).
struct DefinitionStored {
  std::string hash;
  std::string pipeline;
  std::string json;
  Instant at{};
};

using Change = std::variant<CursorPlaced, OccurrencesDecided, CursorWithdrawn, SchedulePaused, RunQueued, RunClaimed,
                            AttemptEnded, CancelAsked, QueuedCancelled, DefinitionStored>;

/// Changes that hold together: all of them apply, or none (one savepoint).
using ChangeSet = std::vector<Change>;

}  // namespace eider::model
