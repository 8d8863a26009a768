// The only place where randomness is read. Everything else is given a Random.
#pragma once

#include <cstdint>
#include <random>

namespace eider {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  /// A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

/// The kernel's generator. Any thread.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

/// The same numbers for the same seed; for tests and the simulator. One thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : generator_(seed) {}
  std::uint64_t next() override { return generator_(); }

 private:
  std::mt19937_64 generator_;
};

}  // namespace eider
