// One step while it runs, whatever its kind: what the attempt (attempt.h) needs of it. Main thread.
#pragma once

#include <functional>
#include <optional>

#include "base/reactor.h"
#include "wire/messages.h"
#include "worker/environment.h"
#include "worker/log_file.h"
#include "worker/mailbox.h"
#include "worker/program.h"
#include "worker/worker.h"

namespace eider::worker {

/// What steps share; outlives them.
struct StepServices {
  Reactor& reactor;
  Mailbox& mailbox;
  const Limits& limits;
  LogFile& log;
  const RunContext& run;
  std::function<Instant()> now;
  /// Children of this process that no other step accounts for: what is left of `step` once its program has ended.
  std::function<std::vector<int>(const std::string& step)> strays;
};

/// A step that has been started. It is over() some turns later; then the attempt takes result().
class StepRun {
 public:
  virtual ~StepRun() = default;

  /// Ends it, with escalation; its outcome becomes `why` unless it has ended by itself already. May be repeated.
  virtual void stop(wire::StepOutcome why) = 0;
  virtual bool over() const = 0;
  /// It can't be ended within this process (a query that ignores its interrupt): the worker must leave.
  virtual bool stuck() const { return false; }
  /// Its result; `step`, times and facts are the attempt's to fill.
  virtual wire::StepResult result() = 0;

  /// Of a program; 0 for SQL.
  virtual int pid() const { return 0; }
  virtual void child_ended(const ChildEnd&) {}
  /// Some child of the worker, not a step's own program, has ended.
  virtual void children_changed() {}

  /// What nobody but SQL knows: how far it is, and who holds its file.
  virtual std::optional<double> progress() { return std::nullopt; }
  virtual std::optional<wire::FileHeld> held() const { return std::nullopt; }
  virtual void try_again() {}
};

}  // namespace eider::worker
