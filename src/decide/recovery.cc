#include "decide/recovery.h"

namespace eider::decide {

RecoveryAction recover(const RecoveryFacts& facts) {
  if (facts.socket_answers) return RecoveryAction::adopt;
  // With the lock still held, finish() waits for it as well: both ways end what is left first.
  if (facts.result_there) return RecoveryAction::finish;
  return RecoveryAction::end_left_overs;
}

const char* sentence(RecoveryAction action) {
  switch (action) {
    case RecoveryAction::adopt:
      return "still runs, and is taken over";
    case RecoveryAction::finish:
      return "ended without a server; its result is recorded";
    case RecoveryAction::end_left_overs:
      return "was cut short; what is left of it is ended, and it is queued again";
  }
  return "?";
}

}  // namespace eider::decide
