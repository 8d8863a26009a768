// Starting a program and learning of its end. Thin over posix_spawn and wait4; the policy is in program_step.h.
#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

#include "base/fd.h"

namespace eider::worker {

/// The descriptor under which a program (and whatever it starts) holds the attempt's lock.
inline constexpr int lock_fd_of_programs = 9;

struct ProgramRequest {
  std::string file;  ///< what find_program found
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< NAME=value
  std::string folder;                    ///< its working folder
  int lock_fd = -1;
};

struct Program {
  int pid = 0;   ///< its process group too
  UniqueFd out;  ///< read ends, non-blocking
  UniqueFd err;
};

/// In a process group of its own; standard input is /dev/null; nothing else is inherited than the lock. Blocks for the
/// 0.2 to 0.8 ms that the kernel needs. The error names the program and what to check.
Result<Program> start_program(ProgramRequest& request);

/// How a child ended, as wait4 told.
struct ChildEnd {
  int pid = 0;
  int status = 0;
  std::int64_t peak_memory_bytes = 0;
};

/// True when this process has no child at all. As it is a subreaper, that proves that no process started by any of
/// its steps is left, however it detached itself.
bool has_no_children();
/// Reaps one child that has ended; none: pid 0.
ChildEnd reap_one();

}  // namespace eider::worker
