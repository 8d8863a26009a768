// What the clock says: due instants, expired waits, cursors of new rules, and a clock that was set back.
#include <fmt/format.h>

#include "decide/due.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {

void Loop::decide_due(Turn& turn) {
  while (!turn.failed() && !turn.full()) {
    const auto due = state_.first_due();
    if (!due || due->first > turn.now()) return;
    const ScheduleEntry& entry = state_.schedules().at(due->second);
    if (!decide_schedule(turn, entry)) return;
  }
}

/// False: the store has failed, or the turn is full.
bool Loop::decide_schedule(Turn& turn, const ScheduleEntry& entry) {
  const std::string key = entry.key;
  const auto active = state_.active(entry);
  decide::DueFacts facts = state_.facts(entry, active);
  // One instant alone collides with what has run, and is passed over then; a row about several must not cover it.
  if (decide::is_behind(facts, turn.now()) || facts.excluded_before) {
    if (!know_what_ran(turn, facts)) return false;
  }
  const auto decisions = decide::decide_due(facts, turn.now(), limits::decisions_per_turn - turn.decisions(),
                                            [&] { return ids_.make(turn.now()); });
  if (decisions.empty()) {
    state_.hold(key, turn.now() + limits::hold_after_error);
    return !turn.failed();
  }
  for (const decide::DueDecision& decision : decisions) {
    if (!decide_instant(turn, entry, decision)) return !turn.failed();
  }
  return !turn.failed();
}

/// Instants later than the cursor that have run: the clock was set back since (O-05).
bool Loop::know_what_ran(Turn& turn, decide::DueFacts& facts) {
  auto ahead = parts_.store.decided_after(facts.key, facts.cursor.decided_until);
  if (!ahead) {
    turn.fail(ahead.error());
    return false;
  }
  for (const model::Occurrence& row : *ahead) {
    if (row.decision == model::Decision::run) facts.ran.push_back(row.scheduled_for);
  }
  return true;
}

/// The decision's rows, its run, what it replaces, and the cursor.
model::ChangeSet Loop::changes_of(const ScheduleEntry& entry, const decide::DueDecision& decision, Instant stands_at,
                                  Instant now) const {
  model::ChangeSet changes;
  for (const std::string& id : decision.cancel_queued) {
    changes.emplace_back(model::QueuedCancelled{id, model::reason::replaced, {}, now});
  }
  for (const std::string& id : decision.cancel_running) {
    changes.emplace_back(model::CancelAsked{id, model::reason::replaced, now});
  }
  changes.emplace_back(model::OccurrencesDecided{entry.key, stands_at, decision.decided_until, decision.occurrences});
  if (decision.run_id.empty()) return changes;
  const model::Pipeline& pipeline = *entry.pipeline;
  model::Run run;
  run.id = decision.run_id;
  run.pipeline = pipeline.name;
  run.trigger = model::TriggerKind::schedule;
  run.trigger_id = entry.key;
  run.occurrence_id = model::occurrence_id(entry.key, decision.scheduled_for);
  run.priority = pipeline.priority;
  run.catch_up = decision.catch_up;
  run.scheduled_for = decision.scheduled_for;
  run.created_at = run.not_before = now;
  run.reason = decision.reason;
  changes.emplace_back(model::RunQueued{std::move(run)});
  return changes;
}

/// It was applied: what it made may start, what it replaces is told after the commit.
void Loop::follow_decision(Turn& turn, const decide::DueDecision& decision) {
  for (const std::string& id : decision.cancel_running) {
    const int attempt = state_.live().at(id).number;
    turn.after_commit(
        [this, id, attempt] { parts_.workers.cancel(id, attempt, cancel_text(model::reason::replaced)); });
  }
}

