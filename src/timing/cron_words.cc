#include "timing/cron_words.h"

#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace eider::timing {
namespace {

constexpr const char* kWeekdayNames[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr const char* kMonthNames[] = {"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};
constexpr int kMostTimes = 4;  // more times of day than that are no words
constexpr std::uint64_t kMondayToFriday = 0b0111110;

bool is_one(std::uint64_t set) { return std::popcount(set) == 1; }
int only(std::uint64_t set) { return std::countr_zero(set); }

std::vector<int> values_in(std::uint64_t set) {
  std::vector<int> out;
  for (; set != 0; set &= set - 1) out.push_back(std::countr_zero(set));
  return out;
}

/// `a`, `a and b`, `a, b and c`
std::string joined(const std::vector<std::string>& words) {
  std::string out = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) out += (i + 1 < words.size() ? ", " : " and ") + words[i];
  return out;
}

/// n for `*/n` where n divides the size of the field, so that all distances are equal; 1 for `*`.
std::optional<int> even_step(std::uint64_t set, bool step, int size) {
  if (!step || (set & 1) == 0) return std::nullopt;
  const int n = std::popcount(set) == 1 ? size : std::countr_zero(set & (set - 1));
  if (size % n != 0 || std::popcount(set) != size / n) return std::nullopt;
  for (const int v : values_in(set)) {
    if (v % n != 0) return std::nullopt;
  }
  return n;
}

std::string every(int n, const char* unit) {
  return n == 1 ? fmt::format("every {}", unit) : fmt::format("every {} {}s", n, unit);
}

bool every_day(const CronFields& f) {
  return f.days_of_month_star && f.days_of_week_star && std::popcount(f.days_of_month) == 31 &&
         std::popcount(f.days_of_week) == 7 && std::popcount(f.months) == 12 && f.years.all();
}

/// The clock part of an interval: `every 15 minutes`.
std::optional<std::string> interval_words(const CronFields& f) {
  const auto second = even_step(f.seconds, f.seconds_step, 60);
  const auto minute = even_step(f.minutes, f.minutes_step, 60);
  const auto hour = even_step(f.hours, f.hours_step, 24);
  if (second && minute == 1 && hour == 1) return every(*second, "second");
  if (f.seconds != 1 || f.seconds_step) return std::nullopt;
  if (minute && hour == 1) return every(*minute, "minute");
  if (f.minutes_step || !is_one(f.minutes) || !hour) return std::nullopt;
  if (f.minutes == 1) return every(*hour, "hour");
  return fmt::format("at minute {} of {}", only(f.minutes), every(*hour, "hour"));
}

/// The clock part of a fixed time: `at 02:30 and 14:30`.
std::optional<std::string> time_words(const CronFields& f) {
  if (!f.fixed() || !is_one(f.seconds)) return std::nullopt;
  if (std::popcount(f.hours) * std::popcount(f.minutes) > kMostTimes) return std::nullopt;
  std::vector<std::string> times;
  for (const int hour : values_in(f.hours)) {
    for (const int minute : values_in(f.minutes)) {
      std::string time = fmt::format("{:02}:{:02}", hour, minute);
      if (f.seconds != 1) time += fmt::format(":{:02}", only(f.seconds));
      times.push_back(std::move(time));
    }
  }
  return "at " + joined(times);
}

std::string weekday_words(std::uint64_t set) {
  if (set == kMondayToFriday) return "Monday to Friday";
  std::vector<std::string> days;
  for (const int day : values_in(set)) {
    if (day != 0) days.emplace_back(kWeekdayNames[day]);
  }
  if ((set & 1) != 0) days.emplace_back(kWeekdayNames[0]);  // the week begins on Monday
  return joined(days);
}

/// The day part: `every day`, `every Monday`, `on day 1 of every month`, `on 1 January every year`.
std::optional<std::string> day_words(const CronFields& f) {
  if (every_day(f)) return "every day";
  const bool special = f.last_workday || f.nearest_workday != 0 || f.nth_weekday != CronFields{}.nth_weekday;
  if (special || !f.years.all()) return std::nullopt;
  const bool every_month = std::popcount(f.months) == 12;
  const bool any_weekday = f.days_of_week_star && std::popcount(f.days_of_week) == 7;
  if (f.days_of_month_star && std::popcount(f.days_of_month) == 31 && !f.last_day && every_month) {
    return "every " + weekday_words(f.days_of_week);
  }
  if (!any_weekday || f.days_of_month_star) return std::nullopt;
  if (f.last_day) {
    if (f.days_of_month != 0 || !every_month) return std::nullopt;
    return "on the last day of every month";
  }
  if (!is_one(f.days_of_month)) return std::nullopt;
  const int day = only(f.days_of_month);
  if (every_month) return fmt::format("on day {} of every month", day);
  if (!is_one(f.months)) return std::nullopt;
  return fmt::format("on {} {} every year", day, kMonthNames[only(f.months) - 1]);
}

}  // namespace

std::string cron_words(const Cron& cron) {
  const CronFields& fields = cron.fields();
  if (const auto interval = interval_words(fields); interval && every_day(fields)) return *interval;
  const auto time = time_words(fields);
  const auto day = day_words(fields);
  if (time && day) return *time + " " + *day;
  return "cron " + cron.to_string();
}

}  // namespace eider::timing
