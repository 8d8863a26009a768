// `eider serve` and `eider run` without a server.
#pragma once

#include "cli/cli.h"

namespace eider::app {

/// Serves the workspace until it is told to stop: SIGTERM or SIGINT drains, a second one ends at once; SIGHUP reads
/// the files again. The exit code.
int serve(const cli::ServeRequest& request);

/// See cli::Hooks::run_alone.
int run_alone(const cli::RunAloneRequest& request);

}  // namespace eider::app
