// Who has a workspace: one server, or one run in the foreground. The kernel's lock says that somebody has it, the
// file's text who it is.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "wire/layout.h"

namespace eider::wire {

struct WorkspaceHolder {
  int pid = 0;
  std::string pipeline;  ///< of `eider run PIPELINE` without a server; empty: a server
};

/// Held until the descriptor is closed or the process ends. `pipeline` as in WorkspaceHolder. Errors: `conflict` when
/// somebody has it, who is named with what can be done; io.
Result<UniqueFd> take_workspace_lock(const Layout& layout, const std::string& pipeline);

/// Who has it now; none: nobody, or this process itself.
std::optional<WorkspaceHolder> workspace_holder(const Layout& layout);

/// "`eider run nap` (process 4711) holds this workspace while it runs", or the same of a server.
std::string to_text(const WorkspaceHolder& holder);

}  // namespace eider::wire
