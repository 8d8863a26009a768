#include "supervise/background.h"

#include <atomic>

#include <gtest/gtest.h>

namespace eider::supervise {
namespace {

TEST(Background, WorksInOrderElsewhereAndCompletesHere) {
  Reactor reactor;
  Background background(reactor);
  const auto here = std::this_thread::get_id();
  std::vector<int> worked;  // by the other thread only, until its completion is seen
  std::vector<int> completed;
  for (int i = 0; i < 100; ++i) {
    background.post([&, i]() -> Background::Completion {
      EXPECT_NE(std::this_thread::get_id(), here);
      worked.push_back(i);
      return [&, i] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        completed.push_back(i);
      };
    });
  }
  while (completed.size() < 100) reactor.run_once();
  EXPECT_EQ(worked, completed);
  EXPECT_TRUE(std::is_sorted(completed.begin(), completed.end()));
}

TEST(Background, WhatIsQueuedIsDoneAtTheEndButNotCompleted) {
  Reactor reactor;
  std::atomic<int> worked = 0;
  bool completed = false;
  {
    Background background(reactor);
    for (int i = 0; i < 50; ++i) {
      background.post([&]() -> Background::Completion {
        ++worked;
        return [&] { completed = true; };
      });
    }
  }
  EXPECT_EQ(worked, 50);
  reactor.poll();
  EXPECT_FALSE(completed);
}

}  // namespace
}  // namespace eider::supervise
