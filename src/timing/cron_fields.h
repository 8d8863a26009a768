// What a cron expression says, field by field, in a normal form: two expressions are equal when they fire alike by
// what they say (names, order and doubles do not count; see the flags for what does).
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "timing/zone.h"

namespace eider::timing {

inline constexpr int kLastOfMonth = 6;

struct CronFields {
  // Bit n is the value n.
  std::uint64_t seconds = 1;
  std::uint64_t minutes = 0;
  std::uint64_t hours = 0;
  std::uint64_t days_of_month = 0;
  std::uint64_t months = 0;
  std::uint64_t days_of_week = 0;                 ///< 0 = Sunday to 6
  std::bitset<kLastYear - kFirstYear + 1> years;  ///< bit 0 is 1970

  // A `*` or `/` in a field of the clock makes it an interval, not a fixed time (R4).
  bool seconds_step = false;
  bool minutes_step = false;
  bool hours_step = false;
  // A day field that begins with `*` must match together with the other one; else one of the two is enough (R2).
  bool days_of_month_star = false;
  bool days_of_week_star = false;
  /// `+` before the day of week: both must match. Not set where a star says so already.
  bool both_days = false;

  bool last_day = false;              ///< L
  bool last_workday = false;          ///< LW
  std::uint32_t nearest_workday = 0;  ///< bit d: dW
  /// For each weekday: bits 1 to 5 are `#1` to `#5`, bit kLastOfMonth is `#L`.
  std::array<std::uint8_t, 7> nth_weekday{};

  bool fixed() const { return !seconds_step && !minutes_step && !hours_step; }

  friend bool operator==(const CronFields&, const CronFields&) = default;
};

/// The grammar of the Open Cron Pattern Specification, with rule R1. Errors name field, value and what was expected.
Result<CronFields> parse_cron_fields(std::string_view text);
/// The shortest usual form: `30 2 * * 1-5`; reads back to equal fields.
std::string print_cron_fields(const CronFields& fields);

}  // namespace eider::timing
