#include "decide/overlap.h"

#include <limits>

#include "model/run.h"

namespace eider::decide {
namespace {

OverlapVerdict skip(const std::vector<ActiveRun>& active) {
  OverlapVerdict verdict;
  if (active.empty()) return verdict;
  verdict.run = false;
  verdict.reason = model::reason::active_run;
  verdict.active_run_id = active.front().run_id;
  return verdict;
}

OverlapVerdict queue(const model::Pipeline& pipeline, const model::Schedule& schedule,
                     const std::vector<ActiveRun>& active) {
  OverlapVerdict verdict;
  if (pipeline.max_active_runs == 0) return verdict;
  const auto counted = std::count_if(active.begin(), active.end(), [](const ActiveRun& run) { return !run.catch_up; });
  if (counted < static_cast<std::ptrdiff_t>(pipeline.max_active_runs) + schedule.queue_limit) return verdict;
  verdict.run = false;
  verdict.reason = model::reason::queue_full;
  return verdict;
}

OverlapVerdict replace(const std::string& key, const std::vector<ActiveRun>& active) {
  OverlapVerdict verdict;
  for (const ActiveRun& run : active) {
    if (run.schedule != key) continue;
    (run.running ? verdict.cancel_running : verdict.cancel_queued).push_back(run.run_id);
  }
  return verdict;
}

}  // namespace

std::size_t enough_active(const model::Pipeline& pipeline, const model::Schedule& schedule) {
  // Both ask for their own runs, which may be anywhere.
  const bool own = schedule.overlap == model::Overlap::replace || schedule.timing.from_completion;
  if (own) return std::numeric_limits<std::size_t>::max();
  const bool bounded = schedule.overlap == model::Overlap::queue && pipeline.max_active_runs > 0;
  return bounded ? static_cast<std::size_t>(pipeline.max_active_runs) + static_cast<std::size_t>(schedule.queue_limit)
                 : 0;
}

OverlapVerdict decide_overlap(const model::Pipeline& pipeline, const model::Schedule& schedule, const std::string& key,
                              const std::vector<ActiveRun>& active) {
  switch (schedule.overlap) {
    case model::Overlap::skip:
      return skip(active);
    case model::Overlap::queue:
      return queue(pipeline, schedule, active);
    case model::Overlap::replace:
      return replace(key, active);
    case model::Overlap::allow:
      break;
  }
  return {};
}

}  // namespace eider::decide
