#include "sim/oracle.h"

#include <cstdio>

#include "base/check.h"

namespace eider::sim {

Oracle Oracle::of(const model::Timing& timing) {
  Oracle out;
  if (timing.at) {
    out.once_ = timing.at;
  } else if (timing.every) {
    out.step_ = *timing.every;
    out.from_completion_ = timing.from_completion;
  } else if (int minutes = 0; std::sscanf(timing.cron.c_str(), "*/%d * * * *", &minutes) == 1) {
    EIDER_CHECK(timing.timezone == "UTC", "steps of minutes are in UTC here");
    out.step_ = std::chrono::minutes(minutes);
  } else {
    int minute = 0;
    int hour = 0;
    EIDER_CHECK(std::sscanf(timing.cron.c_str(), "%d %d * * *", &minute, &hour) == 2, "a rule that nobody checks");
    out.time_of_day_ = std::chrono::hours(hour) + std::chrono::minutes(minute);
    out.zone_ = timing::Zone::load(timing.timezone).value();
  }
  return out;
}

/// Where a gap skips the time of day it is the first instant after the gap; where the hour comes twice, the first.
Instant Oracle::of_day(std::chrono::local_days day) const { return zone_.first_instant(day + time_of_day_); }

std::optional<Instant> Oracle::next(Instant after) const {
  if (once_) return *once_ > after ? once_ : std::nullopt;
  if (from_completion_) return after + step_;
  if (step_ > Micros(0)) return from_us((to_us(after) / step_.count() + 1) * step_.count());
  auto day = std::chrono::floor<std::chrono::days>(zone_.wall_at(after)) - std::chrono::days(1);
  while (of_day(day) <= after) day += std::chrono::days(1);
  return of_day(day);
}

std::int64_t Oracle::count(Instant after, Instant until) const {
  if (until <= after) return 0;
  if (once_) return *once_ > after && *once_ <= until ? 1 : 0;
  if (from_completion_) return after + step_ <= until ? 1 : 0;
  if (step_ > Micros(0)) return to_us(until) / step_.count() - to_us(after) / step_.count();
  std::int64_t n = 0;
  for (auto at = next(after); *at <= until; at = next(*at)) ++n;
  return n;
}

}  // namespace eider::sim
