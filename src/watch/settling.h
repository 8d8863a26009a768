// When a file of a watched folder is whole: it was closed, or moved in, and then did not change for a while. Pure; one
// thread. Times are on a clock that never steps (Clock::boottime).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace eider::watch {

class Settling {
 public:
  explicit Settling(Micros settle) : settle_(settle) {}

  /// Closed, moved in, or found: it is whole when nothing happens to it from now on.
  void landed(const std::string& file, Micros now);
  /// Somebody writes it: it is not whole before it has landed again.
  void written(const std::string& file);
  /// Removed or moved away.
  void gone(const std::string& file);

  /// Takes out at most `limit` files that are whole, the one that has been so for longest first.
  std::vector<std::string> take(Micros now, std::size_t limit);
  /// When the next one is whole, if nothing happens to it. None: no file is about to be.
  std::optional<Micros> next() const;

 private:
  Micros settle_;
  std::unordered_map<std::string, Micros> whole_at_;  ///< of those that have landed
  std::set<std::pair<Micros, std::string>> order_;    ///< the same, by time
};

}  // namespace eider::watch
