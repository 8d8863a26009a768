#include "worker/helper_threads.h"

#include <sys/resource.h>

namespace eider::worker {
namespace {

/// Idle threads that are kept: a run has mostly one SQL step at a time.
constexpr int kKept = 1;

void lower_priority_of_this_thread() {
  // On Linux this is the thread's own. It can only fail where the limits forbid even that; then it runs as before.
  ::setpriority(PRIO_PROCESS, 0, 10);
}

}  // namespace

HelperThreads::~HelperThreads() {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return threads_.empty(); });
  for (std::thread& thread : ended_) thread.join();
}

void HelperThreads::begin(Task task) {
  Threads ended;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
    if (idle_ > 0) {
      --idle_;
      changed_.notify_one();
    } else {
      const auto self = threads_.emplace(threads_.end());
      *self = std::thread([this, self] { serve(self); });
    }
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

void HelperThreads::serve(Threads::iterator self) {
  lower_priority_of_this_thread();
  std::unique_lock lock(mutex_);
  for (Task task = next(lock); task.valid(); task = next(lock)) {
    lock.unlock();
    task();
    task = Task();
    lock.lock();
    ++idle_;
  }
  --idle_;
  ended_.splice(ended_.end(), threads_, self);
  changed_.notify_all();
}

HelperThreads::Task HelperThreads::next(std::unique_lock<std::mutex>& lock) {
  if (waiting_.empty() && idle_ > kKept) return {};
  changed_.wait(lock, [this] { return !waiting_.empty() || leaving_; });
  if (waiting_.empty()) return {};
  Task task = std::move(waiting_.front());
  waiting_.pop_front();
  return task;
}

}  // namespace eider::worker
