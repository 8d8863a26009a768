#include "store/sqlite/data_queries.h"

#include <fmt/format.h>

#include "store/sqlite/rows.h"

namespace eider::store::sqlite {
namespace data_sql {
namespace {

std::string in_commit_order(const char* index, const char* where) {
  return deliveries_where(index, where) + " ORDER BY d.event";
}

}  // namespace

std::string newest_of() {
  return fmt::format(
      "SELECT {} FROM materializations INDEXED BY materializations_of_partition"
      " WHERE asset = ? AND partition = ? ORDER BY number DESC LIMIT 1",
      materialization_columns);
}

std::string events_between() {
  return fmt::format("SELECT {} FROM materializations WHERE number > ? AND number <= ? ORDER BY number LIMIT ?",
                     materialization_columns);
}

std::string pending() { return in_commit_order("deliveries_by_trigger", "d.state = 0 AND d.trigger = ?") + " LIMIT ?"; }

std::string pending_of_partition() {
  return in_commit_order("deliveries_pending_partition", "d.state = 0 AND d.trigger = ? AND d.partition = ?") +
         " LIMIT ?";
}

std::string pending_groups() {
  return "SELECT partition, asset, count(*), min(created_at), max(created_at) FROM deliveries"
         " INDEXED BY deliveries_pending_partition WHERE state = 0 AND trigger = ? GROUP BY partition, asset";
}

std::string first_failed() {
  return in_commit_order("deliveries_by_trigger", "d.state = 3 AND d.trigger = ?") + " LIMIT 1";
}

std::string deliveries_of() { return in_commit_order("deliveries_of_run", "d.run_id = ? AND d.run_id <> ''"); }

std::string events_of() {
  // The cross join keeps the order: SQLite never swaps its sides.
  return "SELECT m.number, m.id, m.asset, m.partition, m.source, m.pipeline, m.run_id, m.attempt, m.definition,"
         " m.said_by, m.committed_at, m.rows, m.bytes, m.columns, m.fingerprint, m.unchanged, m.metadata, m.depth,"
         " d.state FROM deliveries AS d INDEXED BY deliveries_of_run CROSS JOIN materializations AS m ON m.number = "
         "d.event"
         " WHERE d.run_id = ? AND d.run_id <> '' ORDER BY d.event";
}

std::string delivery_ids() {
  return "SELECT id FROM deliveries INDEXED BY deliveries_by_trigger WHERE trigger = ? AND state = ? ORDER BY event"
         " LIMIT ?";
}

std::string newest_attempt() {
  return fmt::format(
      "SELECT {} FROM runs AS r JOIN attempts AS a ON a.run = r.seq WHERE r.id = ? ORDER BY a.number DESC LIMIT 1",
      attempt_columns);
}

std::string pending_counts() {
  return "SELECT trigger, count(*) FROM deliveries INDEXED BY deliveries_by_trigger WHERE state = 0 GROUP BY trigger"
         " ORDER BY trigger";
}

}  // namespace data_sql

namespace {

constexpr int delivery_state_at = 18;  // the delivery's state, after the columns of its event

Result<PendingGroup> read_group(const Rows& row) {
  return PendingGroup{.partition = row.text(0),
                      .asset = row.text(1),
                      .count = row.number(2),
                      .first_at = row.instant(3),
                      .last_at = row.instant(4)};
}

}  // namespace

DataStore::DataStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)),
      find_event_(*connection_, fmt::format("SELECT {} FROM materializations WHERE id = ?", materialization_columns)),
      newest_of_(*connection_, data_sql::newest_of()),
      newest_number_(*connection_, "SELECT max(number) FROM materializations"),
      events_between_(*connection_, data_sql::events_between()),
      pending_(*connection_, data_sql::pending()),
      pending_of_partition_(*connection_, data_sql::pending_of_partition()),
      pending_groups_(*connection_, data_sql::pending_groups()),
      first_failed_(*connection_, data_sql::first_failed()),
      deliveries_of_(*connection_, data_sql::deliveries_of()),
      events_of_(*connection_, data_sql::events_of()),
      find_delivery_(*connection_, deliveries_where("sqlite_autoindex_deliveries_1", "d.id = ?")),
      delivery_ids_(*connection_, data_sql::delivery_ids()),
      find_run_(*connection_, fmt::format("SELECT {} FROM runs WHERE id = ?", run_columns)),
      newest_attempt_(*connection_, data_sql::newest_attempt()),
      triggers_(*connection_, fmt::format("SELECT {} FROM triggers ORDER BY trigger", trigger_columns)),
      pending_counts_(*connection_, data_sql::pending_counts()) {}

