#include "store/sqlite/rows.h"

#include <fmt/format.h>

namespace eider::store::sqlite {
namespace {

/// The enumeration's value whose number the column holds; `last` is its greatest.
template <typename E>
Result<E> enumerated(const Rows& row, int column, E last, const char* what) {
  const std::int64_t number = row.number(column);
  if (number < 0 || number > static_cast<std::int64_t>(last)) {
    return Error{ErrorCode::corrupt, fmt::format("the store holds {} as {}, which is not one", number, what)};
  }
  return static_cast<E>(number);
}

}  // namespace

Result<model::Run> read_run(const Rows& row) {
  const auto trigger = enumerated(row, 3, model::TriggerKind::backfill, "the trigger of a run");
  if (!trigger) return trigger.error();
  const auto state = enumerated(row, 7, model::RunState::cancelled, "the state of a run");
  if (!state) return state.error();
  return model::Run{
      .id = row.text(1),
      .pipeline = row.text(2),
      .trigger = *trigger,
      .trigger_id = row.text(4),
      .occurrence_id = row.text(5),
      .parent = row.text(6),
      .depth = row.integer(25),
      .state = *state,
      .attempt = row.integer(8),
      .failures = row.integer(9),
      .interruptions = row.integer(10),
      .priority = row.integer(11),
      .catch_up = row.integer(12) != 0,
      .scheduled_for = row.maybe_instant(13),
      .partition = row.text(14),
      .params = row.text(15),
      .idempotency_key = row.text(16),
      .created_at = row.instant(17),
      .not_before = row.instant(18),
      .started_at = row.maybe_instant(19),
      .finished_at = row.maybe_instant(20),
      .cancel_asked_at = row.maybe_instant(21),
      .definition = row.text(22),
      .reason = row.text(23),
      .error = row.text(24),
      .kept = row.text(26),
  };
}

Result<model::Occurrence> read_occurrence(const Rows& row) {
  const auto decision = enumerated(row, 11, model::Decision::paused, "a decision");
  if (!decision) return decision.error();
  return model::Occurrence{
      .id = row.text(1),
      .schedule = row.text(2),
      .pipeline = row.text(3),
      .scheduled_for = row.instant(4),
      .scheduled_until = row.instant(5),
      .count = row.number(6),
      .timezone = row.text(7),
      .offset_s = row.integer(8),
      .shifted = row.integer(9) != 0,
      .decided_at = row.instant(10),
      .decision = *decision,
      .reason = row.text(12),
      .run_id = row.text(13),
      .calendar = row.text(14),
  };
}

Result<model::Attempt> read_attempt(const Rows& row) {
  model::Attempt attempt{
      .run_id = row.text(0),
      .number = row.integer(1),
      .outcome = std::nullopt,
      .claimed_at = row.instant(3),
      .started_at = row.maybe_instant(4),
      .finished_at = row.maybe_instant(5),
      .worker_pid = row.maybe_integer(6),
      .exit_code = row.maybe_integer(7),
      .signal = row.maybe_integer(8),
      .peak_memory_bytes = row.maybe_number(9),
      .definition = row.text(10),
      .error = row.text(11),
      .steps = row.text(12),
      .taken = {},
  };
  if (!row.is_null(2)) {
    const auto outcome = enumerated(row, 2, model::Outcome::released, "the outcome of an attempt");
    if (!outcome) return outcome.error();
    attempt.outcome = *outcome;
  }
  if (const std::string taken = row.text(13); !taken.empty()) {
    auto parsed = model::parse_taken(taken);
    if (!parsed) return parsed.error();
    attempt.taken = std::move(*parsed);
  }
  return attempt;
}

Result<model::Cursor> read_cursor(const Rows& row) {
  return model::Cursor{
      .schedule = row.text(0),
      .rule = row.text(1),
      .decided_until = row.instant(2),
      .paused = row.integer(3) != 0,
      .note = row.text(4),
      .paused_at = row.maybe_instant(5),
      .reason = row.text(6),
      .resumed_at = row.maybe_instant(7),
  };
}

Result<model::Materialization> read_materialization(const Rows& row) {
  const auto source = enumerated(row, 4, model::Source::watched, "the source of a materialization");
  if (!source) return source.error();
  return model::Materialization{
      .id = row.text(1),
      .number = row.number(0),
      .asset = row.text(2),
      .partition = row.text(3),
      .source = *source,
      .pipeline = row.text(5),
      .run_id = row.text(6),
      .attempt = row.integer(7),
      .definition = row.text(8),
      .said_by = row.text(9),
      .committed_at = row.instant(10),
      .rows = row.maybe_number(11),
      .bytes = row.maybe_number(12),
      .columns = row.text(13),
      .fingerprint = row.text(14),
      .unchanged = row.integer(15) != 0,
      .metadata = row.text(16),
      .depth = row.integer(17),
  };
}

std::string deliveries_where(std::string_view index, std::string_view where) {
  return fmt::format(
      "SELECT d.seq AS seq, d.id, d.trigger, d.pipeline, d.event AS event, d.asset, d.partition, d.state, d.run_id, "
      "d.owner,"
      " d.created_at, d.claimed_at, d.finished_at, d.reason, d.error, m.id, m.run_id, m.depth, r.attempt"
      " FROM deliveries AS d INDEXED BY {} LEFT JOIN materializations AS m ON m.number = d.event"
      " LEFT JOIN runs AS r ON r.id = d.run_id WHERE {}",
      index, where);
}

Result<model::Delivery> read_delivery(const Rows& row) {
  const auto state = enumerated(row, 7, model::DeliveryState::skipped, "the state of a delivery");
  if (!state) return state.error();
  return model::Delivery{
      .id = row.text(1),
      .trigger = row.text(2),
      .pipeline = row.text(3),
      .event = row.number(4),
      .event_id = row.text(15),
      .asset = row.text(5),
      .partition = row.text(6),
      .state = *state,
      .run_id = row.text(8),
      .attempts = row.integer(18),
      .event_run_id = row.text(16),
      .event_depth = row.integer(17),
      .owner = row.text(9),
      .created_at = row.instant(10),
      .claimed_at = row.maybe_instant(11),
      .finished_at = row.maybe_instant(12),
      .reason = row.text(13),
      .error = row.text(14),
  };
}

Result<model::TriggerCursor> read_trigger(const Rows& row) {
  return model::TriggerCursor{.trigger = row.text(0), .replayed_to = row.number(1), .replay_until = row.number(2)};
}

Result<std::string> read_text(const Rows& row) { return row.text(0); }

Result<std::pair<std::string, std::int64_t>> read_count(const Rows& row) {
  return std::pair(row.text(0), row.number(1));
}

}  // namespace eider::store::sqlite
