#include "supervise/left_overs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <map>
#include <set>

#include "base/test_folder.h"
#include "supervise/lock_file.h"

namespace eider::supervise {
namespace {

class LeftOvers : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/eider-left-overs-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
    marks_ = {"run-of-left-overs-test", 1, "", folder_ + "/a.lock"};
  }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }
  /// A process that has the lock file open, and waits.
  void start_child(const UniqueFd& file) {
    child_ = ::fork();
    if (child_ == 0) {
      while (file) ::pause();
    }
    ASSERT_GT(child_, 0);
  }
  std::string folder_;
  wire::ProcessMarks marks_;
  int child_ = 0;
};

TEST_F(LeftOvers, WhoHoldsTheLockIsKilled) {
  {
    const auto lock = take_lock(marks_.lock_file);
    ASSERT_TRUE(lock.ok());
    start_child(*lock);
  }
  const Sweep first = sweep_left_overs(marks_);
  EXPECT_EQ(first.killed, std::vector<int>{child_});
  int status = 0;
  ASSERT_EQ(::waitpid(child_, &status, 0), child_);
  child_ = 0;
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(sweep_left_overs(marks_).clean());
}

TEST_F(LeftOvers, WhoHasTheFreeLockFileOpenIsLeftAlone) {
  { const auto lock = take_lock(marks_.lock_file); }
  {
    const UniqueFd reader(::open(marks_.lock_file.c_str(), O_RDONLY | O_CLOEXEC));
    start_child(reader);
  }
  EXPECT_TRUE(sweep_left_overs(marks_).clean());
  EXPECT_EQ(::kill(child_, 0), 0);
  EXPECT_EQ(::waitpid(child_, nullptr, WNOHANG), 0);
}

TEST_F(LeftOvers, NothingIsLeft) { EXPECT_TRUE(sweep_left_overs(marks_).clean()); }

TEST_F(LeftOvers, ALockIsTakenOnceAndRemovedOnlyWhileItIsFree) {
  auto lock = take_lock(marks_.lock_file);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(lock_is_free(marks_.lock_file));
  EXPECT_EQ(take_lock(marks_.lock_file).error().code, ErrorCode::conflict);
  EXPECT_FALSE(remove_free_lock(marks_.lock_file));
  EXPECT_TRUE(std::filesystem::exists(marks_.lock_file));
  lock->reset();
  EXPECT_TRUE(lock_is_free(marks_.lock_file));
  EXPECT_TRUE(remove_free_lock(marks_.lock_file));
  EXPECT_FALSE(std::filesystem::exists(marks_.lock_file));
  EXPECT_TRUE(remove_free_lock(marks_.lock_file));
}

std::uint64_t inode(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

/// Nobody may hold the lock of an inode that another run has.
TEST_F(LeftOvers, AFreeLockFileIsTheNextRunsAndAHeldOneIsNot) {
  const std::string folder = marks_.lock_file.substr(0, marks_.lock_file.rfind('/'));
  const auto path = [&](const char* run) { return folder + "/" + run + ".lock"; };
  LockFiles locks(folder);
  const auto taken = [&](const char* run) {
    auto lock = locks.take(path(run));
    EXPECT_TRUE(lock.ok()) << lock.error().message;
    return std::move(*lock);
  };
  UniqueFd a = taken("a");
  UniqueFd b = taken("b");
  const std::uint64_t first = inode(path("a"));
  locks.ended(path("a"));  // somebody holds it still
  UniqueFd c = taken("c");
  EXPECT_NE(inode(path("c")), first);
  EXPECT_EQ(locks.take(path("a")).error().code, ErrorCode::conflict);
  a.reset();
  locks.ended(path("a"));
  UniqueFd d = taken("d");
  EXPECT_EQ(inode(path("d")), first);
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  // A run that goes on has its own file again, which is nobody else's then.
  b.reset();
  locks.ended(path("b"));
  b = taken("b");
  const UniqueFd e = taken("e");
  EXPECT_NE(inode(path("e")), inode(path("b")));
  EXPECT_FALSE(lock_is_free(path("b")));
}

// Whatever runs take and end in whatever order: each that runs holds a file of its own, and none waits for another's.
RC_GTEST_PROP(LockFilesLaw, EachRunHasAFileOfItsOwn, ()) {
  const TestFolder folder;
  LockFiles locks(folder.path());
  std::map<int, UniqueFd> held;
  const auto path = [&](int run) { return folder.path(std::to_string(run) + ".lock"); };
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, 6)));
  for (const auto& [action, run] : steps) {
    if (action == 0) {
      auto lock = locks.take(path(run));
      RC_ASSERT(lock.ok() != held.contains(run));
      if (lock) held[run] = std::move(*lock);
    } else if (action == 1) {
      held.erase(run);
    } else if (action == 2) {
      locks.ended(path(run));
    } else {
      if (!held.contains(run)) remove_free_lock(path(run));  // as a start does, and a person
    }
    std::set<std::uint64_t> files;
    for (const auto& [id, lock] : held) {
      struct stat info {};
      RC_ASSERT(::fstat(lock.get(), &info) == 0);
      RC_ASSERT(inode(path(id)) == info.st_ino);
      RC_ASSERT(files.insert(info.st_ino).second);
    }
  }
}

}  // namespace
}  // namespace eider::supervise
