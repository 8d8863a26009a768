// What open_sqlite_store does with the file it finds: makes it, takes it, or refuses it and leaves it as it is.
#include <fcntl.h>
#include <sys/stat.h>
#include <fstream>

#include "base/fd.h"
#include "store/conformance/data_fixture.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/schema_versions.h"

namespace eider::store::sqlite {
namespace {

using conformance::OtherProcess;
using conformance::TempFolder;

class SchemaTest : public ::testing::Test {
 protected:
  /// A store with a run in it, closed.
  void make() {
    auto store = open_sqlite_store({path(), true}).value();
    ASSERT_TRUE(conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(1)}}));
  }
  /// Changes the closed file by SQL.
  void alter(const char* sql) {
    auto connection = Connection::open(path(), Access::write).value();
    auto done = connection->execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::string bytes() { return read_file(path(), 1 << 28).value(); }
  /// Refused with these words, and not a byte of it is changed.
  void expect_refused(ErrorCode code, const std::string& words) {
    const std::string before = bytes();
    auto store = open_sqlite_store({path(), true});
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, code);
    EXPECT_NE(store.error().message.find(words), std::string::npos) << store.error().message;
    EXPECT_NE(store.error().message.find(path()), std::string::npos) << store.error().message;
    EXPECT_TRUE(bytes() == before);
  }
  std::string path() const { return folder_.file("state.db"); }
  TempFolder folder_;
};

