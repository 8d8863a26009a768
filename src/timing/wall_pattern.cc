#include "timing/wall_pattern.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace eider::timing {
namespace {

constexpr std::int64_t kDay = 86'400;

constexpr std::uint64_t below(std::int64_t bit) { return (std::uint64_t{1} << bit) - 1; }
constexpr bool has(std::uint64_t set, std::int64_t bit) { return (set >> bit & 1) != 0; }
/// The least member not below `from`; `from` is at most 63.
std::optional<std::int64_t> least(std::uint64_t set, std::int64_t from) {
  const std::uint64_t rest = set & ~below(from);
  if (rest == 0) return std::nullopt;
  return std::countr_zero(rest);
}
/// The greatest member below `until`.
std::optional<std::int64_t> greatest(std::uint64_t set, std::int64_t until) {
  const std::uint64_t rest = set & below(until);
  if (rest == 0) return std::nullopt;
  return 63 - std::countl_zero(rest);
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

unsigned days_in(int year, unsigned month) {
  const auto last = std::chrono::year(year) / std::chrono::month(month) / std::chrono::last;
  return static_cast<unsigned>(last.day());
}

/// The day on which `dW` falls in a month that begins on weekday `first`; 0 when the month has no such day.
unsigned nearest_workday(unsigned day, unsigned length, unsigned first) {
  if (day > length) return 0;
  const unsigned weekday = (first + day - 1) % 7;
  if (weekday == 6) return day > 1 ? day - 1 : day + 2;
  if (weekday == 0) return day < length ? day + 1 : day - 2;
  return day;
}

/// What the two day fields say of one shape of month.
std::uint32_t matching_days(const CronFields& fields, unsigned length, unsigned first) {
  constexpr std::uint64_t weekly = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
  const std::uint64_t exist = below(length + 1) & ~std::uint64_t{1};
  std::uint64_t by_month = fields.days_of_month;
  if (fields.last_day) by_month |= 1U << length;
  if (fields.last_workday) by_month |= 1U << nearest_workday(length, length, first);
  for (std::uint32_t rest = fields.nearest_workday; rest != 0; rest &= rest - 1) {
    by_month |= 1U << nearest_workday(static_cast<unsigned>(std::countr_zero(rest)), length, first);
  }
  std::uint64_t by_week = 0;
  for (unsigned weekday = 0; weekday < 7; ++weekday) {
    const unsigned day = (weekday + 7 - first) % 7 + 1;  // its first
    const std::uint64_t all = weekly << day & exist;
    if (has(fields.days_of_week, weekday)) by_week |= all;
    for (unsigned nth = fields.nth_weekday[weekday]; nth != 0; nth &= nth - 1) {
      const int which = std::countr_zero(nth);
      by_week |= which == kLastOfMonth ? std::bit_floor(all) : std::uint64_t{1} << (day + 7 * (which - 1));
    }
  }
  const bool both = fields.days_of_month_star || fields.days_of_week_star || fields.both_days;
  return static_cast<std::uint32_t>((both ? by_month & by_week : by_month | by_week) & exist);
}

}  // namespace

struct WallPattern::Month {
  explicit Month(std::int64_t day_of_epoch) {
    const std::chrono::year_month_day date{std::chrono::local_days(std::chrono::days(day_of_epoch))};
    year = static_cast<int>(date.year());
    month = static_cast<unsigned>(date.month());
    length = days_in(year, month);
    first_day = day_of_epoch - static_cast<unsigned>(date.day()) + 1;
  }
  void forward() {
    first_day += length;
    if (++month > 12) {
      month = 1;
      ++year;
    }
    length = days_in(year, month);
  }
  void back() {
    if (--month < 1) {
      month = 12;
      --year;
    }
    length = days_in(year, month);
    first_day -= length;
  }
  /// The weekday of the first; 1970-01-01 was a Thursday.
  unsigned weekday() const { return static_cast<unsigned>((first_day % 7 + 11) % 7); }

