// What the store must hold, as maps in memory: the reference that random sets are compared with.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "store/conformance/fixture.h"

namespace eider::store::conformance {

using model::DeliveryEvent;
using model::RunEvent;
using model::RunState;

/// Maps in memory, driven by model::next. Each function answers as Store::apply must.
struct Model {
  std::map<std::string, model::Run> runs;
  std::map<std::pair<std::string, int>, model::Attempt> attempts;
  std::map<std::string, model::Cursor> cursors;
  std::map<std::pair<std::string, Instant>, model::Occurrence> occurrences;
  std::map<std::string, model::Materialization> events;
  std::map<std::string, model::Delivery> deliveries;
  std::map<std::string, model::TriggerCursor> triggers;

  bool apply(const model::CursorPlaced& c) {
    cursors[c.cursor.schedule] = c.cursor;
    return true;
  }
  bool apply(const model::OccurrencesDecided& c) {
    const auto cursor = cursors.find(c.schedule);
    if (cursor == cursors.end() || cursor->second.decided_until != c.expected_decided_until) return false;
    cursor->second.decided_until = c.decided_until;
    for (const auto& o : c.occurrences) {
      const bool is_new = occurrences.try_emplace({o.schedule, o.scheduled_for}, o).second;
      if (!is_new && o.decision == model::Decision::run) return false;
      grow(occurrences.at({o.schedule, o.scheduled_for}), o);
    }
    return true;
  }
  bool apply(const model::CursorWithdrawn& c) {
    if (!cursors.contains(c.schedule)) return false;
    cursors[c.schedule].decided_until = c.to;
    std::erase_if(occurrences, [&](const auto& entry) {
      const model::Occurrence& o = entry.second;
      return o.schedule == c.schedule && o.decision != model::Decision::run && o.scheduled_until > c.to;
    });
    return true;
  }
  bool apply(const model::RunQueued& c) {
    for (const auto& [id, run] : runs) {
      if (id == c.run.id) return false;
      if (!run.occurrence_id.empty() && run.occurrence_id == c.run.occurrence_id) return false;
      if (!run.idempotency_key.empty() && run.idempotency_key == c.run.idempotency_key) return false;
    }
    runs[c.run.id] = c.run;
    return true;
  }
  bool apply(const model::RunClaimed& c) {
    const auto run = runs.find(c.run_id);
    if (run == runs.end() || run->second.attempt != c.number - 1) return false;
    const auto transition = model::next(run->second.state, RunEvent::claim);
    if (!transition) return false;
    run->second.state = transition->to;
    run->second.attempt = c.number;
    run->second.definition = c.definition;
    if (!run->second.started_at) run->second.started_at = c.at;
    model::Attempt& attempt = attempts[{c.run_id, c.number}];
    attempt.run_id = c.run_id;
    attempt.number = c.number;
    attempt.claimed_at = c.at;
    attempt.definition = c.definition;
    attempt.taken = c.taken;
    return true;
  }
  bool apply(const model::AttemptEnded& c) {
    const auto run = runs.find(c.attempt.run_id);
    if (run == runs.end() || run->second.state != RunState::running || run->second.attempt != c.attempt.number)
      return false;
    const auto transition = model::next(RunState::running, c.event);
    if (!transition || !transition->closes_attempt) return false;
    model::Run& r = run->second;
    r.state = transition->to;
    r.failures += transition->counts_failure ? 1 : 0;
    r.interruptions += transition->counts_interruption ? 1 : 0;
    if (transition->sets_finished) r.finished_at = c.at;
    r.not_before = c.not_before;
    r.reason = c.reason;
    r.error = c.error;
    model::Attempt& attempt = attempts[{c.attempt.run_id, c.attempt.number}];
    attempt.outcome = c.attempt.outcome;
    attempt.finished_at = c.attempt.finished_at;
    if (c.attempt.outcome == model::Outcome::released) attempts.erase({c.attempt.run_id, c.attempt.number});
    if (transition->sets_finished) follow_end(r, c.at);
    return true;
  }
  bool apply(const model::CancelAsked& c) {
    const auto run = runs.find(c.run_id);
    if (run == runs.end() || run->second.state != RunState::running || run->second.cancel_asked_at) return false;
    run->second.cancel_asked_at = c.at;
    run->second.reason = c.reason;
    return true;
  }
  bool apply(const model::QueuedCancelled& c) {
    const auto run = runs.find(c.run_id);
    if (run == runs.end() || run->second.state != RunState::queued) return false;
    run->second.state = model::next(RunState::queued, RunEvent::cancel)->to;
    run->second.finished_at = c.at;
    run->second.reason = c.reason;
    run->second.error = c.error;
    follow_end(run->second, c.at);
    return true;
  }
  bool apply(const model::RunRestarted& c) {
    const auto run = runs.find(c.run.id);
    if (run == runs.end() || !model::next(run->second.state, RunEvent::restart)) return false;
    model::Run& r = run->second;
    r.state = RunState::queued;
    r.failures = c.run.failures;
    r.interruptions = c.run.interruptions;
    r.not_before = c.run.not_before;
    r.finished_at = r.cancel_asked_at = std::nullopt;
    r.reason = c.run.reason;
    r.error = c.run.error;
    r.kept = c.run.kept;
    for (auto& [id, d] : deliveries) {
      if (d.run_id != r.id) continue;
      const auto to = model::next(d.state, DeliveryEvent::retry);
      if (!to) continue;
      d.state = *to;
      d.owner = c.owner;
      d.claimed_at = c.at;
      d.finished_at = std::nullopt;
      d.reason = d.error = "";
    }
    return true;
  }
  bool apply(const model::AssetMaterialized& c) {
    if (events.contains(c.event.id)) return false;
    if (c.event.source == model::Source::run) {
      const auto run = runs.find(c.event.run_id);
      if (run == runs.end() || run->second.state != RunState::running || run->second.attempt != c.event.attempt)
        return false;
    }
    model::Materialization& event = events[c.event.id] = c.event;
    event.number = static_cast<std::int64_t>(events.size());
    return owe(c.owed, event.number);
  }
  bool apply(const model::TriggerPlaced& c) {
    triggers[c.cursor.trigger] = c.cursor;
    return true;
  }
  bool apply(const model::TriggerReplayed& c) {
    const auto trigger = triggers.find(c.trigger);
    if (trigger == triggers.end() || trigger->second.replayed_to != c.expected) return false;
    trigger->second.replayed_to = c.replayed_to;
    return owe(c.owed, std::nullopt);
  }
  bool apply(const model::DeliveriesClaimed& c) {
    for (const auto& id : c.ids) {
      model::Delivery* d = take(id, model::DeliveryState::pending, DeliveryEvent::claim);
      if (d == nullptr) return false;
      d->run_id = c.run_id;
      d->owner = c.owner;
      d->claimed_at = c.at;
    }
    return true;
  }
  bool apply(const model::DeliveriesSkipped& c) {
    if (!model::next(c.from, DeliveryEvent::skip)) return false;
    for (const auto& id : c.ids) {
      model::Delivery* d = take(id, c.from, DeliveryEvent::skip);
      if (d == nullptr) return false;
      d->finished_at = c.at;
      d->reason = c.reason;
      d->error = c.error;
    }
    return true;
  }
  template <typename Other>
  bool apply(const Other&) {
    ADD_FAILURE() << "no such change is made here";
    return false;
  }

