#include "worker/helper_threads.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <latch>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace eider::worker {
namespace {

int threads_of_this_process() {
  int count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/task"), ::closedir);
  while (const dirent* entry = ::readdir(folder.get())) count += entry->d_name[0] != '.' ? 1 : 0;
  return count;
}

/// So many pieces of work that end only when all have begun.
void work_together(HelperThreads& threads, int count) {
  std::latch all(count);
  std::vector<std::future<void>> works;
  for (int i = 0; i < count; ++i) works.push_back(threads.start([&all] { all.arrive_and_wait(); }).value());
  for (auto& work : works) work.get();
}

TEST(HelperThreads, AllWorkBeginsAtOnce) {
  HelperThreads threads;
  for (const int count : {1, 5, 2, 7}) work_together(threads, count);
}

TEST(HelperThreads, AThreadThatHasWorkedIsUsedAgain) {
  HelperThreads threads;
  const auto name = [] { return std::this_thread::get_id(); };
  std::thread::id last = threads.start(name).value().get();
  EXPECT_NE(last, std::this_thread::get_id());
  // A thread waits for its next work a little later than its last one's future is ready.
  for (bool again = false; !again;) {
    std::this_thread::yield();
    again = std::exchange(last, threads.start(name).value().get()) == last;
  }
}

TEST(HelperThreads, OfManyIdleThreadsOneStays) {
  HelperThreads threads;
  const int before = threads_of_this_process();
  work_together(threads, 8);
  while (threads_of_this_process() > before + 1) std::this_thread::yield();
  work_together(threads, 3);
  while (threads_of_this_process() > before + 1) std::this_thread::yield();
}

TEST(HelperThreads, TheyStandBackForEverythingElse) {
  HelperThreads threads;
  const int here = ::getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(threads.start([] { return ::getpriority(PRIO_PROCESS, 0); }).value().get(), 10);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), here);
}

TEST(HelperThreads, ItsEndWaitsForTheWork) {
  std::latch begin(1);
  std::future<int> made;
  bool ended = false;
  {
    HelperThreads threads;
    made = threads
               .start([&] {
                 begin.wait();
                 ended = true;
                 return 7;
               })
               .value();
    begin.count_down();
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(made.get(), 7);
}

TEST(HelperThreads, WhatIsThrownComesWithTheResult) {
  HelperThreads threads;
  auto work = threads.start([]() -> int { throw std::runtime_error("no"); }).value();
  EXPECT_THROW(work.get(), std::runtime_error);
  EXPECT_EQ(threads.start([] { return 1; }).value().get(), 1);
}

/// In a process of its own, an ordinary user's that may have no more threads than it has.
void refuse_threads_and_leave() {
  HelperThreads threads;
  std::latch end(1);
  const auto busy = threads.start([&] { end.wait(); });
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NPROC, &none);
  constexpr int nobody = 65534;
  if (::geteuid() == 0) ::syscall(SYS_setuid, nobody);  // of this thread alone: root has no such limit
  const auto refused = threads.start([] {});
  const bool said = !refused && refused.error().message.find("no further thread") != std::string::npos;
  end.count_down();
  busy.value().wait();
  ::_exit(said ? 0 : 1);
}

TEST(HelperThreadsDeathTest, AThreadThatTheSystemRefusesIsAnErrorAndNoHarm) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(refuse_threads_and_leave(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace eider::worker
