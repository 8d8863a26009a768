#include "wire/workspace_lock.h"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

namespace eider::wire {
namespace {

/// Another process that holds the lock of a workspace while this object lives.
class OtherHolder {
 public:
  OtherHolder(const Layout& layout, const std::string& pipeline) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto lock = take_workspace_lock(layout, pipeline);
      [[maybe_unused]] const auto told = ::write(ends[1], lock.ok() ? "y" : "n", 1);
      while (true) ::pause();
    }
    char taken = 'n';
    EXPECT_EQ(::read(ends[0], &taken, 1), 1);
    EXPECT_EQ(taken, 'y');
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~OtherHolder() { end(); }
  int pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

class WorkspaceLock : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "eider-lock-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    layout_.workspace = name;
    std::filesystem::create_directories(layout_.state_folder());
  }
  void TearDown() override { std::filesystem::remove_all(layout_.workspace); }
  Layout layout_;
};

TEST_F(WorkspaceLock, NamesTheRunInTheForegroundThatHasTheWorkspace) {
  EXPECT_FALSE(workspace_holder(layout_).has_value()) << "there is not even a file";
  OtherHolder other(layout_, "nap");
  const auto holder = workspace_holder(layout_);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->pid, other.pid());
  EXPECT_EQ(holder->pipeline, "nap");
  const auto refused = take_workspace_lock(layout_, "");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_NE(refused.error().message.find("`eider run nap` (process " + std::to_string(other.pid()) + ") holds"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(refused.error().message.find("eider stop"), std::string::npos) << "there is no server to stop";
  other.end();
  EXPECT_FALSE(workspace_holder(layout_).has_value()) << "the file's text is of a process that is gone";
}

TEST_F(WorkspaceLock, NamesTheServer) {
  const OtherHolder other(layout_, "");
  const auto refused = take_workspace_lock(layout_, "nap");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("a server runs on this workspace already (process " +
                                         std::to_string(other.pid()) + "); `eider status` shows it"),
            std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace eider::wire
