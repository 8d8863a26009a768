#include "worker/text.h"

#include <cstdint>

#include "base/utf8.h"

namespace eider::worker {
namespace {

bool plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

void append_escaped(std::string& out, unsigned char c) {
  static constexpr char hex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
  }
}

unsigned char byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

}  // namespace

bool append_json_string(std::string& out, std::string_view bytes) {
  bool valid = true;
  out += '"';
  std::size_t at = 0;
  while (at < bytes.size()) {
    std::size_t end = at;
    while (end < bytes.size() && plain(byte_at(bytes, end))) ++end;
    out.append(bytes, at, end - at);
    at = end;
    if (at == bytes.size()) break;
    if (byte_at(bytes, at) < 0x80) {
      append_escaped(out, byte_at(bytes, at++));
      continue;
    }
    const std::size_t length = first_character(bytes.substr(at)).length;
    valid = valid && length > 0;
    out.append(length > 0 ? bytes.substr(at, length) : replacement_character);
    at += length > 0 ? length : 1;
  }
  out += '"';
  return valid;
}

void append_base64(std::string& out, std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = bytes.size() - at;
    const std::uint32_t word = (std::uint32_t{byte_at(bytes, at)} << 16) |
                               (left > 1 ? std::uint32_t{byte_at(bytes, at + 1)} << 8 : 0U) |
                               (left > 2 ? std::uint32_t{byte_at(bytes, at + 2)} : 0U);
    out += digits[word >> 18];
    out += digits[(word >> 12) & 63];
    out += left > 1 ? digits[(word >> 6) & 63] : '=';
    out += left > 2 ? digits[word & 63] : '=';
  }
}

std::string_view cut_at_character(std::string_view bytes, std::size_t limit_bytes) {
  if (bytes.size() <= limit_bytes) return bytes;
  // At most three bytes back lies the first byte of a character that the cut would split.
  for (std::size_t back = 1; back <= 3 && back <= limit_bytes; ++back) {
    const std::size_t begin = limit_bytes - back;
    const std::size_t length = first_character(bytes.substr(begin)).length;
    if (length > 1) return bytes.substr(0, length > back ? begin : limit_bytes);
  }
  return bytes.substr(0, limit_bytes);
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

}  // namespace eider::worker
