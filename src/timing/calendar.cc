#include "timing/calendar.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"

namespace eider::timing {
namespace {

constexpr std::int64_t kDay_s = 86'400;
constexpr int kDayMinutes = 1440;
constexpr std::uint8_t kEveryWeekday = 0x7f;
// A day on either side of the years: so that the wall of every zone stays inside.
const Day kFirstDay{std::chrono::floor<std::chrono::days>(kFirstInstant).time_since_epoch() - std::chrono::days(2)};
const Day kEndDay{std::chrono::floor<std::chrono::days>(kEndInstant).time_since_epoch() + std::chrono::days(2)};

std::optional<int> digits(std::string_view text) {
  int out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + (c - '0');
  }
  return text.empty() ? std::nullopt : std::optional(out);
}

/// `06:00` in minutes; `24:00` is the end of the day.
std::optional<int> minute_of_day(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hour = digits(text.substr(0, 2));
  const auto minute = digits(text.substr(3));
  if (!hour || !minute || *minute > 59) return std::nullopt;
  const int at = *hour * 60 + *minute;
  return at <= kDayMinutes ? std::optional(at) : std::nullopt;
}

/// In order, and what overlaps or touches made one.
std::vector<DayRange> joined(std::vector<DayRange> ranges) {
  std::erase_if(ranges, [](const DayRange& range) { return range.last < range.first; });
  std::sort(ranges.begin(), ranges.end(), [](const DayRange& a, const DayRange& b) { return a.first < b.first; });
  std::vector<DayRange> out;
  for (const DayRange& range : ranges) {
    if (!out.empty() && range.first <= out.back().last + std::chrono::days(1)) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

unsigned weekday_of(Day day) { return std::chrono::weekday(day).c_encoding(); }

}  // namespace

Result<Day> parse_day(std::string_view text) {
  const auto bad = [&] {
    return Error{ErrorCode::invalid, fmt::format("\"{}\" is not a date from {} to {}; expected one like 2026-12-25",
                                                 shown(text), kFirstYear, kLastYear)};
  };
  constexpr std::size_t length = 10;
  if (text.size() != length || text[4] != '-' || text[7] != '-') return bad();
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8));
  if (!year || !month || !day || *year < kFirstYear || *year > kLastYear) return bad();
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return bad();
  return Day(date);
}

Result<DayHours> parse_hours(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto from = dash == std::string_view::npos ? std::nullopt : minute_of_day(text.substr(0, dash));
  const auto to = dash == std::string_view::npos ? std::nullopt : minute_of_day(text.substr(dash + 1));
  if (!from || !to || *from == kDayMinutes) {
    return Error{ErrorCode::invalid,
                 fmt::format("\"{}\" is no part of a day; expected two times like 08:00-18:00 or, past midnight, "
                             "22:00-06:00",
                             shown(text))};
  }
  if (*from == *to) {
    return Error{ErrorCode::invalid,
                 fmt::format("\"{}\" begins and ends at once; the whole day is 00:00-24:00", shown(text))};
  }
  return DayHours{*from, *to};
}

Calendar::Calendar(std::optional<std::vector<DayRange>> days, std::optional<std::uint8_t> weekdays,
                   std::optional<std::vector<DayHours>> hours, std::optional<Zone> zone)
    : days_(joined(days ? *std::move(days) : std::vector<DayRange>())),
      weekdays_(weekdays.value_or(0)),
      hours_(hours ? *std::move(hours) : std::vector<DayHours>()),
      by_day_(days.has_value() || weekdays.has_value() || !hours.has_value()),
      by_hour_(hours.has_value()),
      zone_(zone) {
  bounds_ = {0, kDayMinutes};
  for (const DayHours& part : hours_) bounds_.insert(bounds_.end(), {part.from, part.to});
  std::sort(bounds_.begin(), bounds_.end());
  bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
}

bool Calendar::has_day(Day day) const {
  if (!by_day_) return true;
  if ((weekdays_ >> weekday_of(day) & 1U) != 0) return true;
  const auto after =
      std::upper_bound(days_.begin(), days_.end(), day, [](Day d, const DayRange& range) { return d < range.first; });
  return after != days_.begin() && day <= std::prev(after)->last;
}

