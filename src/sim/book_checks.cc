// What the book finds when it looks at the whole: that nothing waits which could go on, that nothing is exceeded, and
// that the store says the same.
#include <fmt/format.h>

#include "sim/book.h"

namespace eider::sim {

using namespace std::chrono_literals;
using model::RunState;

void Book::check_settled(const Health& health) {
  check_claims();
  if (health.draining) return;
  check_schedules();
  if (health.starts) check_queue();
  if (unanswered_ > 0) violated("I1", fmt::format("{} commands have no answer", unanswered_));
}

/// Every claim has somebody at work on it, or an end that is on its way.
void Book::check_claims() {
  for (const auto& [id, run] : open_) {
    if (!run.running) continue;
    const Execution* execution = world_.execution(id, run.attempt);
    if (!execution) {
      violated("I1", fmt::format("attempt {} of {} is claimed, and nobody has it", run.attempt, id));
    } else if (execution->told) {
      violated("I1", fmt::format("attempt {} of {} has ended, and that is not recorded", run.attempt, id));
    }
  }
}

void Book::check_quiet() {
  for (const auto& [id, run] : open_) {
    if (pipeline(run.pipeline)) violated("I5", fmt::format("run {} of {} has not come to an end", id, run.pipeline));
  }
  for (const auto& [id, owed] : owed_) {
    const std::string name = owed.trigger.substr(0, owed.trigger.find('/'));
    if (owed.pending && pipeline(name))
      violated("I5", fmt::format("delivery {} to {} is still owed", id, owed.trigger));
  }
}

void Book::check_store(const store::OpenState& open) {
  std::size_t seen = 0;
  for (const model::Run& run : open.runs) {
    const auto found = open_.find(run.id);
    ++seen;
    if (found == open_.end() || found->second.attempt != run.attempt ||
        found->second.running != (run.state == RunState::running)) {
      violated("I5", "the store and the book differ about run " + run.id);
    }
  }
  if (seen != open_.size()) violated("I5", fmt::format("{} runs are open, the store has {}", open_.size(), seen));
  for (const model::Cursor& cursor : open.cursors) {
    const auto found = schedules_.find(cursor.schedule);
    if (found == schedules_.end() || found->second.until != cursor.decided_until ||
        found->second.paused != cursor.paused || found->second.note != cursor.note) {
      violated("I5", "the store and the book differ about the cursor of " + cursor.schedule);
    }
  }
}

}  // namespace eider::sim
