#include "base/ids.h"

#include <sodium.h>
#include <algorithm>
#include <array>

#include "base/check.h"

namespace eider {
namespace {

using Bytes16 = std::array<unsigned char, 16>;

void add_hex(std::string& out, unsigned char byte) {
  static constexpr char hex[] = "0123456789abcdef";
  out.push_back(hex[byte >> 4]);
  out.push_back(hex[byte & 0x0f]);
}

std::string uuid_text(const Bytes16& b, unsigned version) {
  Bytes16 c = b;
  c[6] = static_cast<unsigned char>((c[6] & 0x0f) | (version << 4));
  c[8] = static_cast<unsigned char>((c[8] & 0x3f) | 0x80);
  std::string out;
  out.reserve(36);
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    add_hex(out, c[i]);
  }
  return out;
}

}  // namespace

std::string IdMaker::make(Instant now) {
  constexpr std::uint64_t most = 0xfff;
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_us(now) / 1000));
  if (ms > last_ms_) {
    last_ms_ = ms;
    counter_ = random_.next() & (most >> 1);
  } else if (++counter_ > most) {
    ++last_ms_;
    counter_ = 0;
  }
  const std::uint64_t tail = random_.next();
  Bytes16 b{};
  for (std::size_t i = 0; i < 6; ++i) b[i] = static_cast<unsigned char>(last_ms_ >> (40 - 8 * i));
  b[6] = static_cast<unsigned char>(counter_ >> 8);
  b[7] = static_cast<unsigned char>(counter_);
  for (std::size_t i = 0; i < 8; ++i) b[8 + i] = static_cast<unsigned char>(tail >> (8 * i));
  return uuid_text(b, 7);
}

std::string derived_id(std::initializer_list<std::string_view> parts) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, 16);
  for (const std::string_view part : parts) {
    const std::string length = std::to_string(part.size()) + ":";
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(length.data()), length.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  }
  Bytes16 b{};
  crypto_generichash_final(&state, b.data(), b.size());
  return uuid_text(b, 8);
}

struct ContentHash::State {
  crypto_generichash_state hash;
};
ContentHash::ContentHash() : state_(std::make_unique<State>()) {
  crypto_generichash_init(&state_->hash, nullptr, 0, Bytes16().size());
}
ContentHash::~ContentHash() = default;

void ContentHash::add(std::string_view piece) {
  crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(piece.data()), piece.size());
}

std::string ContentHash::finish() {
  Bytes16 b{};
  crypto_generichash_final(&state_->hash, b.data(), b.size());
  std::string out;
  for (const unsigned char byte : b) add_hex(out, byte);
  return out;
}

std::string content_hash(std::string_view text) {
  ContentHash hash;
  hash.add(text);
  return hash.finish();
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

}  // namespace eider
