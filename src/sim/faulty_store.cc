#include "sim/faulty_store.h"

#include <fmt/format.h>

#include "sim/book.h"
#include "sim/world.h"

namespace eider::sim {

Result<void> FaultyStore::begin() {
  faults_.step();
  broken_ = false;
  if (faults_.spent(faults_.locked, clock_)) return Error{ErrorCode::unavailable, "the simulated store is locked"};
  auto begun = behind().begin();
  open_ = begun.ok();
  return begun;
}

void FaultyStore::switch_workspace(std::shared_ptr<const workspace::Workspace> workspace) {
  if (!open_) return book_.in_force(std::move(workspace));
  switches_.emplace_back(transaction_.size(), std::move(workspace));
}

bool FaultyStore::refuses(const model::ChangeSet& changes) {
  if (faults_.refusals <= 0) return false;
  const bool meant = std::any_of(changes.begin(), changes.end(), [&](const model::Change& change) {
    return change.index() == static_cast<std::size_t>(faults_.refuse_kind);
  });
  return meant && faults_.spent(faults_.refusals, clock_);
}

Result<bool> FaultyStore::apply(const model::ChangeSet& changes) {
  faults_.step();
  if (faults_.spent(faults_.applies_break, clock_)) broken_ = true;
  if (broken_) return Error{ErrorCode::io, "the simulated store is broken for this turn"};
  if (refuses(changes)) return Error{ErrorCode::conflict, "the simulated store refuses this decision"};
  auto applied = mutation_ == Mutation::none ? behind().apply(changes) : apply_mutated(changes);
  if (applied && *applied) transaction_.push_back(changes);
  return applied;
}

Result<bool> FaultyStore::apply_mutated(const model::ChangeSet& changes) {
  model::ChangeSet changed = changes;
  model::Run* queued = nullptr;
  for (model::Change& change : changed) {
    if (auto* one = std::get_if<model::RunQueued>(&change)) queued = &one->run;
    if (const auto* claim = std::get_if<model::RunClaimed>(&change); claim && mutation_ == Mutation::hand_off_early) {
      world_.start(claim->run_id, claim->number, std::chrono::hours(1));
    }
  }
  if (queued && mutation_ == Mutation::forgotten_key) queued->idempotency_key.clear();
  auto applied = behind().apply(changed);
  const bool of_an_instant = queued && queued->scheduled_for;
  if (!applied || *applied || !of_an_instant || mutation_ != Mutation::instant_twice) return applied;
  queued->occurrence_id = queued->id;
  for (model::Change& change : changed) {
    if (auto* decided = std::get_if<model::OccurrencesDecided>(&change)) decided->occurrences.clear();
  }
  return behind().apply(changed);
}

Result<void> FaultyStore::commit() {
  faults_.step();
  if (broken_) return Error{ErrorCode::io, "the simulated store is broken for this turn"};
  if (faults_.spent(faults_.commits_fail, clock_)) {
    rollback();
    return Error{ErrorCode::io, "the simulated commit has failed"};
  }
  if (auto done = behind().commit(); !done) return done;
  open_ = false;
  const auto transaction = std::exchange(transaction_, {});
  const auto switches = std::exchange(switches_, {});
  for (std::size_t i = 0, at = 0; i <= transaction.size(); ++i) {
    for (; at < switches.size() && switches[at].first == i; ++at) book_.in_force(switches[at].second);
    if (i < transaction.size()) book_.committed(transaction[i]);
  }
  faults_.step();
  answer_was_lost_ = faults_.spent(faults_.answers_lost, clock_);
  if (answer_was_lost_) {
    return Error{ErrorCode::io, "the answer to the simulated commit is lost"};
  }
  return {};
}

void FaultyStore::rollback() {
  transaction_.clear();
  for (const auto& [place, workspace] : std::exchange(switches_, {})) book_.in_force(workspace);
  open_ = broken_ = false;
  behind().rollback();
}

Result<std::optional<model::Run>> FaultyStore::find_run(const std::string& id) {
  if (mutation_ == Mutation::guessed_commit && answer_was_lost_) return std::optional<model::Run>();
  return behind().find_run(id);
}

Result<std::vector<model::Run>> FaultyStore::runs_of_schedule(const std::string& schedule, int limit) {
  if (mutation_ == Mutation::endless_failures) return std::vector<model::Run>();
  return behind().runs_of_schedule(schedule, limit);
}

Result<std::vector<store::RecordedStart>> FaultyStore::starts_after(Instant after) {
  if (mutation_ == Mutation::uncounted_starts) return std::vector<store::RecordedStart>();
  return behind().starts_after(after);
}

void FaultyStore::power_failed() {
  rollback();
  after_a_crash_ = true;
}

Result<store::OpenState> FaultyStore::load_open() {
  auto open = behind().load_open();
  if (!open || mutation_ == Mutation::none) return open;
  for (model::Attempt& attempt : open->live_attempts) {
    if (mutation_ == Mutation::uncounted_slots) attempt.taken = {};
    if (mutation_ == Mutation::uncounted_locks) attempt.taken.locks.clear();
  }
  for (model::Run& run : open->runs) {
    if (mutation_ == Mutation::forgotten_failures) run.failures = run.interruptions = 0;
  }
  if (mutation_ == Mutation::forgotten_cursor && std::exchange(after_a_crash_, false)) open->cursors.clear();
  return open;
}

}  // namespace eider::sim
