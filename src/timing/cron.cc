#include "timing/cron.h"

#include <algorithm>

#include <fmt/format.h>

#include "timing/words.h"

namespace eider::timing {
namespace {

constexpr std::int64_t kLongestGap = 3 * 3600;  // R5

/// The first whole second later than `at`, within the span of all searches.
std::int64_t second_after(Instant at) {
  const Instant clamped = std::clamp(at, kFirstInstant - Micros(1), kEndInstant - Micros(1));
  return std::chrono::floor<std::chrono::seconds>(clamped).time_since_epoch().count() + 1;
}

Instant instant(std::int64_t utc_s) { return Instant(std::chrono::seconds(utc_s)); }

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
  const Result<CronFields> fields = parse_cron_fields(text);
  if (!fields) return fields.error();
  Cron cron(*fields);
  if (!cron.pattern_.ever()) {
    return Error{
        ErrorCode::invalid,
        fmt::format("cron \"{}\" can never fire: its fields \"day of month\", \"month\"{} name no day that exists",
                    shown(text), fields->years.all() ? " and \"day of week\"" : ", \"day of week\" and \"year\"")};
  }
  return cron;
}

/// Whether a fixed time in the gap before the stretch fires at its begin (R5).
bool Cron::moved_to_begin(const Stretch& stretch) const {
  const std::int64_t gap = stretch.wall_begin_s() - stretch.gap_wall_s;
  return gap > 0 && gap <= kLongestGap && fields_.fixed() &&
         pattern_.first(stretch.gap_wall_s, stretch.wall_begin_s()).has_value();
}

/// From where on the wall times of the stretch count: a fixed time leaves the second pass out (R6).
std::int64_t Cron::first_wall(const Stretch& stretch) const {
  return fields_.fixed() ? stretch.fresh_wall_s : stretch.wall_begin_s();
}

std::optional<Instant> Cron::next(Instant after, const Zone& zone) const {
  const std::int64_t from_s = second_after(after);
  const auto stretches = zone.stretches();
  for (std::size_t i = zone.stretch_at(from_s); i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    if (from_s <= stretch.begin_s && moved_to_begin(stretch)) return instant(stretch.begin_s);
    const std::int64_t wall_s = std::max(from_s + stretch.offset_s, first_wall(stretch));
    if (const auto found = pattern_.first(wall_s, stretch.wall_end_s())) return instant(*found - stretch.offset_s);
  }
  return std::nullopt;
}

std::optional<Instant> Cron::previous(Instant before_or_at, const Zone& zone) const {
  const std::int64_t until_s = second_after(before_or_at);
  const auto stretches = zone.stretches();
  for (std::size_t i = zone.stretch_at(until_s - 1) + 1; i-- > 0;) {
    const Stretch& stretch = stretches[i];
    const std::int64_t wall_s = std::min(until_s + stretch.offset_s, stretch.wall_end_s());
    if (const auto found = pattern_.last(first_wall(stretch), wall_s)) return instant(*found - stretch.offset_s);
    if (moved_to_begin(stretch)) return instant(stretch.begin_s);
  }
  return std::nullopt;
}

std::int64_t Cron::count(Instant after, Instant until, const Zone& zone) const {
  const std::int64_t from_s = second_after(after);
  const std::int64_t until_s = second_after(until);
  const auto stretches = zone.stretches();
  std::int64_t total = 0;
  for (std::size_t i = zone.stretch_at(from_s); i < stretches.size() && stretches[i].begin_s < until_s; ++i) {
    const Stretch& stretch = stretches[i];
    total += pattern_.count(std::max(from_s + stretch.offset_s, first_wall(stretch)),
                            std::min(until_s + stretch.offset_s, stretch.wall_end_s()));
    if (from_s <= stretch.begin_s && shifted(instant(stretch.begin_s), zone)) ++total;
  }
  return total;
}

bool Cron::shifted(Instant at, const Zone& zone) const {
  const std::int64_t utc_s = second_after(at) - 1;
  const Stretch& stretch = zone.stretches()[zone.stretch_at(utc_s)];
  // A firing of its own at the first instant after the gap is the same one (R3).
  return at == instant(stretch.begin_s) && moved_to_begin(stretch) && !pattern_.matches(stretch.wall_begin_s());
}

}  // namespace eider::timing
