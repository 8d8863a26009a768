// Small helpers for messages. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace eider::workspace {

/// The candidate nearest to `word` by edit distance (a swap of neighbours counts one; case is free), or an empty text
/// when none is near enough to be what was meant.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);

/// `a, b and c`.
std::string join_words(const std::vector<std::string_view>& words, std::string_view last_joint);

/// A foreign text fit for a message: cut after 60 characters, control characters as `\n` or `\x00`.
std::string shown(std::string_view text);

/// True when the bytes are valid UTF-8 without NUL.
bool is_utf8_text(std::string_view bytes);

}  // namespace eider::workspace
