#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <boost/container/small_vector.hpp>

#include "timing/cron_fields.h"
#include "timing/words.h"

namespace eider::timing {
namespace {

constexpr std::size_t kLongestText = 1024;
constexpr const char* kMonths[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr const char* kWeekdays[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr int kSunday = 7;  // as the end of a range

struct FieldKind {
  const char* name;
  int min;
  int max;
  std::span<const char* const> names = {};  // of min, min + 1, …
  int base = 0;                             // the value of bit 0
};
constexpr FieldKind kSecond{"second", 0, 59};
constexpr FieldKind kMinute{"minute", 0, 59};
constexpr FieldKind kHour{"hour", 0, 23};
constexpr FieldKind kDayOfMonth{"day of month", 1, 31};
constexpr FieldKind kMonth{"month", 1, 12, kMonths};
constexpr FieldKind kDayOfWeek{"day of week", 0, 7, kWeekdays};
constexpr FieldKind kYear{"year", kFirstYear, kLastYear, {}, kFirstYear};

Error invalid(std::string message) { return Error{ErrorCode::invalid, std::move(message)}; }

/// Whether the text is `word`, in any case.
bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
  });
}

/// Few: an expression has seven fields at most, a field rarely more than that.
using Pieces = boost::container::small_vector<std::string_view, 8>;

Pieces split(std::string_view text, std::string_view separators, bool keep_empty) {
  Pieces out;
  while (true) {
    const std::size_t at = std::min(text.find_first_of(separators), text.size());
    if (keep_empty || at > 0) out.push_back(text.substr(0, at));
    if (at == text.size()) return out;
    text.remove_prefix(at + 1);
  }
}

/// A number of at most four digits.
std::optional<int> number(std::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  int out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + (c - '0');
  }
  return out;
}

/// The values of one field while it is read.
struct Field {
  decltype(CronFields::years) values;  // bit n is base + n
  bool star_first = false;             // begins with `*` (or is `?`)
  bool step = false;                   // contains `*` or `/`
};

/// Reads one field; the days have their own additions in the functions below.
class FieldReader {
 public:
  explicit FieldReader(const FieldKind& kind) : kind_(kind) {}

  Error error(const std::string& why) const { return invalid(fmt::format("cron field \"{}\": {}", kind_.name, why)); }

  Result<int> value(std::string_view text) const {
    if (const auto n = number(text)) {
      if (*n < kind_.min || *n > kind_.max) return error(fmt::format("{} is outside {}-{}", *n, kind_.min, kind_.max));
      return *n;
    }
    for (std::size_t i = 0; i < kind_.names.size(); ++i) {
      if (is_word(text, kind_.names[i])) return kind_.min + static_cast<int>(i);
    }
    return error(unreadable(text));
  }

  /// One item of the list: `*`, value, range, with or without `/step`.
  Result<void> item(std::string_view text, Field& out) const {
    if (text.empty()) return error("an item of the list is empty");
    const std::size_t slash = text.find('/');
    const std::string_view range = text.substr(0, slash);
    const std::size_t dash = range.find('-');
    int from = kind_.min;
    int to = kind_.max;
    if (range == "*") {
      out.step = true;
    } else if (range.empty()) {
      return error(fmt::format("\"{}\" has no range before the step; did you mean *{}?", shown(text), shown(text)));
    } else {
      const Result<int> first = value(range.substr(0, dash));
      if (!first) return first.error();
      from = to = *first;
      if (dash != std::string_view::npos) {
        const Result<int> last = value(range.substr(dash + 1));
        if (!last) return last.error();
        to = &kind_ == &kDayOfWeek && *last == 0 && from > 0 ? kSunday : *last;
      } else if (slash != std::string_view::npos) {
        return error(fmt::format("\"{}\" has a step but no range; did you mean {}-{}/{}?", shown(text), from, kind_.max,
                                 shown(text.substr(slash + 1))));
      }
      if (from > to) {
        return error(fmt::format("the range {} runs backward; did you mean {}-{},{}-{}?", shown(range), from, kind_.max,
                                 kind_.min, to));
      }
    }
    int step = 1;
    if (slash != std::string_view::npos) {
      const Result<int> read = step_of(text.substr(slash + 1));
      if (!read) return read.error();
      step = *read;
      out.step = true;
    }
    for (int v = from; v <= to; v += step) out.values[static_cast<std::size_t>(v - kind_.base)] = true;
    return {};
  }

