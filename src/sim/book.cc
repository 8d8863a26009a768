#include "sim/book.h"

#include <fmt/format.h>

#include "base/check.h"

namespace eider::sim {

using model::RunEvent;
using model::RunState;

void Book::violated(const char* law, const std::string& what) {
  if (!finding_) finding_ = Finding{law, what, clock_.now()};
}

void Book::in_force(std::shared_ptr<const workspace::Workspace> workspace) {
  workspace_ = std::move(workspace);
  schedules_in_force_.clear();
  for (const auto& [name, loaded] : workspace_->pipelines) {
    for (const model::Schedule& schedule : loaded.pipeline->schedules) {
      schedules_in_force_.emplace(model::schedule_key(name, schedule.id),
                                  InForce{schedule, name, Oracle::of(schedule.timing)});
    }
  }
}

const model::Pipeline* Book::pipeline(const std::string& name) const {
  const auto found = workspace_->pipelines.find(name);
  return found == workspace_->pipelines.end() ? nullptr : found->second.pipeline.get();
}

void Book::committed(const model::ChangeSet& set) {
  ++decisions_;
  set_ = &set;
  for (const model::Change& change : set) {
    std::visit([this](const auto& one) { apply(one); }, change);
  }
  set_ = nullptr;
}

// ---- runs ----------------------------------------------------------------------------------------------------------

Book::OpenRun Book::open_run(const model::Run& run) const {
  OpenRun out;
  out.pipeline = run.pipeline;
  out.trigger = run.trigger;
  out.trigger_id = run.trigger_id;
  out.partition = run.partition;
  out.params = run.params;
  out.scheduled_for = run.scheduled_for;
  out.attempt = run.attempt;
  out.catch_up = run.catch_up;
  out.not_before = run.not_before;
  out.queued_at = time_passed();
  out.turn = run.created_at - run.priority * std::chrono::minutes(10);
  return out;
}

void Book::apply(const model::RunQueued& change) {
  const model::Run& run = change.run;
  say(fmt::format("run {} of {} queued for {}", run.id, run.pipeline, run.trigger_id));
  if (!states_.emplace(run.id, RunState::queued).second) violated("I6", run.id + " is queued twice");
  pipelines_[run.id] = run.pipeline;
  if (run.trigger == model::TriggerKind::manual && !asked_by_.insert(run.trigger_id).second) {
    violated("I6", "one command has made two runs: " + run.trigger_id);
  }
  if (!run.idempotency_key.empty() && !keys_.emplace(run.idempotency_key, run.id).second) {
    violated("I6", "two runs of the key " + run.idempotency_key);
  }
  if (run.trigger == model::TriggerKind::schedule) {
    const auto in_force = schedules_in_force_.find(run.trigger_id);
    if (in_force == schedules_in_force_.end()) {
      violated("I8", "a run of a schedule that is not there: " + run.trigger_id);
    } else if (in_force->second.schedule.overlap == model::Overlap::skip) {
      for (const auto& [id, other] : open_) {
        if (other.pipeline == run.pipeline) violated("I3", run.id + " overlaps " + id + ", and its schedule says skip");
      }
    }
    if (!schedules_[run.trigger_id].ran.contains(run.scheduled_for.value_or(Instant{}))) {
      violated("I5", run.id + " was made without a decision");
    }
  }
  open_[run.id] = open_run(run);
  note_state(open_[run.id], run.id, RunState::queued, {});
}

void Book::apply(const model::RunRestarted& change) {
  const model::Run& run = change.run;
  say(fmt::format("run {} of {} queued again", run.id, run.pipeline));
  if (open_.contains(run.id) || !states_.contains(run.id)) violated("I4", run.id + " is restarted, and had not ended");
  states_[run.id] = RunState::queued;
  std::erase(ended_, run.id);
  open_[run.id] = open_run(run);
  note_state(open_[run.id], run.id, RunState::queued, {});
  for (const auto& [delivery, of_run] : delivery_runs_) {
    if (of_run == run.id) owed_[delivery] = {run.trigger_id, run.id, false};
  }
}

void Book::apply(const model::RunClaimed& change) {
  const auto found = open_.find(change.run_id);
  if (found == open_.end() || found->second.running || found->second.attempt + 1 != change.number) {
    return violated("I3", fmt::format("attempt {} of {} is claimed, and it may not be", change.number, change.run_id));
  }
  OpenRun& run = found->second;
  say(fmt::format("run {} of {} claimed, attempt {}", change.run_id, run.pipeline, change.number));
  run.running = true;
  run.attempt = change.number;
  states_[change.run_id] = RunState::running;
  claim(change.run_id, run);
}

void Book::end(const std::string& run_id, RunState state, Instant at) {
  const auto found = open_.find(run_id);
  states_[run_id] = state;
  note_state(found->second, run_id, state, at);
  if (state == RunState::failed) check_failures(found->second);
  open_.erase(found);
  std::erase_if(owed_, [&](const auto& one) { return one.second.run_id == run_id; });
  ended_.push_back(run_id);
  if (ended_.size() > 50) ended_.erase(ended_.begin());
}

void Book::apply(const model::AttemptEnded& change) {
  const std::string& id = change.attempt.run_id;
  const auto found = open_.find(id);
  if (found == open_.end() || !found->second.running || found->second.attempt != change.attempt.number) {
    return violated("I4",
                    fmt::format("attempt {} of {} ends, and it is not the current one", change.attempt.number, id));
  }
  OpenRun& run = found->second;
  say(fmt::format("run {} of {}: attempt {} ended, {} ({})", id, run.pipeline, change.attempt.number,
                  model::to_text(change.event), change.reason));
  check_truth(change, run);
  if (change.attempt.outcome == model::Outcome::released) {  // it ran nothing: it was no start
    std::erase_if(starts_, [&](const Start& one) { return one.run_id == id && one.attempt == run.attempt; });
  }
  handed_off_.erase({id, change.attempt.number});
  const auto transition = model::next(RunState::running, change.event);
  if (!transition) return violated("I4", id + " ends in a way that there is not");
  if (model::is_terminal(transition->to)) return end(id, transition->to, change.at);
  check_wait(change, run);
  run.running = false;
  run.failures += change.event == RunEvent::retry ? 1 : 0;
  run.interruptions += change.event == RunEvent::interrupt ? 1 : 0;
  run.not_before = change.not_before;
  run.ready_at = time_passed() + (change.not_before - clock_.now());
  states_[id] = RunState::queued;
}

void Book::apply(const model::CancelAsked& change) {
  const auto found = open_.find(change.run_id);
  if (found == open_.end() || !found->second.running) return violated("I4", change.run_id + " is asked to end, idle");
  found->second.cancel_asked = true;
  found->second.cancel_reason = change.reason;
  say("run " + change.run_id + " is asked to end");
}

void Book::apply(const model::QueuedCancelled& change) {
  const auto found = open_.find(change.run_id);
  if (found == open_.end() || found->second.running) return violated("I4", change.run_id + " is not queued");
  say(fmt::format("run {} cancelled ({})", change.run_id, change.reason));
  end(change.run_id, RunState::cancelled, change.at);
}

// ---- data ----------------------------------------------------------------------------------------------------------

void Book::owe(const std::vector<model::Delivery>& owed) {
  for (const model::Delivery& delivery : owed) {
    if (!owed_.emplace(delivery.id, Owed{delivery.trigger, {}, true}).second || delivery_runs_.contains(delivery.id)) {
      violated("I6", "owed twice: " + delivery.id + " to " + delivery.trigger);
    }
  }
}

void Book::apply(const model::AssetMaterialized& change) {
  const model::Materialization& event = change.event;
  say(fmt::format("{} published by {}, owed {}", event.asset, event.run_id, change.owed.size()));
  if (!event_ids_.insert(event.id).second) violated("I6", "one publication of " + event.asset + " is two events");
  if (!event.run_id.empty()) events_[event.run_id].insert(event.asset);
  owe(change.owed);
  for (const auto& [name, loaded] : workspace_->pipelines) {
    for (const model::Trigger& trigger : loaded.pipeline->triggers) {
      const bool asks = std::find(trigger.assets.begin(), trigger.assets.end(), event.asset) != trigger.assets.end();
      const std::string key = model::schedule_key(name, trigger.id);
      const bool owed =
          std::any_of(change.owed.begin(), change.owed.end(), [&](const auto& d) { return d.trigger == key; });
      if (asks != owed) violated("I5", fmt::format("{} is owed {}: {}", key, event.asset, owed));
    }
  }
}

void Book::apply(const model::TriggerReplayed& change) { owe(change.owed); }

void Book::apply(const model::DeliveriesClaimed& change) {
  for (const std::string& id : change.ids) {
    const auto found = owed_.find(id);
    if (found == owed_.end() || !found->second.pending) {
      violated("I6", fmt::format("delivery {} to {} gets a run and has one, or is not owed", id, change.trigger));
      continue;
    }
    found->second.pending = false;
    found->second.run_id = delivery_runs_[id] = change.run_id;
  }
}

void Book::apply(const model::DeliveriesSkipped& change) {
  for (const std::string& id : change.ids) {
    owed_.erase(id);
    delivery_runs_[id] = {};
  }
}

// ---- what the world and people say ---------------------------------------------------------------------------------

void Book::handed_off(const std::string& run_id, int attempt) {
  if (live_attempt(run_id) != attempt) {
    violated("I2", fmt::format("attempt {} of {} is handed off, and its claim is not committed", attempt, run_id));
  }
  handed_off_.emplace(run_id, attempt);
}

void Book::forgotten(const std::string& run_id, int attempt) {
  if (live_attempt(run_id) == attempt) {
    violated("I5", fmt::format("attempt {} of {} is forgotten before its end is committed", attempt, run_id));
  }
}

std::string Book::pipeline_of(const std::string& run_id) const {
  const auto found = pipelines_.find(run_id);
  return found == pipelines_.end() ? std::string() : found->second;
}

std::vector<std::string> Book::assets_of(const std::string& name) const {
  std::vector<std::string> out;
  if (const model::Pipeline* found = pipeline(name)) {
    for (const model::Publish& publish : found->publishes) out.push_back(publish.asset);
  }
  return out;
}

int Book::live_attempt(const std::string& run_id) const {
  const auto found = open_.find(run_id);
  return found == open_.end() || !found->second.running ? 0 : found->second.attempt;
}

void Book::answered(const std::string& run_id) {
  --unanswered_;
  if (!run_id.empty() && !states_.contains(run_id)) {
    violated("I2", "a person is told of run " + run_id + " that is not committed");
  }
}

bool Book::is_paused(const std::string& schedule) const {
  const auto found = schedules_.find(schedule);
  return found != schedules_.end() && found->second.paused;
}

std::vector<std::string> Book::ended_ids() const {
  std::vector<std::string> out = ended_;
  std::erase_if(out, [this](const std::string& id) { return states_.at(id) == RunState::succeeded; });
  return out.empty() ? ended_ : out;
}

std::vector<std::string> Book::open_ids() const {
  std::vector<std::string> out;
  for (const auto& [id, run] : open_) out.push_back(id);
  return out;
}

}  // namespace eider::sim
