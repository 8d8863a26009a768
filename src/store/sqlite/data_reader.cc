#include "store/sqlite/data_reader.h"

#include <fmt/format.h>

#include "store/sqlite/data_queries.h"
#include "store/sqlite/lists.h"
#include "store/sqlite/pages.h"
#include "store/sqlite/rows.h"

namespace eider::store::sqlite {

// From one asset to the next along the index: a step an asset.
const char* const materialized_assets_sql =
    "WITH RECURSIVE known (asset) AS (SELECT min(asset) FROM materializations UNION ALL"
    " SELECT (SELECT min(m.asset) FROM materializations AS m WHERE m.asset > known.asset) FROM known"
    " WHERE known.asset IS NOT NULL) SELECT asset FROM known WHERE asset IS NOT NULL";

std::string newest_of_asset_sql() {
  return fmt::format(
      "SELECT {} FROM materializations INDEXED BY materializations_of_asset WHERE asset = ?"
      " ORDER BY number DESC LIMIT 1",
      materialization_columns);
}

std::string occurrence_of_run_sql() {
  return fmt::format(
      "SELECT {} FROM occurrences INDEXED BY occurrences_instant WHERE (schedule, scheduled_for) ="
      " (SELECT trigger_id, scheduled_for FROM runs WHERE id = ? AND occurrence_id IS NOT NULL)",
      occurrence_columns);
}

std::string ids_sql(const char* table) {
  return fmt::format("SELECT id FROM {} WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", table);
}

std::string materializations_sql(const MaterializationFilter& filter) {
  const char* where = filter.asset      ? "INDEXED BY materializations_of_asset WHERE asset = ?3 AND"
                      : filter.pipeline ? "INDEXED BY materializations_of_pipeline WHERE pipeline = ?3 AND"
                                          " pipeline <> '' AND"
                      : filter.run_id   ? "INDEXED BY materializations_of_run WHERE run_id = ?3 AND run_id <> '' AND"
                                        : "WHERE";
  return fmt::format("SELECT {} FROM materializations {} number < ?1 ORDER BY number DESC LIMIT ?2",
                     materialization_columns, where);
}

std::string deliveries_sql(const DeliveryFilter& filter) {
  const auto arm = [](std::string_view index, const std::string& where) {
    return deliveries_where(index, where + "(d.event, d.seq) < (?1, ?2)");
  };
  const std::string state = filter.state ? fmt::format("d.state = {} AND ", static_cast<int>(*filter.state)) : "";
  constexpr const char* order = "event DESC, seq DESC";
  // What one event is owed to, and what one run was made for, are few: their state is seen in the row.
  if (filter.event_id) {
    return merged({arm("deliveries_of_event",
                       state + "d.event = (SELECT e.number FROM materializations AS e WHERE e.id = ?4) AND ")},
                  order);
  }
  if (filter.run_id) return merged({arm("deliveries_of_run", state + "d.run_id = ?4 AND d.run_id <> '' AND ")}, order);
  if (!filter.trigger && !filter.pipeline) {
    return merged({arm(filter.state ? "deliveries_by_state" : "deliveries_of_event", state)}, order);
  }
  const char* index = filter.trigger ? "deliveries_by_trigger" : "deliveries_by_pipeline";
  const char* owner = filter.trigger ? "d.trigger = ?4" : "d.pipeline = ?4";
  std::vector<std::string> arms;
  for (int one = 0; one <= static_cast<int>(model::DeliveryState::skipped); ++one) {
    if (filter.state && static_cast<int>(*filter.state) != one) continue;
    arms.push_back(arm(index, fmt::format("d.state = {} AND {} AND ", one, owner)));
  }
  return merged(arms, order);
}

Statement& DataReaderPart::statement(const std::string& sql) {
  auto& found = statements_[sql];
  if (found == nullptr) found = std::make_unique<Statement>(*connection_, sql);
  return *found;
}

Result<std::vector<std::string>> DataReaderPart::ids_in(const char* table, const std::string& prefix,
                                                        const char* what) {
  if (prefix.size() < 4) {
    return Error{ErrorCode::invalid,
                 fmt::format("{} \"{}\": expected an id, or at least its first 4 characters", what, prefix)};
  }
  // Nothing in an id sorts after this character.
  Rows rows(statement(ids_sql(table)), prefix, prefix + "\x7f");
  return read_all(rows, read_text);
}

Result<Page<model::Materialization>> DataReaderPart::materializations(const MaterializationFilter& filter, int limit,
                                                                      const std::string& cursor) {
  if (auto fits = check_limit(limit); !fits) return fits.error();
  const auto position = read_position<1>(cursor, 'm');
  if (!position) return bad_cursor(cursor);
  Statement& list = statement(materializations_sql(filter));
  const auto page = [limit](Rows& rows) {
    return read_page<model::Materialization>(rows, limit, read_materialization,
                                             [](const Rows& row) { return fmt::format("m{}", row.number(0)); });
  };
  for (const auto* named : {&filter.asset, &filter.pipeline, &filter.run_id}) {
    if (!*named) continue;
    Rows rows(list, (*position)[0], limit + 1, **named);
    return page(rows);
  }
  Rows rows(list, (*position)[0], limit + 1);
  return page(rows);
}

Result<Page<model::Delivery>> DataReaderPart::deliveries(const DeliveryFilter& filter, int limit,
                                                         const std::string& cursor) {
  if (auto fits = check_limit(limit); !fits) return fits.error();
  const auto position = read_position<2>(cursor, 'd');
  if (!position) return bad_cursor(cursor);
  Statement& list = statement(deliveries_sql(filter));
  const auto page = [limit](Rows& rows) {
    return read_page<model::Delivery>(rows, limit, read_delivery, [](const Rows& row) {
      return fmt::format("d{}.{}", row.number(4), row.number(0));
    });
  };
  for (const auto* named : {&filter.event_id, &filter.run_id, &filter.trigger, &filter.pipeline}) {
    if (!*named) continue;
    Rows rows(list, (*position)[0], (*position)[1], limit + 1, **named);
    return page(rows);
  }
  Rows rows(list, (*position)[0], (*position)[1], limit + 1);
  return page(rows);
}

Result<std::optional<model::Materialization>> DataReaderPart::materialization(const std::string& id) {
  Rows rows(statement(fmt::format("SELECT {} FROM materializations WHERE id = ?", materialization_columns)), id);
  return read_first(rows, read_materialization);
}

Result<std::optional<model::Materialization>> DataReaderPart::newest_of(const std::string& asset) {
  Rows rows(statement(newest_of_asset_sql()), asset);
  return read_first(rows, read_materialization);
}

Result<std::vector<std::string>> DataReaderPart::materialized_assets() {
  Rows rows(statement(materialized_assets_sql));
  return read_all(rows, read_text);
}

Result<std::optional<model::Delivery>> DataReaderPart::delivery(const std::string& id) {
  Rows rows(statement(deliveries_where("sqlite_autoindex_deliveries_1", "d.id = ?")), id);
  return read_first(rows, read_delivery);
}

Result<std::optional<model::Occurrence>> DataReaderPart::occurrence_of_run(const std::string& run_id) {
  Rows rows(statement(occurrence_of_run_sql()), run_id);
  return read_first(rows, read_occurrence);
}

Result<std::optional<model::Occurrence>> DataReaderPart::occurrence(const std::string& id) {
  Rows rows(statement(fmt::format("SELECT {} FROM occurrences WHERE id = ?", occurrence_columns)), id);
  return read_first(rows, read_occurrence);
}

Result<std::vector<DataReader::Named>> DataReaderPart::ids(const std::string& prefix) {
  using Kind = Named::Kind;
  std::vector<Named> out;
  for (const auto& [kind, table] :
       {std::pair(Kind::run, "runs"), std::pair(Kind::materialization, "materializations"),
        std::pair(Kind::delivery, "deliveries"), std::pair(Kind::occurrence, "occurrences")}) {
    auto found = ids_in(table, prefix, "id");
    if (!found) return found.error();
    for (std::string& id : *found) out.push_back({kind, std::move(id)});
  }
  return out;
}

Result<std::vector<std::pair<std::string, std::int64_t>>> DataReaderPart::pending_counts() {
  Rows rows(statement(data_sql::pending_counts()));
  return read_all(rows, read_count);
}

}  // namespace eider::store::sqlite
