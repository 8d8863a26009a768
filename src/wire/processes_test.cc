#include "wire/processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

namespace eider::wire {
namespace {

/// A child that waits for ever, started with the environment and (if named) open file given.
class Sleeper {
 public:
  explicit Sleeper(std::vector<std::string> environment, const std::string& holds = "") {
    std::vector<char*> pointers;
    for (std::string& entry : environment) pointers.push_back(entry.data());
    pointers.push_back(nullptr);
    int ready[2];
    EIDER_CHECK(::pipe2(ready, O_CLOEXEC) == 0, "pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ready[1], 1);
      if (!holds.empty()) ::open(holds.c_str(), O_RDWR | O_CREAT, 0600);
      const char* const argv[] = {"sh", "-c", "echo; kill -STOP $$", nullptr};
      ::execve("/bin/sh", const_cast<char**>(argv), pointers.data());
      ::_exit(127);
    }
    ::close(ready[1]);
    // It says so itself: right after the exec its environment can't be seen yet.
    char byte;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  int pid() const { return pid_; }

 private:
  int pid_ = 0;
};

std::vector<int> pids(const std::vector<Process>& processes) {
  std::vector<int> out;
  for (const Process& process : processes) out.push_back(process.pid);
  return out;
}

const std::string kRun = fmt::format("test-run-{}", ::getpid());

TEST(Processes, AreFoundByRunAttemptAndStep) {
  const Sleeper a({"X=1", "EIDER_RUN_ID=" + kRun, "EIDER_ATTEMPT=1", "EIDER_STEP=a"});
  const Sleeper b({"EIDER_RUN_ID=" + kRun, "EIDER_ATTEMPT=2", "EIDER_STEP=b"});
  const Sleeper other({"EIDER_RUN_ID=" + kRun + "0", "EIDER_ATTEMPT=1", "EIDER_STEP=a"});
  std::vector<int> both = {a.pid(), b.pid()};
  std::sort(both.begin(), both.end());
  auto found = pids(find_processes({.run_id = kRun, .attempt = 0, .step = "", .lock_file = ""}));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, both);
  EXPECT_EQ(pids(find_processes({.run_id = kRun, .attempt = 2, .step = "", .lock_file = ""})),
            std::vector<int>{b.pid()});
  EXPECT_EQ(pids(find_processes({.run_id = kRun, .attempt = 1, .step = "a", .lock_file = ""})),
            std::vector<int>{a.pid()});
  EXPECT_TRUE(find_processes({.run_id = kRun, .attempt = 1, .step = "b", .lock_file = ""}).empty());
}

TEST(Processes, AreFoundByTheLockTheyHold) {
  const std::string lock = testing::TempDir() + "/processes-" + kRun + ".lock";
  const Sleeper holder({}, lock);
  const Sleeper other({});
  EXPECT_EQ(pids(find_processes({.run_id = "", .attempt = 0, .step = "", .lock_file = lock})),
            std::vector<int>{holder.pid()});
  ::unlink(lock.c_str());
}

TEST(Processes, NothingGivenFindsNothing) { EXPECT_TRUE(find_processes({}).empty()); }

TEST(Processes, AHandleOutlivesItsProcessAndReachesNobodyElse) {
  auto process = open_process(::getppid());
  ASSERT_TRUE(process);
  EXPECT_TRUE(signal_process(*process, 0));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  auto held = open_process(child);
  ASSERT_TRUE(held);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(signal_process(*held, SIGKILL));
  EXPECT_FALSE(open_process(child));
}

TEST(Processes, ChildrenAreListed) {
  const auto before = children_of_this_process();
  const Sleeper a({});
  const auto during = children_of_this_process();
  EXPECT_EQ(during.size(), before.size() + 1);
  EXPECT_NE(std::find(during.begin(), during.end(), a.pid()), during.end());
}

}  // namespace
}  // namespace eider::wire
