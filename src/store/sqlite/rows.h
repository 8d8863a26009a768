// Rows as values of the model: the columns that a query must select, in order, and the reading of one row.
#pragma once

#include "model/asset.h"
#include "model/run.h"
#include "store/sqlite/connection.h"

namespace eider::store::sqlite {

inline constexpr const char* run_columns =
    "seq, id, pipeline, trigger_kind, trigger_id, occurrence_id, parent, state, attempt, failures, interruptions,"
    " priority, catch_up, scheduled_for, partition, params, idempotency_key, created_at, not_before, started_at,"
    " finished_at, cancel_asked_at, definition, reason, error, depth, kept";
inline constexpr const char* occurrence_columns =
    "seq, id, schedule, pipeline, scheduled_for, scheduled_until, count, timezone, offset_s, shifted, decided_at,"
    " decision, reason, run_id, calendar";
inline constexpr const char* cursor_columns =
    "schedule, rule, decided_until, paused, note, paused_at, reason, resumed_at";
/// Of `runs AS r JOIN attempts AS a`.
inline constexpr const char* attempt_columns =
    "r.id, a.number, a.outcome, a.claimed_at, a.started_at, a.finished_at, a.worker_pid, a.exit_code, a.signal,"
    " a.peak_memory_bytes, a.definition, a.error, a.steps, a.taken";

inline constexpr const char* materialization_columns =
    "number, id, asset, partition, source, pipeline, run_id, attempt, definition, said_by, committed_at, rows, bytes,"
    " columns, fingerprint, unchanged, metadata, depth";
/// A query of deliveries AS d by this index; what belongs to the event and to the run is looked up, a row of each.
std::string deliveries_where(std::string_view index, std::string_view where);
inline constexpr const char* trigger_columns = "trigger, replayed_to, replay_until";

/// `corrupt` where a number is none of its enumeration's.
Result<model::Run> read_run(const Rows& row);
Result<model::Occurrence> read_occurrence(const Rows& row);
Result<model::Attempt> read_attempt(const Rows& row);
Result<model::Cursor> read_cursor(const Rows& row);
Result<model::Materialization> read_materialization(const Rows& row);
/// A row of deliveries_where.
Result<model::Delivery> read_delivery(const Rows& row);
Result<model::TriggerCursor> read_trigger(const Rows& row);

/// Every row that is left, read by `read`.
template <typename T>
Result<std::vector<T>> read_all(Rows& rows, Result<T> (*read)(const Rows&)) {
  std::vector<T> out;
  while (true) {
    auto more = rows.next();
    if (!more) return more.error();
    if (!*more) return out;
    auto value = read(rows);
    if (!value) return value.error();
    out.push_back(std::move(*value));
  }
}

/// The first row, if there is one.
template <typename T>
Result<std::optional<T>> read_first(Rows& rows, Result<T> (*read)(const Rows&)) {
  auto more = rows.next();
  if (!more) return more.error();
  if (!*more) return std::optional<T>();
  auto value = read(rows);
  if (!value) return value.error();
  return std::optional<T>(std::move(*value));
}

/// A single column of text.
Result<std::string> read_text(const Rows& row);
/// A text, and how many there are of it.
Result<std::pair<std::string, std::int64_t>> read_count(const Rows& row);

}  // namespace eider::store::sqlite
