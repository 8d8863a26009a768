// Names of partitions: one of a list, or a member of a series by the calendar.
#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "model/pipeline.h"

namespace eider::model {
namespace {

using Every = Partitions::Every;

struct Form {
  Every every;
  std::string_view pattern;  ///< 0 stands for a digit
  std::string_view example;
};
constexpr Form forms[] = {{Every::hour, "0000-00-00T00", "2026-03-29T05"},
                          {Every::day, "0000-00-00", "2026-03-29"},
                          {Every::month, "0000-00", "2026-03"}};

const Form* form_of(Every every) {
  const auto* found = std::find_if(std::begin(forms), std::end(forms), [&](const Form& f) { return f.every == every; });
  return found == std::end(forms) ? nullptr : found;
}

unsigned digits(std::string_view text, std::size_t from, std::size_t count) {
  unsigned out = 0;
  std::from_chars(text.data() + from, text.data() + from + count, out);
  return out;
}

/// A real date in that form: no 30 February, no hour 24.
bool is_member(const Form& form, std::string_view name) {
  if (name.size() != form.pattern.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (form.pattern[i] == '0' ? !digit : name[i] != form.pattern[i]) return false;
  }
  const unsigned day = form.every == Every::month ? 1 : digits(name, 8, 2);
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(digits(name, 0, 4))),
                                         std::chrono::month(digits(name, 5, 2)), std::chrono::day(day)};
  return date.ok() && (form.every != Every::hour || digits(name, 11, 2) < 24);
}

}  // namespace

const char* to_text(Partitions::Every value) {
  switch (value) {
    case Every::none:
      return "none";
    case Every::hour:
      return "hour";
    case Every::day:
      return "day";
    case Every::month:
      return "month";
  }
  return "?";
}

bool has_partition(const Partitions& partitions, std::string_view name) {
  const Form* form = form_of(partitions.every);
  if (form == nullptr)
    return std::find(partitions.names.begin(), partitions.names.end(), name) != partitions.names.end();
  // Names of one form sort as their instants do.
  return is_member(*form, name) && (partitions.start.empty() || name >= partitions.start) &&
         (partitions.end.empty() || name <= partitions.end);
}

std::string describe(const Partitions& partitions) {
  const Form* form = form_of(partitions.every);
  if (form == nullptr) return fmt::format("one of {}", fmt::join(partitions.names, ", "));
  std::string out = fmt::format("{} {}", form->every == Every::hour ? "an" : "a", to_text(form->every));
  if (!partitions.start.empty()) out += " from " + partitions.start;
  if (!partitions.end.empty()) out += " up to " + partitions.end;
  return fmt::format("{}, like {}", out, partitions.start.empty() ? form->example : partitions.start);
}

Result<void> check_partition(std::string_view name) {
  const auto letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  bool good = !name.empty() && name.size() <= 200 && letter_or_digit(name.front());
  for (const char c : name)
    good = good && (letter_or_digit(c) || std::string_view("_-.:+=").find(c) != std::string_view::npos);
  if (good) return {};
  return Error{ErrorCode::invalid,
               fmt::format("\"{}\" is not the name of a partition: use 1 to 200 letters, digits and _ - . : + =, "
                           "beginning with a letter or digit",
                           shown(name))};
}

}  // namespace eider::model
