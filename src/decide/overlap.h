// What happens to an instant that is to run while runs of the pipeline are active: skip, queue, replace, allow. Pure.
#pragma once

#include <string>
#include <vector>

#include "decide/due.h"
#include "model/pipeline.h"

namespace eider::decide {

struct OverlapVerdict {
  bool run = true;
  const char* reason = nullptr;             ///< when it does not run
  std::string active_run_id;                ///< overlap: skip names whom it yields to
  std::vector<std::string> cancel_running;  ///< replace
  std::vector<std::string> cancel_queued;   ///< replace
};

/// `active` are the pipeline's runs that are not terminal, those decided in the same turn included.
/// - skip: any active run, whatever caused it.
/// - queue: `max_active_runs` may be active and `queue_limit` wait behind them; more is QueueFull. Catch-up runs
///   stand outside the limit.
/// - replace: only this schedule's own runs give way.
/// - allow: always; max_active_runs, workers and pools bound what runs at once.
OverlapVerdict decide_overlap(const model::Pipeline& pipeline, const model::Schedule& schedule, const std::string& key,
                              const std::vector<ActiveRun>& active);

/// Of a pipeline's active runs, oldest first, the rule needs the first, and more only until so many that are no
/// catch-up have come: what follows changes nothing. Tens of thousands may be active.
std::size_t enough_active(const model::Pipeline& pipeline, const model::Schedule& schedule);

}  // namespace eider::decide
