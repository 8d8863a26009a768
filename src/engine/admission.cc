// What may start now: lines of the queue in their turn, against what is free (decide/admission.h). What is blocked is
// passed over, so a full pool costs nobody else anything (engine/queue.h).
#include <algorithm>

#include <fmt/format.h>

#include "decide/admission.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {

/// What the server lacks (descriptors, inodes, processes) every run lacks: all wait, and one look finds out.
bool Loop::starts_are_held() const { return parts_.clock.boottime() < starts_held_until_; }

void Loop::admit(Turn& turn) {
  state_.release_backoffs(turn.now());
  state_.open_rates(turn.now());
  Queue& queue = state_.queue();
  if (turn.failed() || starts_are_held() || !queue.has_work()) return;
  decide::Room room = state_.room(turn.now());
  const auto needs_of = [this](const LineKey& line) { return state_.needs(line); };
  queue.reserve(room, needs_of, turn.now());
  while (!turn.failed() && !turn.full()) {
    const auto look = queue.next(room);
    if (!look) return;
    const workspace::LoadedPipeline* loaded = state_.pipeline(look->key.pipeline);
    if (!loaded || (options_.requested_only && !requested_.contains(look->head.run_id))) {
      queue.block(look->key, {{decide::Kind::definition, look->key.pipeline}}, turn.now());
      continue;
    }
    if (queue.blocked(*look, needs_of, room, turn.now())) continue;
    if (claim(turn, *state_.run(look->head.run_id), *loaded)) {
      room.take(needs_of(look->key));
      queue.taken(room, needs_of, turn.now());
    } else if (!turn.failed()) {
      state_.hold_run(look->head.run_id, turn.now() + limits::hold_after_error);
    }
  }
}

bool Loop::claim(Turn& turn, const model::Run& run, const workspace::LoadedPipeline& loaded) {
  const std::string id = run.id;
  const int number = run.attempt + 1;
  model::ChangeSet changes;
  if (!state_.knows_definition(loaded.hash)) {
    changes.emplace_back(model::DefinitionStored{loaded.hash, run.pipeline, *loaded.definition, turn.now()});
  }
  changes.emplace_back(model::RunClaimed{id, number, turn.now(), loaded.hash, state_.wanted(state_.line_of(run))});

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

/// Rates count recorded starts; the store is asked when memory has none of them, or the rates are others.
Result<void> Loop::load_starts() {
  const auto longest = state_.longest_rate();
  const Instant now = parts_.clock.now();
  std::vector<store::RecordedStart> starts;
  if (longest) {
    auto recorded = parts_.store.starts_after(now - *longest);
    if (!recorded) return recorded.error();
    starts = std::move(*recorded);
  }
  state_.load_starts(starts, now);
  return {};
}

}  // namespace eider::engine
