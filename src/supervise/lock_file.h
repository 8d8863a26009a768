// The lock file of a run (design section 3, "the kernel is the lease"): held by whoever is left of the live attempt.
//
// All attempts of a run use the one file `<run>.lock`. It is made, renamed and removed on the engine thread only, and
// renamed or removed only while its lock is free; so nobody can hold the lock of a file that lies no longer at its path
// while a second file is made there.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace eider::supervise {

/// Makes the file if it is missing and takes its lock. `conflict`: somebody holds it.
Result<UniqueFd> take_lock(const std::string& path);
/// False while any process holds it, as far as the kernel knows. A missing file is free. Any thread.
bool lock_is_free(const std::string& path);
/// Removes the file unless somebody holds its lock. False: held, and left.
bool remove_free_lock(const std::string& path);

/// The lock files of one server's runs. The file of an ended run is renamed for the next: where files are made and
/// removed all the time, ext4 passes over every inode that was freed in the last minute (`recently_deleted`) whenever
/// it makes one, which cost a fifth of all CPU time at 500 runs a second. One thread.
class LockFiles {
 public:
  /// Removes what a killed server left in the folder: every file whose lock is free.
  explicit LockFiles(const std::string& folder);
  ~LockFiles();
  LockFiles(const LockFiles&) = delete;
  LockFiles& operator=(const LockFiles&) = delete;

  /// The run's file, locked; `conflict`: a process of an earlier attempt holds it.
  Result<UniqueFd> take(const std::string& path);
  /// The run has ended. A worker that is being started holds, between clone and exec, a copy of every lock that was
  /// open in the server then: a file that is held is looked at again with the next one, and at the end.
  void ended(const std::string& path);

 private:
  void sweep();
  std::set<std::string> ended_;      ///< not seen free yet
  std::vector<std::string> spares_;  ///< free, at the paths of ended runs
};

}  // namespace eider::supervise
