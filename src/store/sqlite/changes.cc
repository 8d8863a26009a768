#include "store/sqlite/changes.h"

#include "model/transitions.h"

namespace eider::store::sqlite {
namespace {

using model::RunEvent;
using model::RunState;

/// A guarded statement: true when it changed a row.
Result<bool> changed(const Result<int>& rows) {
  if (!rows) return rows.error();
  return *rows > 0;
}

/// A statement without a guard.
Result<bool> always(const Result<int>& rows) {
  if (!rows) return rows.error();
  return true;
}

constexpr int number(RunState state) { return static_cast<int>(state); }
constexpr bool is_data(model::TriggerKind trigger) { return trigger == model::TriggerKind::data; }

constexpr const char* find_run_sql = "SELECT seq, trigger_kind FROM runs WHERE id = ?";
// The id is a part of the guard: a number that was taken back may have become another run's.
constexpr const char* claim_run_sql =
    "UPDATE runs SET state = ?, attempt = ?, definition = ?, started_at = ifnull(started_at, ?)"
    " WHERE seq = ? AND id = ? AND state = ? AND attempt = ?";

}  // namespace

std::vector<std::string> claim_queries() { return {find_run_sql, claim_run_sql}; }

Changes::Changes(Connection& c)
    : connection_(c),
      data_(c),
      place_cursor_(c,
                    "INSERT INTO cursors (schedule, rule, decided_until, paused, note, paused_at, reason, resumed_at)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (schedule) DO UPDATE SET rule = excluded.rule,"
                    " decided_until = excluded.decided_until, paused = excluded.paused, note = excluded.note,"
                    " paused_at = excluded.paused_at, reason = excluded.reason, resumed_at = excluded.resumed_at"),
      move_cursor_(c, "UPDATE cursors SET decided_until = ? WHERE schedule = ? AND decided_until = ?"),
      set_back_cursor_(c, "UPDATE cursors SET decided_until = ? WHERE schedule = ?"),
      pause_(c,
             "UPDATE cursors SET paused = ?, note = ?, paused_at = ?, reason = ?, resumed_at = ifnull(?, resumed_at)"
             " WHERE schedule = ?"),
      decide_(c,
              "INSERT INTO occurrences (id, schedule, pipeline, scheduled_for, scheduled_until, count, timezone,"
              " offset_s, shifted, decided_at, decision, reason, run_id, calendar)"
              " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (schedule, scheduled_for) DO UPDATE"
              " SET scheduled_until = excluded.scheduled_until, count = excluded.count"
              " WHERE decision = 4 AND excluded.decision = 4 AND excluded.scheduled_until > scheduled_until"),
      withdraw_later_(c, "DELETE FROM occurrences WHERE schedule = ?1 AND decision = ?2 AND scheduled_for > ?3"),
      withdraw_straddling_(c,
                           "DELETE FROM occurrences WHERE schedule = ?1 AND decision = ?2 AND scheduled_for ="
                           " (SELECT max(scheduled_for) FROM occurrences"
                           " WHERE schedule = ?1 AND decision = ?2 AND scheduled_for <= ?3)"
                           " AND scheduled_until > ?3"),
      find_run_(c, find_run_sql),
      queue_run_(c,
                 "INSERT INTO runs (id, state, attempt, pipeline, trigger_kind, trigger_id, occurrence_id, parent,"
                 " failures, interruptions, priority, catch_up, scheduled_for, partition, params, idempotency_key,"
                 " created_at, not_before, started_at, finished_at, cancel_asked_at, definition, reason, error, depth,"
                 " kept)"
                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                 " ON CONFLICT DO NOTHING"),
      claim_run_(c, claim_run_sql),
      open_attempt_(c,
                    "INSERT INTO attempts (run, number, claimed_at, definition, taken, error, steps)"
                    " VALUES (?, ?, ?, ?, ?, '', '')"),
      end_run_(c,
               "UPDATE runs SET state = ?, failures = failures + ?, interruptions = interruptions + ?,"
               " not_before = ?, finished_at = ?, reason = ?, error = ?"
               " WHERE seq = ? AND id = ? AND state = ? AND attempt = ?"),
      close_attempt_(c,
                     "UPDATE attempts SET outcome = ?, started_at = ?, finished_at = ?, worker_pid = ?,"
                     " exit_code = ?, signal = ?, peak_memory_bytes = ?, error = ?, steps = ?"
                     " WHERE run = ? AND number = ? AND outcome IS NULL"),
      drop_attempt_(c, "DELETE FROM attempts WHERE run = ? AND number = ? AND outcome IS NULL"),
      ask_cancel_(c,
                  "UPDATE runs SET cancel_asked_at = ?, reason = ?"
                  " WHERE id = ? AND state = ? AND cancel_asked_at IS NULL"),
      cancel_queued_(c,
                     "UPDATE runs SET state = ?, finished_at = ?, reason = ?, error = ?"
                     " WHERE seq = ? AND id = ? AND state = ?"),
      restart_run_(c,
                   "UPDATE runs SET state = ?, failures = ?, interruptions = ?, not_before = ?, finished_at = NULL,"
                   " cancel_asked_at = NULL, reason = ?, error = ?, kept = ? WHERE id = ? AND state IN (?, ?)"),
      store_definition_(c,
                        "INSERT INTO definitions (hash, pipeline, stored_at, json) VALUES (?, ?, ?, ?)"
                        " ON CONFLICT DO NOTHING") {}

Result<bool> Changes::apply(const model::Change& change) {
  return std::visit(
      [this](const auto& one) {
        if constexpr (requires { data_.write(one); }) {
          return data_.write(one);
        } else {
          return write(one);
        }
      },
      change);
}

Result<bool> Changes::write(const model::CursorPlaced& change) {
  const model::Cursor& c = change.cursor;
  return always(place_cursor_.execute(c.schedule, c.rule, c.decided_until, c.paused, c.note, c.paused_at, c.reason,
                                      c.resumed_at));
}

Result<bool> Changes::write(const model::OccurrencesDecided& change) {
  auto moved = changed(move_cursor_.execute(change.decided_until, change.schedule, change.expected_decided_until));
  if (!moved || !*moved) return moved;
  for (const model::Occurrence& occurrence : change.occurrences) {
    auto written = write(occurrence);
    if (!written) return written;
    // What is decided stays. Only a `run` must be new: its set brings a run, and that would be a second one.
    if (!*written && occurrence.decision == model::Decision::run) return false;
  }
  return true;
}

Result<bool> Changes::write(const model::Occurrence& o) {
  return changed(decide_.execute(o.id, o.schedule, o.pipeline, o.scheduled_for, o.scheduled_until, o.count, o.timezone,
                                 o.offset_s, o.shifted, o.decided_at, static_cast<int>(o.decision), o.reason, o.run_id,
                                 o.calendar));
}

Result<bool> Changes::write(const model::CursorWithdrawn& change) {
  auto moved = changed(set_back_cursor_.execute(change.to, change.schedule));
  if (!moved || !*moved) return moved;
  using model::Decision;
  for (const Decision decision :
       {Decision::skipped, Decision::missed, Decision::coalesced, Decision::excluded, Decision::paused}) {
    const int code = static_cast<int>(decision);
    if (auto gone = withdraw_later_.execute(change.schedule, code, change.to); !gone) return gone.error();
    if (auto gone = withdraw_straddling_.execute(change.schedule, code, change.to); !gone) return gone.error();
  }
  return true;
}

Result<bool> Changes::write(const model::SchedulePaused& change) {
  const std::optional<Instant> paused_at = change.paused ? std::optional(change.at) : std::nullopt;
  const std::optional<Instant> resumed_at = change.paused ? std::nullopt : std::optional(change.at);
  return changed(pause_.execute(change.paused, change.note, paused_at, change.reason, resumed_at, change.schedule));
}

Result<bool> Changes::write(const model::RunQueued& change) {
  const model::Run& r = change.run;
  EIDER_CHECK(r.state == RunState::queued && !r.finished_at, "a run enters the queue as queued");
  EIDER_CHECK(r.occurrence_id.empty() || r.scheduled_for, "a run of an occurrence says of which instant");
  auto queued = changed(queue_run_.execute(
      r.id, number(r.state), r.attempt, r.pipeline, static_cast<int>(r.trigger), r.trigger_id, OrNull{r.occurrence_id},
      r.parent, r.failures, r.interruptions, r.priority, r.catch_up, r.scheduled_for, r.partition, r.params,
      OrNull{r.idempotency_key}, r.created_at, r.not_before, r.started_at, r.finished_at, r.cancel_asked_at,
      r.definition, r.reason, r.error, r.depth, r.kept));
  if (queued && *queued) found_.insert_or_assign(r.id, FoundRun{connection_.last_row(), is_data(r.trigger)});
  return queued;
}

Result<std::optional<Changes::FoundRun>> Changes::find_run(const std::string& id) {
  if (const auto known = found_.find(id); known != found_.end()) return std::optional(known->second);
  Rows rows(find_run_, id);
  auto more = rows.next();
  if (!more) return more.error();
  if (!*more) return std::optional<FoundRun>();
  const FoundRun run{rows.number(0), is_data(static_cast<model::TriggerKind>(rows.integer(1)))};
  found_.insert_or_assign(id, run);
  return std::optional(run);
}

Result<bool> Changes::write(const model::RunClaimed& change) {
  const auto transition = model::next(RunState::queued, RunEvent::claim);
  EIDER_CHECK(transition && transition->opens_attempt, "a claim opens an attempt");
  auto found = find_run(change.run_id);
  if (!found) return found.error();
  if (!*found) return false;
  const std::int64_t seq = (*found)->seq;
  auto claimed = changed(claim_run_.execute(number(transition->to), change.number, change.definition, change.at, seq,
                                            change.run_id, number(RunState::queued), change.number - 1));
  if (!claimed || !*claimed) {
    found_.erase(change.run_id);
    return claimed;
  }
  const std::string taken = change.taken == model::Taken{} ? std::string() : model::taken_json(change.taken);
  return always(open_attempt_.execute(seq, change.number, change.at, change.definition, taken));
}

Result<bool> Changes::write(const model::AttemptEnded& change) {
  const model::Attempt& a = change.attempt;
  const auto transition = model::next(RunState::running, change.event);
  if (!transition || !transition->closes_attempt) return false;
  EIDER_CHECK(a.outcome.has_value(), "an attempt that is over has an outcome");
  const auto found = find_run(a.run_id);
  if (!found) return found.error();
  if (!*found) return false;
  const std::int64_t seq = (*found)->seq;
  const std::optional<Instant> finished_at = transition->sets_finished ? std::optional(change.at) : std::nullopt;
  auto ended = changed(end_run_.execute(number(transition->to), transition->counts_failure,
                                        transition->counts_interruption, change.not_before, finished_at, change.reason,
                                        change.error, seq, a.run_id, number(RunState::running), a.number));
  if (!ended || !*ended || transition->sets_finished) found_.erase(a.run_id);
  if (!ended || !*ended) return ended;
  if (transition->sets_finished && (*found)->made_for_data) {
    if (auto done = data_.follow_end(a.run_id, transition->to, change.error, change.at); !done) return done.error();
  }
  if (*a.outcome == model::Outcome::released) return changed(drop_attempt_.execute(seq, a.number));
  return changed(close_attempt_.execute(static_cast<int>(*a.outcome), a.started_at, a.finished_at, a.worker_pid,
                                        a.exit_code, a.signal, a.peak_memory_bytes, a.error, a.steps, seq, a.number));
}

Result<bool> Changes::write(const model::CancelAsked& change) {
  return changed(ask_cancel_.execute(change.at, change.reason, change.run_id, number(RunState::running)));
}

Result<bool> Changes::write(const model::QueuedCancelled& change) {
  const auto transition = model::next(RunState::queued, RunEvent::cancel);
  EIDER_CHECK(transition && transition->sets_finished, "a queued run can be cancelled");
  auto found = find_run(change.run_id);
  if (!found) return found.error();
  if (!*found) return false;
  auto ended = changed(cancel_queued_.execute(number(transition->to), change.at, change.reason, change.error,
                                              (*found)->seq, change.run_id, number(RunState::queued)));
  found_.erase(change.run_id);
  if (!ended || !*ended || !(*found)->made_for_data) return ended;
  if (auto done = data_.follow_end(change.run_id, transition->to, change.error, change.at); !done) return done.error();
  return true;
}

Result<bool> Changes::write(const model::RunRestarted& change) {
  const model::Run& r = change.run;
  const auto transition = model::next(RunState::failed, RunEvent::restart);
  EIDER_CHECK(transition && transition->to == r.state && !r.finished_at && !r.cancel_asked_at,
              "a run that is restarted is queued again");
  auto restarted =
      changed(restart_run_.execute(number(r.state), r.failures, r.interruptions, r.not_before, r.reason, r.error,
                                   r.kept, r.id, number(RunState::failed), number(RunState::cancelled)));
  if (!restarted || !*restarted || r.trigger != model::TriggerKind::data) return restarted;
  if (auto done = data_.follow_restart(r.id, change.owner, change.at); !done) return done.error();
  return true;
}

Result<bool> Changes::write(const model::DefinitionStored& change) {
  return always(store_definition_.execute(change.hash, change.pipeline, change.at, change.json));
}

}  // namespace eider::store::sqlite
