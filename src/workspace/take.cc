// From a scalar to a value: one function a target type, each with the messages for what can be wrong.
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "model/glob.h"
#include "timing/cron.h"
#include "timing/zone.h"
#include "workspace/expand.h"
#include "workspace/files.h"
#include "workspace/reader.h"
#include "workspace/words.h"

namespace eider::workspace {
namespace {

using Kind = YamlValue::Kind;

std::string_view what_it_is(YamlValue node) {
  switch (node.kind()) {
    case Kind::null:
      return "nothing";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  return "a text";
}

/// The scalar's text as written; complains about a list, a map, nothing or a NUL.
std::optional<std::string_view> scalar(Value& value, YamlValue node, std::string_view expected) {
  if (node.kind() != Kind::scalar) {
    value.reader.complain(node.mark(), fmt::format("expected {}, found {}", expected, what_it_is(node)));
    return std::nullopt;
  }
  if (node.text().find('\0') != std::string_view::npos) {
    value.reader.complain(node.mark(), fmt::format("\"{}\" contains a NUL character", shown(node.text())));
    return std::nullopt;
  }
  return node.text();
}

/// A text with `${env:NAME}` replaced where the row allows it.
std::optional<std::string> text_of(Value& value, YamlValue node, std::string_view expected = "a text") {
  const auto written = scalar(value, node, expected);
  if (!written) return std::nullopt;
  auto expanded = expand(*written, value.key.expands, value.reader.environment());
  if (expanded) return *std::move(expanded);
  value.reader.complain(node.mark(), expanded.error().message);
  return std::nullopt;
}

/// Unquoted: a quoted "1" is text.
std::optional<std::string_view> bare(Value& value, std::string_view expected) {
  const auto text = scalar(value, value.node, expected);
  if (text && value.node.quoted()) {
    value.complain(fmt::format("expected {}, found text in quotes; remove the quotes", expected));
    return std::nullopt;
  }
  return text;
}

template <typename T>
std::optional<T> number_of(std::string_view text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// A plain decimal number; not `inf` or `nan`.
std::optional<double> decimal_of(std::string_view text) {
  const auto out = number_of<double>(text);
  return out && std::isfinite(*out) ? out : std::nullopt;
}

bool check_range(Value& value, double amount, const std::function<std::string(double)>& show) {
  const Key& key = value.key;
  if (amount >= key.least && amount <= key.most) return true;
  const std::string found = shown(value.node.text());
  if (std::isinf(key.most)) {
    value.complain(fmt::format("{} is too small; the least is {}", found, show(key.least)));
  } else if (std::isinf(key.least)) {
    value.complain(fmt::format("{} is too large; the most is {}", found, show(key.most)));
  } else {
    value.complain(fmt::format("{} is out of range; expected {} to {}", found, show(key.least), show(key.most)));
  }
  return false;
}

std::string show_number(double amount) { return fmt::format("{}", amount); }

std::string show_size(double bytes) {
  constexpr double kib = 1024.0;
  constexpr double mib = 1024.0 * kib;
  if (bytes >= mib) return fmt::format("{}MiB", bytes / mib);
  return bytes >= kib ? fmt::format("{}KiB", bytes / kib) : fmt::format("{} bytes", bytes);
}

struct SizeUnit {
  std::string_view name;
  double bytes;
};
constexpr SizeUnit kSizeUnits[] = {{"", 1},
                                   {"B", 1},
                                   {"kB", 1e3},
                                   {"KB", 1e3},
                                   {"MB", 1e6},
                                   {"GB", 1e9},
                                   {"TB", 1e12},
                                   {"KiB", 1024},
                                   {"MiB", 1024.0 * 1024},
                                   {"GiB", 1024.0 * 1024 * 1024},
                                   {"TiB", 1024.0 * 1024 * 1024 * 1024}};

Result<std::int64_t> parse_size(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Error{ErrorCode::invalid, fmt::format("\"{}\" is not a size: {}; expected a number with a unit, like 512MiB "
                                                 "or 2GB (kB, MB, GB, TB count in 1000, KiB, MiB, GiB, TiB in 1024)",
                                                 shown(text), why)};
  };
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string_view unit = text.substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto amount = decimal_of(text.substr(0, digits));
  if (!amount) return bad(text.starts_with('-') ? "it is negative" : "a number was expected");
  for (const SizeUnit& known : kSizeUnits) {
    if (unit != known.name) continue;
    const double bytes = *amount * known.bytes;
    if (bytes > 1e15) return bad("it is larger than 1000 TB");
    if (bytes != std::floor(bytes) && known.bytes == 1) return bad("a byte has no parts");
    return static_cast<std::int64_t>(bytes);
  }
  return bad(fmt::format("\"{}\" is not a unit", shown(unit)));
}

Result<void> check_any_path(std::string_view path) {
  if (!path.starts_with('/')) return check_inside(path);
  return {};
}

/// A shell pattern over names of files.
Result<void> check_file_pattern(std::string_view pattern) {
  constexpr std::size_t longest = 255;
  const char* why = pattern.empty()                               ? "is empty"
                    : pattern.find('/') != std::string_view::npos ? "has a /"
                    : pattern.size() > longest                    ? "is longer than any name"
                                                                  : nullptr;
  if (why == nullptr) return {};
  return Error{ErrorCode::invalid,
               fmt::format("\"{}\" {}; expected a pattern over names of files, like *.csv", shown(pattern), why)};
}

/// What the row's type asks of a text; true when it holds.
bool check_text(Value& value, const std::string& text) {
  const auto check = [](const auto& parsed) { return parsed ? Result<void>() : Result<void>(parsed.error()); };
  Result<void> checked;
  switch (value.key.type) {
    case Type::name:
      checked = model::check_name(value.key.name, text);
      break;
    case Type::asset:
      checked = model::check_asset_name(text);
      break;
    case Type::patterns:
      checked = model::is_glob(text) ? model::check_glob(text) : model::check_asset_name(text);
      break;
    case Type::partition:
    case Type::partitions:
      checked = model::check_partition(text);
      break;
    case Type::file_pattern:
      checked = check_file_pattern(text);
      break;
    case Type::path:
      checked = check_inside(text);
      break;
    case Type::any_path:
      checked = check_any_path(text);
      break;
    case Type::cron:
      checked = check(timing::Cron::parse(text));
      break;
    case Type::timezone:
      checked = check(timing::Zone::load(text));
      break;
    default:
      break;
  }
  if (!checked) value.complain(checked.error().message);
  return checked.ok();
}

}  // namespace

std::optional<std::size_t> choice_of(Value& value) {
  const auto text = scalar(value, value.node, "one word");
  if (!text) return std::nullopt;
  const std::vector<std::string_view> choices = split_words(value.key.choices);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == *text) return i;
  }
  value.complain(fmt::format("\"{}\" is not one of {}", shown(*text), join_words(choices, ", ")),
                 std::string(closest(*text, choices)));
  return std::nullopt;
}