TEST_F(SchemaTest, AFirstStartMakesAFileThatOnlyItsUserCanRead) {
  const auto mask = ::umask(0);
  make();
  ::umask(mask);
  struct stat found {};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  auto connection = Connection::open(path(), Access::read).value();
  EXPECT_EQ(connection->number("PRAGMA application_id").value(), application_id);
  EXPECT_EQ(connection->number("PRAGMA user_version").value(), schema_version());
  EXPECT_EQ(connection->number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'").value(), 1);
}

TEST_F(SchemaTest, AStoreThatIsNotThereIsMadeOnlyWhenAsked) {
  auto store = open_sqlite_store({path(), false});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SchemaTest, ANewerFileIsRefused) {
  make();
  alter("PRAGMA user_version = 1000");
  expect_refused(ErrorCode::corrupt, "newer eider");
  EXPECT_EQ(open_sqlite_reader(path()).error().code, ErrorCode::corrupt);
}

TEST_F(SchemaTest, ANewerFileThatACrashLeftWithAWalIsRefused) {
  make();
  OtherProcess crash([&](OtherProcess&) {
    auto connection = Connection::open(path(), Access::write).value();
    if (!connection->execute("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 1000")) return 1;
    ::raise(SIGKILL);
    return 2;
  });
  ASSERT_EQ(crash.wait(), -SIGKILL);
  const std::string wal = read_file(path() + "-wal", 1 << 28).value();
  ASSERT_FALSE(wal.empty());
  expect_refused(ErrorCode::corrupt, "newer eider");
  EXPECT_TRUE(read_file(path() + "-wal", 1 << 28).value() == wal);
}

TEST_F(SchemaTest, AFileOfAnotherProgramIsRefused) {
  std::ofstream(path()) << "name,age\nAda,36\n" << std::string(5000, 'x');
  expect_refused(ErrorCode::corrupt, "is damaged");
  std::filesystem::remove(path());
  OtherProcess other([&](OtherProcess&) {
    std::ofstream make_file(path());
    make_file.close();
    return Connection::open(path(), Access::write).value()->execute("CREATE TABLE people (name)") ? 0 : 1;
  });
  ASSERT_EQ(other.wait(), 0);
  expect_refused(ErrorCode::corrupt, "not one of Eider's");
}

TEST_F(SchemaTest, ADamagedFileIsRefused) {
  make();
  const std::string good = bytes();
  const auto write_bytes = [&](const std::string& content) {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << content;
  };
  for (const std::size_t left : {good.size() / 2, std::size_t{100}, std::size_t{1}}) {
    write_bytes(good.substr(0, left));
    expect_refused(ErrorCode::corrupt, "is damaged");
  }
  // The table of the runs is overwritten: its page begins anew after the schema's.
  std::string torn = good;
  for (std::size_t at = 4096; at < torn.size(); ++at) torn[at] = static_cast<char>(at * 31);
  write_bytes(torn);
  expect_refused(ErrorCode::corrupt, "is damaged");
  write_bytes(good);
  EXPECT_TRUE(open_sqlite_store({path(), true}));
}

TEST_F(SchemaTest, AFileThatLacksAnIndexIsRefused) {
  make();
  alter("DROP INDEX runs_open");
  expect_refused(ErrorCode::corrupt, "runs_open is missing");
}

TEST_F(SchemaTest, AFileThatLacksATableOfDataTriggersIsRefused) {
  make();
  alter("DROP TABLE triggers");
  expect_refused(ErrorCode::corrupt, "triggers is missing");
}

/// A file as the first release left it, with a row in every table.
void make_version_1(const std::string& path) {
  std::ofstream(path).close();
  auto connection = Connection::open(path, Access::write).value();
  const auto run = [&](const char* sql) {
    auto done = connection->execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  };
  run("PRAGMA journal_mode = WAL");
  run(migrations()[0]);
  run("INSERT INTO runs VALUES (1, '0190a000-0000-7000-8000-000000000001', 1, 1, 'flights', 0, 'flights/nightly',"
      " 'occurrence-1', '', 2, 3, 4, 1, 1800000010000000, '2026-01-01', '{}', 'key', 5, 6, 7, NULL, 9, 'definition',"
      " 'Due', 'error'), (2, '0190a000-0000-7000-8000-000000000002', 3, 1, 'flights', 2, 'somebody', NULL, '', 1, 0, 0,"
      " 0, NULL, '', '', NULL, 5, 6, 7, 8, NULL, 'definition', 'BudgetSpent', 'exit code 1')");
  run("INSERT INTO attempts VALUES (1, 1, NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, 'definition', '', '', ''),"
      " (2, 1, 1, 7, 7, 8, 4711, 1, NULL, 100, 'definition', '', 'exit code 1', '')");
  run("INSERT INTO occurrences VALUES (1, 'occurrence-1', 'flights/nightly', 'flights', 1800000010000000,"
      " 1800000010000000, 1, 'UTC', 0, 0, 1800000010000000, 0, 'Due', '0190a000-0000-7000-8000-000000000001')");
  run("INSERT INTO cursors VALUES ('flights/nightly', 'rule', 1800000010000000, 0, '', NULL)");
  run("INSERT INTO definitions VALUES (1, 'definition', 'flights', 5, '{}')");
  run("PRAGMA application_id = 0x45696472; PRAGMA user_version = 1");
}

TEST_F(SchemaTest, AFileOfVersionOneIsBroughtUpToDateWithAllItHolds) {
  make_version_1(path());
  EXPECT_EQ(open_sqlite_reader(path()).error().code, ErrorCode::conflict) << "a reader never migrates";
  {
    auto store = open_sqlite_store({path(), true});
    ASSERT_TRUE(store) << store.error().message;
    const auto open = (*store)->load_open().value();
    ASSERT_EQ(open.runs.size(), 1u);
    const model::Run& run = open.runs[0];
    EXPECT_EQ(run.id, conformance::run_id(1));
    EXPECT_EQ(run.trigger_id, "flights/nightly");
    EXPECT_EQ(run.depth, 0);
    EXPECT_EQ(std::vector({run.failures, run.interruptions, run.priority}), (std::vector{2, 3, 4}));
    EXPECT_EQ(run.cancel_asked_at, from_us(9));
    EXPECT_EQ(run.error, "error");
    EXPECT_EQ(open.live_attempts.size(), 1u);
    EXPECT_EQ(open.cursors.size(), 1u);
    EXPECT_EQ(open.definitions, std::vector<std::string>{"definition"});
    EXPECT_TRUE(open.data.triggers.empty());
    EXPECT_TRUE(open.data.pending.empty());
    auto reader = (*store)->reader().value();
    EXPECT_EQ(reader->run(conformance::run_id(2)).value()->error, "exit code 1");
    EXPECT_EQ(reader->attempts(conformance::run_id(2))->at(0).worker_pid, 4711);
    EXPECT_EQ(reader->occurrence("occurrence-1").value()->schedule, "flights/nightly") << "old rows are in new indexes";
    EXPECT_EQ(reader->occurrence_of_run(conformance::run_id(1)).value()->id, "occurrence-1");
    // And it works: what was running ends, and its success publishes.
    EXPECT_TRUE(conformance::apply_one(
        **store, {conformance::materialized(conformance::published(1, 1), {"c/t"}), conformance::succeeded(1, 1)}));
    EXPECT_TRUE(conformance::apply_one(**store, conformance::claimed(3, "c/t", {conformance::published(1, 1)})));
  }
  EXPECT_EQ(inspect_file(path()).value(), schema_version()) << "it is like one that was made new";
  auto store = open_sqlite_store({path(), false});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->deliveries_of(conformance::run_id(3))->size(), 1u);
}

