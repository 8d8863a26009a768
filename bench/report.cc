#include "bench/report.h"

#include <array>
#include <cstdio>
#include <set>

#include <fmt/format.h>
#include <boost/json.hpp>

namespace eider::bench {
namespace {

namespace json = boost::json;

/// Three digits that count, and no exponent.
std::string number(double value) {
  const double size = std::abs(value);
  if (size >= 100) return fmt::format("{:.0f}", value);
  if (size >= 10) return fmt::format("{:.1f}", value);
  if (size >= 1 || value == 0) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string number(const std::optional<double>& value) { return value ? number(*value) : std::string(); }

/// Columns, counted in characters and not in bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

using Cells = std::array<std::string, 10>;

Cells cells(const Figure& f) {
  const char* verdict = f.reached ? (*f.reached ? "ok" : "MISSED") : "";
  return {f.row,
          f.what,
          number(f.median),
          number(f.p99),
          number(f.max),
          f.unit,
          f.floor ? number(f.floor) + (f.floor_name.empty() ? "" : " " + f.floor_name) : std::string(),
          f.ratio ? number(f.ratio) + " × " + f.ratio_to : std::string(),
          f.target,
          verdict};
}

std::string line(const Cells& row, const std::array<std::size_t, 10>& widths) {
  static constexpr std::array<bool, 10> right = {false, false, true, true, true, false, false, false, false, false};
  std::string out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string padding(widths[i] - width(row[i]), ' ');
    out += (right[i] ? padding + row[i] : row[i] + padding) + (i + 1 < row.size() ? "  " : "");
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

json::value maybe(const std::optional<double>& value) { return value ? json::value(*value) : json::value(nullptr); }

json::object figure_json(const Figure& f) {
  return {{"row", f.row},
          {"what", f.what},
          {"unit", f.unit},
          {"median", f.median},
          {"p99", maybe(f.p99)},
          {"max", maybe(f.max)},
          {"floor", maybe(f.floor)},
          {"floor_name", f.floor_name},
          {"ratio", maybe(f.ratio)},
          {"ratio_to", f.ratio_to},
          {"target", f.target},
          {"reached", f.reached ? json::value(*f.reached) : json::value(nullptr)},
          {"note", f.note}};
}

}  // namespace

Figure figure(std::string row, std::string what, std::string unit, const Spread& values) {
  Figure out;
  out.row = std::move(row);
  out.what = std::move(what);
  out.unit = std::move(unit);
  out.median = values.median;
  out.p99 = values.p99;
  out.max = values.max;
  return out;
}

Figure figure(std::string row, std::string what, std::string unit, double value) {
  Figure out;
  out.row = std::move(row);
  out.what = std::move(what);
  out.unit = std::move(unit);
  out.median = value;
  return out;
}

std::string Report::table() const {
  const Cells head = {"", "what", "median", "p99", "max", "unit", "floor", "ratio", "target", ""};
  std::array<std::size_t, 10> widths{};
  const auto widen = [&](const Cells& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  };
  widen(head);
  for (const Figure& f : figures_) widen(cells(f));
  std::string out;
  for (const auto& [name, value] : settings_) out += fmt::format("{:<12}{}\n", name, value);
  out += "\n" + line(head, widths);
  std::set<std::string> told;
  const auto tell = [&](const std::string& row) {
    if (row.empty() || !told.insert(row).second) return;
    for (const auto& [of, text] : remarks_) {
      if (of == row) out += fmt::format("   {}: {}\n", row, text);
    }
  };
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const Figure& f = figures_[i];
    out += line(cells(f), widths);
    if (!f.note.empty()) out += "     " + f.note + "\n";
    if (i + 1 == figures_.size() || figures_[i + 1].row != f.row) tell(f.row);
  }
  for (const auto& [row, text] : broken_) out += fmt::format("BROKEN {}: {}\n", row, text);
  return out;
}

std::string Report::json() const {
  const auto texts = [](const Texts& from, const char* name, const char* value) {
    json::array out;
    for (const auto& [a, b] : from) out.push_back(json::object{{name, a}, {value, b}});
    return out;
  };
  json::object settings;
  for (const auto& [name, value] : settings_) settings[name] = value;
  json::array figures;
  for (const Figure& f : figures_) figures.push_back(figure_json(f));
  const json::object all{{"settings", settings},
                         {"figures", figures},
                         {"remarks", texts(remarks_, "row", "text")},
                         {"broken", texts(broken_, "row", "text")}};
  return json::serialize(all) + "\n";
}

void progress(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

}  // namespace eider::bench
