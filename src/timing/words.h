// Small helpers for messages: how foreign text is quoted, and how near two words are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace eider::timing {

/// Foreign text for a message: printable ASCII, other bytes as `?`, cut after 40 characters.
std::string shown(std::string_view text);
/// Inserted, removed and changed letters between two short texts; case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace eider::timing
