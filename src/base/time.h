// Instants and durations: microseconds, UTC; text in and out is RFC 3339. Pure: nothing here reads a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace eider {

using Micros = std::chrono::microseconds;
/// A point on the UTC time line, as the store holds it.
using Instant = std::chrono::sys_time<Micros>;

constexpr std::int64_t to_us(Instant at) { return at.time_since_epoch().count(); }
constexpr Instant from_us(std::int64_t us) { return Instant(Micros(us)); }

/// `2026-03-29T01:00:00Z`; a fraction of 3 or 6 digits only where it is not zero. Years 0000 to 9999; an instant
/// outside is shown as the nearest one inside.
std::string format_rfc3339(Instant at);
/// The same in an offset from UTC: `2026-03-29T03:00:00+02:00`. Seconds of the offset are cut: the text has none.
std::string format_rfc3339(Instant at, std::chrono::seconds offset);
/// Date, `T` (or a space), time, optional fraction (cut to microseconds), `Z` or `±HH:MM`; anything else is an
/// Error `invalid` that shows an example. A leap second (`:60`) is refused.
Result<Instant> parse_rfc3339(std::string_view text);

/// `500ms`, `5s`, `10m`, `2h`, `7d`, `1h30m`: whole numbers with units (d, h, m, s, ms, us), each once, largest
/// first. Negative, empty, unknown unit or overflow (over 100 years) is an Error `invalid`.
Result<Micros> parse_duration(std::string_view text);
/// The shortest text that parse_duration reads back: `1h30m`, `0s`. A negative one, for people only, starts with `-`.
std::string format_duration(Micros duration);

}  // namespace eider
