// What the book says when an attempt has ended: that what is recorded is what has become of it, and that its run is
// tried again, or is not, as docs/guide/failure.md has it.
#include <cmath>

#include <fmt/format.h>

#include "sim/book.h"

namespace eider::sim {

using namespace std::chrono_literals;
using model::Outcome;
using model::RetryCause;
using model::RunEvent;
namespace reason = model::reason;

namespace {

constexpr int interruptions_at_most = 3;

/// How it has ended; nothing: it left no result.
bool left(const Execution& execution, Outcome outcome) {
  return execution.result && execution.result->outcome == outcome;
}

/// Of one that was its own fault.
RetryCause cause_of(const Execution& execution) {
  if (execution.by_timeout || left(execution, Outcome::timed_out)) return RetryCause::timeout;
  const bool by_exit_code = execution.result && !execution.result->signal;
  return by_exit_code ? RetryCause::error : RetryCause::crash;
}

template <typename T>
bool has(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

/// With the pipeline as it is now; what is not in the workspace any more is not tried again.
Book::Ending Book::due_ending(const OpenRun& run, const Execution& execution) const {
  static const model::Pipeline gone;
  const model::Pipeline* there = pipeline(run.pipeline);
  const model::Pipeline& definition = there ? *there : gone;
  if (left(execution, Outcome::succeeded)) return {RunEvent::succeed};
  if (run.cancel_asked) return {RunEvent::cancel, run.cancel_reason};
  if (execution.never_ran) return {RunEvent::release, reason::not_started};
  if (left(execution, Outcome::released)) return {RunEvent::release, reason::file_held};

  // Nobody has asked, so the server did: it stops. What does not end then is killed, and was at work.
  const bool by_itself = execution.result || execution.with_server || execution.by_timeout;
  const bool killed = execution.asked_to_end && !by_itself;
  const bool by_stop = left(execution, Outcome::cancelled) || killed;
  const bool with_server = execution.with_server || left(execution, Outcome::interrupted);
  const bool begun = !by_stop || killed || execution.result->started_at;
  if ((by_stop || with_server) && begun && definition.on_interrupt == model::OnInterrupt::fail) {
    return {RunEvent::fail, reason::interrupted_final};
  }
  if (by_stop) return {RunEvent::release, reason::server_stopped};
  if (with_server && run.interruptions == interruptions_at_most) return {RunEvent::fail, reason::interruptions_spent};
  if (with_server) return {RunEvent::interrupt};

  if (run.failures + 1 >= definition.retry.max_attempts) return {RunEvent::fail, reason::budget_spent};
  const auto code = left(execution, Outcome::failed) ? execution.result->exit_code : std::nullopt;
  if (code && has(definition.retry.final_exit_codes, *code)) return {RunEvent::fail, reason::final_exit_code};
  if (!has(definition.retry.on, cause_of(execution))) return {RunEvent::fail, reason::cause_not_retried};
  return {RunEvent::retry};
}

/// What is recorded of an attempt is what has become of it.
void Book::check_truth(const model::AttemptEnded& change, const OpenRun& run) {
  const std::string& id = change.attempt.run_id;
  const Execution* execution = world_.execution(id, change.attempt.number);
  if (!execution)
    return violated("I4", fmt::format("attempt {} of {} ended, and never was", change.attempt.number, id));
  if (execution->alive) {
    return violated("I4", fmt::format("attempt {} of {} is recorded as over while it is alive", run.attempt, id));
  }
  const Ending due = due_ending(run, *execution);
  if (change.event != due.event || change.reason != due.reason) {
    violated("I4", fmt::format("attempt {} of {} is due to {} ({}), and does {} ({})", run.attempt, id,
                               model::to_text(due.event), due.reason, model::to_text(change.event), change.reason));
  }
  if (due.event != RunEvent::succeed) return;
  for (const wire::Publication& published : execution->result->publications) {
    if (!events_[id].contains(published.asset)) {
      violated("I5", fmt::format("{} has published {}, and there is no event", id, published.asset));
    }
  }
}

/// A run that is queued again waits as long as its policy says, and no longer.
void Book::check_wait(const model::AttemptEnded& change, const OpenRun& run) {
  const Micros wait = change.not_before - clock_.now();
  if (change.event == RunEvent::release && change.reason != reason::server_stopped) {
    if (wait < 1s || wait > 30s) violated("I5", fmt::format("it is looked for again in {}", format_duration(wait)));
    return;
  }
  double due = 0;
  double spread = 0;
  if (const model::Pipeline* definition = pipeline(run.pipeline); definition && change.event == RunEvent::retry) {
    const model::RetryPolicy& retry = definition->retry;
    due = std::min(static_cast<double>(retry.backoff.count()) * std::pow(retry.factor, run.failures),
                   static_cast<double>(retry.max_backoff.count()));
    spread = due * retry.jitter;
  }
  if (std::abs(static_cast<double>(wait.count()) - due) > spread + 1) {
    violated("I5", fmt::format("{} waits for {} after {} failures", change.attempt.run_id, format_duration(wait),
                               run.failures + 1));
  }
}

}  // namespace eider::sim
