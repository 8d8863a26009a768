// What queries cost is read from their plans: each walks the index that was made for it, in its order, so finished
// history never slows a claim and no list reads more than its page (O-34). Without statistics, as in production,
// and with those of a person's ANALYZE.
#include "store/conformance/data_fixture.h"
#include "store/sqlite/changes.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/data_queries.h"
#include "store/sqlite/data_reader.h"
#include "store/sqlite/queries.h"

namespace eider::store::sqlite {
namespace {

using conformance::TempFolder;

std::vector<std::string> plan(Connection& connection, const std::string& sql) {
  Statement statement(connection, "EXPLAIN QUERY PLAN " + sql);
  Rows rows(statement);
  std::vector<std::string> lines;
  while (rows.next().value()) lines.push_back(rows.text(3));
  return lines;
}

/// Every step that touches a table goes by `index` (or the row's number); nothing is sorted or scanned.
void expect_walks(Connection& connection, const std::string& sql, const std::vector<std::string>& indexes) {
  std::size_t walks = 0;
  for (const std::string& line : plan(connection, sql)) {
    SCOPED_TRACE(line);
    EXPECT_EQ(line.find("TEMP B-TREE"), std::string::npos);
    EXPECT_FALSE(line.starts_with("SCAN"));
    if (!line.starts_with("SEARCH")) continue;
    ASSERT_LT(walks, indexes.size());
    EXPECT_NE(line.find(indexes[walks]), std::string::npos) << "expected " << indexes[walks];
    ++walks;
  }
  EXPECT_EQ(walks, indexes.size()) << sql;
}

void expect_plans(Connection& c) {
  using model::RunState;
  expect_walks(c, decided_across_sql(), {"occurrences_instant (schedule=? AND scheduled_for<?)"});
  expect_walks(c, decided_later_sql(), {"occurrences_instant (schedule=? AND scheduled_for>?)"});
  expect_walks(c, runs_of_schedule_sql(),
               {"autoindex_runs_1 (id=?)", "occurrences_by_schedule (schedule=? AND decision=?)"});
  const std::string open_runs = "runs_open (state=? AND seq<?)";
  const std::string ended = "runs_ended_by_state (state=? AND seq<?)";
  const std::string ended_of = "runs_ended_by_pipeline (pipeline=? AND state=? AND seq<?)";
  expect_walks(c, claim_queries()[0], {"autoindex_runs_1 (id=?)"});
  expect_walks(c, claim_queries()[1], {"PRIMARY KEY (rowid=?)"});
  expect_walks(c, starts_after_sql, {"attempts_of_pools (claimed_at>?)"});
  expect_walks(c, runs_sql({}), {"PRIMARY KEY (rowid<?)"});
  expect_walks(c, runs_sql({"p", {}, false}), {open_runs, open_runs, ended_of, ended_of, ended_of});
  for (const auto& pipeline : {std::optional<std::string>(), std::optional<std::string>("p")}) {
    expect_walks(c, runs_sql({pipeline, {}, true}), {open_runs, open_runs});
    expect_walks(c, runs_sql({pipeline, RunState::queued, false}), {open_runs});
    expect_walks(c, runs_sql({pipeline, RunState::running, false}), {open_runs});
    for (const auto state : {RunState::succeeded, RunState::failed, RunState::cancelled}) {
      expect_walks(c, runs_sql({pipeline, state, false}), {pipeline ? ended_of : ended});
    }
  }
  // A page that begins among equal instants passes over those before it, in the index: at most one a schedule.
  const std::string page = "scheduled_for<?)";
  const auto of = [&](const char* name, const std::string& keys) { return fmt::format("{} ({}", name, keys); };
  const auto any = of("occurrences_by_decision", "decision=? AND " + page);
  const auto pipeline = of("occurrences_by_pipeline", "pipeline=? AND decision=? AND " + page);
  expect_walks(c, occurrences_sql({}), std::vector(6, any));
  expect_walks(c, occurrences_sql({"p", {}}), std::vector(6, pipeline));
  expect_walks(c, occurrences_sql({"p/a", {}}), {"occurrences_instant (schedule=? AND scheduled_for<?)"});
  expect_walks(c, occurrences_sql({{}, model::Decision::missed}), {any});
  expect_walks(c, occurrences_sql({"p", model::Decision::missed}), {pipeline});
  expect_walks(c, occurrences_sql({"p/a", model::Decision::missed}),
               {of("occurrences_by_schedule", "schedule=? AND decision=? AND " + page)});
}

/// What a delivery's row does not hold itself: a row of each.
std::vector<std::string> with_lookups(std::vector<std::string> walks) {
  walks.push_back("m USING INTEGER PRIMARY KEY");
  walks.push_back("r USING INDEX sqlite_autoindex_runs_1 (id=?)");
  return walks;
}

/// Of a merge: the lookups stand after each of its walks.
std::vector<std::string> merge(int arms, const std::string& walk) {
  std::vector<std::string> out;
  for (int n = 0; n < arms; ++n) {
    for (const std::string& line : with_lookups({walk})) out.push_back(line);
  }
  return out;
}

void expect_data_plans(Connection& c) {
  const std::string of_trigger = "deliveries_by_trigger (state=? AND trigger=?";
  // What is pending is found without a look at what has ended.
  expect_walks(c, data_sql::pending(), with_lookups({of_trigger + ")"}));
  expect_walks(c, data_sql::pending_of_partition(),
               with_lookups({"deliveries_pending_partition (trigger=? AND partition=?)"}));
  expect_walks(c, data_sql::first_failed(), with_lookups({of_trigger + ")"}));
  expect_walks(c, data_sql::delivery_ids(), {of_trigger + ")"});
  expect_walks(c, data_sql::newest_attempt(), {"sqlite_autoindex_runs_1 (id=?)", "a USING PRIMARY KEY (run=?)"});
  expect_walks(c, data_sql::pending_counts(), {"deliveries_by_trigger (state=?)"});
  expect_walks(c, data_sql::deliveries_of(), with_lookups({"deliveries_of_run (run_id=?)"}));
  expect_walks(c, data_sql::events_of(), {"deliveries_of_run (run_id=?)", "m USING INTEGER PRIMARY KEY (rowid=?)"});
  expect_walks(c, data_sql::newest_of(), {"materializations_of_partition (asset=? AND partition=?)"});
  expect_walks(c, data_sql::events_between(), {"PRIMARY KEY (rowid>? AND rowid<?)"});

  using model::DeliveryState;
  expect_walks(c, deliveries_sql({}), merge(1, "deliveries_of_event (event<?)"));
  expect_walks(c, deliveries_sql({.trigger = "c/t"}), merge(5, of_trigger + " AND event<?)"));
  expect_walks(c, deliveries_sql({.pipeline = "c"}),
               merge(5, "deliveries_by_pipeline (state=? AND pipeline=? AND event<?)"));
  for (int n = 0; n < 5; ++n) {
    const auto state = static_cast<DeliveryState>(n);
    expect_walks(c, deliveries_sql({.state = state}), merge(1, "deliveries_by_state (state=? AND event<?)"));
    expect_walks(c, deliveries_sql({.trigger = "c/t", .state = state}), merge(1, of_trigger + " AND event<?)"));
    expect_walks(c, deliveries_sql({.pipeline = "c", .state = state}),
                 merge(1, "deliveries_by_pipeline (state=? AND pipeline=? AND event<?)"));
    expect_walks(c, deliveries_sql({.run_id = "r", .state = state}),
                 merge(1, "deliveries_of_run (run_id=? AND event<?)"));
  }
  for (const auto& state : {std::optional<DeliveryState>(), std::optional(DeliveryState::failed)}) {
    expect_walks(c, deliveries_sql({.event_id = "m", .state = state}),
                 with_lookups({"deliveries_of_event (event=?", "e USING COVERING INDEX"}));
  }
  expect_walks(c, materializations_sql({}), {"PRIMARY KEY (rowid<?)"});
  expect_walks(c, materializations_sql({.asset = "a"}), {"materializations_of_asset (asset=? AND rowid<?)"});
  expect_walks(c, materializations_sql({.pipeline = "p"}), {"materializations_of_pipeline (pipeline=? AND rowid<?)"});
  expect_walks(c, materializations_sql({.run_id = "r"}), {"materializations_of_run (run_id=? AND rowid<?)"});
  expect_walks(c, newest_of_asset_sql(), {"materializations_of_asset (asset=?)"});
  expect_walks(c, occurrence_of_run_sql(),
               {"occurrences_instant (schedule=? AND scheduled_for=?)", "autoindex_runs_1"});
  for (const char* table : {"runs", "materializations", "deliveries", "occurrences"}) {
    const std::string index = table == std::string("occurrences") ? "occurrences_id" : "sqlite_autoindex";
    expect_walks(c, ids_sql(table), {index});
  }
}

TEST(PlanTest, EveryListAndTheClaimWalkTheirIndex) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  auto store = open_sqlite_store({path, true}).value();
  std::vector<model::ChangeSet> sets;
  for (int n = 0; n < 500; ++n) {
    sets.push_back({model::RunQueued{conformance::queued_run(n, fmt::format("p{}", n % 5))}});
    if (n % 50 != 0) sets.push_back({conformance::claim(n, 1), conformance::succeeded(n, 1)});
    const auto event = conformance::event(n, fmt::format("a{}", n % 5), fmt::format("{}", n % 9));
    sets.push_back({conformance::materialized(event, {"c/t", "c/u"})});
    if (n % 50 != 0) {
      sets.push_back(conformance::claimed(1000 + n, "c/t", {event}));
      sets.push_back({conformance::claim(1000 + n, 1), conformance::succeeded(1000 + n, 1)});
    }
  }
  conformance::turn(*store, sets);
  auto connection = Connection::open(path, Access::write).value();
  expect_plans(*connection);
  expect_data_plans(*connection);
  ASSERT_TRUE(connection->execute("ANALYZE"));
  auto analyzed = Connection::open(path, Access::write).value();
  expect_plans(*analyzed);
  expect_data_plans(*analyzed);
}

TEST(PlanTest, WhatIsLoadedAtBootReadsNoHistory) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  auto store = open_sqlite_store({path, true}).value();
  auto connection = Connection::open(path, Access::read).value();
  for (const std::string& sql : boot_queries()) {
    for (const std::string& line : plan(*connection, sql)) {
      if (!line.starts_with("SCAN")) continue;
      const bool bounded = line.find("cursors") != std::string::npos || line.starts_with("SCAN c") ||
                           line.find("definitions") != std::string::npos;
      EXPECT_TRUE(bounded) << line << "\n" << sql;
    }
  }
}

}  // namespace
}  // namespace eider::store::sqlite
