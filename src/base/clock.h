// The only place where time is read. Everything else is given a Clock.
#pragma once

#include <atomic>

#include "base/time.h"

namespace eider {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall-clock time; may be set back or forward by a person or NTP.
  virtual Instant now() const = 0;
  /// Time since boot, suspend included; never steps. Comparing it with now() shows that the wall clock was set.
  virtual Micros boottime() const = 0;
};

/// CLOCK_REALTIME and CLOCK_BOOTTIME. Any thread.
class SystemClock final : public Clock {
 public:
  Instant now() const override;
  Micros boottime() const override;
};

/// A clock that a test turns by hand. Any thread.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(Instant start) : now_us_(to_us(start)) {}
  Instant now() const override { return from_us(now_us_.load()); }
  Micros boottime() const override { return Micros(boot_us_.load()); }
  /// Time passes: both clocks move. `by` is not negative.
  void advance(Micros by);
  /// Somebody sets the wall clock: only now() moves.
  void step_to(Instant to) { now_us_.store(to_us(to)); }

 private:
  std::atomic<std::int64_t> now_us_;
  std::atomic<std::int64_t> boot_us_{1'000'000};
};

}  // namespace eider