Result<std::optional<model::Materialization>> DataStore::find_event(const std::string& id) {
  Rows rows(find_event_, id);
  return read_first(rows, read_materialization);
}

Result<std::optional<model::Materialization>> DataStore::newest_of(const std::string& asset,
                                                                   const std::string& partition) {
  Rows rows(newest_of_, asset, partition);
  return read_first(rows, read_materialization);
}

Result<std::int64_t> DataStore::newest_event_number() {
  Rows rows(newest_number_);
  auto there = rows.next();
  if (!there) return there.error();
  return rows.number(0);
}

Result<std::vector<model::Materialization>> DataStore::events_between(std::int64_t after, std::int64_t until,
                                                                      int limit) {
  Rows rows(events_between_, after, until, limit);
  return read_all(rows, read_materialization);
}

Result<std::vector<model::Delivery>> DataStore::pending(const std::string& trigger,
                                                        const std::optional<std::string>& partition, int limit) {
  if (partition) {
    Rows rows(pending_of_partition_, trigger, *partition, limit);
    return read_all(rows, read_delivery);
  }
  Rows rows(pending_, trigger, limit);
  return read_all(rows, read_delivery);
}

Result<std::vector<PendingGroup>> DataStore::pending_groups(const std::string& trigger) {
  Rows rows(pending_groups_, trigger);
  return read_all(rows, read_group);
}

Result<std::optional<model::Delivery>> DataStore::first_failed(const std::string& trigger) {
  Rows rows(first_failed_, trigger);
  return read_first(rows, read_delivery);
}

Result<std::vector<model::Delivery>> DataStore::deliveries_of(const std::string& run_id) {
  Rows rows(deliveries_of_, run_id);
  return read_all(rows, read_delivery);
}

Result<std::vector<model::Materialization>> DataStore::events_of(const std::string& run_id,
                                                                 std::int64_t metadata_bytes) {
  Rows rows(events_of_, run_id);
  std::vector<model::Materialization> out;
  while (true) {
    auto more = rows.next();
    if (!more) return more.error();
    if (!*more) return out;
    if (rows.integer(delivery_state_at) == static_cast<int>(model::DeliveryState::skipped)) continue;
    auto event = read_materialization(rows);
    if (!event) return event.error();
    metadata_bytes -= static_cast<std::int64_t>(event->metadata.size());
    if (metadata_bytes < 0) event->metadata.clear();
    out.push_back(std::move(*event));
  }
}

Result<std::optional<model::Delivery>> DataStore::find_delivery(const std::string& id) {
  Rows rows(find_delivery_, id);
  return read_first(rows, read_delivery);
}

Result<std::vector<std::string>> DataStore::delivery_ids(const std::string& trigger, model::DeliveryState state,
                                                         int limit) {
  Rows rows(delivery_ids_, trigger, static_cast<int>(state), limit);
  return read_all(rows, read_text);
}

Result<std::optional<model::Run>> DataStore::find_run(const std::string& id) {
  Rows rows(find_run_, id);
  return read_first(rows, read_run);
}

Result<std::optional<model::Attempt>> DataStore::newest_attempt(const std::string& run_id) {
  Rows rows(newest_attempt_, run_id);
  return read_first(rows, read_attempt);
}

Result<OpenData> DataStore::load_data() {
  OpenData data;
  Rows triggers(triggers_);
  auto placed = read_all(triggers, read_trigger);
  if (!placed) return placed.error();
  data.triggers = std::move(*placed);
  Rows counts(pending_counts_);
  auto pending = read_all(counts, read_count);
  if (!pending) return pending.error();
  data.pending = std::move(*pending);
  return data;
}

}  // namespace eider::store::sqlite
