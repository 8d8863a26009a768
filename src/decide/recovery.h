// What a server that starts does with a run that was claimed by the one before it: the decision table of design
// sections 3 and 5. Pure.
#pragma once

namespace eider::decide {

struct RecoveryFacts {
  bool result_there = false;  ///< a readable result of exactly this attempt lies on disk: its commit point was reached
  bool socket_answers = false;  ///< its worker is alive
  bool lock_held = false;       ///< somebody of the attempt is alive
};

enum class RecoveryAction {
  adopt,           ///< watch, show and cancel it like any other
  finish,          ///< replay the renames of its result, then record it
  end_left_overs,  ///< end what is left, wait for the lock, then: interrupted
};

/// A worker that answers is adopted even when its result is there: it is about to report it, and only it knows
/// whether its renames are done.
RecoveryAction recover(const RecoveryFacts& facts);
/// What the log says of the run: "still runs, and is taken over".
const char* sentence(RecoveryAction action);

}  // namespace eider::decide
