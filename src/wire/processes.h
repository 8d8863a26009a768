// Finding the processes of an attempt and ending them safely (design section 3, "the kernel is the lease").
// The worker uses it for left-overs of its steps, the server for what a dead worker left behind.
// Any thread. What deliberately hides (another user's id, a cleared environment with the lock closed and another
// parent) is the documented limit.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"

namespace eider::wire {

/// A process belongs when its environment carries the run (and the attempt and the step, where they are given) or
/// when it holds the lock file open.
struct ProcessMarks {
  std::string run_id;     ///< EIDER_RUN_ID; empty: the environment is not looked at
  int attempt = 0;        ///< EIDER_ATTEMPT; 0: any
  std::string step;       ///< EIDER_STEP; empty: any
  std::string lock_file;  ///< path of a file; its inode is compared. Empty: open files are not looked at
};

/// A process held by its pidfd, so that a signal can never reach a later process of the same number.
struct Process {
  int pid = 0;
  UniqueFd handle;
};

/// One pass over /proc; without the caller itself. Processes that end meanwhile are left out, zombies too.
std::vector<Process> find_processes(const ProcessMarks& marks);
/// The process of that number, if it lives (or is a zombie that nobody has reaped).
Result<Process> open_process(int pid);
/// False: it is gone already.
bool signal_process(const Process& process, int signal);

/// The caller's own children, adopted ones included (subreaper), zombies too: whatever thread made them.
std::vector<int> children_of_this_process();

/// True when the environment of the process carries all that `marks` give; false when it can't be read.
bool environment_carries(int pid, const ProcessMarks& marks);

}  // namespace eider::wire
