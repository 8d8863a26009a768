// The server's side of workers, as the engine sees it: hand off committed claims, cancel, and take what happened.
// The real one (supervise/process_workers.h) starts processes; tests, the bench and the simulator use fakes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/run.h"
#include "wire/messages.h"

namespace eider::supervise {

/// A committed claim, ready to be executed. `definition` is model::definition_json.
struct HandOff {
  std::string run_id;
  int attempt = 0;
  std::shared_ptr<const std::string> definition;
  std::map<std::string, std::string> facts;
  Micros timeout{};  ///< the run's; the worker enforces it, the server stands behind it
  bool uses_sql = false;
  std::vector<wire::StepResult> kept{};  ///< steps that are not done again
};

/// What happened to an attempt. Ended is sent only when the attempt is over: its lock is free and no process of it
/// is left (design section 3), so that what it took may be given to others.
struct AttemptStepStarted {
  wire::StepStarted step;
  int worker_pid = 0;
};
struct AttemptProgress {
  wire::StepProgress progress;
};
struct AttemptStepEnded {
  wire::StepEnded step;
};
/// An asset was published before the end of the run (`after: STEP`).
struct AttemptPublished {
  wire::Published published;
};
/// With a result: the worker reported, or left it on disk. Without: the worker died (signal or exit code) or could
/// not be started (`error`), and what was left of the attempt is ended.
struct AttemptOver {
  std::string run_id;
  int attempt = 0;
  std::optional<wire::AttemptResult> result;
  std::vector<wire::Publication> published;  ///< `after: STEP`: found on disk, its renames are done; with or without
                                             ///< a result
  bool with_server = false;  ///< no result, found at boot: it ended with its server -> interrupted, not crashed
  bool not_started = false;  ///< nothing of it ran (`error` says why) -> given back
  bool others_too = false;   ///< with not_started: what server or worker lacked, every attempt needs
  bool by_timeout = false;   ///< no result: killed because the run's timeout had passed -> timed out, not crashed
  std::optional<int> worker_pid;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::int64_t> peak_memory_bytes;
  int left_over_processes = 0;
  std::string error;
};
/// A run found alive at boot is followed like any other.
struct AttemptAdopted {
  wire::Adopted state;
};
using WorkerEvent =
    std::variant<AttemptStepStarted, AttemptProgress, AttemptStepEnded, AttemptPublished, AttemptOver, AttemptAdopted>;

/// What can be seen of a claimed attempt when a server starts; decide::recover chooses from it.
struct AttemptTraces {
  bool result_there = false;  ///< of exactly this attempt, readable
  bool socket_answers = false;
  bool lock_held = false;
};

class Workers {
 public:
  virtual ~Workers() = default;

  /// Called after the commit, never before (I2). Does not block and does not fail: what goes wrong comes back as
  /// AttemptOver.
  virtual void hand_off(HandOff job) = 0;
  /// Asks the attempt to end; ends it by force when it does not. Unknown attempts are ignored.
  virtual void cancel(const std::string& run_id, int attempt, const std::string& reason) = 0;

  /// Boot: looks at one claimed attempt; then exactly one of the three.
  virtual AttemptTraces inspect(const std::string& run_id, int attempt) = 0;
  virtual void finish_from_result(const std::string& run_id, int attempt) = 0;  ///< replays the renames
  virtual void adopt(const std::string& run_id, int attempt) = 0;
  virtual void end_left_overs(const std::string& run_id, int attempt) = 0;  ///< then AttemptOver{with_server}

  /// The end of an attempt is committed: its lock and socket may go, and what it staged and did not publish.
  virtual void forget(const std::string& run_id, int attempt) = 0;

  /// Takes what happened since the last call, in order. First called when every claimed attempt was decided about.
  virtual std::vector<WorkerEvent> take_events() = 0;

  /// No new runs will come: idle workers leave. With `leave_running`, busy ones are let go (they finish alone).
  virtual void close(bool leave_running) = 0;
};

}  // namespace eider::supervise
