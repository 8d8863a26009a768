// Schedules that stand still: a person pauses and resumes them, and too many failures pause them.
#include <fmt/format.h>

#include "decide/due.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

constexpr int few_passed_over = 20;

/// The answer once the one decision of a command has been tried.
Result<void> outcome(const Turn& turn, bool done) {
  if (done) return {};
  if (turn.own_error()) return *turn.own_error();
  return Error{ErrorCode::conflict, "the schedule has moved on meanwhile; try again"};
}

}  // namespace

void Loop::pause_schedule(Turn& turn, const PauseSchedule& command) {
  const auto answer = [&](Result<void> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  const auto found = state_.schedules().find(command.key);
  if (found == state_.schedules().end()) {
    return answer(
        Error{ErrorCode::not_found, fmt::format("there is no schedule \"{}\" in this workspace", command.key)});
  }
  if (!state_.cursors().contains(command.key)) {
    return answer(Error{ErrorCode::unavailable, "the store has refused to take the schedule up: " + refused_.why});
  }
  if (!command.paused) return resume_schedule(turn, command, found->second);
  // Paused once more: since when stays, and why as well unless another note is given.
  const model::Cursor& cursor = state_.cursors().at(command.key);
  model::SchedulePaused pause{command.key, true, command.note.value_or(std::string()), turn.now(),
                              model::reason::paused};
  if (cursor.paused) {
    pause.at = cursor.paused_at.value_or(turn.now());
    if (!command.note) pause.note = cursor.note;
    if (!command.note) pause.reason = cursor.reason;
  }
  const bool done = turn.decide({std::move(pause)});
  if (turn.failed()) return;
  answer(outcome(turn, done));
}

/// What fell due in the pause was not missed: it is decided here, as the command says, and the schedule goes on from
/// now. All of it is one set.
void Loop::resume_schedule(Turn& turn, const PauseSchedule& command, const ScheduleEntry& entry) {
  const auto answer = [&](Result<void> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  const model::Cursor& cursor = state_.cursors().at(command.key);
  if (!cursor.paused) return answer({});
  const auto active = state_.active(entry);
  decide::DueFacts facts = state_.facts(entry, active);
  if (!know_what_ran(turn, facts)) return;
  auto decisions = decide::decide_resume(facts, turn.now(), command.catch_up, limits::decisions_per_turn,
                                         [&] { return ids_.make(turn.now()); });
  if (!decisions) return answer(decisions.error());
  const Instant goes_on_from = decide::cursor_after_pause(facts, turn.now());
  model::ChangeSet changes;
  Instant stands_at = cursor.decided_until;
  for (const decide::DueDecision& decision : *decisions) {
    for (model::Change& change : changes_of(entry, decision, stands_at, turn.now())) {
      changes.push_back(std::move(change));
    }
    stands_at = decision.decided_until;
  }
  changes.emplace_back(model::OccurrencesDecided{command.key, stands_at, goes_on_from, {}});
  changes.emplace_back(model::SchedulePaused{command.key, false, {}, turn.now(), {}});
  const bool done = turn.decide(std::move(changes));
  if (turn.failed()) return;
  if (done) {
    for (const decide::DueDecision& decision : *decisions) follow_decision(turn, decision);
  }
  answer(outcome(turn, done));
}

bool Loop::pause_after_failures(Turn& turn, const model::Run& failing, model::ChangeSet& changes) {
  if (failing.trigger != model::TriggerKind::schedule) return true;
  const auto schedule = state_.schedules().find(failing.trigger_id);
  const auto cursor = state_.cursors().find(failing.trigger_id);
  if (schedule == state_.schedules().end() || cursor == state_.cursors().end()) return true;
  const int limit = schedule->second.schedule().pause_after_failures;
  if (limit == 0 || cursor->second.paused) return true;
  int failed = 0;
  // Rarely do many open or cancelled runs stand between those that count: then more are looked at, and no more than so.
  for (const int passed_over : {few_passed_over, limits::runs_passed_over}) {
    const int asked = limit + passed_over;
    const auto runs = parts_.store.runs_of_schedule(failing.trigger_id, asked);
    if (!runs) {
      turn.fail(runs.error());
      return false;
    }
    failed = decide::failures_in_a_row(*runs, failing.id, cursor->second.resumed_at);
    const bool ends_with_success = std::any_of(
        runs->begin(), runs->end(), [](const model::Run& run) { return run.state == model::RunState::succeeded; });
    if (failed >= limit || ends_with_success || std::ssize(*runs) < asked) break;
  }
  if (failed < limit) return true;
  changes.emplace_back(
      model::SchedulePaused{failing.trigger_id, true,
                            fmt::format("{} failed one after the other, at last {}",
                                        failed == 1 ? "1 run" : fmt::format("{} runs", failed), failing.id),
                            turn.now(), model::reason::paused_after_failures});
  return true;
}

}  // namespace eider::engine
