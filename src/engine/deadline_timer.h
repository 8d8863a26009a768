// The one timer of the loop: a deadline on the wall clock, which also fires when that clock is set, so that nothing
// is quantised by a tick and a step of the clock is seen at once (timerfd with TFD_TIMER_CANCEL_ON_SET).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/reactor.h"
#include "base/time.h"

namespace eider::engine {

/// Engine thread. The reactor outlives it.
class DeadlineTimer {
 public:
  static Result<std::unique_ptr<DeadlineTimer>> open(Reactor& reactor);
  ~DeadlineTimer();
  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  /// The reactor's run_once() returns at `at` or when the clock is set, whichever comes first. None: only when the
  /// clock is set.
  void arm(std::optional<Instant> at);

 private:
  DeadlineTimer(Reactor& reactor, UniqueFd timer);
  Reactor& reactor_;
  UniqueFd timer_;
};

}  // namespace eider::engine
