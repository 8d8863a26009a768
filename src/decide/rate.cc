#include "decide/rate.h"

#include <algorithm>
#include <iterator>

namespace eider::decide {

void RecentStarts::add(Instant recorded, Instant now, Micros per) {
  const Instant at = std::min(recorded, now);
  starts_.insert({at, recorded});
  starts_.erase(starts_.begin(), starts_.upper_bound({at - per, Instant::max()}));
}

void RecentStarts::take_back(Instant recorded) {
  const auto found =
      std::find_if(starts_.begin(), starts_.end(), [&](const Start& start) { return start.recorded == recorded; });
  if (found != starts_.end()) starts_.erase(found);
}

void RecentStarts::shift(Micros by) {
  std::multiset<Start> shifted;
  for (const Start& start : starts_) shifted.insert(shifted.end(), {start.at - by, start.recorded});
  starts_ = std::move(shifted);
}

int RecentStarts::within(Micros per, Instant now) const {
  return static_cast<int>(std::distance(starts_.upper_bound({now - per, Instant::max()}), starts_.end()));
}

std::optional<Instant> RecentStarts::opens_at(const model::Rate& rate) const {
  if (starts_.size() < static_cast<std::size_t>(rate.starts)) return std::nullopt;
  return std::prev(starts_.end(), rate.starts)->at + rate.per;
}

}  // namespace eider::decide
