#include "store/sqlite/data_changes.h"

#include "base/check.h"
#include "model/transitions.h"

namespace eider::store::sqlite {
namespace {

using model::DeliveryEvent;
using model::DeliveryState;

constexpr int number(DeliveryState state) { return static_cast<int>(state); }

/// Where the table has an arrow, as it must for an event that the caller chose.
DeliveryState after(DeliveryState from, DeliveryEvent event) {
  const auto to = model::next(from, event);
  EIDER_CHECK(to.has_value(), "transitions.h knows this step of a delivery");
  return *to;
}

}  // namespace

DataChanges::DataChanges(Connection& c)
    : connection_(c),
      runs_attempt_(c, "SELECT 1 FROM runs WHERE id = ? AND state = ? AND attempt = ?"),
      materialize_(c,
                   "INSERT INTO materializations (id, asset, partition, source, pipeline, run_id, attempt,"
                   " definition, said_by, committed_at, rows, bytes, columns, fingerprint, unchanged, metadata, depth)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"),
      owe_(c,
           "INSERT INTO deliveries (id, trigger, pipeline, event, asset, partition, state, run_id, owner, created_at,"
           " reason, error) VALUES (?, ?, ?, ?, ?, ?, ?, '', '', ?, '', '') ON CONFLICT DO NOTHING"),
      place_trigger_(c,
                     "INSERT INTO triggers (trigger, replayed_to, replay_until) VALUES (?, ?, ?)"
                     " ON CONFLICT (trigger) DO UPDATE SET replayed_to = excluded.replayed_to,"
                     " replay_until = excluded.replay_until"),
      move_trigger_(c, "UPDATE triggers SET replayed_to = ? WHERE trigger = ? AND replayed_to = ?"),
      claim_(c, "UPDATE deliveries SET state = ?, run_id = ?, owner = ?, claimed_at = ? WHERE id = ? AND state = ?"),
      skip_(c, "UPDATE deliveries SET state = ?, finished_at = ?, reason = ?, error = ? WHERE id = ? AND state = ?"),
      end_(c,
           "UPDATE deliveries INDEXED BY deliveries_of_run SET state = ?, finished_at = ?, reason = ?, error = ?"
           " WHERE run_id = ? AND run_id <> '' AND state = ?"),
      claim_again_(c,
                   "UPDATE deliveries INDEXED BY deliveries_of_run SET state = ?, owner = ?, claimed_at = ?,"
                   " finished_at = NULL, reason = '', error = '' WHERE run_id = ? AND run_id <> '' AND state = ?") {}

Result<bool> DataChanges::write(const model::AssetMaterialized& change) {
  const model::Materialization& m = change.event;
  if (m.source == model::Source::run) {
    Rows fence(runs_attempt_, m.run_id, static_cast<int>(model::RunState::running), m.attempt);
    auto running = fence.next();
    if (!running || !*running) return running;
  }
  auto made = materialize_.execute(m.id, m.asset, m.partition, static_cast<int>(m.source), m.pipeline, m.run_id,
                                   m.attempt, m.definition, m.said_by, m.committed_at, m.rows, m.bytes, m.columns,
                                   m.fingerprint, m.unchanged, m.metadata, m.depth);
  if (!made) return made.error();
  if (*made == 0) return false;
  return owe(change.owed, connection_.last_row());
}

Result<bool> DataChanges::owe(const std::vector<model::Delivery>& owed, std::optional<std::int64_t> event) {
  for (const model::Delivery& d : owed) {
    EIDER_CHECK(d.state == DeliveryState::pending, "what comes to be owed is pending");
    auto made = owe_.execute(d.id, d.trigger, d.pipeline, event.value_or(d.event), d.asset, d.partition,
                             number(d.state), d.created_at);
    if (!made) return made.error();
    if (*made == 0) return false;
  }
  return true;
}

Result<bool> DataChanges::write(const model::TriggerPlaced& change) {
  const model::TriggerCursor& c = change.cursor;
  auto placed = place_trigger_.execute(c.trigger, c.replayed_to, c.replay_until);
  if (!placed) return placed.error();
  return true;
}

Result<bool> DataChanges::write(const model::TriggerReplayed& change) {
  auto moved = move_trigger_.execute(change.replayed_to, change.trigger, change.expected);
  if (!moved) return moved.error();
  if (*moved == 0) return false;
  return owe(change.owed, std::nullopt);
}

Result<bool> DataChanges::write(const model::DeliveriesClaimed& change) {
  EIDER_CHECK(!change.run_id.empty(), "a claim names the run that it makes");
  const DeliveryState to = after(DeliveryState::pending, DeliveryEvent::claim);
  for (const std::string& id : change.ids) {
    auto claimed =
        claim_.execute(number(to), change.run_id, change.owner, change.at, id, number(DeliveryState::pending));
    if (!claimed) return claimed.error();
    if (*claimed == 0) return false;
  }
  return true;
}

Result<bool> DataChanges::write(const model::DeliveriesSkipped& change) {
  const auto to = model::next(change.from, DeliveryEvent::skip);
  if (!to) return false;
  for (const std::string& id : change.ids) {
    auto skipped = skip_.execute(number(*to), change.at, change.reason, change.error, id, number(change.from));
    if (!skipped) return skipped.error();
    if (*skipped == 0) return false;
  }
  return true;
}

Result<void> DataChanges::follow_end(const std::string& run_id, model::RunState state, const std::string& error,
                                     Instant at) {
  const DeliveryState to = after(DeliveryState::claimed, model::delivery_event_of(state));
  const bool delivered = to == DeliveryState::delivered;
  const char* reason = delivered                             ? ""
                       : state == model::RunState::cancelled ? model::reason::run_cancelled
                                                             : model::reason::run_failed;
  auto ended = end_.execute(number(to), at, std::string_view(reason), delivered ? std::string_view() : error, run_id,
                            number(DeliveryState::claimed));
  if (!ended) return ended.error();
  return {};
}

Result<void> DataChanges::follow_restart(const std::string& run_id, const std::string& owner, Instant at) {
  auto claimed = claim_again_.execute(number(after(DeliveryState::failed, DeliveryEvent::retry)), owner, at, run_id,
                                      number(DeliveryState::failed));
  if (!claimed) return claimed.error();
  return {};
}

}  // namespace eider::store::sqlite
