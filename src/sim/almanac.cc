#include "sim/almanac.h"

#include <algorithm>

#include "base/check.h"
#include "model/run.h"

namespace eider::sim {
namespace {

constexpr std::int64_t day = 24 * 60 * 60;

/// Minutes of the day.
struct Stretch {
  int from;
  int to;
};
/// Some of each begin of a life (plan.cc), and not all of it.
constexpr Stretch breaks[] = {{5, 20}, {6 * 60 + 20, 6 * 60 + 40}, {10 * 60 + 10, 10 * 60 + 30}};
constexpr Stretch early = {0, 10 * 60 + 30};

}  // namespace

timing::Calendars calendars() {
  const auto utc = timing::Zone::load("UTC").value();
  const auto of_hours = [&](auto... stretches) {
    return std::make_shared<const timing::Calendar>(
        std::nullopt, std::nullopt, std::vector<timing::DayHours>{{stretches.from, stretches.to}...}, utc);
  };
  timing::Calendars out;
  out["sundays"] = std::make_shared<const timing::Calendar>(std::nullopt, std::uint8_t{1}, std::nullopt, utc);
  out["breaks"] = of_hours(breaks[0], breaks[1], breaks[2]);
  out["early"] = of_hours(early);
  return out;
}

bool lies_in(const std::string& calendar, Instant at) {
  const std::int64_t second = to_us(at) / 1'000'000;
  const auto lies_within = [&](const Stretch& stretch) {
    const std::int64_t of_day = second % day;
    return of_day >= stretch.from * 60 && of_day < stretch.to * 60;
  };
  if (calendar == "sundays") return (second / day + 4) % 7 == 0;  // 1970 began on a Thursday
  if (calendar == "early") return lies_within(early);
  EIDER_CHECK(calendar == "breaks", "a calendar that nobody checks");
  return std::any_of(std::begin(breaks), std::end(breaks), lies_within);
}

std::set<std::string> why_excluded(const model::Schedule& schedule, Instant at) {
  const auto in_one_of = [&](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return lies_in(name, at); });
  };
  std::set<std::string> out;
  if (schedule.start && at < *schedule.start) out.insert(model::reason::before_start);
  if (schedule.end && at > *schedule.end) out.insert(model::reason::after_end);
  if (in_one_of(schedule.exclude)) out.insert(model::reason::excluded_by_calendar);
  if (!schedule.only.empty() && !in_one_of(schedule.only)) out.insert(model::reason::not_in_calendar);
  return out;
}

}  // namespace eider::sim
