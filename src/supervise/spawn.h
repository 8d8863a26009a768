// Starting one worker process.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "wire/processes.h"

namespace eider::supervise {

/// This process's environment without the facts of a run that it may itself be a step of: a worker that carried them
/// would be taken for a left-over of that run.
std::vector<std::string> worker_environment();

/// Starts `PROGRAM worker` in a session of its own, with `socket` as descriptor 3, standard error as it is here, and
/// nothing else open; signals as a fresh process has them. The process is a child of ours, to be waited for.
/// It takes 0.2 to 0.8 ms: any thread but the engine's. The caller keeps no process it starts tied to the thread
/// (no PR_SET_PDEATHSIG): a worker outlives its server.
Result<wire::Process> spawn_worker(const std::string& program, const std::vector<std::string>& environment,
                                   const UniqueFd& socket);

}  // namespace eider::supervise
