// The server's own log: one line an event, to standard error; on a screen without the date. The library behind it
// (spdlog) stays in log.cc.
#pragma once

#include <string_view>

namespace eider::log {

enum class Level { debug, info, warning, error };

/// What is below it is not written. Default: info.
void set_level(Level least);
/// Any thread. Keep secrets out: nothing is masked here.
void write(Level level, std::string_view message);

inline void debug(std::string_view message) { write(Level::debug, message); }
inline void info(std::string_view message) { write(Level::info, message); }
inline void warning(std::string_view message) { write(Level::warning, message); }
inline void error(std::string_view message) { write(Level::error, message); }

}  // namespace eider::log
