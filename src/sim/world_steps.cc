// What simulated attempts do of their pipeline's steps, and that none is left out which was not done.
#include <fmt/format.h>

#include "sim/world.h"

namespace eider::sim {

/// A step is kept where the run has done it as it is now, and all that it needs as well.
void World::check_kept(const supervise::HandOff& job) {
  if (job.kept.empty()) return;
  const model::Pipeline& pipeline = *ledger_->pipeline(ledger_->pipeline_of(job.run_id));
  const auto is_kept = [&](const std::string& id) {
    return std::any_of(job.kept.begin(), job.kept.end(), [&](const auto& kept) { return kept.step == id; });
  };
  for (const model::Step& step : pipeline.steps) {
    if (!is_kept(step.id)) continue;
    const auto& done = done_[job.run_id];
    const auto found = done.find(step.id);
    if (found == done.end() || found->second != model::step_hash(pipeline, step)) {
      ledger_->violated("I5", fmt::format("{} does not do {} again, and has not done it", job.run_id, step.id));
    }
    if (!std::all_of(step.needs.begin(), step.needs.end(), is_kept)) {
      ledger_->violated("I5", fmt::format("{} does not do {} again, and what it needs it does", job.run_id, step.id));
    }
  }
}

/// Its hash, which takes longer to make than all else that a step does here.
const std::string& World::content_of(const std::string& name, const model::Pipeline& pipeline,
                                     const model::Step& step) {
  std::string& known = contents_[ledger_->definition_of(name) + step.id];
  if (known.empty()) known = model::step_hash(pipeline, step);
  return known;
}

/// One after the other, up to one that fails. Who leaves no result tells nobody.
void World::do_steps(Execution& execution, bool well) {
  const model::Pipeline* pipeline = ledger_->pipeline(execution.pipeline);
  if (!pipeline) return;
  auto& done = done_[execution.run_id];
  std::erase_if(done, [&](const auto& entry) {
    return std::none_of(execution.kept.begin(), execution.kept.end(),
                        [&](const auto& kept) { return kept.step == entry.first; });
  });
  if (!execution.result) return;
  execution.result->steps = execution.kept;
  Dice dice(mixed(mixed(seed_, execution.run_id), static_cast<std::uint64_t>(execution.attempt) + 1000));
  for (const model::Step& step : pipeline->steps) {
    if (done.contains(step.id)) continue;
    wire::StepResult result;
    result.step = step.id;
    result.content = content_of(execution.pipeline, *pipeline, step);
    result.unpublished.emplace();
    const bool last = &step == &pipeline->steps.back();
    const bool fails = !well && (last || dice.one_in(2));
    result.outcome = fails ? wire::StepOutcome::failed : wire::StepOutcome::succeeded;
    if (!fails) done[step.id] = result.content;
    execution.result->steps.push_back(std::move(result));
    if (fails) return;
  }
}

}  // namespace eider::sim
