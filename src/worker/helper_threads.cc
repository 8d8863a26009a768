#include "worker/helper_threads.h"

#include <sys/resource.h>
#include <system_error>

#include <fmt/format.h>

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

Result<void> HelperThreads::begin(Task task) {
  Threads ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
    if (idle_ > 0) {
      --idle_;
      changed_.notify_one();
    } else if (auto added = add_thread(); !added) {
      ended_.swap(ended);
      return added;
    }
    waiting_.push_back(std::move(task));
  }
  for (std::thread& thread : ended) thread.join();
  return {};
}

/// With the lock: the thread takes its first work when that is there.
Result<void> HelperThreads::add_thread() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { serve(self); });
  } catch (const std::system_error& refused) {
    threads_.erase(self);
    return Error{ErrorCode::unavailable,
                 fmt::format("the system gives no further thread ({}); see `ulimit -u` and the limits of the service "
                             "(TasksMax)",
                             refused.code().message())};
  }
  return {};
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
