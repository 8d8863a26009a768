// What a list of measurements says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace eider::bench {

struct Spread {
  double median = 0;
  double p99 = 0;
  double max = 0;
  std::size_t count = 0;
};

/// The value below which `part` of them lie (nearest rank); 0 of none.
inline double quantile(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

inline Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.99), values.empty() ? 0 : values.back(), values.size()};
}

inline double median(std::vector<double> values) { return spread(std::move(values)).median; }

}  // namespace eider::bench
