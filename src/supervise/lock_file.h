// The lock file of a run (design section 3, "the kernel is the lease"): held by whoever is left of the live attempt.
//
// All attempts of a run use the one file `<run>.lock`. It is made and removed on the engine thread only, and removed
// only while its lock is free; so nobody can hold the lock of a file that lies no longer at its path while a second
// file is made there.
#pragma once

#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace eider::supervise {

/// Makes the file if it is missing and takes its lock. `conflict`: somebody holds it.
Result<UniqueFd> take_lock(const std::string& path);
/// False while any process holds it, as far as the kernel knows. A missing file is free. Any thread.
bool lock_is_free(const std::string& path);
/// Removes the file unless somebody holds its lock. False: held, and left.
bool remove_free_lock(const std::string& path);

/// Removes the lock files of ended runs. A worker that is being started holds, between clone and exec, a copy of every
/// lock that was open in the server then: a file that is held is tried again with the next one, and at the end. One
/// thread.
class EndedLocks {
 public:
  ~EndedLocks() { sweep(); }
  void remove(const std::string& path) {
    held_.insert(path);
    sweep();
  }

 private:
  void sweep() {
    std::erase_if(held_, [](const std::string& path) { return remove_free_lock(path); });
  }
  std::set<std::string> held_;
};

}  // namespace eider::supervise
