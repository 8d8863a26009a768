#include "cli/text.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace eider::cli {
namespace {

bool steers(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x61C || (point >= 0x200E && point <= 0x200F) ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) || point == 0xFEFF;
}

std::size_t width_of(char32_t point) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range none[] = {{0x300, 0x36F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
  constexpr Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                            {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                            {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  for (const Range& range : none) {
    if (point >= range.first && point <= range.last) return 0;
  }
  for (const Range& range : wide) {
    if (point >= range.first && point <= range.last) return 2;
  }
  return 1;
}

std::string made_safe(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [point, length] = first_character(text);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (!steers(point) || (keep_lines && (point == '\n' || point == '\t'))) {
      out += text.substr(0, length);
    } else if (point == '\n') {
      out += "\\n";
    } else if (point == '\t') {
      out += ' ';
    } else {
      out += point < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(point))
                           : fmt::format("\\u{{{:x}}}", static_cast<unsigned>(point));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace

std::string safe(std::string_view text) { return made_safe(text, false); }
std::string safe_lines(std::string_view text) { return made_safe(text, true); }

std::string safe_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const auto [point, length] = first_character(json);
    // Outside strings JSON holds none of these but line feeds and tabs.
    if (length > 0 && steers(point) && point != '\n' && point != '\t') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point));
    } else if (length == 0) {
      out += "\\ufffd";
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const auto [point, length] = first_character(text);
    columns += width_of(point);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto [point, length] = first_character(text.substr(at));
    if (used + width_of(point) > columns - 1) break;
    used += width_of(point);
    at += std::max<std::size_t>(length, 1);
  }
  return std::string(text.substr(0, at)) + "…";
}

std::string about(Micros duration) {
  const std::int64_t s = duration.count() / 1'000'000;
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min", s / 60);
  if (s < 48 * 3600) return fmt::format("{} h", s / 3600);
  return fmt::format("{} d", s / 86400);
}

std::string relative(Instant at, Instant now) {
  const Micros distance = at > now ? at - now : now - at;
  if (distance >= std::chrono::days(7)) return format_rfc3339(at).substr(0, 10);
  if (distance < std::chrono::seconds(1)) return "now";
  return at > now ? "in " + about(distance) : about(distance) + " ago";
}

std::string took(Micros duration) {
  const std::int64_t us = std::max<std::int64_t>(duration.count(), 0);
  const std::int64_t s = us / 1'000'000;
  if (us < 1'000'000) return fmt::format("{} ms", us / 1000);
  if (s < 10) return fmt::format("{}.{} s", s, us / 100'000 % 10);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 48 * 3600) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

std::string counted(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string bytes(std::int64_t count) {
  constexpr std::array<const char*, 5> units = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (count < 1024) return fmt::format("{} B", count);
  double value = static_cast<double>(count) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, units[unit]);
}

std::string to_seconds(Instant at) { return format_rfc3339(std::chrono::floor<std::chrono::seconds>(at)); }

std::string to_millis(std::string text) {
  constexpr std::size_t digits = 3;
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return text;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", dot + 1), text.size());
  if (end - dot - 1 > digits) text.erase(dot + 1 + digits, end - dot - 1 - digits);
  return text;
}

std::string with_relative(Instant at, Instant now) { return fmt::format("{} ({})", to_seconds(at), relative(at, now)); }

}  // namespace eider::cli
