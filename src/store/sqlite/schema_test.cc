// What open_sqlite_store does with the file it finds: makes it, takes it, or refuses it and leaves it as it is.
#include <fcntl.h>
#include <sys/stat.h>
#include <fstream>

#include "base/fd.h"
#include "store/conformance/fixture.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"

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
  alter("DROP INDEX runs_queued");
  expect_refused(ErrorCode::corrupt, "runs_queued is missing");
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
