// The WAL stays short under a writer that never rests, and nothing is lost or waits for it.
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <thread>

#include "store/conformance/fixture.h"

namespace eider::store::sqlite {
namespace {

using conformance::TempFolder;

constexpr std::uintmax_t page = 4096;

/// Commits about a hundred pages.
void write_pages(Store& store, int n) {
  auto run = conformance::queued_run(n);
  run.params = std::string(400'000, 'x');
  ASSERT_TRUE(conformance::apply_one(store, {model::RunQueued{run}}));
}

TEST(CheckpointTest, NothingIsMovedBeforeTwoThousandPages) {
  TempFolder folder;
  auto store = open_sqlite_store({folder.file("state.db"), true}).value();
  for (int n = 0; n < 15; ++n) write_pages(*store, n);
  EXPECT_EQ(store->checkpoint_aside().value(), false);
  for (int n = 15; n < 25; ++n) write_pages(*store, n);
  EXPECT_EQ(store->checkpoint_aside().value(), true);
  EXPECT_EQ(store->checkpoint_aside().value(), false) << "once is enough";
}

TEST(CheckpointTest, TheWalIsStartedAnewOnceTheWriterHasFinished) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  auto store = open_sqlite_store({path, true}).value();
  for (int n = 0; n < 100; ++n) {
    write_pages(*store, n);
    if (store->checkpoint_aside().value()) {
      write_pages(*store, 1000 + n);
      ASSERT_TRUE(store->finish_checkpoint());
    }
  }
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), 3000 * page);
  EXPECT_GT(std::filesystem::file_size(path), 8'000 * page);
  EXPECT_EQ(store->load_open()->runs.size(), 100u + 4u);
}

// Zeros after what is committed are the end of the log, for this process and for one that finds it after a kill.
TEST(CheckpointTest, ReservedRoomIsNoPartOfTheLog) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  const StoreOptions reserving{.path = path, .create = true, .reserve_log = true};
  for (int n = 0; n < 3; ++n) {
    conformance::OtherProcess killed([&](conformance::OtherProcess&) {
      auto store = open_sqlite_store(reserving).value();
      if (std::filesystem::file_size(path + "-wal") < 2000 * page) return 1;
      if (!conformance::apply_one(*store, {model::RunQueued{conformance::queued_run(n)}})) return 2;
      return ::kill(::getpid(), SIGKILL);
    });
    ASSERT_EQ(killed.wait(), -SIGKILL);
    EXPECT_EQ(open_sqlite_reader(path).value()->runs({}, 10, "")->items.size(), static_cast<std::size_t>(n) + 1);
  }
  auto store = open_sqlite_store(reserving).value();
  for (int n = 10; n < 70; ++n) {
    write_pages(*store, n);
    if (store->checkpoint_aside().value()) {
      ASSERT_TRUE(store->finish_checkpoint());
    }
  }
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), 3500 * page);
  store.reset();
  EXPECT_FALSE(std::filesystem::exists(path + "-wal")) << "the last one who leaves takes the log with it";
  EXPECT_EQ(open_sqlite_store({path, false}).value()->load_open()->runs.size(), 63u);
}

TEST(CheckpointTest, NoRoomIsReservedWhileSomebodyElseWrites) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  auto writing = open_sqlite_store({path, true}).value();
  ASSERT_TRUE(writing->begin());
  ASSERT_TRUE(writing->apply({model::RunQueued{conformance::queued_run(1)}}).value());
  auto store = open_sqlite_store({.path = path, .create = false, .reserve_log = true}).value();
  EXPECT_LT(std::filesystem::file_size(path + "-wal"), 2000 * page);
  ASSERT_TRUE(writing->commit());
  EXPECT_EQ(store->load_open()->runs.size(), 1u);
}

TEST(CheckpointTest, AsideRunsOnAThreadOfItsOwn) {
  TempFolder folder;
  const std::string path = folder.file("state.db");
  auto store = open_sqlite_store({path, true}).value();
  std::atomic<bool> written{false};
  std::atomic<int> finish{0};
  std::thread checkpointer([&] {
    while (!written) {
      auto moved = store->checkpoint_aside();
      EXPECT_TRUE(moved);
      if (moved && *moved) ++finish;
    }
  });
  for (int n = 0; n < 100; ++n) {
    write_pages(*store, n);
    if (finish.exchange(0) > 0) {
      EXPECT_TRUE(store->finish_checkpoint());
    }
  }
  written = true;
  checkpointer.join();
  store.reset();
  EXPECT_EQ(open_sqlite_store({path, false}).value()->load_open()->runs.size(), 100u);
}

}  // namespace
}  // namespace eider::store::sqlite
