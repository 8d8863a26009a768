#include "base/scheduling.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace eider {
namespace {

/// As the kernel tells it of a thread of this process; empty where it does not.
std::string slice_of(const std::string& thread) {
  std::ifstream file("/proc/" + thread + "/sched");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("se.slice")) return line.substr(line.find_last_of(' ') + 1);
  }
  return {};
}

/// Since Linux 6.12 an ordinary thread may say how long its slice is.
bool kernel_has_slices() {
  utsname kernel{};
  int major = 0, minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= std::pair(6, 12) && !slice_of("self").empty();
}

/// On a thread of its own: the change is for good.
template <typename Body>
void on_a_thread(Body body) {
  std::thread(body).join();
}

TEST(Scheduling, AThreadAsksForShortSlicesAndWhatItStartsDoesNot) {
  if (!kernel_has_slices()) GTEST_SKIP() << "this kernel has no slices that can be asked for, or does not tell of them";
  on_a_thread([] {
    const std::string usual = slice_of("thread-self");
    ASSERT_NE(usual, "100000");
    ask_for_short_slices();
    EXPECT_EQ(slice_of("thread-self"), "100000");
    on_a_thread([&] { EXPECT_EQ(slice_of("thread-self"), usual); });
    const pid_t child = ::fork();
    if (child == 0) ::_exit(slice_of("self") == usual ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
}

TEST(Scheduling, NiceValueAndPolicyStay) {
  on_a_thread([] {
    ::setpriority(PRIO_PROCESS, 0, 7);
    ask_for_short_slices();
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), 7);
    EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    const sched_param none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none), 0);
    ask_for_short_slices();
    EXPECT_EQ(::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_BATCH);
  });
}

}  // namespace
}  // namespace eider
