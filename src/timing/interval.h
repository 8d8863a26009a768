// Anchored intervals: firings at anchor + n × every, for every whole n, before the anchor too. They count real time,
// so a clock change does not move them and neither does a restart. Closed forms, no loop. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "timing/zone.h"

namespace eider::timing {

/// The shortest interval: what a person can mean by a schedule, and ten decisions a second are no load.
inline constexpr Micros kShortestInterval = std::chrono::milliseconds(100);
inline constexpr Micros kLongestInterval = std::chrono::hours(24 * 36525);

class Interval {
 public:
  /// `every` outside 100 ms to 100 years, or an anchor outside 1970 to 2200 (local midnight of 1970 is inside in every
  /// zone), is an Error `invalid`.
  static Result<Interval> make(Micros every, Instant anchor);
  /// The anchor that a schedule has unless it says otherwise: midnight of 1970-01-01 on the wall of the zone.
  static Instant default_anchor(const Zone& zone);

  Micros every() const { return every_; }
  Instant anchor() const { return anchor_; }

  /// The first firing later than `after`, from 1970 to 2200; none after that.
  std::optional<Instant> next(Instant after) const;
  /// The newest firing not later than `before_or_at`.
  std::optional<Instant> previous(Instant before_or_at) const;
  /// The number of firings in (after, until].
  std::int64_t count(Instant after, Instant until) const;

  friend bool operator==(const Interval&, const Interval&) = default;

 private:
  Interval(Micros every, Instant anchor) : every_(every), anchor_(anchor) {}
  std::int64_t index_at(Instant at) const;

  Micros every_;
  Instant anchor_;
};

}  // namespace eider::timing
