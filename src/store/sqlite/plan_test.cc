// What queries cost is read from their plans: each walks the index that was made for it, in its order, so finished
// history never slows a claim and no list reads more than its page (O-34). Without statistics, as in production,
// and with those of a person's ANALYZE.
#include "store/conformance/fixture.h"
#include "store/sqlite/connection.h"
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
    if (line.starts_with("SCAN")) {
      // A scan of an index that holds only what is asked for.
      EXPECT_NE(line.find("runs_queued"), std::string::npos);
    }
    if (!line.starts_with("SEARCH") && !line.starts_with("SCAN")) continue;
    ASSERT_LT(walks, indexes.size());
    EXPECT_NE(line.find(indexes[walks]), std::string::npos) << "expected " << indexes[walks];
    ++walks;
  }
  EXPECT_EQ(walks, indexes.size()) << sql;
}

void expect_plans(Connection& c) {
  using model::RunState;
  const std::string open_runs = "runs_open (seq<?)";
  const std::string ended = "runs_ended_by_state (state=? AND seq<?)";
  const std::string ended_of = "runs_ended_by_pipeline (pipeline=? AND state=? AND seq<?)";
  expect_walks(c, claimable_sql, {"runs_queued"});
  expect_walks(c, runs_sql({}), {"PRIMARY KEY (rowid<?)"});
  expect_walks(c, runs_sql({"p", {}, false}), {open_runs, ended_of, ended_of, ended_of});
  for (const auto& pipeline : {std::optional<std::string>(), std::optional<std::string>("p")}) {
    expect_walks(c, runs_sql({pipeline, {}, true}), {open_runs});
    expect_walks(c, runs_sql({pipeline, RunState::queued, false}), {open_runs});
    expect_walks(c, runs_sql({pipeline, RunState::running, false}), {"runs_running (seq<?)"});
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

TEST(PlanTest, EveryListAndTheClaimWalkTheirIndex) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  auto store = open_sqlite_store({path, true}).value();
  std::vector<model::ChangeSet> sets;
  for (int n = 0; n < 500; ++n) {
    sets.push_back({model::RunQueued{conformance::queued_run(n, fmt::format("p{}", n % 5))}});
    if (n % 50 != 0) sets.push_back({conformance::claim(n, 1), conformance::succeeded(n, 1)});
  }
  conformance::turn(*store, sets);
  auto connection = Connection::open(path, Access::write).value();
  expect_plans(*connection);
  ASSERT_TRUE(connection->execute("ANALYZE"));
  auto analyzed = Connection::open(path, Access::write).value();
  expect_plans(*analyzed);
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
                           line.find("definitions") != std::string::npos ||
                           line.find("runs_open") != std::string::npos ||
                           line.find("runs_running") != std::string::npos;
      EXPECT_TRUE(bounded) << line << "\n" << sql;
    }
  }
}

}  // namespace
}  // namespace eider::store::sqlite
