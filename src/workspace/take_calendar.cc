// The values of calendars/*.yaml (reader.h).
#include <fmt/format.h>

#include "workspace/reader.h"
#include "workspace/words.h"

namespace eider::workspace {
namespace {

using Kind = YamlValue::Kind;

/// One text of the file by its parser; false when it is wrong, and that has been said.
template <typename T>
bool take_one(Value& value, YamlValue node, Result<T> (*parse)(std::string_view), T& out) {
  if (node.kind() != Kind::scalar) {
    value.reader.complain(node.mark(), "expected a text");
    return false;
  }
  auto parsed = parse(node.text());
  if (!parsed) {
    value.reader.complain(node.mark(), parsed.error().message);
    return false;
  }
  out = *parsed;
  return true;
}

template <typename T>
void take_list(Value& value, std::string_view example, std::size_t most, Result<T> (*parse)(std::string_view),
               std::vector<T>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::list) return value.complain(fmt::format("expected a list like {}", example));
  if (value.node.size() > most) return value.complain(fmt::format("has more than {} items", most));
  std::size_t index = 0;
  for (YamlValue item = value.node.first(); item; item = item.next(), ++index) {
    const Reader::Inside inside(value.reader, index);
    T one{};
    if (take_one(value, item, parse, one)) out.push_back(one);
  }
}

// So many bounds has a day at most: what is asked about years of a schedule walks from one to the next.
constexpr std::size_t kMostHours = 24;
constexpr std::size_t kMostDates = 10'000;

}  // namespace

void take(Value& value, timing::Day& out) { take_one(value, value.node, timing::parse_day, out); }

void take(Value& value, std::vector<timing::Day>& out) {
  take_list(value, "[2026-12-25, 2027-01-01]", kMostDates, timing::parse_day, out);
}

void take(Value& value, std::vector<timing::DayHours>& out) {
  take_list(value, "[\"22:00-06:00\"]", kMostHours, timing::parse_hours, out);
}

void take(Value& value, std::vector<Weekday>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::list) return value.complain("expected a list like [sat, sun]");
  std::size_t index = 0;
  for (YamlValue item = value.node.first(); item; item = item.next(), ++index) {
    const Reader::Inside inside(value.reader, index);
    Value inner{value.reader, value.key, item};
    Weekday day{};
    take(inner, day);
    out.push_back(day);
  }
}

}  // namespace eider::workspace