/// One savepoint.
bool Loop::decide_instant(Turn& turn, const ScheduleEntry& entry, const decide::DueDecision& decision) {
  const std::string key = entry.key;
  const Instant stands_at = state_.cursors().at(key).decided_until;
  if (turn.decide(changes_of(entry, decision, stands_at, turn.now()))) {
    follow_decision(turn, decision);
    return true;
  }
  if (turn.failed()) return false;
  if (turn.own_error()) {
    state_.hold(key, turn.now() + limits::hold_after_error);
    return false;
  }
  // The instant ran before the clock was set back: it never runs again, and the cursor passes it (O-05). What is said
  // of others stays true.
  std::vector<model::Occurrence> others = decision.occurrences;
  std::erase_if(others, [](const model::Occurrence& each) { return each.decision == model::Decision::run; });
  for (model::Occurrence& each : others) {
    if (each.run_id == decision.run_id) each.run_id.clear();
  }
  if (turn.decide_surely({model::OccurrencesDecided{key, stands_at, decision.decided_until, std::move(others)}}))
    return true;
  if (turn.own_error()) state_.hold(key, turn.now() + limits::hold_after_error);
  return false;
}

void Loop::decide_expired(Turn& turn) {
  while (!turn.failed()) {
    const auto expiry = state_.first_expiry();
    if (!expiry || expiry->first > turn.now()) return;
    const std::string error = "it waited longer than the pipeline's queue_timeout";
    if (turn.decide_surely({model::QueuedCancelled{expiry->second, model::reason::expired, error, turn.now()}}))
      continue;
    if (!turn.failed()) state_.hold_expiries(turn.now() + limits::hold_after_error);
    return;
  }
}

void Loop::place_cursors(Turn& turn) {
  // So many at a time as the processor's caches hold: what is looked up here is looked up again when it is applied.
  constexpr std::size_t at_a_time = 500;
  const auto place = [&](const auto& wanted) {
    if (turn.decide_surely(wanted()) || turn.failed()) return;
    for (model::Change& change : wanted())
      turn.insist({std::move(change)});  // one bad row keeps no other schedule waiting
  };
  for (std::size_t from = 0; from < state_.schedules().size(); from += at_a_time) {
    place([&] { return state_.cursor_changes(turn.now(), from, at_a_time); });
  }
  place([&] { return state_.forgotten_cursors(); });
}

/// Queued runs of what is no longer in the workspace end with the reason; running ones end as they end.
void Loop::sweep_removed(Turn& turn) {
  std::vector<std::pair<std::string, const char*>> gone;
  for (const auto& [id, run] : state_.runs()) {
    if (run.state != model::RunState::queued || state_.may_be_broken(run.pipeline)) continue;
    if (!state_.pipeline(run.pipeline)) {
      gone.emplace_back(id, model::reason::pipeline_removed);
    } else if (run.trigger == model::TriggerKind::schedule && !state_.schedules().contains(run.trigger_id)) {
      gone.emplace_back(id, model::reason::schedule_removed);
    } else if (run.trigger == model::TriggerKind::data && !state_.subscriptions().find(run.trigger_id)) {
      gone.emplace_back(id, model::reason::trigger_removed);
    }
  }
  for (const auto& [id, why] : gone) {
    if (turn.failed()) return;
    turn.insist({model::QueuedCancelled{id, why, model::reason_sentence(why), turn.now()}});
  }
}

/// A row that covers instants on both sides of `now` is cut there: what was decided before it stays decided.
void Loop::withdraw_future(Turn& turn) {
  for (const std::string& key : state_.cursors_after(turn.now())) {
    if (turn.failed()) return;
    auto ahead = parts_.store.decided_after(key, turn.now());
    if (!ahead) return turn.fail(ahead.error());
    const timing::Rule& rule = state_.schedules().at(key).rule();
    std::vector<model::Occurrence> cut;
    for (model::Occurrence& row : *ahead) {
      if (row.scheduled_for > turn.now() || row.decision == model::Decision::run) continue;
      row.count = rule.count(row.scheduled_for - Micros(1), turn.now());
      row.scheduled_until = rule.previous(turn.now()).value_or(row.scheduled_for);
      cut.push_back(std::move(row));
    }
    turn.insist({model::CursorWithdrawn{key, turn.now()},
                 model::OccurrencesDecided{key, turn.now(), turn.now(), std::move(cut)}});
  }
}

}  // namespace eider::engine
