// Identities: UUIDv7 for what is made (runs), hashes for what follows from its parts (occurrences, deliveries,
// definitions).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/time.h"

namespace eider {

/// Makes UUIDv7 (RFC 9562) that grow strictly within one maker, so that ids sort by creation even when the clock
/// stands still or is set back. The counter stands in the 12 bits after the millisecond, so that short_id_length
/// characters name one id of a maker. One thread.
class IdMaker {
 public:
  explicit IdMaker(Random& random) : random_(random) {}
  std::string make(Instant now);

 private:
  Random& random_;
  std::uint64_t last_ms_ = 0;
  std::uint64_t counter_ = 0;  // 12 bits: seeded at random in each new millisecond, then counted up
};

/// `0189f3c4-a1b2-7c3d`: what people are shown of a run's id where a whole one is too wide.
inline constexpr std::size_t short_id_length = 18;

/// A UUID (version 8) from BLAKE2b of the parts, each length-prefixed, so that ("ab","c") and ("a","bc") differ.
std::string derived_id(std::initializer_list<std::string_view> parts);
/// BLAKE2b-128 of the text as 32 hex digits.
std::string content_hash(std::string_view text);
/// The same of a content that comes in pieces: however it is cut, content_hash of the whole. One thread.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void add(std::string_view piece);
  /// Once, at the end.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};
/// True for the canonical lower-case form of any UUID; checked before an id becomes part of a path.
bool is_uuid(std::string_view text);

}  // namespace eider
