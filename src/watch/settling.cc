#include "watch/settling.h"

namespace eider::watch {

void Settling::landed(const std::string& file, Micros now) {
  gone(file);
  whole_at_[file] = now + settle_;
  order_.emplace(now + settle_, file);
}

void Settling::written(const std::string& file) { gone(file); }

void Settling::gone(const std::string& file) {
  const auto found = whole_at_.find(file);
  if (found == whole_at_.end()) return;
  order_.erase({found->second, file});
  whole_at_.erase(found);
}

std::vector<std::string> Settling::take(Micros now, std::size_t limit) {
  std::vector<std::string> whole;
  while (!order_.empty() && order_.begin()->first <= now && whole.size() < limit) {
    whole.push_back(order_.begin()->second);
    gone(whole.back());
  }
  return whole;
}

std::optional<Micros> Settling::next() const {
  return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
}

}  // namespace eider::watch
