// What is left of an attempt whose worker is done or dead: processes that carry its marks or hold its lock.
#pragma once

#include <string>
#include <vector>

#include "wire/processes.h"

namespace eider::supervise {

struct Sweep {
  bool lock_free = false;
  std::vector<int> killed;  ///< processes that were found and sent SIGKILL; they may need a moment to be gone

  /// The attempt is over: nothing of it was seen, and the kernel knows of no holder.
  bool clean() const { return lock_free && killed.empty(); }
};

/// One pass: looks through /proc, kills what belongs to the attempt, then tries the lock. Takes milliseconds.
/// Must run on the thread that spawns workers: a child between clone and exec still has a copy of every descriptor
/// of the server, and would be taken for a holder of the lock.
Sweep sweep_left_overs(const wire::ProcessMarks& marks);

}  // namespace eider::supervise
