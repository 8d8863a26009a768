// A person wants a run that has ended to be tried again.
#include <fmt/format.h>

#include "base/log.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

std::vector<decide::StepDone> as_done(const std::vector<wire::StepResult>& steps) {
  std::vector<decide::StepDone> out;
  for (const wire::StepResult& step : steps) {
    out.push_back({step.step, wire::went_well(step.outcome), step.content, step.unpublished});
  }
  return out;
}

/// Those of `steps` that the verdicts keep, in order.
std::vector<wire::StepResult> kept_of(std::vector<wire::StepResult> steps,
                                      const std::vector<decide::StepVerdict>& verdicts) {
  std::erase_if(steps, [&](const wire::StepResult& step) {
    return std::none_of(verdicts.begin(), verdicts.end(),
                        [&](const auto& verdict) { return verdict.kept && verdict.step == step.step; });
  });
  return steps;
}

}  // namespace

void Loop::retry_run(Turn& turn, const RetryRun& command) {
  const auto answer = [&](Result<RetryRun::Answer> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  if (draining_) return answer(Error{ErrorCode::unavailable, "the server is stopping and starts nothing"});
  auto restarted = restart_run(turn, command.run_id, command.from_failed);
  if (turn.failed()) return;
  answer(std::move(restarted));
}

/// The ended run is queued again with a fresh budget, and its failed deliveries with it. An error says why it can't be.
Result<RetryRun::Answer> Loop::restart_run(Turn& turn, const std::string& run_id, bool from_failed) {
  auto found = parts_.store.find_run(run_id);
  if (!found) {
    turn.fail(found.error());
    return found.error();
  }
  if (!*found) return Error{ErrorCode::not_found, fmt::format("there is no run {}", run_id)};
  model::Run run = std::move(**found);
  const auto restart = model::next(run.state, model::RunEvent::restart);
  if (!restart) {
    const bool open = !model::is_terminal(run.state);
    return Error{ErrorCode::conflict, fmt::format("run {} {} {}; a failed or cancelled one can be tried again", run_id,
                                                  open ? "is" : "has", model::to_text(run.state))};
  }
  if (run.trigger == model::TriggerKind::data && !state_.subscriptions().find(run.trigger_id)) {
    return Error{ErrorCode::conflict,
                 fmt::format("the trigger {} is not in the workspace, so nothing can run for it", run.trigger_id)};
  }
  const workspace::LoadedPipeline* loaded = state_.pipeline(run.pipeline);
  if (!loaded) {
    return Error{ErrorCode::conflict,
                 fmt::format("pipeline \"{}\" is not {}", run.pipeline,
                             state_.is_broken(run.pipeline) ? "loaded: its file is wrong; `eider validate` says where"
                                                            : "in the workspace")};
  }
  RetryRun::Answer answer;
  if (from_failed) {
    auto steps = done_steps(run);
    if (!steps) {
      turn.fail(steps.error());
      return steps.error();
    }
    answer.steps = decide::kept_steps(*loaded->pipeline, as_done(*steps));
    const auto kept = kept_of(std::move(*steps), answer.steps);
    run.kept = kept.empty() ? std::string() : wire::steps_json(kept);
  } else {
    run.kept.clear();
  }
  run.state = restart->to;
  run.failures = run.interruptions = 0;
  run.not_before = turn.now();
  run.finished_at.reset();
  run.cancel_asked_at.reset();
  run.reason = model::reason::retried;
  run.error.clear();
  if (turn.decide_surely({model::RunRestarted{std::move(run), options_.owner, turn.now()}})) {
    return answer;
  }
  return turn.failed() ? turn.failure() : *turn.own_error();
}

/// The steps as the run's newest attempt left them. One that could tell nothing (its worker and its server died) has
/// done again all that was not kept from earlier ones. What can't be read is done again.
Result<std::vector<wire::StepResult>> Loop::done_steps(const model::Run& run) {
  auto attempt = parts_.store.newest_attempt(run.id);
  if (!attempt) return attempt.error();
  const bool told = *attempt && !(*attempt)->steps.empty();
  auto steps = wire::parse_steps(told ? (*attempt)->steps : run.kept);
  if (!steps) {
    log::warning(fmt::format("run {}: {}; all of it is done again", run.id, steps.error().message));
    return std::vector<wire::StepResult>();
  }
  for (wire::StepResult& step : *steps) {
    if (step.kept_from == 0) step.kept_from = *attempt ? (*attempt)->number : 1;
  }
  return steps;
}

/// What the run's attempt is given of its earlier ones: the pipeline may have been changed since they were kept.
std::vector<wire::StepResult> Loop::kept_for(const model::Run& run, const model::Pipeline& pipeline) const {
  auto steps = wire::parse_steps(run.kept);
  if (!steps || steps->empty()) return {};
  const auto verdicts = decide::kept_steps(pipeline, as_done(*steps));
  return kept_of(std::move(*steps), verdicts);
}

}  // namespace eider::engine
