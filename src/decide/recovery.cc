#include "decide/recovery.h"

namespace eider::decide {

RecoveryAction recover(const RecoveryFacts& facts) {
  if (facts.socket_answers) return RecoveryAction::adopt;
  // With the lock still held, finish() waits for it as well: both ways end what is left first.
  if (facts.result_there) return RecoveryAction::finish;
  return RecoveryAction::end_left_overs;
}

const char* to_text(RecoveryAction action) {
  switch (action) {
    case RecoveryAction::adopt:
      return "adopt";
    case RecoveryAction::finish:
      return "finish";
    case RecoveryAction::end_left_overs:
      return "end_left_overs";
  }
  return "?";
}

}  // namespace eider::decide
