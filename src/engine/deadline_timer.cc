#include "engine/deadline_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>
#include <cerrno>

namespace eider::engine {

Result<std::unique_ptr<DeadlineTimer>> DeadlineTimer::open(Reactor& reactor) {
  UniqueFd timer(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer) return io_error("timerfd_create", errno);
  return std::unique_ptr<DeadlineTimer>(new DeadlineTimer(reactor, std::move(timer)));
}

DeadlineTimer::DeadlineTimer(Reactor& reactor, UniqueFd timer) : reactor_(reactor), timer_(std::move(timer)) {
  reactor_.watch(timer_.get(), [this] {
    std::uint64_t expirations = 0;
    // ECANCELED says that the clock was set; the turn that follows sees it. Either way the event is consumed.
    [[maybe_unused]] const auto ignored = ::read(timer_.get(), &expirations, sizeof expirations);
  });
  arm(std::nullopt);
}

DeadlineTimer::~DeadlineTimer() { reactor_.unwatch(timer_.get()); }

void DeadlineTimer::arm(std::optional<Instant> at) {
  // Without a deadline the timer still stands far away: only an armed one is cancelled by a clock that is set.
  const Instant far = std::chrono::sys_days(std::chrono::year(2400) / 1 / 1);
  const std::int64_t us = std::max<std::int64_t>(to_us(at.value_or(far)), 1);
  itimerspec spec{};
  spec.it_value.tv_sec = us / 1'000'000;
  spec.it_value.tv_nsec = us % 1'000'000 * 1000;
  EIDER_CHECK(timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &spec, nullptr) == 0 ||
                  errno == ECANCELED,
              "timerfd_settime");
}

}  // namespace eider::engine
