// One thread's event loop over file descriptors and timers, for the engine thread and the worker process.
// It hides Asio (which is heavy to compile) behind four calls. A wake-up carries no facts.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/time.h"

namespace eider {

/// Not thread-safe, except wake(). The owner is the thread that calls run_once().
class Reactor {
 public:
  Reactor();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  using Handler = std::function<void()>;
  /// Calls `on_readable` on this thread each time the descriptor is readable (or at its end), until unwatch().
  /// The descriptor stays the caller's and must outlive the watch. Level-triggered: what the handler leaves unread
  /// calls it again.
  void watch(int fd, Handler on_readable);
  /// The same for writability.
  void watch_writable(int fd, Handler on_writable);
  /// Ends both watches of the descriptor; call it before the descriptor is closed.
  void unwatch(int fd);

  using TimerId = std::uint64_t;
  /// Calls `on_time` once after `delay` on the monotonic clock.
  TimerId call_after(Micros delay, Handler on_time);
  void cancel_timer(TimerId id);

  /// Handles what is ready; waits for the first of it when nothing is. Returns after at least one handler or wake.
  void run_once();
  /// Handles what is ready and returns without waiting; true when it handled anything.
  bool poll();
  /// Makes the present or next run_once() return. Any thread; async-signal-unsafe.
  void wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eider
