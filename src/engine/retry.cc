// A person wants a run that has ended to be tried again.
#include <fmt/format.h>

#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {

void Loop::retry_run(Turn& turn, const RetryRun& command) {
  const auto answer = [&](Result<void> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  if (draining_) return answer(Error{ErrorCode::unavailable, "the server is stopping and starts nothing"});
  const auto restarted = restart_run(turn, command.run_id);
  if (turn.failed()) return;
  answer(restarted ? Result<void>() : restarted.error());
}

/// The ended run is queued again with a fresh budget, and its failed deliveries with it. An error says why it can't be.
Result<bool> Loop::restart_run(Turn& turn, const std::string& run_id) {
  auto found = parts_.store.find_run(run_id);
  if (!found) {
    turn.fail(found.error());
    return found.error();
  }
  if (!*found || !model::next((*found)->state, model::RunEvent::restart)) {
    return Error{ErrorCode::conflict, fmt::format("run {} has not failed", run_id)};
  }
  model::Run run = std::move(**found);
  if (run.trigger == model::TriggerKind::data && !state_.subscriptions().find(run.trigger_id)) {
    return Error{ErrorCode::conflict,
                 fmt::format("the trigger {} is not in the workspace, so nothing can run for it", run.trigger_id)};
  }
  if (!state_.pipeline(run.pipeline)) {
    return Error{ErrorCode::conflict, fmt::format("pipeline \"{}\" is not in the workspace", run.pipeline)};
  }
  run.state = model::next(run.state, model::RunEvent::restart)->to;
  run.failures = run.interruptions = 0;
  run.not_before = turn.now();
  run.finished_at.reset();
  run.cancel_asked_at.reset();
  run.reason = model::reason::retried;
  run.error.clear();
  if (turn.decide_surely({model::RunRestarted{std::move(run), options_.owner, turn.now()}})) {
    return true;
  }
  return turn.failed() ? turn.failure() : *turn.own_error();
}

}  // namespace eider::engine