TEST_F(SchemaTest, AMigrationThatFailsLeavesTheFileAsItWas) {
  make_version_1(path());
  // The name of a table to come is taken: the second half of the migration can't be.
  alter("CREATE TABLE deliveries (mine)");
  const auto count = [&](const char* sql) {
    return Connection::open(path(), Access::read).value()->number(sql).value();
  };
  EXPECT_FALSE(open_sqlite_store({path(), true}));
  EXPECT_EQ(count("PRAGMA user_version"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM sqlite_schema WHERE name = 'materializations'"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM runs"), 2);
  alter("DROP TABLE deliveries");
  EXPECT_TRUE(open_sqlite_store({path(), true}));
}

TEST_F(SchemaTest, WhatAPersonAddedIsLeftAlone) {
  make();
  alter("CREATE INDEX mine ON runs (partition); ANALYZE");
  auto store = open_sqlite_store({path(), true});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->load_open()->runs.size(), 1u);
}

TEST_F(SchemaTest, AFileThatACrashLeftEmptyIsFilled) {
  { std::ofstream empty(path()); }
  auto store = open_sqlite_store({path(), true});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->load_open()->runs.empty());
}

/// Runs as somebody whom a folder's mode can keep out.
template <typename Body>
int as_nobody(const Body& body) {
  OtherProcess other([&](OtherProcess&) {
    if (::geteuid() == 0 && ::seteuid(65534) != 0) return 100;
    return body();
  });
  return other.wait();
}

TEST_F(SchemaTest, AFolderThatCantBeWrittenIsSaidInWords) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  EXPECT_EQ(as_nobody([&] {
              auto store = open_sqlite_store({path(), true});
              if (store) return 1;
              if (store.error().code != ErrorCode::io) return 2;
              return store.error().message.find("writable for this user") != std::string::npos ? 0 : 3;
            }),
            0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
}

TEST_F(SchemaTest, AFileThatCantBeWrittenIsSaidInWords) {
  make();
  ASSERT_EQ(::chmod(path().c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_EQ(as_nobody([&] {
              auto store = open_sqlite_store({path(), true});
              if (store) return 1;
              if (store.error().code != ErrorCode::io) return 2;
              return store.error().message.find("writable") != std::string::npos ? 0 : 3;
            }),
            0);
}

TEST_F(SchemaTest, AFolderInTheFilesPlaceIsSaidInWords) {
  std::filesystem::create_directory(path());
  auto store = open_sqlite_store({path(), true});
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("is not a file"), std::string::npos) << store.error().message;
}

TEST_F(SchemaTest, AnExclusiveLockFromOutsideIsUnavailableAndPasses) {
  make();
  OtherProcess holder([&](OtherProcess& self) {
    auto connection = Connection::open(path(), Access::write).value();
    if (!connection->execute("BEGIN EXCLUSIVE")) return 1;
    self.say_ready();
    self.wait_for_go();
    return connection->execute("COMMIT") ? 0 : 2;
  });
  holder.wait_ready();
  auto store = open_sqlite_store({path(), true}).value();
  auto begun = store->begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::unavailable);
  holder.go();
  ASSERT_EQ(holder.wait(), 0);
  EXPECT_TRUE(conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(2)}}));
}

TEST_F(SchemaTest, AStoreInMemoryHasReadersToo) {
  auto store = open_sqlite_store({":memory:", true}).value();
  auto other = open_sqlite_store({":memory:", true}).value();
  ASSERT_TRUE(conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(1)}}));
  EXPECT_EQ(store->reader().value()->runs({}, 10, "")->items.size(), 1u);
  EXPECT_TRUE(other->load_open()->runs.empty()) << "each is its own";
  EXPECT_EQ(store->checkpoint_aside().value(), false);
}

}  // namespace
}  // namespace eider::store::sqlite