  Result<Field> list(std::string_view text) const {
    Field out;
    out.star_first = text.starts_with('*');
    for (const std::string_view part : split(text, ",", true)) {
      if (auto read = item(part, out); !read) return read.error();
    }
    return out;
  }

 private:
  Result<int> step_of(std::string_view text) const {
    const std::optional<int> step = number(text);
    const int size = &kind_ == &kDayOfWeek ? 7 : kind_.max - kind_.min + 1;
    if (!step) return error(fmt::format("\"{}\" is not a step; expected a whole number like */5", shown(text)));
    if (*step == 0) return error("a step of 0 never moves on; expected 1 or more");
    if (*step > size) {
      return error(
          fmt::format("a step of {} is larger than the {} values of the field; for a longer interval use "
                      "\"every\" instead of cron",
                      *step, size));
    }
    return *step;
  }

  std::string unreadable(std::string_view text) const {
    if (text.empty()) return "a value is missing";
    if (number(text.substr(0, 4)) && text.find_first_not_of("0123456789") == std::string_view::npos) {
      return fmt::format("{} is outside {}-{}", shown(text), kind_.min, kind_.max);
    }
    std::string out = fmt::format("\"{}\" is not a value; expected {}-{}", shown(text), kind_.min, kind_.max);
    if (kind_.names.empty()) return out;
    out += fmt::format(" or {}-{}", kind_.names.front(), kind_.names.back());
    if (const std::size_t bar = text.find('_'); bar != std::string_view::npos) {
      return out + fmt::format("; did you mean {}-{}?", shown(text.substr(0, bar)), shown(text.substr(bar + 1)));
    }
    for (const char* name : kind_.names) {
      if (is_word(text.substr(0, 3), name) || (text.size() <= 4 && edit_distance(text, name) == 1)) {
        return out + fmt::format("; did you mean {}?", name);
      }
    }
    return out;
  }

  const FieldKind& kind_;
};

std::uint64_t low_bits(const decltype(Field::values)& values) {
  static const decltype(Field::values) low(~std::uint64_t{0});
  return (values & low).to_ullong();
}

Result<void> read_day_of_month(std::string_view text, CronFields& out) {
  const FieldReader reader(kDayOfMonth);
  if (text == "?") text = "*";
  const Pieces parts = split(text, ",", true);
  Field field;
  for (const std::string_view part : parts) {
    if (is_word(part, "L")) {
      out.last_day = true;
    } else if (part.ends_with('W') || part.ends_with('w')) {
      if (parts.size() > 1) return reader.error(fmt::format("{} can't be part of a list", shown(part)));
      const std::string_view day = part.substr(0, part.size() - 1);
      if (day.find('-') != std::string_view::npos) {
        return reader.error(fmt::format("{}: W takes a single day like 15W, not a range", shown(part)));
      }
      if (is_word(day, "L")) {
        out.last_workday = true;
        continue;
      }
      const Result<int> value = reader.value(day);
      if (!value) return value.error();
      out.nearest_workday |= 1U << *value;
    } else if (auto read = reader.item(part, field); !read) {
      return read.error();
    }
  }
  out.days_of_month = low_bits(field.values);
  out.days_of_month_star = text.starts_with('*');
  return {};
}

/// `5#2`, `FRI#L`, `5L`; false when the text is none of these.
Result<bool> read_nth_weekday(std::string_view text, const FieldReader& reader, CronFields& out) {
  const std::size_t hash = text.find('#');
  const bool short_last =
      hash == std::string_view::npos && text.size() > 1 && (text.back() == 'L' || text.back() == 'l');
  if (hash == std::string_view::npos && !short_last) return false;
  const Result<int> weekday = reader.value(short_last ? text.substr(0, text.size() - 1) : text.substr(0, hash));
  if (!weekday) return weekday.error();
  int which = kLastOfMonth;
  if (!short_last && !is_word(text.substr(hash + 1), "L")) {
    const std::optional<int> n = number(text.substr(hash + 1));
    if (!n || *n < 1 || *n > 5) {
      return reader.error(fmt::format("\"{}\": expected 1-5 or L after the #", shown(text)));
    }
    which = *n;
  }
  out.nth_weekday[static_cast<std::size_t>(*weekday % 7)] |= static_cast<std::uint8_t>(1U << which);
  return true;
}

