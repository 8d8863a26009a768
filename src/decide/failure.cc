#include "decide/failure.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace eider::decide {
namespace {

/// What is published of the pipeline's work before or at the end of a run by being put in place or looked at.
bool publishes_with_steps(const model::Pipeline& pipeline) {
  return std::any_of(pipeline.publishes.begin(), pipeline.publishes.end(),
                     [](const model::Publish& publish) { return !publish.path.empty() || !publish.after.empty(); });
}

/// Why the step itself can't be kept, or nothing; what it needs is another question.
std::string own_obstacle(const model::Pipeline& pipeline, const model::Step& step, const StepDone* done) {
  if (!done || !done->succeeded) return "it did not succeed";
  if (done->content.empty()) return "an earlier eider did it, and did not say what it was";
  if (done->content != model::step_hash(pipeline, step)) return "it has been changed since";
  if (step.kind == model::Step::Kind::sql && (!pipeline.database || pipeline.database->read_only)) {
    return "it works in memory, which ended with its attempt";
  }
  if (!done->unpublished) {
    return publishes_with_steps(pipeline) ? "what it had published when its attempt was cut short is not known"
                                          : std::string();
  }
  if (done->unpublished->empty()) return {};
  return fmt::format("what it made of {} was not published, and went with its attempt", done->unpublished->front());
}

class Judge {
 public:
  Judge(const model::Pipeline& pipeline, const std::vector<StepDone>& done) : pipeline_(pipeline) {
    for (const StepDone& each : done) done_[each.step] = &each;
    for (const model::Step& step : pipeline.steps) steps_[step.id] = &step;
  }

  /// Empty: it is kept. `needs` has no cycle.
  const std::string& why_again(const model::Step& step) {
    const auto [at, fresh] = why_.try_emplace(step.id);
    if (!fresh) return at->second;
    const auto done = done_.find(step.id);
    at->second = own_obstacle(pipeline_, step, done == done_.end() ? nullptr : done->second);
    for (const std::string& need : step.needs) {
      if (!at->second.empty()) break;
      const auto needed = steps_.find(need);
      if (needed == steps_.end() || !why_again(*needed->second).empty()) {
        at->second = fmt::format("it needs {}, which is done again", need);
      }
    }
    return at->second;
  }

 private:
  const model::Pipeline& pipeline_;
  std::map<std::string, const StepDone*> done_;
  std::map<std::string, const model::Step*> steps_;
  std::map<std::string, std::string> why_;  ///< by step; its places stay while it grows
};

}  // namespace

std::vector<StepVerdict> kept_steps(const model::Pipeline& pipeline, const std::vector<StepDone>& done) {
  Judge judge(pipeline, done);
  std::vector<StepVerdict> out;
  for (const model::Step& step : pipeline.steps) {
    const std::string& why = judge.why_again(step);
    out.push_back({step.id, why.empty(), why});
  }
  return out;
}

}  // namespace eider::decide
