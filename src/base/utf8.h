// UTF-8 as Unicode table 3-7 has it: no overlong form, no surrogate, nothing over U+10FFFF. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace eider {

struct Utf8Character {
  char32_t point = 0;
  std::size_t length = 0;  ///< bytes, 1 to 4; 0: the bytes are no UTF-8
};

/// The first character of a text that is not empty.
Utf8Character first_character(std::string_view text);

bool is_utf8(std::string_view text);

/// Each byte that is not part of a character becomes U+FFFD.
std::string made_utf8(std::string_view text);

/// A foreign text fit for a message: cut after 60 characters, control characters as `\n` or `\x00`.
std::string shown(std::string_view text);

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

}  // namespace eider
