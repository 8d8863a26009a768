// The fingerprint of a table: of its rows as a multiset, whatever their order, history and number of threads.
#include <fmt/format.h>
#include <rapidcheck/gtest.h>

#include "worker/duckdb/test_support.h"

namespace eider::worker::duck {
namespace {

class Dataset : public DuckdbTest {
 protected:
  std::string fingerprint(Connection& connection, const std::string& table) {
    const auto looked = connection.look_at_table(table);
    EXPECT_TRUE(looked.ok()) << looked.error().message;
    return looked ? looked->fingerprint : "";
  }
  void make(Connection& connection, const std::string& sql) { EXPECT_EQ(run(connection, script(sql)).error, ""); }
};

TEST_F(Dataset, RowsThatDifferInAnythingDiffer) {
  auto connection = connect();
  const char* contents[] = {
      "VALUES (1, 'a'), (2, 'b')",
      "VALUES (1, 'b'), (2, 'a')",
      "VALUES (1, 'a'), (2, 'b'), (2, 'b')",
      "VALUES (1, 'a'), (2, 'b'), (2, 'b'), (2, 'b')",
      "VALUES (1, 'a'), (2, NULL)",
      "VALUES (1, NULL), (2, 'a')",
      "VALUES (1, 'a')",
      "VALUES (1, 'a'), (1, 'a'), (1, 'a')",
      "VALUES (NULL, 'a'), (2, 'b')",
      "SELECT 1, 'a' WHERE false",
      "VALUES (1, ''), (2, 'b')",
  };
  std::set<std::string> seen;
  int n = 0;
  for (const char* content : contents) {
    const std::string name = fmt::format("t{}", ++n);
    make(*connection, fmt::format("CREATE TABLE {} (x INT, y TEXT); INSERT INTO {} {}", name, name, content));
    EXPECT_TRUE(seen.insert(fingerprint(*connection, name)).second) << content;
  }
  // The same rows under other columns.
  make(*connection,
       "CREATE TABLE named AS SELECT x AS z, y FROM t1; CREATE TABLE typed AS SELECT x::BIGINT AS x, y FROM t1");
  EXPECT_TRUE(seen.insert(fingerprint(*connection, "named")).second);
  EXPECT_TRUE(seen.insert(fingerprint(*connection, "typed")).second);
}

TEST_F(Dataset, NeitherOrderNorHistoryNorThreadsCount) {
  std::set<std::string> seen;
  for (const int threads : {1, 4}) {
    SessionOptions options;
    options.threads = threads;
    open_session(options);
    auto connection = connect();
    const std::string rows =
        "SELECT range % 1000 AS n, md5((range % 7000)::TEXT) AS t, [range % 3, NULL] AS l FROM range";
    make(*connection, "CREATE TABLE a AS " + rows + "(250000)");
    make(*connection, "CREATE TABLE b AS FROM a ORDER BY t DESC, n");
    make(*connection, "CREATE TABLE c AS FROM a LIMIT 0");
    make(*connection, fmt::format("INSERT INTO c {0}(125000, 250000); INSERT INTO c {0}(125000)", rows));
    make(*connection, "INSERT INTO c SELECT -1, NULL, NULL FROM range(5000); DELETE FROM c WHERE n < 0");
    for (const char* table : {"a", "b", "c"}) seen.insert(fingerprint(*connection, table));
  }
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(Dataset, EveryTypeCanBePublished) {
  auto connection = connect();
  make(
      *connection,
      "CREATE TABLE t AS SELECT 1::TINYINT a, 2::HUGEINT b, 1.5::DECIMAL(9,2) c, 'nan'::DOUBLE d, DATE '2026-01-01' e, "
      "now()::TIMESTAMPTZ f, INTERVAL 1 DAY g, 'x'::BLOB h, uuid() i, {'k': [1, NULL]} j, MAP {'a': 1} k, "
      "'a'::ENUM('b', 'a') l, '101'::BIT m, union_value(n := 1) n, '{\"a\":1}'::JSON o, [1, 2]::INT[2] p, TIME '01:02' "
      "q");
  const auto looked = connection->look_at_table("t");
  ASSERT_TRUE(looked.ok()) << looked.error().message;
  EXPECT_EQ(looked->rows, 1);
  EXPECT_EQ(looked->fingerprint, fingerprint(*connection, "t"));
}

TEST_F(Dataset, NamesAreQuotedNeverRun) {
  auto connection = connect();
  make(*connection,
       "CREATE SCHEMA \"my schema\"; CREATE TABLE \"my schema\".\"sel\"\"ect\" AS SELECT 1 AS \"hash\", 2 AS "
       "\"a\"\"b\", "
       "3 AS \"select\"");
  const auto looked = connection->look_at_table("my schema.sel\"ect");
  ASSERT_TRUE(looked.ok()) << looked.error().message;
  EXPECT_EQ(looked->rows, 1);
  for (const char* name : {"t; DROP SCHEMA \"my schema\" CASCADE", "range(3)", "(SELECT 1)", "'x'", "a..b", ""}) {
    const auto missing = connection->look_at_table(name);
    ASSERT_FALSE(missing.ok()) << name;
    EXPECT_EQ(missing.error().code, ErrorCode::not_found) << name;
    EXPECT_EQ(missing.error().message.find('\n'), std::string::npos) << missing.error().message;
  }
}

TEST_F(Dataset, AViewThatCantBeReadIsThereAndSaysSo) {
  auto connection = connect();
  make(*connection, "CREATE VIEW v AS SELECT error('broken') AS x");
  const auto looked = connection->look_at_table("v");
  ASSERT_FALSE(looked.ok());
  EXPECT_NE(looked.error().code, ErrorCode::not_found);
  EXPECT_NE(looked.error().message.find("broken"), std::string::npos) << looked.error().message;
}

TEST_F(Dataset, AnInterruptEndsTheLook) {
  auto connection = connect();
  make(*connection, "CREATE TABLE t AS SELECT 1 AS x");
  connection->interrupt();
  EXPECT_FALSE(connection->look_at_table("t").ok());
}

TEST_F(Dataset, FilesWithNamesLikePatterns) {
  auto connection = connect();
  std::filesystem::create_directories(folder_ + "/a[1]*?");
  std::filesystem::create_directories(folder_ + "/a1xx");
  const std::string files[] = {folder_ + "/a[1]*?/[b] it's?.tmp", folder_ + "/a1xx/b it's.tmp"};
  int rows = 10;
  for (const std::string& file : files) {
    std::string quoted;
    for (const char c : file) quoted += c == '\'' ? "''" : std::string(1, c);
    make(*connection, fmt::format("COPY (SELECT range AS n FROM range({})) TO '{}' (FORMAT parquet)", rows++, quoted));
  }
  const auto looked = connection->look_at_files(FileFormat::parquet, {files[0]}, "");
  ASSERT_TRUE(looked.ok()) << looked.error().message;
  EXPECT_EQ(looked->rows, 10);
  const auto both = connection->look_at_files(FileFormat::parquet, {files[0], files[1]}, "");
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(both->rows, 21);
}

}  // namespace
}  // namespace eider::worker::duck
