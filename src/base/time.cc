#include "base/time.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace eider {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr Instant kFirst = sys_days(std::chrono::year(0) / 1 / 1);
constexpr Instant kLast = Instant(sys_days(std::chrono::year(10000) / 1 / 1)) - Micros(1);
/// 100 years of 365.25 days.
constexpr std::int64_t kLongestUs = Micros(days(36525)).count();

/// `2026-03-29T03:00:00.250` of a local or UTC time.
std::string civil_text(Instant at) {
  const Instant clamped = std::clamp(at, kFirst, kLast);
  const auto day = std::chrono::floor<days>(clamped);
  const std::chrono::year_month_day date(day);
  const std::int64_t us = (clamped - day).count();
  const std::int64_t second = us / 1'000'000;
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second / 3600,
                                second / 60 % 60, second % 60);
  if (const std::int64_t fraction = us % 1'000'000; fraction % 1000 != 0) {
    out += fmt::format(".{:06}", fraction);
  } else if (fraction != 0) {
    out += fmt::format(".{:03}", fraction / 1000);
  }
  return out;
}

Error bad_time(std::string_view text, std::string_view why) {
  constexpr std::size_t shown = 64;
  return Error{ErrorCode::invalid,
               fmt::format("\"{}{}\" is not a time: {}; expected RFC 3339 like 2026-03-29T01:00:00Z "
                           "or 2026-03-29T03:00:00+02:00",
                           text.substr(0, shown), text.size() > shown ? "…" : "", why)};
}

/// Reads from the front of a text; every call says whether it found what it was asked for.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool literal(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number(std::size_t digits, int& out) {
    if (rest_.size() < digits) return false;
    out = 0;
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return false;
      out = out * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return true;
  }
  /// One or more digits after a decimal point, cut to microseconds.
  bool fraction(int& us) {
    us = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (digits < 6) us = us * 10 + (rest_[digits] - '0');
    }
    for (std::size_t i = digits; i < 6; ++i) us *= 10;
    rest_.remove_prefix(digits);
    return digits > 0;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// `Z` or `±HH:MM` at the end of the text.
bool scan_offset(Scanner& in, seconds& out) {
  out = seconds(0);
  if (in.literal('Z') || in.literal('z')) return in.done();
  const bool east = in.literal('+');
  if (!east && !in.literal('-')) return false;
  int hour = 0;
  int minute = 0;
  if (!in.number(2, hour) || !in.literal(':') || !in.number(2, minute) || !in.done()) return false;
  if (hour > 23 || minute > 59) return false;
  out = std::chrono::hours(hour) + std::chrono::minutes(minute);
  if (!east) out = -out;
  return true;
}

struct Unit {
  std::string_view name;
  std::int64_t us;
};
constexpr Unit kUnits[] = {{"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000},
                           {"s", 1'000'000},      {"ms", 1'000},        {"us", 1}};

Error bad_duration(std::string_view text, std::string_view why) {
  constexpr std::size_t shown = 64;
  return Error{
      ErrorCode::invalid,
      fmt::format("\"{}{}\" is not a duration: {}; expected whole numbers with the units d, h, m, s, ms or us, "
                  "largest first, like 500ms, 5s or 1h30m",
                  text.substr(0, shown), text.size() > shown ? "…" : "", why)};
}

}  // namespace

std::string format_rfc3339(Instant at) { return civil_text(at) + "Z"; }

std::string format_rfc3339(Instant at, seconds offset) {
  // RFC 3339 has no seconds in an offset (local mean times before 1900 have some): cutting both the offset and the
  // local time to the minute keeps the text true.
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(offset);
  const std::int64_t size = std::abs(minutes.count());
  const Instant inside = std::clamp(at, kFirst + days(2), kLast - days(2));
  return civil_text((at == inside ? at : inside) + minutes) +
         fmt::format("{}{:02}:{:02}", minutes.count() < 0 ? '-' : '+', size / 60, size % 60);
}

Result<Instant> parse_rfc3339(std::string_view text) {
  Scanner in(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, us = 0;
  if (!in.number(4, year) || !in.literal('-') || !in.number(2, month) || !in.literal('-') || !in.number(2, day)) {
    return bad_time(text, "the date is not YYYY-MM-DD");
  }
  if (!in.literal('T') && !in.literal('t') && !in.literal(' ')) return bad_time(text, "no T after the date");
  if (!in.number(2, hour) || !in.literal(':') || !in.number(2, minute) || !in.literal(':') || !in.number(2, second)) {
    return bad_time(text, "the time is not HH:MM:SS");
  }
  if (in.literal('.') && !in.fraction(us)) return bad_time(text, "no digits after the decimal point");
  seconds offset{};
  if (!scan_offset(in, offset)) return bad_time(text, "it must end in Z or an offset like +02:00");
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return bad_time(text, "there is no such date");
  if (second == 60) return bad_time(text, "leap seconds are not counted");
  if (hour > 23 || minute > 59 || second > 59) return bad_time(text, "there is no such time of day");
  return Instant(sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second) +
         Micros(us) - offset;
}

Result<Micros> parse_duration(std::string_view text) {
  if (text.empty()) return bad_duration(text, "it is empty");
  if (text.front() == '-') return bad_duration(text, "it is negative");
  std::string_view rest = text;
  const Unit* next_unit = std::begin(kUnits);
  std::int64_t total_us = 0;
  while (!rest.empty()) {
    std::int64_t amount = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), amount);
    if (error == std::errc::invalid_argument || amount < 0) return bad_duration(text, "a number was expected");
    if (error == std::errc::result_out_of_range) return bad_duration(text, "it is longer than 100 years");
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::size_t letters = std::min(rest.find_first_of("0123456789"), rest.size());
    const std::string_view name = rest.substr(0, letters);
    if (name.empty()) return bad_duration(text, fmt::format("{} has no unit", amount));
    const Unit* unit =
        std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& u) { return u.name == name; });
    if (unit == std::end(kUnits)) return bad_duration(text, fmt::format("\"{}\" is not a unit", name.substr(0, 16)));
    if (unit < next_unit) return bad_duration(text, "each unit comes once, the largest first");
    if (amount > (kLongestUs - total_us) / unit->us) return bad_duration(text, "it is longer than 100 years");
    total_us += amount * unit->us;
    next_unit = unit + 1;
    rest.remove_prefix(letters);
  }
  return Micros(total_us);
}

std::string format_duration(Micros duration) {
  if (duration.count() == 0) return "0s";
  std::string out = duration.count() < 0 ? "-" : "";
  // Negating as unsigned is right for the smallest value too.
  std::uint64_t left = static_cast<std::uint64_t>(duration.count());
  if (duration.count() < 0) left = 0 - left;
  for (const Unit& unit : kUnits) {
    const auto size = static_cast<std::uint64_t>(unit.us);
    if (left >= size) out += fmt::format("{}{}", left / size, unit.name);
    left %= size;
  }
  return out;
}

}  // namespace eider
