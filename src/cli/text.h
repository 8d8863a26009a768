// Foreign text made safe for a terminal, and times, sizes and durations as people read them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace eider::cli {

/// One line without anything that steers a terminal: control characters (C0, DEL, C1), marks that turn the direction
/// of writing, and bytes that are not UTF-8 become `\x1b`, `\n` or `\u{202e}`. A tab becomes a space.
std::string safe(std::string_view text);
/// The same for text of several lines: line feeds and tabs stay.
std::string safe_lines(std::string_view text);
/// JSON text stays JSON: the control characters that JSON leaves raw (DEL, C1) and direction marks become `\u00XX`.
std::string safe_json(std::string_view json);

/// The columns that a safe text takes on a terminal: wide characters take two, combining ones none.
std::size_t columns_of(std::string_view text);
/// At most `columns`; what is cut ends in `…`.
std::string cut(std::string_view text, std::size_t columns);

/// `3 s ago`, `in 2 min`, `now`; from a week on the date.
std::string relative(Instant at, Instant now);
/// `12 s`, `3 min`, `5 h`, `9 d`
std::string about(Micros duration);
/// `850 ms`, `3.2 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`.
std::string took(Micros duration);
/// `1 schedule`, `2 schedules`
std::string counted(std::int64_t count, std::string_view what);
/// `512 B`, `1.5 MiB`.
std::string bytes(std::int64_t count);
/// `2026-03-29T01:00:00Z`: what people are shown of a time that the server took; `--json` has the microseconds.
std::string to_seconds(Instant at);
/// An RFC 3339 text with at most three digits of a fraction.
std::string to_millis(std::string text);
/// `2026-03-29T01:00:00Z (2 min ago)`
std::string with_relative(Instant at, Instant now);

}  // namespace eider::cli