Day Calendar::next_change(Day day) const {
  if (!by_day_ || (weekdays_ & kEveryWeekday) == kEveryWeekday) return kEndDay;
  const bool now = has_day(day);
  Day at = day + std::chrono::days(1);
  while (at < kEndDay && has_day(at) == now) {
    const auto after =
        std::upper_bound(days_.begin(), days_.end(), at, [](Day d, const DayRange& range) { return d < range.first; });
    const bool inside = after != days_.begin() && at <= std::prev(after)->last;
    if (inside) {
      at = std::prev(after)->last + std::chrono::days(1);
    } else if (weekdays_ == 0) {  // nothing changes before the next range
      at = after == days_.end() ? kEndDay : after->first;
    } else {
      at += std::chrono::days(1);
    }
  }
  return std::min(at, kEndDay);
}

/// The first day of the piece of equal days that holds `day`.
Day Calendar::previous_change(Day day) const {
  if (!by_day_ || (weekdays_ & kEveryWeekday) == kEveryWeekday) return kFirstDay;
  const bool now = has_day(day);
  Day at = day;
  while (at > kFirstDay && has_day(at - std::chrono::days(1)) == now) {
    const Day before = at - std::chrono::days(1);
    const auto after = std::upper_bound(days_.begin(), days_.end(), before,
                                        [](Day d, const DayRange& range) { return d < range.first; });
    const bool inside = after != days_.begin() && before <= std::prev(after)->last;
    if (inside) {
      at = std::prev(after)->first;
    } else if (weekdays_ == 0) {
      at = after == days_.begin() ? kFirstDay : std::prev(after)->last + std::chrono::days(1);
    } else {
      at = before;
    }
  }
  return std::max(at, kFirstDay);
}

bool Calendar::in_hours(Day day, std::int64_t second) const {
  if (!by_hour_) return has_day(day);
  const auto is_in = [&](const DayHours& part) {
    const bool begun = second >= part.from * 60LL;
    const bool ended = second >= part.to * 60LL;
    if (part.from < part.to) return begun && !ended && has_day(day);
    return (begun && has_day(day)) || (!ended && has_day(day - std::chrono::days(1)));
  };
  return std::any_of(hours_.begin(), hours_.end(), is_in);
}

bool Calendar::contains(Instant at, const Zone& otherwise) const {
  const auto wall = std::chrono::floor<std::chrono::seconds>(zone_.value_or(otherwise).wall_at(at));
  const Day day = std::chrono::floor<std::chrono::days>(wall);
  return in_hours(day, (wall - day).count());
}

Piece Calendar::piece(Instant at, const Zone& otherwise) const {
  EIDER_CHECK(at >= kFirstInstant && at < kEndInstant, "a calendar is asked about its years only");
  const Zone zone = zone_.value_or(otherwise);
  const std::int64_t utc_s = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  const Stretch& stretch = zone.stretches()[zone.stretch_at(utc_s)];
  const std::chrono::local_seconds wall{std::chrono::seconds(utc_s + stretch.offset_s)};
  const Day day = std::chrono::floor<std::chrono::days>(wall);
  const auto start_of = [](Day d) { return d.time_since_epoch().count() * kDay_s; };
  Piece piece;
  const std::int64_t second = (wall - day).count();
  piece.in = in_hours(day, second);
  std::int64_t from = 0;
  std::int64_t to = 0;
  const bool hours_matter = by_hour_ && (has_day(day) || has_day(day - std::chrono::days(1)));
  if (hours_matter) {
    const auto after = std::upper_bound(bounds_.begin(), bounds_.end(), static_cast<int>(second / 60));
    from = start_of(day) + *std::prev(after) * 60LL;
    to = start_of(day) + *after * 60LL;
  } else {
    // With hours, the day after the last of those days still has its morning: it is not part of this.
    from = start_of(by_hour_ ? day : previous_change(day));
    to = start_of(next_change(day));
  }
  // Wall times become instants by the one offset of this stretch; where it ends, so does the piece.
  piece.begin = Instant(std::chrono::seconds(std::max(from - stretch.offset_s, stretch.begin_s)));
  piece.end = Instant(std::chrono::seconds(std::min(to - stretch.offset_s, stretch.end_s)));
  return piece;
}

bool Calendar::ever() const {
  const bool some_day = !by_day_ || weekdays_ != 0 || !days_.empty();
  return some_day && (!by_hour_ || !hours_.empty());
}

bool Calendar::always() const {
  const bool every_day = !by_day_ || (weekdays_ & kEveryWeekday) == kEveryWeekday;
  if (!every_day || !by_hour_) return every_day;
  // Every piece of an ordinary day is in: any day will do.
  for (std::size_t i = 0; i + 1 < bounds_.size(); ++i) {
    if (!in_hours(Day{}, bounds_[i] * 60LL)) return false;
  }
  return true;
}

}  // namespace eider::timing
