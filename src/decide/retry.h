// What becomes of a run when an attempt is over, and how long a retry waits. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "model/pipeline.h"
#include "model/run.h"
#include "model/transitions.h"

namespace eider::decide {

/// Attempts that end with their server come from a budget of their own (design section 5).
inline constexpr int max_interruptions = 3;

/// The wait before attempt `failures + 1`, after `failures` (1, 2, …) attempts have failed: backoff * factor^(n-1), at
/// most max_backoff, spread by ± jitter with `unit` in [0, 1). Never negative, never more than max_backoff * (1 +
/// jitter), for any n (O-20).
Micros backoff_delay(const model::RetryPolicy& policy, int failures, double unit);

/// When a run is tried again that something outside of it has kept from starting for so long (its DuckDB file is held,
/// the server has no descriptors left): after a quarter of that time, at least a second, at most half a minute. So it
/// costs little, and what has waited long is a quarter late at most.
Micros look_again_delay(Micros waited);

struct AttemptEndFacts {
  model::Outcome outcome = model::Outcome::succeeded;
  bool cancel_asked = false;
  int failures = 0;                ///< before this one
  int interruptions = 0;           ///< before this one
  Micros waited{};                 ///< since the run was first given back (released)
  std::optional<int> exit_code{};  ///< of the program that decided a failure
  bool by_signal = false;          ///< a signal ended it
  model::OnInterrupt on_interrupt = model::OnInterrupt::retry;
};

struct AttemptEndVerdict {
  model::RunEvent event = model::RunEvent::succeed;
  model::Outcome outcome = model::Outcome::succeeded;  ///< as it is recorded
  Micros delay{};                                      ///< of a retry
  std::string reason;                                  ///< code, or empty
};

/// - A commit point that was reached counts, even when somebody asked to cancel after it.
/// - A cancel that was asked for wins over failure, crash and interruption: a killed run is never a success, and is
///   not tried again.
/// - A failure that leaves attempts is tried again, unless the policy says of its exit code or of its cause that this
/// is
///   of no use. What a signal ended is a crash, whoever reports it.
AttemptEndVerdict decide_attempt_end(const AttemptEndFacts& facts, const model::RetryPolicy& policy, double unit);

}  // namespace eider::decide
