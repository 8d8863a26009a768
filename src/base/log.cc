#include "base/log.h"

#include <unistd.h>
#include <cstdlib>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace eider::log {
namespace {

spdlog::level::level_enum library_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// In the columns of the events of `eider serve` (app/event_lines.cc), which stand beside these lines.
constexpr const char* on_a_screen = "%H:%M:%SZ %^%-10l%$ %v";
constexpr const char* in_a_file = "%Y-%m-%dT%H:%M:%S.%eZ %^%-10l%$ %v";

/// Made once and never destroyed: a thread that still logs while the process exits stays safe.
spdlog::logger& logger() {
  static spdlog::logger* const made = [] {
    // The sink colours only when stderr is a terminal that can, and nobody minds (no-color.org).
    const char* no_color = std::getenv("NO_COLOR");
    const auto colours = no_color && *no_color ? spdlog::color_mode::never : spdlog::color_mode::automatic;
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours);
    auto* out = new spdlog::logger("eider", std::move(sink));
    out->set_formatter(std::make_unique<spdlog::pattern_formatter>(::isatty(STDERR_FILENO) ? on_a_screen : in_a_file,
                                                                   spdlog::pattern_time_type::utc));
    out->set_level(spdlog::level::info);
    return out;
  }();
  return *made;
}

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// Control characters as escapes, so that foreign text can neither forge a second line nor steer a terminal.
std::string one_line(std::string_view message) {
  std::string out;
  out.reserve(message.size() + 8);
  for (const char c : message) {
    if (c == '\n') {
      out += "\\n";
    } else if (needs_escape(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace

void set_level(Level least) { logger().set_level(library_level(least)); }

void write(Level level, std::string_view message) {
  const spdlog::level::level_enum at = library_level(level);
  if (!logger().should_log(at)) return;
  if (std::any_of(message.begin(), message.end(), needs_escape)) {
    logger().log(at, spdlog::string_view_t(one_line(message)));
  } else {
    logger().log(at, spdlog::string_view_t(message.data(), message.size()));
  }
}

}  // namespace eider::log
