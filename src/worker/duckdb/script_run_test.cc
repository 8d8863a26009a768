#include <future>
#include <thread>

#include "worker/duckdb/rows.h"
#include "worker/duckdb/test_support.h"

namespace eider::worker::duck {
namespace {

using Kind = ScriptOutcome::Kind;

class ScriptRunTest : public DuckdbTest {
 protected:
  const DatabaseFile file_{"warehouse.duckdb"};
};

// ---- transactions and receipts -----------------------------------------------------------------------------------

TEST_F(ScriptRunTest, a_repeated_step_finds_its_receipt) {
  const ScriptRequest request = script("create table if not exists t (i int); insert into t values (1)");
  EXPECT_EQ(run(*connect(file_), request).kind, Kind::succeeded);
  const auto again = run(*connect(file_), request);
  EXPECT_EQ(again.kind, Kind::receipt_found);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("an earlier attempt of this run has committed this step"), std::string::npos);
  EXPECT_EQ(value(*connect(file_), "select count(*) from t"), "1");
  EXPECT_EQ(run(*connect(file_), script(request.sql, "run-2")).kind, Kind::succeeded);
  EXPECT_EQ(value(*connect(file_), "select count(*) from t"), "2");
  EXPECT_EQ(
      value(*connect(file_),
            "select string_agg(run_id || '/' || split_part(step, '@', 1), ' ' order by run_id) from _eider_receipts"),
      "run-1/build run-2/build");
}

TEST_F(ScriptRunTest, a_step_with_another_script_is_another_step) {
  EXPECT_EQ(run(*connect(file_), script("create table t as select 1 i")).kind, Kind::succeeded);
  const ScriptRequest mended = script("create or replace table t as select 2 i");
  EXPECT_EQ(run(*connect(file_), mended).kind, Kind::succeeded);
  EXPECT_EQ(value(*connect(file_), "select i from t"), "2");
  EXPECT_EQ(run(*connect(file_), mended).kind, Kind::receipt_found);
}

TEST_F(ScriptRunTest, a_receipt_of_an_earlier_eider_counts) {
  const ScriptRequest request = script("create table t (i int)");
  EXPECT_EQ(run(*connect(file_), script("select 1", "run-0")).kind, Kind::succeeded);
  (void)value(*connect(file_), "insert into _eider_receipts values ('run-1', 'build', now()) returning 1");
  EXPECT_EQ(run(*connect(file_), request).kind, Kind::receipt_found);
}

TEST_F(ScriptRunTest, a_failed_step_leaves_nothing_and_can_be_repeated) {
  auto connection = connect(file_);
  EXPECT_EQ(run(*connection, script("create table t (i int); insert into t values (1); select error('no')")).kind,
            Kind::failed);
  EXPECT_EQ(value(*connection, "select count(*) from duckdb_tables() where table_name = 't'"), "0");
  EXPECT_EQ(value(*connection, "select count(*) from _eider_receipts"), "0");
  EXPECT_EQ(run(*connection, script("create table t (i int)")).kind, Kind::succeeded);
}

TEST_F(ScriptRunTest, a_step_may_go_without_receipt) {
  ScriptRequest request = script("create table if not exists t (i int); insert into t values (1)");
  request.receipt = false;
  auto connection = connect(file_);
  EXPECT_EQ(run(*connection, request).kind, Kind::succeeded);
  EXPECT_EQ(run(*connection, request).kind, Kind::succeeded);
  EXPECT_EQ(value(*connection, "select count(*) from t"), "2");
}

TEST_F(ScriptRunTest, transaction_control_is_refused_before_anything_runs) {
  auto connection = connect(file_);
  for (const char* word : {"BEGIN", "start transaction", "COMMIT", "end", "rollback", "abort"}) {
    const auto outcome = run(*connection, script(fmt::format("create table t (i int);\n-- now\n  {};", word)));
    EXPECT_EQ(outcome.kind, Kind::failed);
    EXPECT_NE(outcome.error.find("sql/build.sql:3: "), std::string::npos) << outcome.error;
    EXPECT_NE(outcome.error.find("`transaction: none`"), std::string::npos) << outcome.error;
    EXPECT_TRUE(lines_.empty()) << "the table was made";
  }
  EXPECT_EQ(run(*connection, script("create table beginnings (commit_id int); select 'BEGIN; COMMIT'")).error, "");
}

TEST_F(ScriptRunTest, import_database_is_refused_in_a_transaction) {
  const std::string folder = folder_ + "/exported";
  auto connection = connect();
  EXPECT_EQ(run(*connection, script("create table t (i int)")).error, "");
  std::string quoted;
  for (const char c : folder) quoted += c == '\'' ? "''" : std::string(1, c);
  EXPECT_EQ(run(*connection, script("export database '" + quoted + "'")).error, "");
  EXPECT_EQ(run(*connection, script("drop table t")).error, "");
  EXPECT_EQ(run(*connection, script("import database '" + quoted + "'")).kind, Kind::failed);
  ScriptRequest free = script("import database '" + quoted + "'");
  free.transactional = false;
  EXPECT_EQ(run(*connection, free).error, "");
}

TEST_F(ScriptRunTest, without_a_transaction_statements_commit_one_by_one) {
  ScriptRequest request = script(
      "create table t (i int); begin; insert into t values (1); rollback; "
      "insert into t values (2); checkpoint; select error('no')");
  request.transactional = false;
  auto connection = connect(file_);
  EXPECT_EQ(run(*connection, request).kind, Kind::failed);
  EXPECT_EQ(value(*connection, "select string_agg(i, ',') from t"), "2");
  EXPECT_EQ(value(*connection, "select count(*) from _eider_receipts"), "0");
  request.sql = "begin; insert into t values (3)";
  const auto left_open = run(*connection, request);
  EXPECT_EQ(left_open.kind, Kind::failed);
  EXPECT_NE(left_open.error.find("did not COMMIT"), std::string::npos) << left_open.error;
  EXPECT_EQ(value(*connection, "select count(*) from t"), "1");
}

TEST_F(ScriptRunTest, says_what_a_transaction_does_not_allow) {
  auto connection = connect(file_);
  const auto second = run(*connection, script("attach ':memory:' as other;\ncreate table other.t (i int)"));
  EXPECT_EQ(second.kind, Kind::failed);
  EXPECT_NE(second.error.find("sql/build.sql:2"), std::string::npos) << second.error;
  EXPECT_NE(second.error.find("Write to another DuckDB file in a step of its own"), std::string::npos) << second.error;
  const auto checkpoint = run(*connection, script("checkpoint"));
  EXPECT_EQ(checkpoint.kind, Kind::failed);
  EXPECT_NE(checkpoint.error.find("Put it into a step of its own"), std::string::npos) << checkpoint.error;
}

TEST_F(ScriptRunTest, steps_write_side_by_side) {
  EXPECT_EQ(run(*connect(file_), script("create table a (i int); create table b (i int)", "run-0")).error, "");
  std::vector<ScriptOutcome> outcomes(2);
  std::vector<std::thread> threads;
  for (int n = 0; n < 2; ++n) {
    threads.emplace_back([&, n] {
      ScriptRequest request = script(fmt::format("insert into {} select range from range(100000)", n ? "b" : "a"));
      request.step_id = std::to_string(n);
      outcomes[n] = connect(file_)->run(request, [](std::string_view) {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const ScriptOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.rows_changed, 100000);
  }
  EXPECT_EQ(value(*connect(file_), "select count(*) from _eider_receipts where run_id = 'run-1'"), "2");
}

TEST_F(ScriptRunTest, a_conflict_says_to_order_the_steps) {
  EXPECT_EQ(run(*connect(file_), script("create table t as select 1 i", "run-0")).error, "");
  auto one = connect(file_), two = connect(file_);
  std::string other;
  const auto outcome = one->run(
      script("create table seen (i int); insert into seen from t;\nupdate t set i = 2"), [&](std::string_view) {
        other += two->run(script("update t set i = 3", "run-2"), [](std::string_view) {}).error;
      });
  EXPECT_EQ(other, "");
  EXPECT_EQ(outcome.kind, Kind::failed);
  EXPECT_NE(outcome.error.find("order the two with `needs`"), std::string::npos) << outcome.error;
  EXPECT_EQ(value(*two, "select i from t"), "3");
}

// ---- errors ------------------------------------------------------------------------------------------------------

TEST_F(ScriptRunTest, shows_the_line_with_a_caret_in_every_statement) {
  const std::string first = "select nosuch;\nselect 1;";
  const std::string middle =
      "select 'a;\nb' as \"x;y\";\n/* c; */ -- d;\n  select 'äö', getvariable('x') + nosuch;\nselect 2;";
  const std::string last = "select $q$;\n;$q$;\n-- ü;\n\tselect i from\n\tnosuch";
  auto connection = connect();
  EXPECT_EQ(run(*connection, script(first)).error,
            "pipelines/x.yaml: sql/build.sql:1:8: Binder Error: Referenced column \"nosuch\" was not found "
            "because the FROM clause is missing\n  select nosuch;\n         ^");
  const std::string of_middle = run(*connection, script(middle)).error;
  EXPECT_NE(of_middle.find("sql/build.sql:4:35: "), std::string::npos) << of_middle;
  EXPECT_TRUE(of_middle.ends_with("    select 'äö', getvariable('x') + nosuch;\n" + std::string(36, ' ') + "^"))
      << of_middle;
  const std::string of_last = run(*connection, script(last)).error;
  EXPECT_NE(of_last.find("sql/build.sql:5:2: Catalog Error"), std::string::npos) << of_last;
  EXPECT_TRUE(of_last.ends_with("  \tnosuch\n  \t^")) << of_last;
}

TEST_F(ScriptRunTest, shows_syntax_errors_before_anything_runs) {
  auto connection = connect();
  const std::string error = run(*connection, script("create table t (i int);\r\nselect 'ü' where from\r\n")).error;
  EXPECT_NE(error.find("sql/build.sql:2:18: Parser Error: syntax error at or near \"from\""), std::string::npos)
      << error;
  EXPECT_TRUE(error.ends_with("  select 'ü' where from\n                   ^")) << error;
  EXPECT_EQ(run(*connection, script("create table t (i int)")).error, "");
  const std::string open = run(*connection, script("select 1;\nselect 'abc\n\n")).error;
  EXPECT_NE(open.find("sql/build.sql:2:8: Parser Error: unterminated quoted string"), std::string::npos) << open;
}

TEST_F(ScriptRunTest, errors_of_rows_name_the_statement) {
  auto connection = connect();
  const std::string error =
      run(*connection, script("create table t (i int not null);\n\ninsert into t\nvalues (null)")).error;
  EXPECT_NE(error.find("sql/build.sql:3: Constraint Error"), std::string::npos) << error;
  EXPECT_NE(error.find("\n  insert into t\n  ^"), std::string::npos) << error;
  // The last of many rows, read by streaming. With more threads, DuckDB may tell of the end of another one instead.
  EXPECT_EQ(run(*connection, script("set threads = 1")).error, "");
  const std::string late = run(*connection, script("select 1;\nselect case when range = 999999 then error('late') end "
                                                   "from range(1000000)"))
                               .error;
  EXPECT_NE(late.find("sql/build.sql:2: Invalid Input Error: late"), std::string::npos) << late;
}

TEST_F(ScriptRunTest, a_block_in_the_pipeline_file_has_its_lines) {
  ScriptRequest request = script("\nselect nosuch");
  request.origin = {"pipelines/x.yaml", "", 30};
  EXPECT_TRUE(run(*connect(), request).error.starts_with("pipelines/x.yaml:31:8: Binder Error: "));
}

TEST_F(ScriptRunTest, a_pivot_does_not_shift_the_lines) {
  const std::string error =
      run(*connect(), script("create table t as select 'a' k;\npivot t on k;\nbeginning;\n")).error;
  EXPECT_NE(error.find("sql/build.sql:3:1: Parser Error"), std::string::npos) << error;
  const std::string later =
      run(*connect(), script("create table t as select 'a' k;\npivot t on k;\nselect error('x')")).error;
  EXPECT_NE(later.find("sql/build.sql:3: "), std::string::npos) << later;
}

TEST_F(ScriptRunTest, odd_scripts_are_told_apart) {
  auto connection = connect();
  EXPECT_EQ(run(*connection, script("")).kind, Kind::succeeded);
  EXPECT_EQ(run(*connection, script("-- nothing\n;;")).kind, Kind::succeeded);
  EXPECT_EQ(lines_, std::vector<std::string>{"the script holds no statement"});
  EXPECT_EQ(value(*connection, "\xEF\xBB\xBFselect 1"), "1");
  const auto nul = run(*connection, script(std::string("select 1;\nsel\0ct", 16)));
  EXPECT_NE(nul.error.find("sql/build.sql:2:4: the script holds a NUL"), std::string::npos) << nul.error;
  const auto parameter = run(*connection, script("select $1"));
  EXPECT_NE(parameter.error.find("getvariable"), std::string::npos) << parameter.error;
}

// ---- limits ------------------------------------------------------------------------------------------------------

TEST_F(ScriptRunTest, out_of_memory_is_said_in_words) {
  SessionOptions options;
  options.threads = 1;
  options.memory_bytes = 40 << 20;
  options.temp_bytes = 10 << 20;
  open_session(options);
  const auto outcome =
      run(*connect(), script("select 1;\ncreate table t as select range i, hash(range) h from range(20000000)"));
  EXPECT_EQ(outcome.kind, Kind::failed);
  EXPECT_NE(outcome.error.find("sql/build.sql:2: Out of Memory Error"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("resources.memory is 40 MiB; resources.temp is 10 MiB"), std::string::npos)
      << outcome.error;
}

TEST_F(ScriptRunTest, spills_to_the_attempts_folder) {
  SessionOptions options;
  options.threads = 1;
  options.memory_bytes = 40 << 20;
  options.temp_bytes = 1 << 30;
  options.temp_folder = folder_ + "/it's temp";
  open_session(options);
  bool spilled = false;
  const auto outcome = connect()->run(
      script("create temp table t as select range i, hash(range) h from range(8000000)"), [&](std::string_view) {
        spilled = std::filesystem::exists(options.temp_folder) && !std::filesystem::is_empty(options.temp_folder);
      });
  EXPECT_EQ(outcome.error, "");
  EXPECT_TRUE(spilled);
}

// ---- from another thread -----------------------------------------------------------------------------------------

TEST_F(ScriptRunTest, an_interrupt_ends_the_script_and_keeps_nothing) {
  auto connection = connect(file_);
  std::promise<void> table_made;
  std::thread other([&] {
    table_made.get_future().wait();
    connection->interrupt();
  });
  const auto outcome = connection->run(
      script("create table t as select 1 i;\nselect count(*) from range(1000000000000) where hash(range) = 1"),
      [&](std::string_view) { table_made.set_value(); });
  other.join();
  EXPECT_EQ(outcome.kind, Kind::interrupted);
  EXPECT_NE(outcome.error.find("sql/build.sql:2: INTERRUPT"), std::string::npos) << outcome.error;
  EXPECT_EQ(run(*connection, script("select 1")).kind, Kind::interrupted) << "for good";
  connection.reset();
  EXPECT_EQ(value(*connect(file_), "select count(*) from duckdb_tables() where table_name = 't'"), "0");
}

TEST_F(ScriptRunTest, progress_of_a_long_scan_grows) {
  // DuckDB counts what it scans of committed tables only.
  EXPECT_EQ(run(*connect(), script("create table t as select range i from range(4000000)")).error, "");
  auto connection = connect();
  EXPECT_FALSE(connection->progress());
  auto running = std::async(std::launch::async, [&] {
    return connection->run(script("select count(*) from t where list_sum(range(i % 100)) = 1"),
                           [](std::string_view) {});
  });
  double least = 2, most = 0;
  while (!(least > 0 && most > least) && running.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    if (const auto now = connection->progress(); now && *now > 0 && *now < 1) {
      least = std::min(least, *now);
      most = std::max(most, *now);
    }
  }
  connection->interrupt();
  EXPECT_EQ(running.get().kind, Kind::interrupted);
  EXPECT_GT(most, least);
}

// ---- what the log shows ------------------------------------------------------------------------------------------

TEST_F(ScriptRunTest, shows_changed_rows_and_the_last_query) {
  auto connection = connect();
  const auto outcome =
      run(*connection, script("create table t (i int, s text);\ninsert into t values (1, 'a'), (22, null);\n"
                              "select 'not shown';\nupdate t set i = 2 where i = 1;\nfrom t order by i;"));
  EXPECT_EQ(outcome.rows_changed, 3);
  EXPECT_EQ(lines_, (std::vector<std::string>{"sql/build.sql:2: INSERT 2 rows", "sql/build.sql:4: UPDATE 1 row",
                                              "i  | s", "---+-----", "2  | a", "22 | NULL", "(2 rows)"}));
}

TEST_F(ScriptRunTest, cuts_long_and_wide_results_with_a_mark) {
  auto connection = connect();
  EXPECT_EQ(run(*connection, script("select range from range(10000)")).error, "");
  EXPECT_EQ(lines_.size(), 2U + 40 + 1);
  EXPECT_EQ(lines_[41], "39");
  EXPECT_EQ(lines_.back(), "(10000 rows, the first 40 shown)");
  std::string wide = "select 1 as c0";
  for (int i = 1; i < 30; ++i) wide += fmt::format(", {} as c{}", i, i);
  EXPECT_EQ(run(*connection, script(wide)).error, "");
  EXPECT_EQ(lines_.back(), "(1 row; 10 more columns)");
  EXPECT_EQ(value(*connection, "select repeat('ü', 1000000)").size(), 60 * 2 + std::string("…").size());
  EXPECT_EQ(value(*connection, R"(select e'a\nb\tc\x01')"), R"(a\nb\tc\x01)");
  EXPECT_EQ(run(*connection, script("select 1 as x where false")).error, "");
  EXPECT_EQ(lines_, (std::vector<std::string>{"x", "-", "(0 rows)"}));
}

TEST_F(ScriptRunTest, shows_every_type) {
  auto connection = connect();
  const std::vector<std::pair<std::string, std::string>> cases{
      {"'POINT(1 2)'::geometry", "POINT (1 2)"},
      {"{'a': 1}::variant", "{'a': 1}"},
      {"1.50::decimal(9,2)", "1.50"},
      {"170141183460469231731687303715884105727::hugeint", "170141183460469231731687303715884105727"},
      {"timestamp '2026-01-02 03:04:05'", "2026-01-02 03:04:05"},
      {"interval 90 minutes", "01:30:00"},
      {"[1, null, 3]", "[1, NULL, 3]"},
      {"{'a': {'b': [1]}}", "{'a': {'b': [1]}}"},
      {"map {'k': 1}", "{k=1}"},
      {"'\\xff'::blob", "\\xFF"},
      {"'b'::enum('a', 'b')", "b"},
      {"[1, 2]::int[2]", "[1, 2]"},
      {"null", "NULL"},
      {"union_value(k := 1)", "1"},
      {"'10101'::bit", "10101"},
      {"1e300::double", "1e+300"},
      {"true", "true"},
      {"'6ccb4d4d-4d4d-4d4d-8d4d-4d4d4d4d4d4d'::uuid", "6ccb4d4d-4d4d-4d4d-8d4d-4d4d4d4d4d4d"}};
  for (const auto& [sql, shown] : cases) EXPECT_EQ(value(*connection, "select " + sql + " as x"), shown) << sql;
}

TEST_F(ScriptRunTest, the_row_function_is_of_no_use_to_a_script) {
  const auto outcome = run(*connect(), script("from _eider_rows(1)"));
  EXPECT_NE(outcome.error.find("for Eider's own use"), std::string::npos) << outcome.error;
}

TEST(TableLines, aligns_by_characters) {
  EXPECT_EQ(table_lines({"ä", "b"}, {{"1", std::nullopt}, {"three", "x"}}),
            (std::vector<std::string>{"ä     | b", "------+-----", "1     | NULL", "three | x"}));
}

}  // namespace
}  // namespace eider::worker::duck
