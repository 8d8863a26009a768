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

namespace {

model::RetryCause cause_of(const AttemptEndFacts& facts) {
  if (facts.outcome == Outcome::timed_out) return model::RetryCause::timeout;
  const bool crashed = facts.outcome == Outcome::crashed || facts.by_signal;
  return crashed ? model::RetryCause::crash : model::RetryCause::error;
}

/// Why a failure is the last one, or nothing: it is tried again.
const char* final_reason(const AttemptEndFacts& facts, const model::RetryPolicy& policy) {
  const auto has = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (facts.failures + 1 >= policy.max_attempts) return model::reason::budget_spent;
  const bool failed = facts.outcome == Outcome::failed && facts.exit_code;
  if (failed && has(policy.final_exit_codes, *facts.exit_code)) return model::reason::final_exit_code;
  return has(policy.on, cause_of(facts)) ? nullptr : model::reason::cause_not_retried;
}

}  // namespace

AttemptEndVerdict decide_attempt_end(const AttemptEndFacts& facts, const model::RetryPolicy& policy, double unit) {
  if (facts.outcome == Outcome::succeeded) return {RunEvent::succeed, Outcome::succeeded, {}, {}};
  if (facts.cancel_asked || facts.outcome == Outcome::cancelled) {
    return {
        RunEvent::cancel, facts.outcome == Outcome::interrupted ? Outcome::interrupted : Outcome::cancelled, {}, {}};
  }
  if (facts.outcome == Outcome::released)
    return {RunEvent::release, Outcome::released, look_again_delay(facts.waited), {}};
  if (facts.outcome == Outcome::interrupted) {
    if (facts.on_interrupt == model::OnInterrupt::fail) {
      return {RunEvent::fail, Outcome::interrupted, {}, model::reason::interrupted_final};
    }
    if (facts.interruptions + 1 > max_interruptions) {
      return {RunEvent::fail, Outcome::interrupted, {}, model::reason::interruptions_spent};
    }
    return {RunEvent::interrupt, Outcome::interrupted, {}, {}};
  }
  if (const char* reason = final_reason(facts, policy)) return {RunEvent::fail, facts.outcome, {}, reason};
  return {RunEvent::retry, facts.outcome, backoff_delay(policy, facts.failures + 1, unit), {}};
}

}  // namespace eider::decide
