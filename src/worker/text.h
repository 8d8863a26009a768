// Bytes of unknown origin as JSON text and base64, for the log. Pure.
#pragma once

#include <string>
#include <string_view>

namespace eider::worker {

/// Appends `bytes` as a JSON string with its quotes. Each byte that is not part of valid UTF-8 becomes U+FFFD (O-24);
/// false when there was one.
bool append_json_string(std::string& out, std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);
/// The longest prefix of at most `limit_bytes` that does not end within a character.
std::string_view cut_at_character(std::string_view bytes, std::size_t limit_bytes);
std::string upper(std::string_view name);

}  // namespace eider::worker
