// Named sets of instants: days (dates, ranges of dates, weekdays) and hours of the day, on the wall of a zone. A
// schedule excludes what lies in a calendar, or runs only in it. Pure date arithmetic.
//   C1 An instant lies in a calendar when its day does and, where hours are given, its time of day does too.
//   C2 A day lies in it when a date, a range or a weekday names it. Where none of the three is given, every day does;
//      a list that is given and empty names no day. A calendar that gives nothing at all holds no instant.
//   C3 Hours are from (inclusive) to (exclusive), on the wall. Hours that do not end after they begin go on past
//      midnight and belong to the day on which they began: with `fri` and `22:00-06:00`, Saturday 03:00 lies in it and
//      Friday 03:00 does not.
//   C4 The wall decides at each real instant: an hour that is shown twice lies in it twice, one that is skipped, never.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "timing/zone.h"

namespace eider::timing {

using Day = std::chrono::local_days;

/// `2026-12-25`; anything else is an Error `invalid` that shows an example. Years as in timing/zone.h.
Result<Day> parse_day(std::string_view text);

/// Days from first to last, both included.
struct DayRange {
  Day first{};
  Day last{};
  friend bool operator==(const DayRange&, const DayRange&) = default;
};

/// A part of the day, in minutes since midnight: 0 to 1440. `to` not after `from`: it goes on past midnight (C3).
struct DayHours {
  int from = 0;
  int to = 0;
  friend bool operator==(const DayHours&, const DayHours&) = default;
};
/// `22:00-06:00`, `00:00-24:00`; anything else is an Error `invalid`.
Result<DayHours> parse_hours(std::string_view text);

/// A piece of the time line, from begin (inclusive) to end (exclusive), on which one answer holds. It need not be the
/// longest such piece.
struct Piece {
  bool in = false;
  Instant begin{};
  Instant end{};
};

class Calendar {
 public:
  Calendar() : Calendar(std::nullopt, std::nullopt, std::nullopt, std::nullopt) {}
  /// None of the three is given: `std::nullopt` each. `weekdays`: bit 0 is Sunday. `zone`: none: that of who asks.
  Calendar(std::optional<std::vector<DayRange>> days, std::optional<std::uint8_t> weekdays,
           std::optional<std::vector<DayHours>> hours, std::optional<Zone> zone);

  const std::optional<Zone>& zone() const { return zone_; }
  bool contains(Instant at, const Zone& otherwise) const;
  /// The piece that holds `at`; it lies within the years of timing/zone.h, and so must `at`.
  Piece piece(Instant at, const Zone& otherwise) const;
  /// False when it holds no instant at all; always() when it holds every one.
  bool ever() const;
  bool always() const;

  friend bool operator==(const Calendar&, const Calendar&) = default;

 private:
  bool has_day(Day day) const;
  /// The first day later than `day` on which has_day() is not what it is on `day`.
  Day next_change(Day day) const;
  Day previous_change(Day day) const;
  bool in_hours(Day day, std::int64_t second) const;

  std::vector<DayRange> days_;  ///< in order, apart from each other by at least a day
  std::uint8_t weekdays_ = 0;   ///< bit 0: Sunday
  std::vector<DayHours> hours_;
  std::vector<int> bounds_;  ///< minutes of the day at which in_hours() may change, 0 and 1440 among them
  bool by_day_ = false;      ///< days are given; else every day, if hours are
  bool by_hour_ = false;
  std::optional<Zone> zone_;
};

}  // namespace eider::timing
