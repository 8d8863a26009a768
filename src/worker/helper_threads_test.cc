#include "worker/helper_threads.h"

#include <dirent.h>
#include <sys/resource.h>
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
  for (int i = 0; i < count; ++i) works.push_back(threads.start([&all] { all.arrive_and_wait(); }));
  for (auto& work : works) work.get();
}

TEST(HelperThreads, AllWorkBeginsAtOnce) {
  HelperThreads threads;
  for (const int count : {1, 5, 2, 7}) work_together(threads, count);
}

TEST(HelperThreads, AThreadThatHasWorkedIsUsedAgain) {
  HelperThreads threads;
  const auto name = [] { return std::this_thread::get_id(); };
  std::thread::id last = threads.start(name).get();
  EXPECT_NE(last, std::this_thread::get_id());
  // A thread waits for its next work a little later than its last one's future is ready.
  for (bool again = false; !again;) {
    std::this_thread::yield();
    again = std::exchange(last, threads.start(name).get()) == last;
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
  EXPECT_EQ(threads.start([] { return ::getpriority(PRIO_PROCESS, 0); }).get(), 10);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), here);
}

TEST(HelperThreads, ItsEndWaitsForTheWork) {
  std::latch begin(1);
  std::future<std::unique_ptr<int>> made;
  bool ended = false;
  {
    HelperThreads threads;
    made = threads.start([&, value = std::make_unique<int>(7)]() mutable {
      begin.wait();
      ended = true;
      return std::move(value);
    });
    begin.count_down();
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(*made.get(), 7);
}

TEST(HelperThreads, WhatIsThrownComesWithTheResult) {
  HelperThreads threads;
  auto work = threads.start([]() -> int { throw std::runtime_error("no"); });
  EXPECT_THROW(work.get(), std::runtime_error);
  EXPECT_EQ(threads.start([] { return 1; }).get(), 1);
}

}  // namespace
}  // namespace eider::worker
