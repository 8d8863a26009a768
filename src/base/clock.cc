#include "base/clock.h"

#include <ctime>

#include "base/check.h"

namespace eider {
namespace {

Micros read_clock(clockid_t id) {
  timespec at{};
  EIDER_CHECK(clock_gettime(id, &at) == 0, "clock_gettime");
  return std::chrono::duration_cast<Micros>(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
}

}  // namespace

Instant SystemClock::now() const { return Instant(read_clock(CLOCK_REALTIME)); }
Micros SystemClock::boottime() const { return read_clock(CLOCK_BOOTTIME); }

void FakeClock::advance(Micros by) {
  EIDER_CHECK(by.count() >= 0, "time passes forward only");
  now_us_ += by.count();
  boot_us_ += by.count();
}

}  // namespace eider
