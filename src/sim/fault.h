// What goes wrong in a simulated life, and where the emulated mistakes of an engine are switched on. One thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/time.h"

namespace eider::sim {

/// Leaves the loop as a power failure does: nothing after it is done. Thrown by the seams, caught by the life.
struct Crashed {};

/// Mistakes that an engine could make, each emulated where the engine meets its store or its workers, so that the
/// engine's own code needs no holes for it. The test of the simulator is that it finds every one.
enum class Mutation {
  none,
  drop_fence,          ///< a result of an older attempt is taken as the current one's
  hand_off_early,      ///< handed off before the claim is committed
  uncounted_slots,     ///< slots are counted in memory: a restart forgets those that are taken
  uncounted_locks,     ///< and so are locks
  uncounted_starts,    ///< and so are the starts of a rate
  forgotten_failures,  ///< attempts are counted in memory: a restart gives a run a fresh budget
  endless_failures,    ///< nobody counts how often a schedule has failed
  empty_calendars,     ///< what calendars say is not looked at
  leaked_slots,        ///< slots are counted in memory: a crash leaves those that were taken behind
  forgotten_cursor,    ///< a crash forgets how far schedules were decided
  lost_result,         ///< a result that was not recorded is not decided again
  lost_hand_off,       ///< a committed claim is never handed off
  instant_twice,       ///< an instant that has run before the clock was set back runs again
  forgotten_key,       ///< an idempotency key is known while its run is open only
  reported_too_early,  ///< an attempt is said to be over while its processes are there
  guessed_commit,      ///< a commit that was answered with an error is taken for lost
};
inline constexpr Mutation all_mutations[] = {
    Mutation::drop_fence,       Mutation::hand_off_early,     Mutation::uncounted_slots,    Mutation::uncounted_locks,
    Mutation::uncounted_starts, Mutation::forgotten_failures, Mutation::endless_failures,   Mutation::empty_calendars,
    Mutation::leaked_slots,     Mutation::forgotten_cursor,   Mutation::lost_result,        Mutation::lost_hand_off,
    Mutation::instant_twice,    Mutation::forgotten_key,      Mutation::reported_too_early, Mutation::guessed_commit};
const char* to_text(Mutation mutation);

/// What the store does to its caller from now on. Each is spent when it has happened.
struct Faults {
  int commits_fail = 0;           ///< so many answer with an error and hold nothing
  int answers_lost = 0;           ///< so many answer with an error and hold all the same
  int locked = 0;                 ///< so many begins find the store locked
  int applies_break = 0;          ///< so many decisions find the store broken: their turn is gone
  int refuse_kind = -1;           ///< index in model::Change of what the store refuses by itself
  int refusals = 0;               ///< how often
  int steps_to_crash = -1;        ///< calls over the seams until the power fails; none: never
  Micros newest{-1'000'000'000};  ///< on the boot clock: when something went wrong last

  /// Called at every seam.
  void step() {
    if (steps_to_crash < 0) return;
    if (--steps_to_crash < 0) throw Crashed{};
  }
  bool spent(int& left, const Clock& clock) {
    if (left <= 0) return false;
    --left;
    newest = clock.boottime();
    return true;
  }
  /// All is well from now on.
  void end() {
    commits_fail = answers_lost = locked = applies_break = refusals = 0;
    refuse_kind = steps_to_crash = -1;
  }
};

}  // namespace eider::sim
