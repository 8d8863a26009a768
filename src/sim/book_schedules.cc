// What the book says of schedules: every instant is decided once, and nothing stands still that is not paused.
#include <fmt/format.h>

#include "sim/almanac.h"
#include "sim/book.h"

namespace eider::sim {

using namespace std::chrono_literals;
using model::Decision;

void Book::apply(const model::CursorPlaced& change) {
  const model::Cursor& cursor = change.cursor;
  OfSchedule& schedule = schedules_[cursor.schedule];
  const bool known = !schedule.rule.empty();
  const auto in_force = schedules_in_force_.find(cursor.schedule);
  const bool completion = in_force != schedules_in_force_.end() && in_force->second.oracle.from_completion();
  if (known && schedule.rule == cursor.rule && !completion) {
    violated("I5", fmt::format("the cursor of {} is placed anew at {}, though its rule is the same and it stood at {}",
                               cursor.schedule, format_rfc3339(cursor.decided_until), format_rfc3339(schedule.until)));
  }
  if (known && (cursor.paused != schedule.paused || cursor.note != schedule.note)) {
    violated("I5", cursor.schedule + " has lost its pause");
  }
  if (cursor.rule.empty() && is_in_files(cursor.schedule)) {
    violated("I5", cursor.schedule + " forgets its rule, and is in the files");
  }
  schedule.until = cursor.decided_until;
  schedule.excluded_from.reset();
  schedule.rule = cursor.rule;
  say(fmt::format("cursor of {} at {}", cursor.schedule, format_rfc3339(schedule.until)));
}

Instant Book::next_uncovered(const OfSchedule& schedule, const Oracle& oracle, Instant after) const {
  constexpr Instant never = Instant::max();
  Instant at = oracle.next(after).value_or(never);
  while (at != never && schedule.ran.contains(at)) at = oracle.next(at).value_or(never);
  return at;
}

void Book::check_rows(const model::OccurrencesDecided& change, const OfSchedule& schedule, const Oracle& oracle) {
  Instant at = schedule.until;
  for (const model::Occurrence& row : change.occurrences) {
    const bool grows = row.decision == Decision::excluded && row.scheduled_for == schedule.excluded_from;
    if (!grows && oracle.next(at) != row.scheduled_for && next_uncovered(schedule, oracle, at) != row.scheduled_for) {
      violated("I5", fmt::format("{}: a row begins at {}, but what comes after {} is {}", change.schedule,
                                 format_rfc3339(row.scheduled_for), format_rfc3339(at),
                                 format_rfc3339(oracle.next(at).value_or(at))));
    }
    const std::int64_t all = oracle.count(row.scheduled_for - Micros(1), row.scheduled_until);
    const auto ran =
        std::distance(schedule.ran.lower_bound(row.scheduled_for), schedule.ran.upper_bound(row.scheduled_until));
    if (row.count > all || row.count < all - ran) {
      violated("I5", fmt::format("{}: a row from {} to {} says {} instants; there are {}, {} of them have run",
                                 change.schedule, format_rfc3339(row.scheduled_for),
                                 format_rfc3339(row.scheduled_until), row.count, all, ran));
    }
    at = row.scheduled_until;
  }
  if (const Instant left = next_uncovered(schedule, oracle, at); left <= change.decided_until) {
    violated("I5",
             fmt::format("{}: nothing says what became of {}; its cursor moves from {} to {}", change.schedule,
                         format_rfc3339(left), format_rfc3339(schedule.until), format_rfc3339(change.decided_until)));
  }
}

/// A row of excluded instants has the reason of each, other rows have none that is excluded; but a pause covers all.
void Book::check_row(const std::string& key, const model::Occurrence& row) {
  if (row.decision == Decision::paused) return;
  const auto& [schedule, pipeline, oracle] = schedules_in_force_.at(key);
  if (!schedule.start && !schedule.end && schedule.exclude.empty() && schedule.only.empty()) {
    if (row.decision == Decision::excluded) violated("I5", key + " excludes what nothing excludes");
    return;
  }
  const auto step = oracle.from_completion() ? row.scheduled_until - row.scheduled_for : Micros(0);
  for (Instant at = row.scheduled_for; at <= row.scheduled_until;) {
    const auto why = why_excluded(schedule, at);
    if (row.decision == Decision::excluded ? !why.contains(row.reason) : !why.empty()) {
      return violated("I5", fmt::format("{}: {} is {} ({}), and what excludes it is: {}", key, format_rfc3339(at),
                                        to_text(row.decision), row.reason, why.empty() ? "nothing" : *why.begin()));
    }
    if (at == row.scheduled_until) return;
    at = step > Micros(0) ? at + step : oracle.next(at).value_or(row.scheduled_until);
  }
}

/// No instant is decided before it has come; and jitter delays each by the same, so the least delay that was seen is
/// what check_schedules() may count on.
void Book::check_delay(const model::OccurrencesDecided& change, OfSchedule& schedule) {
  for (const model::Occurrence& row : change.occurrences) {
    const Micros delay = clock_.now() - row.scheduled_until;
    if (delay < Micros(0)) {
      violated("I5",
               fmt::format("{} decides {} before it has come", change.schedule, format_rfc3339(row.scheduled_until)));
    }
    schedule.delay = std::min(delay, schedule.delay.value_or(delay));
  }
}

void Book::apply(const model::OccurrencesDecided& change) {
  OfSchedule& schedule = schedules_[change.schedule];
  for (const model::Occurrence& row : change.occurrences) {
    say(fmt::format("{} {} {} x{} {}", change.schedule, format_rfc3339(row.scheduled_for), to_text(row.decision),
                    row.count, row.reason));
  }
  const auto in_force = schedules_in_force_.find(change.schedule);
  // With nothing between its ends it says the past once more (a clock that was set back).
  const bool moves = change.decided_until != change.expected_decided_until;
  if (moves && in_force != schedules_in_force_.end() && !in_force->second.oracle.from_completion()) {
    check_rows(change, schedule, in_force->second.oracle);
  }
  if (moves && schedule.rule.empty()) {
    violated("I5", change.schedule + " goes on from its past, though it was taken out of the files");
  }
  if (moves && in_force != schedules_in_force_.end()) {
    for (const model::Occurrence& row : change.occurrences) check_row(change.schedule, row);
    check_delay(change, schedule);
  }
  check_pause(change, schedule);
  for (const model::Occurrence& row : change.occurrences) {
    if (row.decision == Decision::run && !schedule.ran.insert(row.scheduled_for).second) {
      violated("I6", fmt::format("{} runs twice at {}", change.schedule, format_rfc3339(row.scheduled_for)));
    }
  }
  schedule.until = change.decided_until;
  schedule.excluded_from.reset();
  if (!change.occurrences.empty() && change.occurrences.back().decision == Decision::excluded) {
    schedule.excluded_from = change.occurrences.back().scheduled_for;
  }
}

void Book::apply(const model::CursorWithdrawn& change) {
  schedules_[change.schedule].until = change.to;
  schedules_[change.schedule].excluded_from.reset();
  say(fmt::format("cursor of {} back to {}", change.schedule, format_rfc3339(change.to)));
}

/// What this decision says of a pause of the schedule; null: nothing.
const model::SchedulePaused* Book::pause_in_set(const std::string& schedule) const {
  for (const model::Change& change : *set_) {
    const auto* pause = std::get_if<model::SchedulePaused>(&change);
    if (pause && pause->schedule == schedule) return pause;
  }
  return nullptr;
}

/// What falls due in a pause is decided with its end, and not before.
void Book::check_pause(const model::OccurrencesDecided& change, const OfSchedule& schedule) {
  const bool moves = change.decided_until != change.expected_decided_until;
  const auto* pause = pause_in_set(change.schedule);
  const bool resumes = pause && !pause->paused;
  if (schedule.paused && moves && !resumes) violated("I5", change.schedule + " is paused, and decides");
  for (const model::Occurrence& row : change.occurrences) {
    if (moves && !resumes && row.decision == Decision::paused) {
      violated("I5", change.schedule + " is not paused, and says so of " + format_rfc3339(row.scheduled_for));
    }
  }
}

/// Of a pause that ends, the newest instants are made up for, where that was wanted; the others were paused.
void Book::check_resume(const std::string& key) {
  const auto in_force = schedules_in_force_.find(key);
  if (in_force == schedules_in_force_.end()) return violated("I8", key + " is resumed, and is not there");
  const model::Schedule& schedule = in_force->second.schedule;
  int made_up_for = 0;
  for (const model::Change& change : *set_) {
    const auto* decided = std::get_if<model::OccurrencesDecided>(&change);
    if (!decided || decided->schedule != key) continue;
    for (const model::Occurrence& row : decided->occurrences) {
      if (row.decision == Decision::run || row.decision == Decision::skipped) {
        ++made_up_for;
      } else if (row.decision != Decision::paused) {
        violated("I5", key + " is resumed, and says of its pause: " + to_text(row.decision));
      } else if (made_up_for > 0 && why_excluded(schedule, row.scheduled_for).empty()) {
        violated("I5", key + " is resumed, and makes up for what is older than what it passes over");
      }
      if (row.decision == Decision::run && row.reason != model::reason::resumed) {
        violated("I5", key + " is resumed, and runs for another reason: " + row.reason);
      }
    }
  }
  if (made_up_for > (schedule.overlap == model::Overlap::queue ? std::max(schedule.max_catchup, 1) : 1)) {
    violated("I5", fmt::format("{} is resumed, and makes up for {} instants", key, made_up_for));
  }
}

void Book::note_state(const OpenRun& run, const std::string& id, model::RunState state, Instant at) {
  if (!run.scheduled_for) return;
  schedules_[run.trigger_id].runs[*run.scheduled_for] = {id, state, at, false};
}

/// In the order of their instants, back to the newest success; what is open or cancelled says nothing. A resume begins
/// anew: what had ended before counts for nothing, neither by what was committed first nor by what is recorded of when.
/// The two differ where the clock was set back in between: then it may count or not, and `surely` says which is asked.
int Book::failures_in_a_row(const OfSchedule& schedule, bool surely) {
  int failures = 0;
  for (auto at = schedule.runs.rbegin(); at != schedule.runs.rend(); ++at) {
    const OfSchedule::OfInstant& run = at->second;
    const bool later = schedule.paused_at < run.finished_at;
    const bool may_count = !run.before_resume || later;
    const bool counts = !run.before_resume && later;
    if (run.state == model::RunState::failed && (surely ? counts : may_count)) ++failures;
    if (run.state == model::RunState::succeeded && (surely ? may_count : counts)) break;
  }
  return failures;
}

/// It is paused in the decision by which the run fails that is one too many, and in no other.
void Book::check_failures(const OpenRun& run) {
  const auto in_force = schedules_in_force_.find(run.trigger_id);
  const auto* pause = pause_in_set(run.trigger_id);
  const bool there = run.scheduled_for && in_force != schedules_in_force_.end();
  const int limit = there ? in_force->second.schedule.pause_after_failures : 0;
  const OfSchedule& schedule = schedules_[run.trigger_id];
  const bool may_be = limit > 0 && !schedule.paused && failures_in_a_row(schedule, false) >= limit;
  const bool is_due = may_be && failures_in_a_row(schedule, true) >= limit;
  if (pause ? !may_be : is_due) {
    violated("I5", fmt::format("{} has failed {} times one after the other, of {}, and is {}paused", run.trigger_id,
                               failures_in_a_row(schedule, false), limit, pause ? "" : "not "));
  }
  if (pause && pause->reason != model::reason::paused_after_failures) {
    violated("I5", fmt::format("{} is paused by its failures for the reason {}", run.trigger_id, pause->reason));
  }
}

void Book::apply(const model::SchedulePaused& change) {
  OfSchedule& schedule = schedules_[change.schedule];
  say(fmt::format("{} {}{}", change.schedule, change.paused ? "paused " : "resumed", change.reason));
  if (schedule.paused && change.paused && change.at != schedule.paused_at) {
    violated("I5", change.schedule + " is paused once more, and has forgotten since when it is");
  }
  if (schedule.paused && !change.paused) check_resume(change.schedule);
  const bool by_failures = change.reason == model::reason::paused_after_failures;
  const bool with_failure = std::any_of(set_->begin(), set_->end(), [](const model::Change& one) {
    const auto* ended = std::get_if<model::AttemptEnded>(&one);
    return ended && ended->event == model::RunEvent::fail;
  });
  if (by_failures && !schedule.paused && !with_failure)
    violated("I5", change.schedule + " is paused without a failure");
  if (!change.paused) {
    for (auto& [at, run] : schedule.runs) run.before_resume = model::is_terminal(run.state);
  }
  schedule.paused = change.paused;
  schedule.paused_at = change.at;
  schedule.note = change.note;
}

/// A pipeline whose file is broken is there, and its schedules with it.
bool Book::is_in_files(const std::string& key) const {
  if (schedules_in_force_.contains(key)) return true;
  const std::string name = key.substr(0, key.find('/'));
  return std::any_of(workspace_->broken.begin(), workspace_->broken.end(),
                     [&](const auto& one) { return one.second.pipeline == name; });
}

void Book::check_schedules() {
  const Instant now = clock_.now();
  for (const auto& [key, schedule] : schedules_) {
    if (!schedule.rule.empty() && !is_in_files(key)) {
      violated("I1", key + " was taken out of the files, and still knows its rule");
    }
  }
  for (const auto& [key, in_force] : schedules_in_force_) {
    const auto found = schedules_.find(key);
    if (found == schedules_.end()) {
      violated("I1", key + " has not been taken up");
      continue;
    }
    const OfSchedule& schedule = found->second;
    if (schedule.paused) continue;
    if (in_force.oracle.from_completion() && std::any_of(open_.begin(), open_.end(), [&id = key](const auto& one) {
          return one.second.trigger_id == id && one.second.trigger == model::TriggerKind::schedule;
        })) {
      continue;
    }
    if (!in_force.oracle.from_completion() && schedule.until > now + 500ms) {
      violated("I1", fmt::format("{} stands still until {}", key, format_rfc3339(schedule.until)));
    }
    const Micros jitter = in_force.schedule.jitter;
    const Instant undecided = next_uncovered(schedule, in_force.oracle, schedule.until);
    if (undecided == Instant::max()) continue;
    const Instant due = undecided + std::min(schedule.delay.value_or(jitter), jitter);
    if (due <= now) {
      violated("I1", fmt::format("{} was due at {}, and nothing is decided", key, format_rfc3339(due)));
    }
  }
}

}  // namespace eider::sim
