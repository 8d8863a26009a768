// The truth. A narrow interface that says nothing of SQLite, so that another backend can stand behind it;
// store/conformance is the one suite that every backend must pass.
//
// One writer: the engine thread. A turn is begin(), apply() for each decision, commit(). Readers are separate
// objects with connections of their own and may be used by one other thread each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/change.h"
#include "model/run.h"
#include "store/data.h"

namespace eider::store {

/// What a page of a list holds: the items, and where the next page begins (none: that was the last).
template <typename T>
struct Page {
  std::vector<T> items;
  std::optional<std::string> next;
};

struct RunFilter {
  std::optional<std::string> pipeline;
  std::optional<model::RunState> state;
  bool open_only = false;  ///< queued or running
};
struct OccurrenceFilter {
  std::optional<std::string> schedule;  ///< `pipeline/id`, or a pipeline's name for all of its schedules
  std::optional<model::Decision> decision;
};

/// Queries of the API and the commands. Newest first; `limit` is 1 to 1000; `cursor` is a Page's `next`, and an
/// Error `invalid` when it is not. No query reads more rows than it returns, plus a bounded number (O-34).
class Reader : public DataReader {
 public:
  virtual Result<Page<model::Run>> runs(const RunFilter& filter, int limit, const std::string& cursor) = 0;
  virtual Result<std::optional<model::Run>> run(const std::string& id) = 0;
  /// Runs whose id begins with `prefix` (at least 4 characters), at most two: enough to say "ambiguous".
  virtual Result<std::vector<std::string>> run_ids(const std::string& prefix) = 0;
  virtual Result<std::vector<model::Attempt>> attempts(const std::string& run_id) = 0;
  virtual Result<Page<model::Occurrence>> occurrences(const OccurrenceFilter& filter, int limit,
                                                      const std::string& cursor) = 0;
  virtual Result<std::vector<model::Cursor>> cursors() = 0;
  virtual Result<std::optional<model::Cursor>> cursor(const std::string& schedule) = 0;
  virtual Result<std::optional<std::string>> definition(const std::string& hash) = 0;
  /// Live attempts, for pools and status.
  virtual Result<std::vector<model::Attempt>> live_attempts() = 0;
};

/// A claim that took pools: what the rates of these count.
struct RecordedStart {
  Instant at{};
  std::map<std::string, int> pools;
  bool operator==(const RecordedStart&) const = default;
};

/// What the engine loads at boot: everything that is not ended.
struct OpenState {
  std::vector<model::Cursor> cursors;
  std::vector<model::Run> runs;  ///< queued and running, oldest first
  std::vector<model::Attempt> live_attempts;
  std::vector<std::string> definitions;  ///< hashes that are stored already
  OpenData data;
};

/// The writer. What a set means, beside the guards in model/change.h:
/// - SchedulePaused and CursorWithdrawn do not apply where the schedule has no cursor.
/// - A decision is identified by (schedule, instant), from which its id is derived. One that is there already stays as
///   it is, and the rest of its set applies; but when the new one is `run` the set does not apply, because it brings a
///   run and that would be a second one (I6). A row of excluded instants grows: when both are `excluded`, the longer
///   one gives scheduled_until and count. So after the clock was set back, a set may step over an instant that has run,
///   by moving the cursor without a `run` for it; decided_after() says which these are.
/// - CursorWithdrawn withdraws every decision but `run` that reaches past `to`, also one about several instants that
///   begins before: the same set then decides its earlier part again, with OccurrencesDecided from `to` to `to`.
/// - AttemptEnded with an event that transitions.h does not know for a running attempt does not apply. A run that goes
///   back to the queue keeps started_at and cancel_asked_at.
/// - AttemptEnded, QueuedCancelled: where a run made for data ends, its claimed deliveries end with it, found through
///   an index by run.
/// - RunRestarted changes state, failures, interruptions, not_before, finished_at, cancel_asked_at, reason and error.
/// - AssetMaterialized gives the event the next number, and its deliveries that number.
/// A run with an occurrence_id has its scheduled_for, and enters as `queued` (checked).
class Store : public DataQueries {
 public:
  /// Opens the write transaction at once (never one that upgrades, O-28). `unavailable` when another process holds
  /// it: nothing was decided, try again by a timer.
  virtual Result<void> begin() = 0;
  /// Applies a set under a savepoint. True: applied. False: a guard did not hold, nothing of the set is applied
  /// (the set is stale: an old attempt's result, an occurrence decided before). After an Error the turn may be gone:
  /// then every later apply() and commit() says the same Error. Roll back and repeat the turn; a set that fails for a
  /// reason of its own spoils only itself from then on.
  virtual Result<bool> apply(const model::ChangeSet& changes) = 0;
  /// Durable when it returns ok. On an Error the transaction is gone and the caller's memory must be loaded again.
  virtual Result<void> commit() = 0;
  virtual void rollback() = 0;

  virtual Result<OpenState> load_open() = 0;
  /// Decisions about instants later than `after`, oldest first, with the one about several instants that begins
  /// before it and reaches past it. What the engine asks for when the clock was set back (see above).
  virtual Result<std::vector<model::Occurrence>> decided_after(const std::string& schedule, Instant after) = 0;

  /// The newest `limit` runs that a schedule's instants have made, ended or not, the newest instant first. Its plan
  /// uses an index by schedule and instant.
  virtual Result<std::vector<model::Run>> runs_of_schedule(const std::string& schedule, int limit) = 0;

  /// Recorded claims later than `after` that took pools, oldest first. It costs what it finds.
  virtual Result<std::vector<RecordedStart>> starts_after(Instant after) = 0;

  /// The run that an idempotency key has made, ended or not.
  virtual Result<std::optional<std::string>> run_of_key(const std::string& idempotency_key) = 0;

  /// A reader of its own connection, for another thread.
  virtual Result<std::unique_ptr<Reader>> reader() = 0;
  /// Moves committed pages into the main file when enough have gathered (called by the checkpointer thread, on a
  /// connection of its own); true when the writer should finish the remainder by finish_checkpoint().
  virtual Result<bool> checkpoint_aside() = 0;
  /// The writer's part of it. Engine thread, between two turns.
  virtual Result<void> finish_checkpoint() = 0;
};

/// How a store is opened.
struct StoreOptions {
  std::string path;    ///< state.db; `:memory:` for tests
  bool create = true;  ///< false: `not_found` when it is not there
  /// Makes room on the disk for the log of what is committed, 10 MiB, so that no commit has to. Where that can't be
  /// done at the moment, commits make it themselves, which is slower. For who writes much.
  bool reserve_log = false;
};

/// Opens or makes state.db (WAL, synchronous=FULL, busy_timeout 0) and migrates it by `user_version`. A damaged or
/// newer file is an Error `corrupt` and is never written. Implemented in store/sqlite.
Result<std::unique_ptr<Store>> open_sqlite_store(const StoreOptions& options);
/// A reader alone, for commands without a server; never makes or migrates a file.
Result<std::unique_ptr<Reader>> open_sqlite_reader(const std::string& path);

}  // namespace eider::store
