// Small helpers for messages. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace eider::workspace {

using eider::shown;

/// The candidate nearest to `word` by edit distance (a swap of neighbours counts one; case is free), or an empty text
/// when none is near enough to be what was meant.
std::string_view closest(std::string_view word, const std::vector<std::string_view>& candidates);

/// `a, b and c`.
std::string join_words(const std::vector<std::string_view>& words, std::string_view last_joint);

/// True when the bytes are valid UTF-8 without NUL.
bool is_utf8_text(std::string_view bytes);

}  // namespace eider::workspace
