// The real kernel and a real inbox; the loop is the test. No time is waited for that nothing happens in: where a file
// must not be told, a later one that is shows that the first had its chance.
#include "watch/watcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/test_folder.h"

namespace eider::watch {
namespace {

using engine::Materialize;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds patience(60);  ///< of a machine that does everything at once

class WatcherTest : public ::testing::Test {
 protected:
  WatcherTest()
      : inbox_([this] {
          // With the lock, so that nobody begins to wait between looking and this.
          std::unique_lock hold(mutex_);
          posted_.notify_all();
          posted_.wait(hold, [this] { return !held_; });
        }) {
    asset_.name = "raw.up";
    asset_.watch = "in";
    asset_.settle = milliseconds(5);
    std::filesystem::create_directory(folder_.path("in"));
  }

  void start() {
    watcher_.emplace(WatcherParts{inbox_, clock_, folder_.path(), milliseconds(50)});
    follow(asset_);
  }
  void follow(const model::ExternalAsset& asset) { EXPECT_TRUE(watcher_->follow({{asset.name, asset}}).ok()); }
  /// Waits until `count` commands are there.
  std::vector<Materialize> take(std::size_t count) {
    std::vector<Materialize> out;
    const auto collect = [&] {
      for (engine::Command& command : inbox_.take()) out.push_back(std::get<Materialize>(std::move(command)));
      return out.size() >= count;
    };
    std::unique_lock hold(mutex_);
    EXPECT_TRUE(posted_.wait_for(hold, patience, collect)) << out.size() << " of " << count;
    return out;
  }
  static void answer(const Materialize& command) { command.reply(Materialize::Answer{"id", false, 0}); }
  /// The file that the next command tells of.
  std::string next() {
    const auto commands = take(1);
    if (commands.size() != 1) return fmt::format("{} commands", commands.size());
    answer(commands[0]);
    return commands[0].metadata;
  }
  static std::string told(const std::string& file, std::size_t bytes) {
    return fmt::format("{{\"file\":\"in/{}\",\"bytes\":{}}}", file, bytes);
  }

