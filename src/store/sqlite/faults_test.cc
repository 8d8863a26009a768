// Writes and syncs that fail at any point of a turn: an Error in words, the old content as it was, and success as
// soon as the disk is well again.
#include <cstring>

#include "store/conformance/data_fixture.h"
#include "store/sqlite/connection.h"

namespace eider::store::sqlite {
namespace {

using conformance::TempFolder;

/// SQLite's default file system, with writes and syncs that fail when told to. One at a time in a process.
class FaultyDisk {
 public:
  FaultyDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
    self_ = this;
    vfs_.zName = "eider-faulty";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~FaultyDisk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
  }
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  /// The operation after the next `later` ones fails with `code`, and so do all after it, until heal().
  void fail_after(int later, int code) {
    left_ = later;
    code_ = code;
  }
  void heal() { code_ = SQLITE_OK; }
  bool has_failed() const { return code_ != SQLITE_OK && left_ < 0; }

 private:
  struct File {
    sqlite3_file base;
    sqlite3_io_methods methods;
    const sqlite3_io_methods* real_methods;
  };
  // The real file lies behind ours and is used as it is; ours only forwards with the real file's own pointer.
  static sqlite3_file* real_file(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
  }

  static int trouble() {
    if (self_->code_ == SQLITE_OK) return SQLITE_OK;
    return --self_->left_ < 0 ? self_->code_ : SQLITE_OK;
  }

  template <auto Method, typename... Args>
  static int forward(sqlite3_file* file, Args... args) {
    sqlite3_file* real = real_file(file);
    return (real->pMethods->*Method)(real, args...);
  }

  static int open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
    auto* ours = reinterpret_cast<File*>(file);
    ours->base.pMethods = nullptr;
    const int code = self_->real_->xOpen(self_->real_, name, real_file(file), flags, out);
    if (code != SQLITE_OK) return code;
    using M = sqlite3_io_methods;
    M& m = ours->methods;
    m.iVersion = std::min(real_file(file)->pMethods->iVersion, 2);
    m.xClose = [](sqlite3_file* f) { return forward<&M::xClose>(f); };
    m.xRead = [](sqlite3_file* f, void* p, int n, sqlite3_int64 at) { return forward<&M::xRead>(f, p, n, at); };
    m.xWrite = [](sqlite3_file* f, const void* p, int n, sqlite3_int64 at) {
      const int bad = trouble();
      return bad != SQLITE_OK ? bad : forward<&M::xWrite>(f, p, n, at);
    };
    m.xTruncate = [](sqlite3_file* f, sqlite3_int64 n) { return forward<&M::xTruncate>(f, n); };
    m.xSync = [](sqlite3_file* f, int how) {
      const int bad = trouble();
      return bad == SQLITE_FULL ? SQLITE_IOERR_FSYNC : bad != SQLITE_OK ? bad : forward<&M::xSync>(f, how);
    };
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) { return forward<&M::xFileSize>(f, n); };
    m.xLock = [](sqlite3_file* f, int how) { return forward<&M::xLock>(f, how); };
    m.xUnlock = [](sqlite3_file* f, int how) { return forward<&M::xUnlock>(f, how); };
    m.xCheckReservedLock = [](sqlite3_file* f, int* p) { return forward<&M::xCheckReservedLock>(f, p); };
    m.xFileControl = [](sqlite3_file* f, int op, void* p) { return forward<&M::xFileControl>(f, op, p); };
    m.xSectorSize = [](sqlite3_file* f) { return forward<&M::xSectorSize>(f); };
    m.xDeviceCharacteristics = [](sqlite3_file* f) { return forward<&M::xDeviceCharacteristics>(f); };
    m.xShmMap = [](sqlite3_file* f, int r, int n, int x, void volatile** p) {
      return forward<&M::xShmMap>(f, r, n, x, p);
    };
    m.xShmLock = [](sqlite3_file* f, int o, int n, int how) { return forward<&M::xShmLock>(f, o, n, how); };
    m.xShmBarrier = [](sqlite3_file* f) { real_file(f)->pMethods->xShmBarrier(real_file(f)); };
    m.xShmUnmap = [](sqlite3_file* f, int gone) { return forward<&M::xShmUnmap>(f, gone); };
    m.xFetch = nullptr;
    m.xUnfetch = nullptr;
    ours->base.pMethods = &m;
    return SQLITE_OK;
  }

  static inline FaultyDisk* self_ = nullptr;
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  int left_ = 0;
  int code_ = SQLITE_OK;
};