  int year;
  unsigned month;
  unsigned length;
  std::int64_t first_day;
};

std::uint32_t WallPattern::days_of(const Month& month) const {
  if (month.year < kFirstYear || month.year > kLastYear) return 0;
  if (!has(fields_.months, month.month) || !fields_.years[static_cast<std::size_t>(month.year - kFirstYear)]) return 0;
  return matching_days(fields_, month.length, month.weekday());
}

std::optional<std::int64_t> WallPattern::first_day(std::int64_t from, std::int64_t until) const {
  for (Month month(from); month.first_day < until && month.year <= kLastYear; month.forward()) {
    const std::int64_t skip = std::max<std::int64_t>(0, from - month.first_day);
    if (const auto day = least(days_of(month), skip + 1)) {
      const std::int64_t found = month.first_day + *day - 1;
      return found < until ? std::optional(found) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> WallPattern::last_day(std::int64_t from, std::int64_t until) const {
  if (from >= until) return std::nullopt;
  for (Month month(until - 1); month.first_day + month.length > from && month.year >= kFirstYear; month.back()) {
    const std::int64_t keep = std::min<std::int64_t>(month.length, until - month.first_day);
    if (const auto day = greatest(days_of(month), keep + 1)) {
      const std::int64_t found = month.first_day + *day - 1;
      return found >= from ? std::optional(found) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::int64_t WallPattern::count_days(std::int64_t from, std::int64_t until) const {
  std::int64_t total = 0;
  for (Month month(from); month.first_day < until && month.year <= kLastYear; month.forward()) {
    std::uint64_t days = days_of(month);
    if (from > month.first_day) days &= ~below(from - month.first_day + 1);
    if (until < month.first_day + month.length) days &= below(until - month.first_day + 1);
    total += std::popcount(days);
  }
  return total;
}

std::optional<std::int64_t> WallPattern::first_time(std::int64_t from_s) const {
  const auto second = least(fields_.seconds, from_s % 60);
  const std::int64_t minute_from = from_s / 60 % 60 + (second ? 0 : 1);
  const auto minute = least(fields_.minutes, minute_from);
  const std::int64_t hour_from = from_s / 3600 + (minute ? 0 : 1);
  const auto hour = least(fields_.hours, hour_from);
  if (!hour) return std::nullopt;
  // A later hour begins at its first minute, a later minute at its first second.
  const std::int64_t first_minute = std::countr_zero(fields_.minutes);
  const std::int64_t first_second = std::countr_zero(fields_.seconds);
  if (*hour != from_s / 3600 || !minute) return *hour * 3600 + first_minute * 60 + first_second;
  if (*minute != from_s / 60 % 60 || !second) return *hour * 3600 + *minute * 60 + first_second;
  return *hour * 3600 + *minute * 60 + *second;
}

std::optional<std::int64_t> WallPattern::last_time(std::int64_t until_s) const {
  if (until_s <= 0) return std::nullopt;
  const std::int64_t at = until_s - 1;  // the latest that may match
  const auto second = greatest(fields_.seconds, at % 60 + 1);
  const auto minute = greatest(fields_.minutes, at / 60 % 60 + (second ? 1 : 0));
  const auto hour = greatest(fields_.hours, at / 3600 + (minute ? 1 : 0));
  if (!hour) return std::nullopt;
  const std::int64_t last_minute = 63 - std::countl_zero(fields_.minutes);
  const std::int64_t last_second = 63 - std::countl_zero(fields_.seconds);
  if (*hour != at / 3600 || !minute) return *hour * 3600 + last_minute * 60 + last_second;
  if (*minute != at / 60 % 60 || !second) return *hour * 3600 + *minute * 60 + last_second;
  return *hour * 3600 + *minute * 60 + *second;
}

std::int64_t WallPattern::count_times(std::int64_t until_s) const {
  const std::int64_t per_minute = std::popcount(fields_.seconds);
  const std::int64_t per_hour = std::popcount(fields_.minutes) * per_minute;
  const std::int64_t hour = until_s / 3600, minute = until_s / 60 % 60, second = until_s % 60;
  std::int64_t total = std::popcount(fields_.hours & below(hour)) * per_hour;
  if (!has(fields_.hours, hour)) return total;
  total += std::popcount(fields_.minutes & below(minute)) * per_minute;
  if (has(fields_.minutes, minute)) total += std::popcount(fields_.seconds & below(second));
  return total;
}

bool WallPattern::matches(std::int64_t wall_s) const { return first(wall_s, wall_s + 1).has_value(); }

std::optional<std::int64_t> WallPattern::first(std::int64_t from_s, std::int64_t until_s) const {
  if (from_s >= until_s) return std::nullopt;
  const std::int64_t day = floor_div(from_s, kDay);
  const std::int64_t last_day_of_span = floor_div(until_s - 1, kDay);
  std::optional<std::int64_t> found;
  if (const auto time = first_time(from_s - day * kDay); time && first_day(day, day + 1)) {
    found = day * kDay + *time;
  } else if (const auto later = first_day(day + 1, last_day_of_span + 1)) {
    found = *later * kDay + *first_time(0);
  }
  return found && *found < until_s ? found : std::nullopt;
}

std::optional<std::int64_t> WallPattern::last(std::int64_t from_s, std::int64_t until_s) const {
  if (from_s >= until_s) return std::nullopt;
  const std::int64_t day = floor_div(until_s, kDay);
  std::optional<std::int64_t> found;
  if (const auto time = last_time(until_s - day * kDay); time && first_day(day, day + 1)) {
    found = day * kDay + *time;
  } else if (const auto earlier = last_day(floor_div(from_s, kDay), day)) {
    found = *earlier * kDay + *last_time(kDay);
  }
  return found && *found >= from_s ? found : std::nullopt;
}

std::int64_t WallPattern::count(std::int64_t from_s, std::int64_t until_s) const {
  if (from_s >= until_s) return 0;
  const std::int64_t first = floor_div(from_s, kDay);
  const std::int64_t last = floor_div(until_s, kDay);
  // Whole days from the first to before the last, less the begin of the first, plus the begin of the last.
  std::int64_t total = count_days(first, last) * count_times(kDay);
  if (count_days(first, first + 1) != 0) total -= count_times(from_s - first * kDay);
  if (count_days(last, last + 1) != 0) total += count_times(until_s - last * kDay);
  return total;
}

bool WallPattern::ever() const {
  return first_day(0, std::chrono::sys_days(std::chrono::year(kLastYear + 1) / 1 / 1).time_since_epoch().count())
      .has_value();
}

}  // namespace eider::timing
