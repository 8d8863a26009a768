// Time zones, from the system's tzdata. The library behind it (cctz) stays in zone.cc. Pure but for the files of
// tzdata, which are read once a zone: a newer tzdata takes effect at the next start.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace eider::timing {

/// All searches of this module stay within these instants (1970 to 2200): they always end, and nothing overflows.
inline constexpr int kFirstYear = 1970;
inline constexpr int kLastYear = 2200;
inline constexpr Instant kFirstInstant = std::chrono::sys_days(std::chrono::year(kFirstYear) / 1 / 1);
inline constexpr Instant kEndInstant = std::chrono::sys_days(std::chrono::year(kLastYear + 1) / 1 / 1);

/// Wall-clock time of some zone, in whole seconds.
using WallTime = std::chrono::local_seconds;

/// A stretch of time with one offset from UTC. All in seconds; wall times count from 1970-01-01T00:00:00 on the wall.
struct Stretch {
  std::int64_t begin_s = 0;   ///< UTC
  std::int64_t end_s = 0;     ///< UTC, exclusive
  std::int64_t offset_s = 0;  ///< wall = UTC + offset
  /// Wall times before this one were shown by an earlier stretch already: they are the second pass of an overlap.
  std::int64_t fresh_wall_s = 0;
  /// The wall jumped from here to the begin of the stretch: a gap. Equal to wall_begin_s() where there is none.
  std::int64_t gap_wall_s = 0;

  std::int64_t wall_begin_s() const { return begin_s + offset_s; }
  std::int64_t wall_end_s() const { return end_s + offset_s; }
};

/// A time zone; a pointer to data that lives as long as the process. Any thread.
class Zone {
 public:
  /// UTC.
  Zone();
  static Zone utc() { return Zone(); }
  /// A zone of tzdata by its name, like `Europe/Brussels`. Loaded once, then found in a table. An unknown name is an
  /// Error `invalid` with the nearest known one; so is a name that is no plain zone name (a path, `localtime`, …).
  static Result<Zone> load(std::string_view name);

  const std::string& name() const;
  std::chrono::seconds offset_at(Instant at) const;
  std::chrono::local_time<Micros> wall_at(Instant at) const;
  /// `2026-03-29T03:00:00+02:00`
  std::string format(Instant at) const { return format_rfc3339(at, offset_at(at)); }
  /// The first instant at which the wall shows `wall`, or, where a gap skips it, the first instant after the gap.
  Instant first_instant(WallTime wall) const;
  /// The first change of the offset after `after`, before the year 2201.
  std::optional<Instant> next_transition(Instant after) const;

  /// The stretches from kFirstInstant to kEndInstant, without holes.
  std::span<const Stretch> stretches() const;
  /// The place in stretches() of the one that holds the second (clamped to the ends).
  std::size_t stretch_at(std::int64_t utc_s) const;

  friend bool operator==(const Zone&, const Zone&) = default;

  struct Data;

 private:
  explicit Zone(const Data* data) : data_(data) {}
  const Data* data_;
};

/// The version of the installed tzdata, like `2026f`; empty when it can't be told.
std::string tzdata_version();

}  // namespace eider::timing
