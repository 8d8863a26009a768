#include "decide/usual.h"

#include <algorithm>

namespace eider::decide {

std::optional<Usual> usual(std::vector<Micros> durations) {
  if (static_cast<int>(durations.size()) < usual_runs_needed) return std::nullopt;
  std::sort(durations.begin(), durations.end());
  const std::size_t count = durations.size();
  Usual out;
  out.runs = static_cast<int>(count);
  out.median = count % 2 == 1 ? durations[count / 2] : (durations[count / 2 - 1] + durations[count / 2]) / 2;
  const Micros most = durations[(count * 95 + 99) / 100 - 1];  // nearest rank
  out.limit = std::max({3 * out.median, most, usual_least});
  return out;
}

Micros longest_silence(const std::optional<Usual>& usual) {
  if (!usual) return std::chrono::hours(1);
  return std::max<Micros>(usual->limit, std::chrono::minutes(10));
}

}  // namespace eider::decide
