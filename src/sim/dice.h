// Chance, from a seed: the same seed, the same life. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace eider::sim {

/// One number of two, well mixed: what depends on several things draws from its own dice, so that a life which leaves
/// out one action goes on as before with the others.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a + 0x9e3779b97f4a7c15ULL * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
inline std::uint64_t mixed(std::uint64_t a, std::string_view text) {
  for (const char c : text) a = mixed(a, static_cast<unsigned char>(c));
  return a;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(mixed(seed, 0)) {}

  std::uint64_t number() { return random_.next(); }
  int below(int limit) { return static_cast<int>(random_.next() % static_cast<std::uint64_t>(limit)); }
  bool one_in(int n) { return below(n) == 0; }
  Micros within(Micros least, Micros most) {
    const auto room = static_cast<std::uint64_t>((most - least).count() + 1);
    return least + Micros(static_cast<std::int64_t>(random_.next() % room));
  }
  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + below(static_cast<int>(choices.size())));
  }

 private:
  SeededRandom random_;
};

}  // namespace eider::sim
