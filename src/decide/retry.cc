#include "decide/retry.h"

#include <algorithm>
#include <cmath>

namespace eider::decide {

using model::Outcome;
using model::RunEvent;

Micros backoff_delay(const model::RetryPolicy& policy, int failures, double unit) {
  const double cap = static_cast<double>(policy.max_backoff.count());
  const double first = static_cast<double>(policy.backoff.count());
  // pow() goes to infinity and min() brings it back: no step overflows an integer.
  const double raw = first * std::pow(std::max(policy.factor, 1.0), static_cast<double>(std::max(failures, 1) - 1));
  const double bounded = std::clamp(raw, 0.0, cap);
  const double spread = bounded * (1.0 + policy.jitter * (2.0 * unit - 1.0));
  return Micros(static_cast<std::int64_t>(std::max(spread, 0.0)));
}

Micros look_again_delay(Micros waited) {
  return std::clamp<Micros>(waited / 4, std::chrono::seconds(1), std::chrono::seconds(30));
}

AttemptEndVerdict decide_attempt_end(const AttemptEndFacts& facts, const model::RetryPolicy& policy, double unit) {
  if (facts.outcome == Outcome::succeeded) return {RunEvent::succeed, Outcome::succeeded, {}, {}};
  if (facts.cancel_asked || facts.outcome == Outcome::cancelled) {
    return {
        RunEvent::cancel, facts.outcome == Outcome::interrupted ? Outcome::interrupted : Outcome::cancelled, {}, {}};
  }
  if (facts.outcome == Outcome::released)
    return {RunEvent::release, Outcome::released, look_again_delay(facts.waited), {}};
  if (facts.outcome == Outcome::interrupted) {
    if (facts.interruptions + 1 > max_interruptions) {
      return {RunEvent::fail, Outcome::interrupted, {}, model::reason::interruptions_spent};
    }
    return {RunEvent::interrupt, Outcome::interrupted, {}, {}};
  }
  const int failures = facts.failures + 1;
  if (failures >= policy.max_attempts) return {RunEvent::fail, facts.outcome, {}, model::reason::budget_spent};
  return {RunEvent::retry, facts.outcome, backoff_delay(policy, failures, unit), {}};
}

}  // namespace eider::decide