void take(Value& value, std::string& out) {
  auto text = text_of(value, value.node);
  if (!text || !check_text(value, *text)) return;
  const bool path = value.key.type == Type::path || value.key.type == Type::any_path;
  out = path ? normal_path(*text) : *std::move(text);
}

void take(Value& value, bool& out) {
  if (value.key.type == Type::choice) {
    if (const auto index = choice_of(value)) out = *index == 1;
    return;
  }
  const auto text = bare(value, "true or false");
  if (!text) return;
  if (*text == "true" || *text == "True" || *text == "TRUE") {
    out = true;
  } else if (*text == "false" || *text == "False" || *text == "FALSE") {
    out = false;
  } else {
    const bool yes = *text == "yes" || *text == "Yes" || *text == "on" || *text == "On";
    const bool no = *text == "no" || *text == "No" || *text == "off" || *text == "Off";
    value.complain(fmt::format("expected true or false, found \"{}\"", shown(*text)), yes ? "true" : no ? "false" : "");
  }
}

void take(Value& value, int& out) {
  const auto text = bare(value, "a whole number");
  if (!text) return;
  const auto number = number_of<int>(*text);
  if (!number) return value.complain(fmt::format("expected a whole number, found \"{}\"", shown(*text)));
  if (check_range(value, *number, show_number)) out = *number;
}

