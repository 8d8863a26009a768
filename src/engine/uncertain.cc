// When the store does not simply say yes: a commit that was answered with an error may hold all the same, and a
// decision that the store refuses by itself is decided again later.
#include <fmt/format.h>

#include "base/cases.h"
#include "base/log.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

/// Whether a transaction holds, as one of its changes shows. A change shows it only where its effect can't have been
/// there before; the others (cursors, pauses, definitions) may be decided twice without harm.
class Trace {
 public:
  explicit Trace(store::Store& store) : store_(store) {}

  /// None: nothing of the transaction can tell, and nothing of it needs to be told.
  Result<std::optional<bool>> holds(const std::vector<model::ChangeSet>& transaction) {
    std::optional<bool> shown;
    for (const model::ChangeSet& set : transaction) {
      for (const model::Change& change : set) {
        shown = std::visit([this](const auto& one) { return shown_by(one); }, change);
        if (unreadable_) return *unreadable_;
        if (shown) return shown;
      }
    }
    return shown;
  }

 private:
  using Shown = std::optional<bool>;

  Shown shown_by(const model::RunQueued& change) { return run(change.run.id).has_value(); }
  Shown shown_by(const model::RunClaimed& change) {
    const auto found = run(change.run_id);
    return found && found->attempt >= change.number;
  }
  Shown shown_by(const model::AttemptEnded& change) {
    const auto found = run(change.attempt.run_id);
    return found && (found->state != model::RunState::running || found->attempt != change.attempt.number);
  }
  Shown shown_by(const model::CancelAsked& change) {
    const auto found = run(change.run_id);
    return found && found->cancel_asked_at == change.at;
  }
  Shown shown_by(const model::QueuedCancelled& change) {
    const auto found = run(change.run_id);
    return found && model::is_terminal(found->state) && found->finished_at == change.at;
  }
  /// Whoever restarts a run may cancel it in the same turn.
  Shown shown_by(const model::RunRestarted& change) {
    const auto found = run(change.run.id);
    return found && !model::is_terminal(found->state) ? Shown(true) : std::nullopt;
  }
  Shown shown_by(const model::AssetMaterialized& change) {
    return value(store_.find_event(change.event.id)).has_value();
  }
  Shown shown_by(const model::DeliveriesSkipped& change) {
    if (change.ids.empty()) return std::nullopt;
    const auto found = value(store_.find_delivery(change.ids.front()));
    return found && found->state == model::DeliveryState::skipped && found->finished_at == change.at;
  }
  template <typename Other>
  Shown shown_by(const Other&) {
    return std::nullopt;
  }

  std::optional<model::Run> run(const std::string& id) { return value(store_.find_run(id)); }
  template <typename T>
  std::optional<T> value(Result<std::optional<T>> found) {
    if (found) return std::move(*found);
    unreadable_ = found.error();
    return std::nullopt;
  }

  store::Store& store_;
  std::optional<Error> unreadable_;
};

}  // namespace

/// The error says that the answer is lost, not that the transaction is. What it holds is told to the world as after
/// any commit: claims that nobody hands off and commands that are decided twice would be the price of a guess.
bool Loop::holds_all_the_same(const Turn& turn) {
  const auto holds = Trace(parts_.store).holds(turn.committed_);
  EIDER_CHECK(holds.ok(), "the store cannot be read: " + holds.error().message);
  return holds->value_or(false);
}

/// After a commit: what the store refused in it is decided again in a while, and shown until it is taken.
void Loop::note_refusals(Turn& turn) {
  if (turn.refusal_.empty()) {
    if (!refused_.again_at) refused_.why.clear();
    return;
  }
  if (refused_.why.empty()) refused_.since = turn.now();
  refused_.why = turn.refusal_;
  if (!refused_.again_at) refused_.again_at = parts_.clock.boottime() + limits::hold_after_error;
  std::move(turn.refused_results_.begin(), turn.refused_results_.end(), std::back_inserter(refused_.results));
  std::move(turn.refused_published_.begin(), turn.refused_published_.end(), std::back_inserter(refused_.published));
}

/// What was refused stands before what has arrived since.
void Loop::take_refused() {
  if (!refused_.again_at || parts_.clock.boottime() < *refused_.again_at) return;
  refused_.again_at.reset();
  results_.insert(results_.begin(), std::make_move_iterator(refused_.results.begin()),
                  std::make_move_iterator(refused_.results.end()));
  published_.insert(published_.begin(), std::make_move_iterator(refused_.published.begin()),
                    std::make_move_iterator(refused_.published.end()));
  refused_.results.clear();
  refused_.published.clear();
  out_of_order_ = true;
}

bool Turn::insist(model::ChangeSet changes) {
  if (decide_surely(std::move(changes))) return true;
  if (own_error_) refusal_ = own_error_->message;
  return false;
}

}  // namespace eider::engine
