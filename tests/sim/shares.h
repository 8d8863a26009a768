// Work that falls into independent parts, done by one process for each processor. Processes and not threads: a life
// has the process for itself, with its log and its allocator, as a server has.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace eider::sim {

/// What came of a part of the work; numbers only, so that they can come from another process.
struct Tally {
  std::int64_t decisions = 0;
  std::int64_t runs = 0;
  std::int64_t lived_us = 0;
  int missed = 0;                  ///< mistakes that were not found
  std::uint64_t failing_seed = 0;  ///< the smallest at which a law did not hold; 0: none
};

/// `work(part)` for each part from 0 to parts-1, all at once, and what came of each. A process that dies is a check
/// that fails here: what it was at is lost with it.
std::vector<Tally> share_out(int parts, const std::function<Tally(int part)>& work);

Tally sum(const std::vector<Tally>& parts);

}  // namespace eider::sim
