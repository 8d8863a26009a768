#include "supervise/left_overs.h"

#include <csignal>

#include "supervise/lock_file.h"

namespace eider::supervise {

Sweep sweep_left_overs(const wire::ProcessMarks& marks) {
  Sweep out;
  // While the lock is free, who has the file open is no holder: a backup that reads it, say.
  wire::ProcessMarks looked_for = marks;
  if (lock_is_free(marks.lock_file)) looked_for.lock_file.clear();
  for (const wire::Process& process : wire::find_processes(looked_for)) {
    if (wire::signal_process(process, SIGKILL)) out.killed.push_back(process.pid);
  }
  out.lock_free = lock_is_free(marks.lock_file);
  return out;
}

}  // namespace eider::supervise