Result<void> read_day_of_week(std::string_view text, CronFields& out) {
  const FieldReader reader(kDayOfWeek);
  const bool plus = text.starts_with('+');
  if (plus) text.remove_prefix(1);
  if (text == "?") text = "*";
  Field field;
  for (const std::string_view part : split(text, ",", true)) {
    const Result<bool> nth = read_nth_weekday(part, reader, out);
    if (!nth) return nth.error();
    if (*nth) continue;
    if (auto read = reader.item(part, field); !read) return read.error();
  }
  out.days_of_week = (low_bits(field.values) | low_bits(field.values) >> 7) & 0x7f;  // 7 is Sunday too
  out.days_of_week_star = text.starts_with('*');
  out.both_days = plus && !out.days_of_week_star && !out.days_of_month_star;
  return {};
}

Result<void> read_clock_field(const FieldKind& kind, std::string_view text, std::uint64_t& values, bool& step) {
  const Result<Field> field = FieldReader(kind).list(text);
  if (!field) return field.error();
  values = low_bits(field->values);
  step = field->step;
  return {};
}

Result<void> read_years(std::string_view text, CronFields& out) {
  const Result<Field> field = FieldReader(kYear).list(text);
  if (!field) return field.error();
  out.years = field->values;
  return {};
}

Result<std::string_view> expand_nickname(std::string_view text) {
  static constexpr std::pair<const char*, const char*> nicknames[] = {
      {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};
  if (!text.starts_with('@')) return text;
  for (const auto& [name, meaning] : nicknames) {
    if (text == name) return std::string_view(meaning);
  }
  for (const auto& [name, meaning] : nicknames) {
    if (edit_distance(text.substr(0, 16), name) <= 2) {
      return invalid(fmt::format("cron \"{}\" is unknown; did you mean {}?", shown(text), name));
    }
  }
  if (text == "@reboot") return invalid("cron \"@reboot\" is not a time; expected a clock rule like @daily");
  return invalid(
      fmt::format("cron \"{}\" is unknown; expected @hourly, @daily, @midnight, @weekly, @monthly, @yearly or "
                  "@annually",
                  shown(text)));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

Result<CronFields> parse_cron_fields(std::string_view text) {
  if (text.size() > kLongestText) return invalid(fmt::format("cron is longer than {} characters", kLongestText));
  const Result<std::string_view> expanded = expand_nickname(trimmed(text));
  if (!expanded) return expanded.error();
  Pieces parts = split(*expanded, " \t", false);
  if (parts.size() < 5 || parts.size() > 7) {
    return invalid(
        fmt::format("cron \"{}\" has {} fields; expected 5 (minute, hour, day of month, month, day of week), 6 "
                    "with a leading second or 7 with a year at the end",
                    shown(text), parts.size()));
  }
  CronFields out;
  out.years.set();
  if (parts.size() == 7) {
    if (auto read = read_years(parts.back(), out); !read) return read.error();
    parts.pop_back();
  }
  if (parts.size() == 6) {
    if (auto read = read_clock_field(kSecond, parts.front(), out.seconds, out.seconds_step); !read) return read.error();
    parts.erase(parts.begin());
  }
  if (auto read = read_clock_field(kMinute, parts[0], out.minutes, out.minutes_step); !read) return read.error();
  if (auto read = read_clock_field(kHour, parts[1], out.hours, out.hours_step); !read) return read.error();
  if (auto read = read_day_of_month(parts[2], out); !read) return read.error();
  bool months_step = false;  // says nothing about days or clock
  if (auto read = read_clock_field(kMonth, parts[3], out.months, months_step); !read) return read.error();
  if (auto read = read_day_of_week(parts[4], out); !read) return read.error();
  return out;
}

}  // namespace eider::timing
