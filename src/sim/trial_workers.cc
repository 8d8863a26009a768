#include "sim/trial_workers.h"

namespace eider::sim {

void TrialWorkers::hand_off(supervise::HandOff job) {
  Busy busy;
  busy.attempt = job.attempt;
  busy.trade = &trades_.at(job.definition.get());
  const auto& times = busy.trade->times;
  const Micros takes = times[static_cast<std::size_t>(dice_.below(static_cast<int>(times.size())))];
  busy.until = clock_.boottime() + std::min(std::max(takes, Micros(1)), job.timeout);
  ends_.emplace(busy.until, job.run_id);
  busy_[job.run_id] = busy;
}

void TrialWorkers::cancel(const std::string& run_id, int, const std::string&) {
  const auto found = busy_.find(run_id);
  if (found == busy_.end()) return;
  ends_.erase({found->second.until, run_id});
  found->second.until = clock_.boottime();
  found->second.cancelled = true;
  ends_.emplace(found->second.until, run_id);
}

std::vector<supervise::WorkerEvent> TrialWorkers::take_events() {
  std::vector<supervise::WorkerEvent> out;
  while (!ends_.empty() && ends_.begin()->first <= clock_.boottime()) {
    const std::string run_id = ends_.begin()->second;
    ends_.erase(ends_.begin());
    const auto busy = busy_.extract(run_id);
    supervise::AttemptOver over;
    over.run_id = run_id;
    over.attempt = busy.mapped().attempt;
    over.result.emplace();
    over.result->run_id = run_id;
    over.result->attempt = over.attempt;
    over.result->outcome = busy.mapped().cancelled ? model::Outcome::cancelled : model::Outcome::succeeded;
    over.result->finished_at = clock_.now();
    if (!busy.mapped().cancelled) {
      for (const std::string& asset : busy.mapped().trade->assets) {
        wire::Publication one;
        one.asset = asset;
        over.result->publications.push_back(std::move(one));
      }
    }
    out.emplace_back(std::move(over));
  }
  return out;
}

}  // namespace eider::sim