 private:
  bool owe(const std::vector<model::Delivery>& owed, std::optional<std::int64_t> event) {
    for (model::Delivery d : owed) {
      if (event) d.event = *event;
      if (!deliveries.try_emplace(d.id, d).second) return false;
    }
    return true;
  }
  /// The delivery after `event`, when it is in `from` and the event is possible there.
  model::Delivery* take(const std::string& id, model::DeliveryState from, DeliveryEvent event) {
    const auto found = deliveries.find(id);
    const auto to = model::next(from, event);
    if (found == deliveries.end() || found->second.state != from || !to) return nullptr;
    found->second.state = *to;
    return &found->second;
  }
  /// A row of excluded instants reaches further.
  static void grow(model::Occurrence& row, const model::Occurrence& o) {
    const bool both = row.decision == model::Decision::excluded && o.decision == model::Decision::excluded;
    if (!both || o.scheduled_until <= row.scheduled_until) return;
    row.scheduled_until = o.scheduled_until;
    row.count = o.count;
  }
  void follow_end(const model::Run& run, Instant at) {
    for (auto& [id, d] : deliveries) {
      if (d.run_id != run.id) continue;
      const auto to = model::next(d.state, model::delivery_event_of(run.state));
      if (!to) continue;
      d.state = *to;
      d.finished_at = at;
      if (run.state == RunState::failed) d.reason = model::reason::run_failed;
      if (run.state == RunState::cancelled) d.reason = model::reason::run_cancelled;
      d.error = run.state == RunState::succeeded ? "" : run.error;
    }
  }
};

/// All of the set, or nothing of it.
inline bool apply_set(Model& model, const model::ChangeSet& set) {
  Model copy = model;
  for (const auto& change : set) {
    if (!std::visit([&](const auto& one) { return copy.apply(one); }, change)) return false;
  }
  model = std::move(copy);
  return true;
}

}  // namespace eider::store::conformance
