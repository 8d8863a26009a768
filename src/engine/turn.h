// What one turn gathers: the transaction, and everything that must wait for its commit. Engine thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/loop.h"
#include "model/change.h"

namespace eider::engine {

/// What a run's log and error say when it is cancelled for a reason that has a code.
inline std::string cancel_text(std::string_view reason) { return "cancelled: " + model::reason_sentence(reason); }

class Turn {
 public:
  Turn(Loop& loop, Instant now) : loop_(loop), now_(now) {}

  Instant now() const { return now_; }
  /// Applies one decision to the transaction and, when it holds, to memory. False: it does not hold any more.
  /// Once the store has failed (failed()), nothing more is applied.
  bool decide(model::ChangeSet changes);
  /// The same for what holds by all that memory knows. Where the store says otherwise, somebody else has written it:
  /// the turn fails, and memory is read anew.
  bool decide_surely(model::ChangeSet changes);
  /// The same for what nobody will ask again: where the store refuses it for a reason of its own, everything of that
  /// kind is looked at again after a while (Loop::note_refusals).
  bool insist(model::ChangeSet changes);
  /// What the store was asked could not be answered, or can't be: nothing of the turn can be trusted.
  void fail(const Error& why);
  /// Nothing of this turn will be committed.
  bool failed() const { return failed_; }
  const Error& failure() const { return *failure_; }
  /// The last decide() met an error that concerns it alone.
  const std::optional<Error>& own_error() const { return own_error_; }
  int decisions() const { return static_cast<int>(committed_.size()); }
  bool full() const;

  /// What happens after the commit, in this order: hand-offs and cancels, then what is forgotten, then answers.
  void after_commit(std::function<void()> action) { after_.push_back(std::move(action)); }

 private:
  friend class Loop;
  Loop& loop_;
  const Instant now_;
  bool failed_ = false;
  std::optional<Error> failure_;
  std::optional<Error> own_error_;
  std::string refusal_;  ///< of insist(); empty: none
  std::vector<supervise::AttemptOver> refused_results_;
  std::vector<wire::Published> refused_published_;
  std::vector<model::ChangeSet> committed_;
  std::vector<std::function<void()>> after_;
};

}  // namespace eider::engine
