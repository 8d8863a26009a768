#include "timing/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "timing/cron_words.h"

namespace eider::timing {
namespace {

std::string plural(std::int64_t n, const char* unit) { return fmt::format("{} {}{}", n, unit, n == 1 ? "" : "s"); }

/// `5 seconds`, `1 hour 30 minutes`; `second` for exactly one of a unit.
std::string duration_words(Micros duration, bool one_is_silent) {
  static constexpr std::pair<std::int64_t, const char*> units[] = {{86'400'000'000, "day"}, {3'600'000'000, "hour"},
                                                                   {60'000'000, "minute"},  {1'000'000, "second"},
                                                                   {1'000, "millisecond"},  {1, "microsecond"}};
  std::int64_t left = duration.count();
  std::string out;
  for (const auto& [size, name] : units) {
    if (left == size && out.empty() && one_is_silent) return name;
    if (left >= size) out += (out.empty() ? "" : " ") + plural(left / size, name);
    left %= size;
  }
  return out;
}

}  // namespace

std::optional<Instant> Rule::next(Instant after) const {
  if (const Cron* cron = std::get_if<Cron>(&when_)) return cron->next(after, zone_);
  if (const Interval* interval = std::get_if<Interval>(&when_)) return interval->next(after);
  const Instant at = std::get<Instant>(when_);
  return at > after ? std::optional(at) : std::nullopt;
}

std::optional<Instant> Rule::previous(Instant before_or_at) const {
  if (const Cron* cron = std::get_if<Cron>(&when_)) return cron->previous(before_or_at, zone_);
  if (const Interval* interval = std::get_if<Interval>(&when_)) return interval->previous(before_or_at);
  const Instant at = std::get<Instant>(when_);
  return at <= before_or_at ? std::optional(at) : std::nullopt;
}

std::int64_t Rule::count(Instant after, Instant until) const {
  if (const Cron* cron = std::get_if<Cron>(&when_)) return cron->count(after, until, zone_);
  if (const Interval* interval = std::get_if<Interval>(&when_)) return interval->count(after, until);
  const Instant at = std::get<Instant>(when_);
  return at > after && at <= until ? 1 : 0;
}

std::vector<Instant> Rule::newest(Instant after, Instant until, int limit) const {
  std::vector<Instant> out;
  std::optional<Instant> at = limit > 0 ? previous(until) : std::nullopt;
  while (at && *at > after) {
    out.push_back(*at);
    if (out.size() == static_cast<std::size_t>(limit)) break;
    at = previous(*at - Micros(1));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<Instant> Rule::next_after_completion(Instant completed) const {
  if (kind_ != Kind::after_completion) return next(completed);
  if (completed >= kEndInstant) return std::nullopt;
  const Instant due = completed + std::get<Interval>(when_).every();
  return due < kEndInstant ? std::optional(due) : std::nullopt;
}

bool Rule::shifted(Instant at) const {
  const Cron* cron = std::get_if<Cron>(&when_);
  return cron != nullptr && cron->shifted(at, zone_);
}

std::string Rule::describe() const {
  switch (kind_) {
    case Kind::cron:
      return fmt::format("{} in {}", cron_words(std::get<Cron>(when_)), zone_.name());
    case Kind::every: {
      const Interval& interval = std::get<Interval>(when_);
      std::string out = "every " + duration_words(interval.every(), true);
      if (interval.anchor() != Interval::default_anchor(zone_))
        out += ", counted from " + zone_.format(interval.anchor());
      return out;
    }
    case Kind::at:
      return fmt::format("once at {} ({})", zone_.format(std::get<Instant>(when_)), zone_.name());
    case Kind::after_completion:
      return duration_words(std::get<Interval>(when_).every(), false) + " after each run ends";
  }
  return {};
}

std::string Rule::to_string() const {
  switch (kind_) {
    case Kind::cron:
      return fmt::format("cron {} in {}", std::get<Cron>(when_).to_string(), zone_.name());
    case Kind::at:
      return fmt::format("at {}", format_rfc3339(std::get<Instant>(when_)));
    case Kind::every:
    case Kind::after_completion: {
      const Interval& interval = std::get<Interval>(when_);
      return fmt::format("{} {} from {}", kind_ == Kind::every ? "every" : "after", format_duration(interval.every()),
                         format_rfc3339(interval.anchor()));
    }
  }
  return {};
}

}  // namespace eider::timing
