#include "timing/interval.h"

#include <algorithm>

#include <fmt/format.h>

namespace eider::timing {
namespace {

constexpr Micros kDayAround = std::chrono::hours(24);  // local midnight of 1970 may lie before 1970 in UTC

Instant within(Instant at) { return std::clamp(at, kFirstInstant - Micros(1), kEndInstant - Micros(1)); }

}  // namespace

Result<Interval> Interval::make(Micros every, Instant anchor) {
  if (every < kShortestInterval || every > kLongestInterval) {
    return Error{ErrorCode::invalid,
                 fmt::format("an interval of {} is outside {} to {}", format_duration(every),
                             format_duration(kShortestInterval), format_duration(kLongestInterval))};
  }
  if (anchor < kFirstInstant - kDayAround || anchor >= kEndInstant) {
    return Error{ErrorCode::invalid, fmt::format("the anchor {} is outside the years {} to {}", format_rfc3339(anchor),
                                                 kFirstYear, kLastYear)};
  }
  return Interval(every, anchor);
}

Instant Interval::default_anchor(const Zone& zone) { return zone.first_instant(WallTime(std::chrono::seconds(0))); }

/// The number of the newest firing not later than `at`; the anchor is 0.
std::int64_t Interval::index_at(Instant at) const {
  const std::int64_t distance = (at - anchor_).count();
  const std::int64_t index = distance / every_.count();
  return distance % every_.count() < 0 ? index - 1 : index;
}

std::optional<Instant> Interval::next(Instant after) const {
  const Instant found = anchor_ + every_ * (index_at(within(after)) + 1);
  return found < kEndInstant ? std::optional(found) : std::nullopt;
}

std::optional<Instant> Interval::previous(Instant before_or_at) const {
  const Instant found = anchor_ + every_ * index_at(within(before_or_at));
  return found >= kFirstInstant ? std::optional(found) : std::nullopt;
}

std::int64_t Interval::count(Instant after, Instant until) const {
  return std::max<std::int64_t>(0, index_at(within(until)) - index_at(within(after)));
}

}  // namespace eider::timing
