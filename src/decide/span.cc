#include "decide/span.h"

#include <algorithm>

#include "base/check.h"

namespace eider::decide {

std::optional<Instant> first_after(const DueFacts& facts, Instant after) {
  return facts.schedule.timing.from_completion ? facts.rule.next_after_completion(after) : facts.rule.next(after);
}

std::optional<Span> Spans::next() {
  std::optional<Span> span = ahead_ ? ahead_ : piece();
  ahead_.reset();
  if (!span || span->kind == Span::Kind::ran) return span;
  while ((ahead_ = piece()) && ahead_->kind == span->kind && ahead_->why == span->why) {
    span->last = ahead_->last;
    span->count += ahead_->count;
  }
  return span;
}

/// As far as one answer holds.
std::optional<Span> Spans::piece() {
  if (done_) return std::nullopt;
  const auto first = first_after(facts_, after_);
  if (!first || *first > until_) return std::nullopt;
  const auto ran = std::lower_bound(facts_.ran.begin(), facts_.ran.end(), *first);
  Span span{Span::Kind::may_run, *first, *first, 1, {}};
  if (ran != facts_.ran.end() && *ran == *first) {
    span.kind = Span::Kind::ran;
    after_ = *first;
    return span;
  }
  Instant until = until_;
  if (ran != facts_.ran.end()) until = std::min(until, *ran - Micros(1));
  if (ask_ && facts_.exclusions.any()) {
    const timing::ExclusionSpan stretch = facts_.exclusions.at(*first);
    if (stretch.end != Instant::max()) until = std::min(until, stretch.end - Micros(1));
    span.why = stretch.why;
    if (span.why.kind != timing::Exclusion::Kind::none) span.kind = Span::Kind::excluded;
  }
  // A fixed delay has one instant at a time: the next one is known when this one is decided, and its run has ended.
  done_ = facts_.schedule.timing.from_completion;
  if (done_) return span;
  const auto last = facts_.rule.previous(until);
  EIDER_CHECK(last && *last >= *first, "previous() is the inverse of next()");
  span.last = *last;
  span.count = facts_.rule.count(after_, *last);
  after_ = *last;
  return span;
}

std::vector<Instant> newest_to_run(const DueFacts& facts, Instant after, Instant until, int limit) {
  if (facts.schedule.timing.from_completion) {
    const auto span = Spans(facts, after, until).next();
    if (!span || span->kind != Span::Kind::may_run) return {};
    return {span->first};
  }
  std::vector<Instant> out;
  while (out.size() < static_cast<std::size_t>(limit)) {
    const auto at = facts.exclusions.previous(facts.rule, after, until);
    if (!at) break;
    if (!std::binary_search(facts.ran.begin(), facts.ran.end(), *at)) out.push_back(*at);
    until = *at - Micros(1);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace eider::decide
