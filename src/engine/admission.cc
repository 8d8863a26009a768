// What may start now: queue heads by priority, then age, against what is free (decide/admission.h). What is blocked
// is passed over, so a full pool costs nobody else anything.
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "decide/admission.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

/// The first ready run of one line: of a pipeline, by one cause. All runs of a line want the same, so when the first is
/// blocked the others are as well, and need not be looked at.
struct Head {
  int minus_priority = 0;
  std::string run_id;
  std::string pipeline;
  model::TriggerKind cause = model::TriggerKind::manual;
  auto operator<=>(const Head&) const = default;  // NOLINT(modernize-use-nullptr): of the operator itself
};

std::string line_of(const std::string& pipeline, model::TriggerKind cause) {
  return pipeline + " " + model::to_text(cause);
}

}  // namespace

/// What the server lacks (descriptors, inodes, processes) every run lacks: all wait, and one look finds out.
bool Loop::starts_are_held() const { return parts_.clock.boottime() < starts_held_until_; }

void Loop::admit(Turn& turn) {
  if (state_.release_backoffs(turn.now())) admission_due_ = true;
  if (!admission_due_ || turn.failed() || starts_are_held()) return;
  std::set<Head> heads;
  for (const auto& [pipeline, runs] : state_.runs_by_pipeline()) {
    for (const auto& [cause, line] : runs.ready) {
      heads.insert({line.begin()->first, line.begin()->second, pipeline, cause});
    }
  }
  decide::Use use = state_.use();
  const decide::Capacity capacity = state_.capacity();
  while (!heads.empty() && !turn.failed() && !turn.full()) {
    const Head head = *heads.begin();
    heads.erase(heads.begin());
    const workspace::LoadedPipeline* loaded = state_.pipeline(head.pipeline);
    if (!loaded || (options_.requested_only && !requested_.contains(head.run_id))) continue;
    const model::Taken& wants = state_.wanted(head.pipeline);
    const auto missing = decide::shortages(*loaded->pipeline, head.cause, wants, use, capacity);
    note_blocked(line_of(head.pipeline, head.cause), missing, turn.now());
    if (!missing.empty()) continue;
    if (!claim(turn, *state_.run(head.run_id), *loaded)) continue;
    use.add(head.pipeline, head.run_id, head.cause, wants);
    const auto& ready = state_.runs_by_pipeline().at(head.pipeline).ready;
    if (const auto rest = ready.find(head.cause); rest != ready.end()) {
      heads.insert({rest->second.begin()->first, rest->second.begin()->second, head.pipeline, head.cause});
    }
  }
  admission_due_ = turn.full();
}

bool Loop::claim(Turn& turn, const model::Run& run, const workspace::LoadedPipeline& loaded) {
  const std::string id = run.id;
  const int number = run.attempt + 1;
  model::ChangeSet changes;
  if (!state_.knows_definition(loaded.hash)) {
    changes.emplace_back(model::DefinitionStored{loaded.hash, run.pipeline, *loaded.definition, turn.now()});
  }
  changes.emplace_back(model::RunClaimed{id, number, turn.now(), loaded.hash, state_.wanted(run.pipeline)});

  supervise::HandOff job;
  job.run_id = id;
  job.attempt = number;
  job.definition = loaded.definition;
  job.timeout = loaded.pipeline->timeout;
  const auto& steps = loaded.pipeline->steps;
  job.uses_sql = std::any_of(steps.begin(), steps.end(),
                             [](const model::Step& step) { return step.kind == model::Step::Kind::sql; });
  job.facts["trigger"] = model::to_text(run.trigger);
  job.facts["trigger_id"] = run.trigger_id;
  if (run.scheduled_for) job.facts["scheduled_for"] = format_rfc3339(*run.scheduled_for);
  if (!run.partition.empty()) job.facts["partition"] = run.partition;
  if (!run.params.empty()) job.facts["params"] = run.params;
  if (!run.kept.empty()) job.kept = kept_for(run, *loaded.pipeline);
  if (run.trigger == model::TriggerKind::data && !event_facts(turn, run, job.facts)) return false;
  if (!turn.insist(std::move(changes))) return false;
  turn.after_commit([this, job = std::move(job)]() mutable { parts_.workers.hand_off(std::move(job)); });
  return true;
}

/// Remembers since when a queue's head has lacked what.
void Loop::note_blocked(const std::string& line, const std::vector<decide::Shortage>& missing, Instant now) {
  const auto key_of = [](const decide::Shortage& shortage) { return shortage.kind + " " + shortage.name; };
  auto at = blocked_since_.lower_bound({line, std::string()});
  while (at != blocked_since_.end() && at->first.first == line) {
    const bool still = std::any_of(missing.begin(), missing.end(),
                                   [&](const auto& shortage) { return key_of(shortage) == at->first.second; });
    at = still ? std::next(at) : blocked_since_.erase(at);
  }
  for (const decide::Shortage& shortage : missing) blocked_since_.try_emplace({line, key_of(shortage)}, now);
}

std::vector<Waiting> Loop::waiting_for(const model::Run& run) const {
  std::vector<Waiting> out;
  if (run.state != model::RunState::queued) return out;
  const Instant now = parts_.clock.now();
  if (draining_) out.push_back({"draining", "server", "the server is stopping", now});
  const workspace::LoadedPipeline* loaded = state_.pipeline(run.pipeline);
  if (!loaded) {
    out.push_back({"definition", run.pipeline, "the pipeline's file is wrong; run `eider validate`", run.created_at});
    return out;
  }
  if (starts_are_held()) out.push_back({"start", "server", start_trouble_, start_trouble_since_});
  if (const auto since = released_since_.find(run.id); since != released_since_.end()) {
    const bool held = run.reason == model::reason::file_held && loaded->pipeline->database;
    out.push_back(
        {held ? "database" : "start", held ? loaded->pipeline->database->file : "server", run.error, since->second});
  } else if (run.not_before > now) {
    const std::string why = run.error.empty() ? std::string() : ": " + run.error.substr(0, run.error.find('\n'));
    out.push_back(
        {"backoff", run.pipeline, fmt::format("not before {}{}", format_rfc3339(run.not_before), why), run.not_before});
  }
  for (decide::Shortage& shortage : decide::shortages(*loaded->pipeline, run.trigger, state_.wanted(run.pipeline),
                                                      state_.use(), state_.capacity())) {
    const auto since = blocked_since_.find({line_of(run.pipeline, run.trigger), shortage.kind + " " + shortage.name});
    const Instant from = since == blocked_since_.end() ? run.created_at : std::max(since->second, run.created_at);
    out.push_back({std::move(shortage.kind), std::move(shortage.name), std::move(shortage.detail), from});
  }
  return out;
}

}  // namespace eider::engine
