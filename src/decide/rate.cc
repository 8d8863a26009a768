#include "decide/rate.h"

#include <iterator>

namespace eider::decide {
void RecentStarts::add(Instant at, Micros per) {
  starts_.insert(at);
  starts_.erase(starts_.begin(), starts_.upper_bound(at - per));
}

void RecentStarts::take_back(Instant at) {
  if (const auto found = starts_.find(at); found != starts_.end()) starts_.erase(found);
}

void RecentStarts::shift(Micros by) {
  std::multiset<Instant> shifted;
  for (const Instant at : starts_) shifted.insert(shifted.end(), at - by);
  starts_ = std::move(shifted);
}

int RecentStarts::within(Micros per, Instant now) const {
  return static_cast<int>(std::distance(starts_.upper_bound(now - per), starts_.end()));
}

std::optional<Instant> RecentStarts::opens_at(const model::Rate& rate) const {
  if (starts_.size() < static_cast<std::size_t>(rate.starts)) return std::nullopt;
  return *std::prev(starts_.end(), rate.starts) + rate.per;
}

}  // namespace eider::decide
