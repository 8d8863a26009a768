#include <vector>

#include <fmt/format.h>

#include "timing/cron_fields.h"

namespace eider::timing {
namespace {

using Values = std::vector<int>;  // ascending

/// Values as a list of numbers and ranges: `0,15,20-23`.
std::string as_list(const Values& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;  // two neighbours are shorter apart
    if (!out.empty()) out += ',';
    out += end - i == 1 ? fmt::format("{}", values[i]) : fmt::format("{}-{}", values[i], values[end - 1]);
    i = end;
  }
  return out;
}

/// The stepped item and, after it, as a list, the values that it leaves out.
std::string with_rest(std::string item, const Values& values, int from, int to, int step) {
  Values rest;
  for (const int v : values) {
    if (v < from || v > to || (v - from) % step != 0) rest.push_back(v);
  }
  if (!rest.empty()) item += "," + as_list(rest);
  return item;
}

/// A text for the same values that begins with `*`; empty where there is none.
std::string as_star(const Values& values, int min, int max) {
  if (values.empty() || values.front() != min) return "";
  std::vector<bool> in(static_cast<std::size_t>(max - min + 1));
  for (const int v : values) in[static_cast<std::size_t>(v - min)] = true;
  for (int step = 1;; ++step) {
    bool all = true;
    for (int v = min; v <= max; v += step) all = all && in[static_cast<std::size_t>(v - min)];
    if (!all) continue;  // ends: with the largest step only `min` is left
    return with_rest(step == 1 ? "*" : fmt::format("*/{}", step), values, min, max, step);
  }
}

/// A text for the same values that contains `/`.
std::string as_step(const Values& values) {
  const int from = values.front();
  if (values.size() == 1) return fmt::format("{}-{}/1", from, from);
  const int step = values[1] - from;
  int to = values[1];
  for (std::size_t i = 2; i < values.size(); ++i) {
    if (values[i] == to + step) to = values[i];
  }
  return with_rest(fmt::format("{}-{}/{}", from, to, step), values, from, to, step);
}

std::string as_star_or_step(const Values& values, int min, int max) {
  std::string star = as_star(values, min, max);
  return star.empty() ? as_step(values) : star;
}

/// For fields in which `*` and `/` mean nothing of their own: whatever is shortest.
std::string as_shortest(const Values& values, int min, int max) {
  const std::string stepped = as_star_or_step(values, min, max);
  std::string list = as_list(values);
  return stepped.size() < list.size() || stepped == "*" ? stepped : list;
}

Values members(std::uint64_t set) {
  Values out;
  for (int v = 0; v < 64; ++v) {
    if ((set >> v & 1) != 0) out.push_back(v);
  }
  return out;
}

std::string clock_field(std::uint64_t set, bool step, int max) {
  return step ? as_star_or_step(members(set), 0, max) : as_list(members(set));
}

std::string day_of_month(const CronFields& fields) {
  const Values days = members(fields.days_of_month);
  std::string out = fields.days_of_month_star ? as_star(days, 1, 31) : as_list(days);
  const auto add = [&out](const std::string& item) { out += (out.empty() ? "" : ",") + item; };
  if (fields.last_day) add("L");
  if (fields.last_workday) add("LW");
  for (const int day : members(fields.nearest_workday)) add(fmt::format("{}W", day));
  return out;
}

std::string day_of_week(const CronFields& fields) {
  const Values days = members(fields.days_of_week);
  std::string out = fields.days_of_week_star ? as_star(days, 0, 6) : as_list(days);
  for (std::size_t day = 0; day < 7; ++day) {
    for (const int nth : members(fields.nth_weekday[day])) {
      if (!out.empty()) out += ',';
      out += nth == kLastOfMonth ? fmt::format("{}#L", day) : fmt::format("{}#{}", day, nth);
    }
  }
  return fields.both_days ? "+" + out : out;
}

}  // namespace

std::string print_cron_fields(const CronFields& fields) {
  std::string out;
  if (fields.seconds != 1 || fields.seconds_step || !fields.years.all()) {
    out += clock_field(fields.seconds, fields.seconds_step, 59) + " ";
  }
  out += fmt::format("{} {} {} {} {}", clock_field(fields.minutes, fields.minutes_step, 59),
                     clock_field(fields.hours, fields.hours_step, 23), day_of_month(fields),
                     as_shortest(members(fields.months), 1, 12), day_of_week(fields));
  if (fields.years.all()) return out;
  Values years;
  for (int year = kFirstYear; year <= kLastYear; ++year) {
    if (fields.years[static_cast<std::size_t>(year - kFirstYear)]) years.push_back(year);
  }
  return out + " " + as_shortest(years, kFirstYear, kLastYear);
}

}  // namespace eider::timing
