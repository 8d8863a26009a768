// The verbs of `eider`: what a person types, made into requests of the API. With a server they go over its socket;
// without one, reading verbs read the store and the files through the same handlers (api/service.h).
//
// Verbs that need the engine or the worker in this process (serve, run without a server, worker) are given by app/.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.h"

namespace eider::cli {

/// The exit codes of every verb (design section 9).
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;  ///< the run failed, or the machine said no
inline constexpr int exit_wrong = 2;   ///< the request or a file is wrong
inline constexpr int exit_no_server = 3;
inline constexpr int exit_interrupted = 130;  ///< Ctrl-C on `eider run`, as shells say it

struct ServeRequest {
  std::string workspace;              ///< absolute root
  std::optional<Instant> test_clock;  ///< hidden `--test-clock T`: a clock that stands at T and is turned by the API
  std::string ceiling;                ///< `--ceiling FILE`; empty: workspace::load_ceiling() looks by itself
  bool json = false;                  ///< events as NDJSON
  bool colour = false;                ///< for its lines on standard output
  bool terminal = false;              ///< standard output is one: short times
};

struct RunAloneRequest {
  std::string workspace;
  std::string pipeline;
  std::string params;  ///< JSON object, or empty
  std::string partition;
  std::string idempotency_key;
  bool queue = false;
  /// Called on the calling thread: the run's id once it is queued; then, about five times a second, its live state as
  /// the API's run JSON, the last time with a terminal state.
  std::function<void(const std::string& run_id)> on_queued;
  std::function<void(const std::string& run_json)> on_progress;
};

struct Hooks {
  std::function<int(const ServeRequest&)> serve;
  /// Runs one pipeline through the engine in this process; no schedule fires. The exit code; what was wrong before
  /// the run was queued is written to standard error.
  std::function<int(const RunAloneRequest&)> run_alone;
  std::function<int()> worker;
  std::string version;
};

/// The whole program. Never throws.
int run(int argc, char** argv, const Hooks& hooks);

}  // namespace eider::cli