void take(Value& value, double& out) {
  const bool ratio = value.key.type == Type::ratio;
  const std::string_view expected = ratio ? "a ratio like 0.1 or 10%" : "a number";
  const auto written = ratio ? scalar(value, value.node, expected) : bare(value, expected);
  if (!written) return;
  std::string_view digits = *written;
  const bool percent = ratio && digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  const auto number = decimal_of(digits);
  if (!number) return value.complain(fmt::format("expected {}, found \"{}\"", expected, shown(*written)));
  const double amount = percent ? *number / 100 : *number;
  if (check_range(value, amount, show_number)) out = amount;
}

void take(Value& value, std::int64_t& out) {
  const auto text = scalar(value, value.node, "a size like 512MiB");
  if (!text) return;
  const auto bytes = parse_size(*text);
  if (!bytes) return value.complain(bytes.error().message);
  if (check_range(value, static_cast<double>(*bytes), show_size)) out = *bytes;
}

void take(Value& value, Micros& out) {
  const auto text = scalar(value, value.node, "a duration like 5s");
  if (!text) return;
  const auto duration = parse_duration(*text);
  if (!duration) return value.complain(duration.error().message);
  const auto show = [](double us) { return format_duration(Micros(static_cast<std::int64_t>(us))); };
  if (check_range(value, static_cast<double>(duration->count()), show)) out = *duration;
}

void take(Value& value, Instant& out) {
  const auto text = scalar(value, value.node, "a time like 2026-03-29T01:00:00Z");
  if (!text) return;
  const auto at = parse_rfc3339(*text);
  if (!at) return value.complain(at.error().message);
  out = *at;
}

void take(Value& value, model::Partitions::Every& out) {
  const auto index = choice_of(value);
  if (index) out = static_cast<model::Partitions::Every>(*index + 1);  // `none` is what is not written
}

void take(Value& value, SqlText& out) {
  const auto text = scalar(value, value.node, "SQL, or a path that ends in .sql");
  if (!text) return;
  if (text->find_first_not_of(" \t\r\n") == std::string_view::npos) return value.complain("the SQL text is empty");
  out.text = *text;
  out.first_line = value.node.first_line();
}

void take(Value& value, Command& out) {
  if (value.node.kind() != Kind::list) {
    auto line = text_of(value, value.node, "a list of arguments like [python3, report.py]");
    if (line && line->empty()) return value.complain("the command is empty");
    if (line) out.line = *std::move(line);
    return;
  }
  if (value.node.size() == 0) return value.complain("the command is empty; expected a program and its arguments");
  std::size_t index = 0;
  for (YamlValue item = value.node.first(); item; item = item.next(), ++index) {
    const Reader::Inside inside(value.reader, index);
    auto argument = text_of(value, item);
    if (argument && argument->empty() && index == 0) value.reader.complain(item.mark(), "the program's name is empty");
    if (argument) out.arguments.push_back(*std::move(argument));
  }
}

void take(Value& value, std::vector<std::string>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.key.type == Type::patterns && value.node.kind() == Kind::scalar) {
    take(value, out.emplace_back());
    return;
  }
  if (value.node.kind() != Kind::list) {
    return value.complain(fmt::format("expected a list like [a, b], found {}", what_it_is(value.node)));
  }
  std::size_t index = 0;
  for (YamlValue item = value.node.first(); item; item = item.next(), ++index) {
    const Reader::Inside inside(value.reader, index);
    auto name = text_of(value, item, "a name");
    Value inner{value.reader, value.key, item};
    const bool good = name && check_text(inner, *name);
    out.push_back(good ? *std::move(name) : std::string());
  }
}

