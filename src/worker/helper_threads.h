// Threads for work that blocks, beside the main one, at nice 10; what starts DuckDB works on one, so that DuckDB's own
// threads inherit that. One that has worked is used again: on a new thread the first query of a step begins 0.7 ms
// later (its stack and its caches of the allocator are cold; bench row G).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <thread>

#include "base/result.h"

namespace eider::worker {

class HelperThreads {
 public:
  HelperThreads() = default;
  /// Waits for all work that was begun.
  ~HelperThreads();
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  /// Begins `work` at once, whatever else is at work. What it throws comes with get() of the future. Any thread.
  /// Error: unavailable, where the system gives no further thread; then the work was not begun and is gone.
  template <typename Work>
  auto start(Work work) -> Result<std::future<std::invoke_result_t<Work&>>> {
    std::packaged_task<std::invoke_result_t<Work&>()> task(std::move(work));
    auto result = task.get_future();
    if (auto begun = begin(Task(std::move(task))); !begun) return begun.error();
    return result;
  }

 private:
  using Task = std::packaged_task<void()>;
  using Threads = std::list<std::thread>;

  Result<void> begin(Task task);
  Result<void> add_thread();
  void serve(Threads::iterator self);
  /// The next work for the calling thread; an empty one: it is needed no longer.
  Task next(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  ///< of all that follows
  std::condition_variable changed_;
  std::deque<Task> waiting_;  ///< each has a thread that is about to take it
  Threads threads_;
  Threads ended_;  ///< to be joined: they only have to return
  int idle_ = 0;   ///< threads that wait, but for those of waiting_
  bool leaving_ = false;
};

}  // namespace eider::worker