std::vector<std::string> open_ids(Store& store) {
  std::vector<std::string> ids;
  const auto state = store.load_open().value();
  for (const auto& run : state.runs) ids.push_back(run.id);
  return ids;
}

void fail_everywhere(int code, ErrorCode expected, const std::string& words) {
  bool reached_the_end = false;
  for (int later = 0; !reached_the_end; ++later) {
    SCOPED_TRACE(later);
    ASSERT_LT(later, 500);
    TempFolder folder;
    FaultyDisk disk;
    const std::string path = folder.file("state.db");
    auto store = open_sqlite_store({path, true}).value();
    ASSERT_TRUE(conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(1)}}));
    ASSERT_TRUE(store->begin());
    disk.fail_after(later, code);
    ASSERT_TRUE(store->apply({model::RunQueued{conformance::queued_run(2)}}).value());
    const auto event = conformance::published(1, 1);
    ASSERT_TRUE(store
                    ->apply({conformance::claim(1, 1), conformance::materialized(event, {"c/t", "c/u"}),
                             conformance::succeeded(1, 1)})
                    .value());
    ASSERT_TRUE(store->apply(conformance::claimed(3, "c/t", {event})).value());
    auto committed = store->commit();
    reached_the_end = !disk.has_failed();
    disk.heal();
    ASSERT_EQ(committed.ok(), reached_the_end);
    if (!committed) {
      EXPECT_EQ(open_ids(*store), std::vector{conformance::run_id(1)});
      EXPECT_FALSE(store->find_event(event.id).value().has_value());
      EXPECT_TRUE(store->load_open()->data.pending.empty());
      const bool said =
          committed.error().code == expected && committed.error().message.find(words) != std::string::npos;
      EXPECT_TRUE(said || committed.error().code == ErrorCode::io) << committed.error().message;
      ASSERT_TRUE(conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(2)}}))
          << "the disk is well again";
    }
    const auto before = open_ids(*store);
    store.reset();
    EXPECT_EQ(open_ids(*open_sqlite_store({path, false}).value()), before) << "also after a new start";
  }
}

TEST(FaultsTest, AFullDiskAtAnyWriteOfATurn) { fail_everywhere(SQLITE_FULL, ErrorCode::unavailable, "disk is full"); }
TEST(FaultsTest, AFailedWriteOrSyncAtAnyPointOfATurn) {
  fail_everywhere(SQLITE_IOERR_WRITE, ErrorCode::io, "disk I/O error");
}

TEST(FaultsTest, AWriteThatFailsInsideApplyEndsTheTurnAndSaysSo) {
  TempFolder folder;
  FaultyDisk disk;
  auto store = open_sqlite_store({folder.file("state.db"), true}).value();
  disk.fail_after(0, SQLITE_FULL);
  ASSERT_TRUE(store->begin());
  // More than the cache holds, so that pages are written before the commit.
  std::optional<Error> failed;
  for (int n = 0; n < 1000 && !failed; ++n) {
    auto run = conformance::queued_run(n);
    run.params = std::string(50'000, 'x');
    auto applied = store->apply({model::RunQueued{run}});
    if (!applied) failed = applied.error();
  }
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, ErrorCode::unavailable);
  auto more = store->apply({model::RunQueued{conformance::queued_run(2000)}});
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, failed->message);
  auto committed = store->commit();
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().message, failed->message);
  store->rollback();
  disk.heal();
  EXPECT_TRUE(conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(1)}}));
  EXPECT_EQ(open_ids(*store), std::vector{conformance::run_id(1)});
}

TEST(FaultsTest, AFailedCheckpointLosesNothing) {
  TempFolder folder;
  FaultyDisk disk;
  auto store = open_sqlite_store({folder.file("state.db"), true}).value();
  std::vector<std::string> expected;
  for (int n = 0; n < 30; ++n) {
    auto run = conformance::queued_run(n);
    run.params = std::string(400'000, 'x');
    ASSERT_TRUE(conformance::apply_one(*store, {model::RunQueued{run}}));
    expected.push_back(run.id);
  }
  disk.fail_after(0, SQLITE_IOERR_WRITE);
  auto aside = store->checkpoint_aside();
  ASSERT_FALSE(aside);
  EXPECT_EQ(aside.error().code, ErrorCode::io);
  disk.heal();
  EXPECT_EQ(open_ids(*store), expected);
  EXPECT_TRUE(store->checkpoint_aside().value());
  EXPECT_TRUE(store->finish_checkpoint());
  store.reset();
  EXPECT_EQ(open_ids(*open_sqlite_store({folder.file("state.db"), false}).value()), expected);
}

}  // namespace
}  // namespace eider::store::sqlite