  TestFolder folder_;
  const SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable posted_;
  bool held_ = false;
  engine::Inbox inbox_;
  model::ExternalAsset asset_;
  std::optional<Watcher> watcher_;
};

TEST_F(WatcherTest, AFileThatLandsIsToldOnce) {
  start();
  folder_.write("in/a.csv", "hello");
  const auto commands = take(1);
  ASSERT_EQ(commands.size(), 1u);
  const Materialize& command = commands[0];
  EXPECT_EQ(command.asset, "raw.up");
  EXPECT_EQ(command.metadata, told("a.csv", 5));
  EXPECT_EQ(command.bytes, 5);
  EXPECT_EQ(command.asked_by, "in");
  EXPECT_EQ(command.source, model::Source::watched);
  EXPECT_EQ(command.partition + command.cause_run_id + command.fingerprint, "");
  struct stat info {};
  ASSERT_EQ(::stat(folder_.path("in/a.csv").c_str(), &info), 0);
  EXPECT_EQ(command.idempotency_key, fmt::format("file in/a.csv {} 5 {}", info.st_ino,
                                                 info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec));
  answer(command);
  // Closed again as it is, then another file: only that is told.
  UniqueFd again(::open(folder_.path("in/a.csv").c_str(), O_WRONLY | O_APPEND));
  again.reset();
  folder_.write("in/b.csv", "x");
  EXPECT_EQ(next(), told("b.csv", 1));
  folder_.write("in/a.csv", "hello again");
  EXPECT_EQ(next(), told("a.csv", 11)) << "another content is another event";
}

TEST_F(WatcherTest, AFileThatIsBeingWrittenIsNotWhole) {
  start();
  UniqueFd slow(::open(folder_.path("in/slow").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_TRUE(write_all(slow.get(), "half").ok());
  folder_.write("in/quick", "x");
  EXPECT_EQ(next(), told("quick", 1)) << "slow was first, and is open";
  ASSERT_TRUE(write_all(slow.get(), " and half").ok());
  slow.reset();
  EXPECT_EQ(next(), told("slow", 13));
}

TEST_F(WatcherTest, NeitherIsOneThatWasOpenBeforeTheServer) {
  UniqueFd slow(::open(folder_.path("in/slow").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_TRUE(write_all(slow.get(), "half").ok());
  folder_.write("in/whole", "x");
  start();
  EXPECT_EQ(next(), told("whole", 1));
  folder_.write("in/later", "x");
  EXPECT_EQ(next(), told("later", 1));
  slow.reset();
  EXPECT_EQ(next(), told("slow", 4));
}

TEST_F(WatcherTest, WhatIsMovedOrLinkedInIsWhole) {
  folder_.write("out/a", "1");
  folder_.write("out/b", "22");
  start();
  std::filesystem::rename(folder_.path("out/a"), folder_.path("in/a"));
  EXPECT_EQ(next(), told("a", 1));
  std::filesystem::create_hard_link(folder_.path("out/b"), folder_.path("in/b"));
  EXPECT_EQ(next(), told("b", 2));
  std::filesystem::rename(folder_.path("in/b"), folder_.path("in/c"));
  EXPECT_EQ(next(), told("c", 2));
}

TEST_F(WatcherTest, OnlyPlainFilesThatAreMeant) {
  asset_.files = "*";
  std::filesystem::create_directory(folder_.path("in/folder"));
  folder_.write("in/folder/deep", "x");
  folder_.write("in/.hidden", "x");
  folder_.write("in/x.tmp", "x");
  folder_.write("in/x.part", "x");
  folder_.write("in/caf\xE9", "x");
  folder_.write("in/first", "x");
  ASSERT_EQ(::symlink("first", folder_.path("in/link").c_str()), 0);
  ASSERT_EQ(::mkfifo(folder_.path("in/pipe").c_str(), 0600), 0);
  start();
  EXPECT_EQ(next(), told("first", 1));
  ASSERT_EQ(::symlink("first", folder_.path("in/link2").c_str()), 0);
  std::filesystem::rename(folder_.path("in/x.part"), folder_.path("in/whole"));
  EXPECT_EQ(next(), told("whole", 1));
  asset_.files = ".h*";
  follow(asset_);
  EXPECT_EQ(next(), told(".hidden", 1));
}

TEST_F(WatcherTest, AFileThatIsGoneBeforeItIsWholeIsNotTold) {
  asset_.settle = seconds(3600);
  start();
  folder_.write("in/a", "x");
  std::filesystem::remove(folder_.path("in/a"));
  folder_.write("in/b", "x");
  asset_.settle = Micros(0);
  follow(asset_);
  EXPECT_EQ(next(), told("b", 1));
}

TEST_F(WatcherTest, WhatLandedBetweenTwoServersIsFoundByTheSecond) {
  start();
  folder_.write("in/a", "x");
  const auto first = take(1);
  ASSERT_EQ(first.size(), 1u);
  watcher_.reset();
  answer(first[0]);  // it may come late
  folder_.write("in/b", "xx");
  start();
  const auto again = take(2);
  ASSERT_EQ(again.size(), 2u);
  std::set<std::string> keys;
  for (const Materialize& command : again) keys.insert(command.idempotency_key);
  EXPECT_TRUE(keys.contains(first[0].idempotency_key)) << "told again by the same key";
}

TEST_F(WatcherTest, AFolderThatVanishesIsWatchedAgainWhenItIsBack) {
  std::filesystem::remove(folder_.path("in"));
  start();
  folder_.write("in/early", "1");
  EXPECT_EQ(next(), told("early", 1)) << "it was not there yet";
  std::filesystem::remove_all(folder_.path("in"));
  folder_.write("in/a", "22");
  EXPECT_EQ(next(), told("a", 2));
  std::filesystem::rename(folder_.path("in"), folder_.path("old"));
  folder_.write("old/b", "333");
  folder_.write("in/c", "4444");
  EXPECT_EQ(next(), told("c", 4)) << "not what happens in the one that was moved away";
}

TEST_F(WatcherTest, AnotherFolderUnderTheSamePathIsSeen) {
  asset_.watch = "data/in";
  folder_.write("data/in/a", "1");
  start();
  EXPECT_NE(next().find("data/in/a"), std::string::npos);
  std::filesystem::rename(folder_.path("data"), folder_.path("old"));
  folder_.write("data/in/b", "1");
  EXPECT_NE(next().find("data/in/b"), std::string::npos);
}

TEST_F(WatcherTest, TwoAssetsMayWatchOneFolder) {
  watcher_.emplace(WatcherParts{inbox_, clock_, folder_.path(), milliseconds(50)});
  model::ExternalAsset other = asset_;
  asset_.files = "*.csv";
  other.name = "raw.other";
  other.watch = folder_.path("in");
  ASSERT_TRUE(watcher_->follow({{"raw.up", asset_}, {"raw.other", other}}).ok());
  folder_.write("in/a.csv", "x");
  std::set<std::string> assets;
  for (const Materialize& command : take(2)) assets.insert(command.asset + " " + command.metadata), answer(command);
  EXPECT_EQ(assets, (std::set<std::string>{"raw.up " + told("a.csv", 1),
                                           "raw.other {\"file\":\"" + folder_.path("in/a.csv") + "\",\"bytes\":1}"}));
  follow(asset_);
  folder_.write("in/b.csv", "x");
  EXPECT_EQ(next(), told("b.csv", 1)) << "the watch that both had goes on";
}

TEST_F(WatcherTest, ManyComeInPortionsAndEachOnce) {
  constexpr std::size_t many = 2000;
  for (std::size_t i = 0; i < many; ++i) folder_.write(fmt::format("in/f{}", i), "x");
  asset_.settle = Micros(0);
  start();
  std::multiset<std::string> files;
  std::vector<Materialize> open = take(50);
  for (const Materialize& command : open) files.insert(command.metadata);
  while (files.size() < many) {
    ASSERT_EQ(open.size(), 50u);
    answer(open.back());
    open.pop_back();
    auto more = take(1);
    ASSERT_EQ(more.size(), 1u) << "one answer makes room for one";
    files.insert(more[0].metadata);
    open.push_back(std::move(more[0]));
  }
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()).size(), many);
}

TEST_F(WatcherTest, ARefusedFileIsToldAgain) {
  start();
  folder_.write("in/a", "x");
  const auto first = take(1);
  ASSERT_EQ(first.size(), 1u);
  first[0].reply(Error{ErrorCode::unavailable, "the store is locked"});
  const auto second = take(1);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].idempotency_key, first[0].idempotency_key);
}

TEST_F(WatcherTest, AFullInboxIsTriedAgain) {
  int filled = 0;
  while (inbox_.post(engine::AskStatus{[](const auto&) {}})) ++filled;
  EXPECT_EQ(filled, 10'000);
  folder_.write("in/a", "x");
  asset_.settle = Micros(0);
  start();
  EXPECT_EQ(inbox_.take().size(), 10'000u);
  EXPECT_EQ(next(), told("a", 1));
}

/// The thread is held while more happens than the kernel's queue has room for.
TEST_F(WatcherTest, WhatTheKernelCouldNotSayIsFoundByLooking) {
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  int room = 16'384;
  limit >> room;
  ASSERT_LT(room, 200'000) << "this test would take too long here";
  asset_.settle = Micros(0);
  start();
  {
    const std::lock_guard hold(mutex_);
    held_ = true;
  }
  folder_.write("in/first", "x");
  const auto first = take(1);
  const int many = room / 2;  // each is made, written and closed
  for (int i = 0; i < many; ++i) folder_.write(fmt::format("in/f{}", i), "x");
  {
    const std::lock_guard hold(mutex_);
    held_ = false;
    posted_.notify_all();
  }
  ASSERT_EQ(first.size(), 1u);
  answer(first[0]);
  std::set<std::string> files;
  while (files.size() < static_cast<std::size_t>(many)) {
    const auto commands = take(1);
    if (commands.empty()) break;
    for (const Materialize& command : commands) files.insert(command.metadata), answer(command);
  }
  EXPECT_EQ(files.size(), static_cast<std::size_t>(many));
}

}  // namespace
}  // namespace eider::watch
