// What one turn of the loop decides, as values. The store applies them in one transaction, the engine's memory
// applies the same values; nothing else changes either. Each says in its guard when it still may apply.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "model/asset.h"
#include "model/run.h"
#include "model/transitions.h"

namespace eider::model {

/// A schedule is new, or its rule changed: its cursor starts here, never in the past. Guard: none (upsert).
struct CursorPlaced {
  Cursor cursor;
};

/// Decisions about due instants, with the cursor they move to. Guard: the cursor still stands at `expected`.
/// An occurrence whose id is decided already is left as it is (I6), but for one thing: a row of `excluded` instants
/// grows when the new one begins with the same instant and reaches further.
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
  Instant at{};          ///< paused: since when; resumed: now
  std::string reason{};  ///< code, when it is paused
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
/// `released` leaves no row: it ran nothing and costs no attempt; its number stays used, as the fence. When the run
/// ends with it, its claimed deliveries end as transitions.h says (delivery_event_of), with the run's reason and error.
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

/// A queued run ends without running. Guard: state queued. Its deliveries end with it, as with AttemptEnded.
struct QueuedCancelled {
  std::string run_id;
  std::string reason;
  std::string error;
  Instant at{};
};

/// Data was published, and this is owed for it. Guard: no event with its id is there, and when a run published it
/// (source run) that run is running this attempt (I4): so in a set it stands before the AttemptEnded of its run.
struct AssetMaterialized {
  Materialization event;       ///< without number: the store gives it
  std::vector<Delivery> owed;  ///< pending, one a trigger; without event (the number)
};

/// A trigger is in force for the first time. Guard: none (upsert).
struct TriggerPlaced {
  TriggerCursor cursor;
};

/// `start: earliest`: events up to `replayed_to` have been looked at, and this is owed for them. Guard: the trigger's
/// replayed_to still is `expected`. `owed` is pending, and none of it is there.
struct TriggerReplayed {
  std::string trigger;
  std::int64_t expected = 0;
  std::int64_t replayed_to = 0;
  std::vector<Delivery> owed;
};

/// Deliveries of one trigger get a run; the same set holds its RunQueued. Guard: each of them is pending.
struct DeliveriesClaimed {
  std::string trigger;
  std::vector<std::string> ids;
  std::string run_id;
  std::string owner;
  Instant at{};
};

/// Deliveries of one trigger will have no run. Guard: each of them is pending or failed, as `from` says for all.
struct DeliveriesSkipped {
  std::string trigger;
  std::vector<std::string> ids;
  DeliveryState from = DeliveryState::pending;
  std::string reason;
  std::string error;
  Instant at{};
};

/// A person wants an ended run to be tried again: it is queued with a fresh budget, and its failed deliveries are
/// claimed again. `run` is the row as it will be. Guard: the run is failed or cancelled.
struct RunRestarted {
  Run run;
  std::string owner;
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
                            AttemptEnded, CancelAsked, QueuedCancelled, DefinitionStored, AssetMaterialized,
                            TriggerPlaced, TriggerReplayed, DeliveriesClaimed, DeliveriesSkipped, RunRestarted>;

/// Changes that hold together: all of them apply, or none (one savepoint).
using ChangeSet = std::vector<Change>;

}  // namespace eider::model