void take(Value& value, std::map<std::string, std::string>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::map) return value.complain("expected a map of variables, like {LEVEL: debug}");
  for (YamlValue member = value.node.first(); member; member = member.next()) {
    const Reader::Inside inside(value.reader, member.key());
    const std::string_view name = member.key();
    const std::size_t bad = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    if (bad != std::string_view::npos || (name.front() >= '0' && name.front() <= '9')) {
      value.reader.complain(member.key_mark(), "is not the name of an environment variable (letters, digits and _)");
    } else if (name.starts_with("EIDER_")) {
      value.reader.complain(member.key_mark(), "names that begin with EIDER_ are set by Eider");
    } else if (auto text = text_of(value, member)) {
      out.emplace(name, *std::move(text));
    }
  }
}

void take(Value& value, std::map<std::string, int>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::map) {
    return value.complain("expected a map of names to whole numbers, like {heavy: 1}");
  }
  for (YamlValue member = value.node.first(); member; member = member.next()) {
    const Reader::Inside inside(value.reader, member.key());
    if (const auto named = model::check_name("pool", member.key()); !named) {
      value.reader.complain(member.key_mark(), named.error().message);
      continue;
    }
    int weight = 0;
    Value inner{value.reader, value.key, member};
    take(inner, weight);
    if (weight != 0) out.emplace(member.key(), weight);
  }
}

void take(Value& value, std::vector<model::RetryCause>& out) {
  if (value.node.kind() != Kind::list) {
    return value.complain(fmt::format("expected a list of {}, found {}",
                                      join_words(split_words(value.key.choices), ", "), what_it_is(value.node)));
  }
  std::vector<model::RetryCause> causes;
  for (YamlValue item = value.node.first(); item; item = item.next()) {
    const Reader::Inside inside(value.reader, causes.size());
    Value inner{value.reader, value.key, item};
    model::RetryCause& cause = causes.emplace_back();
    take(inner, cause);
  }
  out = std::move(causes);
}

void take(Value& value, std::vector<int>& out) {
  if (value.node.kind() != Kind::list) {
    Value inner{value.reader, value.key, value.node};
    out.assign(1, 0);
    return take(inner, out.front());
  }
  std::vector<int> numbers;
  for (YamlValue item = value.node.first(); item; item = item.next()) {
    const Reader::Inside inside(value.reader, numbers.size());
    Value inner{value.reader, value.key, item};
    take(inner, numbers.emplace_back());
  }
  out = std::move(numbers);
}

void take(Value& value, std::map<std::string, model::LockMode>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::map) return value.complain("expected a map of locks, like {warehouse: write}");
  for (YamlValue member = value.node.first(); member; member = member.next()) {
    const Reader::Inside inside(value.reader, member.key());
    if (const auto named = model::check_name("lock", member.key()); !named) {
      value.reader.complain(member.key_mark(), named.error().message);
      continue;
    }
    Value inner{value.reader, value.key, member};
    model::LockMode mode = model::LockMode::write;
    take(inner, mode);
    out.emplace(member.key(), mode);
  }
}

void take(Value& value, model::Rate& out) {
  const auto text = scalar(value, value.node, "a rate like 100/min");
  if (!text) return;
  const auto bad = [&](std::string_view why) {
    value.complain(
        fmt::format("\"{}\" is not a rate: {}; expected how many starts in how long, like 100/min, 10/s or "
                    "5/10s",
                    shown(*text), why));
  };
  const std::size_t slash = text->find('/');
  if (slash == std::string_view::npos) return bad("it has no /");
  const auto starts = number_of<int>(text->substr(0, slash));
  constexpr int most = 1'000'000;
  if (!starts || *starts < 1 || *starts > most) return bad("it begins with no whole number from 1 to 1000000");
  std::string_view time = text->substr(slash + 1);
  for (const auto& [word, meant] : {std::pair("min", "1m"), {"s", "1s"}, {"m", "1m"}, {"h", "1h"}, {"d", "1d"}}) {
    if (time == word) time = meant;
  }
  const auto per = parse_duration(time);
  if (!per) return bad(per.error().message);
  if (*per < std::chrono::milliseconds(1) || *per > std::chrono::hours(24)) return bad("its time is not 1ms to 1d");
  out = {*starts, *per};
}

}  // namespace eider::workspace
