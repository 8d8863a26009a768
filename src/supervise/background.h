// A thread for work that would block the engine thread: spawning, scanning /proc, renaming, syncing, removing.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/reactor.h"

namespace eider::supervise {

/// Owned and used by the reactor's thread.
class Background {
 public:
  /// Called on the reactor's thread when the work is done; may be empty.
  using Completion = std::function<void()>;
  using Work = std::function<Completion()>;

  explicit Background(Reactor& reactor);
  /// Does what is still queued, and waits for it. No completion is called any more.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Runs `work` on the other thread, in order, then its completion here.
  void post(Work work);

 private:
  void run();
  void take_completions();

  Reactor& reactor_;
  UniqueFd done_signal_;  // an eventfd: completions are there
  std::mutex mutex_;      // guards the three below
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::vector<Completion> completions_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace eider::supervise
