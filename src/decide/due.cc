#include "decide/due.h"

#include <algorithm>

#include "base/check.h"
#include "base/ids.h"
#include "decide/overlap.h"
#include "decide/span.h"

namespace eider::decide {
namespace {

using model::Decision;
using model::Occurrence;

constexpr Micros one(1);

class Planner {
 public:
  /// What is due at `now` are the instants up to its horizon: jitter delays them all by the same.
  Planner(const DueFacts& facts, Instant now, int limit, const IdSource& new_id)
      : facts_(facts), now_(now), horizon_(now - facts.delay), limit_(limit), new_id_(new_id), active_(facts.active) {}

  std::vector<DueDecision> plan() {
    collect();
    const auto first =
        std::find_if(spans_.begin(), spans_.end(), [](const Span& span) { return span.kind == Span::Kind::may_run; });
    const bool late = first != spans_.end() && horizon_ - first->first > facts_.schedule.grace;
    if (late && facts_.schedule.misfire == model::Misfire::latest) {
      run_latest();
    } else if (late && facts_.schedule.misfire == model::Misfire::all) {
      run_all();
    } else {
      each_on_time();
    }
    return std::move(out_);
  }

  /// The instants of a pause: `chosen` run, the others were paused, whatever else holds for them.
  std::vector<DueDecision> resume(const std::vector<Instant>& chosen, bool catch_up) {
    Instant after = facts_.cursor.decided_until;
    for (const Instant at : chosen) {
      paused_between(after, at - one);
      out_.push_back(decide_one(at, model::reason::resumed, catch_up));
      after = at;
    }
    // A fixed delay has one instant at a time: the next counts from the end of this one's run.
    const bool only_one = facts_.schedule.timing.from_completion && !chosen.empty();
    if (!only_one) paused_between(after, horizon_);
    return std::move(out_);
  }

 private:
  bool full() const { return static_cast<int>(out_.size()) >= limit_; }

  /// As many spans as this turn can decide.
  void collect() {
    Spans spans(facts_, facts_.cursor.decided_until, horizon_);
    while (static_cast<int>(spans_.size()) < limit_) {
      auto span = spans.next();
      if (!span) return;
      spans_.push_back(*std::move(span));
    }
  }

  /// Of one span: what lies in (after, until]. None: nothing does.
  std::optional<Span> part(const Span& span, Instant after, Instant until) const {
    after = std::max(after, span.first - one);
    until = std::min(until, span.last);
    if (after == span.first - one && until == span.last) return span;
    if (facts_.schedule.timing.from_completion || after >= until) return std::nullopt;
    Span out = span;
    out.count = facts_.rule.count(after, until);
    if (out.count == 0) return std::nullopt;
    out.first = *facts_.rule.next(after);
    out.last = *facts_.rule.previous(until);
    return out;
  }

  /// Each by itself, as overlap says. misfire: skip: what is late is missed, in one row a span.
  void each_on_time() {
    const bool skips = facts_.schedule.misfire == model::Misfire::skip;
    const Instant on_time_after = skips ? horizon_ - facts_.schedule.grace - one : Instant::min();
    for (const Span& span : spans_) {
      if (full()) return;
      if (!passes_over(span)) continue;
      if (const auto late = part(span, Instant::min(), on_time_after)) {
        without_run({row(*late, Decision::missed, model::reason::misfire_skip)}, late->last);
      }
      run_each(span, on_time_after, model::reason::due, false);
    }
  }

  /// misfire: latest. The newest that may run does, whatever its age; all others are coalesced into it, in one decision
  /// with it. Where that is more than a turn can hold, the oldest are decided first, and name no run.
  void run_latest() {
    const std::vector<Instant> found = newest_to_run(facts_, facts_.cursor.decided_until, horizon_, 1);
    EIDER_CHECK(!found.empty(), "the first that may run is there");
    const Instant newest = found.front();
    std::vector<Occurrence> before;
    std::size_t i = 0;
    for (; i < spans_.size() && spans_[i].first <= newest; ++i) {
      const Span& span = spans_[i];
      if (span.kind == Span::Kind::excluded) before.push_back(excluded_row(span));
      if (span.kind != Span::Kind::may_run) continue;
      const auto others = part(span, Instant::min(), newest - one);
      if (others) before.push_back(row(*others, Decision::coalesced, model::reason::newer_due));
    }
    if (spans_[i - 1].last < newest) return without_run(std::move(before), spans_[i - 1].last);
    const bool late = horizon_ - newest > facts_.schedule.grace;
    DueDecision decision = decide_one(newest, late ? model::reason::late : model::reason::due, false);
    for (Occurrence& each : before) {
      if (each.decision == Decision::coalesced) each.run_id = decision.run_id;
    }
    decision.occurrences.insert(decision.occurrences.begin(), std::make_move_iterator(before.begin()),
                                std::make_move_iterator(before.end()));
    out_.push_back(std::move(decision));
    for (; i < spans_.size(); ++i) passes_over(spans_[i]);
  }

  /// misfire: all. The newest max_catchup within catchup_window run, oldest first, one decision each; what is older is
  /// missed. A plan longer than one turn goes on where the cursor stands.
  void run_all() {
    const model::Schedule& schedule = facts_.schedule;
    const Instant window_after = std::max(facts_.cursor.decided_until, horizon_ - schedule.catchup_window - one);
    const std::vector<Instant> chosen = newest_to_run(facts_, window_after, horizon_, schedule.max_catchup);
    const bool fixed_delay = schedule.timing.from_completion;  // what it owes is one run, however old
    const Instant too_old = fixed_delay ? Instant::min() : window_after;
    const Instant before_chosen = fixed_delay ? Instant::min() : chosen.empty() ? horizon_ : chosen.front() - one;
    const bool alone = spans_.size() == 1 && spans_.front().count == 1;
    for (const Span& span : spans_) {
      if (full()) return;
      if (!passes_over(span)) continue;
      if (const auto old = part(span, Instant::min(), std::min(too_old, before_chosen))) {
        without_run({row(*old, Decision::missed, model::reason::catchup_window)}, old->last);
      }
      if (const auto beyond = part(span, too_old, before_chosen)) {
        without_run({row(*beyond, Decision::missed, model::reason::catchup_limit)}, beyond->last);
      }
      run_each(span, before_chosen, alone ? model::reason::late : model::reason::caught_up, true);
    }
  }

  void run_each(const Span& span, Instant after, const char* why, bool catch_up) {
    auto rest = part(span, after, Instant::max());
    std::optional<Instant> at = rest ? std::optional(rest->first) : std::nullopt;
    for (; at && *at <= span.last && !full(); at = first_after(facts_, *at)) {
      out_.push_back(decide_one(*at, why, catch_up));
    }
  }

  /// Decides a span in which nothing may run; false then.
  bool passes_over(const Span& span) {
    if (span.kind == Span::Kind::may_run) return true;
    std::vector<Occurrence> rows;
    if (span.kind == Span::Kind::excluded) rows.push_back(excluded_row(span));
    without_run(std::move(rows), span.last);
    return false;
  }

  /// With the row before it, where that says the same and no instant that has run stands between.
  Occurrence excluded_row(const Span& span) const {
    Occurrence out = row(span, Decision::excluded, exclusion_reason(span.why.kind));
    out.calendar = span.why.by;
    const Occurrence* before = facts_.excluded_before;
    if (!before || &span != &spans_.front()) return out;
    const bool beside =
        facts_.schedule.timing.from_completion || facts_.rule.next(before->scheduled_until) == span.first;
    if (!beside || before->reason != out.reason || before->calendar != out.calendar) return out;
    out = *before;
    out.scheduled_until = span.last;
    out.count += span.count;
    out.shifted = false;
    return out;
  }

  void paused_between(Instant after, Instant until) {
    Spans spans(facts_, after, until, Spans::Calendars::ignore);
    const std::string& why = facts_.cursor.reason;
    while (const auto span = spans.next()) {
      if (span->kind == Span::Kind::ran) continue;
      without_run({row(*span, Decision::paused, why.empty() ? model::reason::paused : why.c_str())}, span->last);
    }
  }

  Occurrence row(const Span& covered, Decision decision, const char* why) const {
    Occurrence o;
    o.id = model::occurrence_id(facts_.key, covered.first);
    o.schedule = facts_.key;
    o.pipeline = facts_.pipeline.name;
    o.scheduled_for = covered.first;
    o.scheduled_until = covered.last;
    o.count = covered.count;
    o.timezone = facts_.schedule.timing.timezone;
    o.offset_s = static_cast<int>(facts_.rule.zone().offset_at(covered.first).count());
    o.shifted = covered.count == 1 && facts_.rule.shifted(covered.first);
    o.decided_at = now_;
    o.decision = decision;
    o.reason = why;
    return o;
  }

  /// Where the cursor stands when instants up to `last` are decided. A fixed delay counts from its newest decision, as
  /// long as no run of it has ended since: it owes one run, not one for each delay that has passed.
  Instant cursor_at(Instant last) const { return facts_.schedule.timing.from_completion ? horizon_ : last; }

  void without_run(std::vector<Occurrence> rows, Instant last) {
    DueDecision decision;
    decision.occurrences = std::move(rows);
    decision.decided_until = cursor_at(last);
    out_.push_back(std::move(decision));
  }

  DueDecision decide_one(Instant at, const char* why, bool catch_up) {
    DueDecision decision;
    decision.decided_until = cursor_at(at);
    const Span covered{Span::Kind::may_run, at, at, 1, {}};
    OverlapVerdict verdict;
    if (!catch_up) verdict = decide_overlap(facts_.pipeline, facts_.schedule, facts_.key, active_);
    if (verdict.run && made_ >= facts_.queue_room) {
      verdict = {};
      verdict.run = false;
      verdict.reason = model::reason::server_queue_full;
    }
    if (!verdict.run) {
      Occurrence skipped = row(covered, Decision::skipped, verdict.reason);
      skipped.run_id = verdict.active_run_id;
      decision.occurrences.push_back(std::move(skipped));
      return decision;
    }
    decision.run_id = new_id_();
    decision.occurrences.push_back(row(covered, Decision::run, why));
    decision.occurrences.back().run_id = decision.run_id;
    decision.catch_up = catch_up;
    decision.scheduled_for = at;
    decision.reason = why;
    decision.cancel_running = std::move(verdict.cancel_running);
    decision.cancel_queued = std::move(verdict.cancel_queued);
    remember(decision);
    return decision;
  }

  /// What is decided in this turn is active for what is decided after it.
  void remember(const DueDecision& decision) {
    ++made_;
    for (const std::string& gone : decision.cancel_queued) {
      std::erase_if(active_, [&](const ActiveRun& run) { return run.run_id == gone; });
    }
    // A run that is asked to end stays active until it is gone, but is not asked a second time in this turn.
    for (const std::string& asked : decision.cancel_running) {
      for (ActiveRun& run : active_) {
        if (run.run_id == asked) run.schedule.clear();
      }
    }
    active_.push_back({decision.run_id, facts_.key, false, decision.catch_up});
  }

  const DueFacts& facts_;
  const Instant now_;
  const Instant horizon_;
  const int limit_;
  const IdSource& new_id_;
  std::vector<ActiveRun> active_;
  std::vector<Span> spans_;
  std::vector<DueDecision> out_;
  int made_ = 0;
};

bool waits_for_own_run(const DueFacts& facts) {
  if (!facts.schedule.timing.from_completion) return false;
  return std::any_of(facts.active.begin(), facts.active.end(),
                     [&](const ActiveRun& run) { return run.schedule == facts.key; });
}

}  // namespace

std::vector<DueDecision> decide_due(const DueFacts& facts, Instant now, int limit, const IdSource& new_id) {
  if (facts.cursor.paused || limit <= 0 || waits_for_own_run(facts)) return {};
  return Planner(facts, now, limit, new_id).plan();
}

Result<std::vector<DueDecision>> decide_resume(const DueFacts& facts, Instant now, model::Misfire catch_up, int most,
                                               const IdSource& new_id) {
  const model::Schedule& schedule = facts.schedule;
  const bool all = catch_up == model::Misfire::all;
  if (all && schedule.overlap != model::Overlap::queue) {
    return Error{ErrorCode::invalid,
                 "catching up with all instants of the pause needs overlap: queue, so that they run one after the "
                 "other; with overlap: " +
                     std::string(model::to_text(schedule.overlap)) + ", catch up with the latest, or skip them"};
  }
  if (waits_for_own_run(facts)) return std::vector<DueDecision>();
  const Instant horizon = now - facts.delay;
  Instant after = facts.cursor.decided_until;
  if (all) after = std::max(after, horizon - schedule.catchup_window - one);
  const int wanted = catch_up == model::Misfire::skip ? 0 : all ? std::min(schedule.max_catchup, most + 1) : 1;
  const auto chosen = wanted == 0 ? std::vector<Instant>() : newest_to_run(facts, after, horizon, wanted);
  if (static_cast<int>(chosen.size()) > most) {
    return Error{ErrorCode::refused, "more than " + std::to_string(most) +
                                         " instants would run at once; lower max_catchup of the schedule, or catch up "
                                         "with the latest"};
  }
  return Planner(facts, now, 0, new_id).resume(chosen, all);
}

Instant cursor_after_pause(const DueFacts& facts, Instant now) {
  return std::max(facts.cursor.decided_until, now - facts.delay);
}

std::optional<Instant> next_due(const DueFacts& facts) {
  if (facts.cursor.paused || waits_for_own_run(facts)) return std::nullopt;
  const auto first = first_after(facts, facts.cursor.decided_until);
  return first ? std::optional(*first + facts.delay) : std::nullopt;
}

bool is_behind(const DueFacts& facts, Instant now) {
  if (facts.schedule.timing.from_completion) return false;
  const auto first = facts.rule.next(facts.cursor.decided_until);
  const auto second = first ? facts.rule.next(*first) : std::nullopt;
  return second && *second <= now - facts.delay;
}

timing::Exclusions::Found next_run(const DueFacts& facts) {
  if (facts.cursor.paused || waits_for_own_run(facts)) return {};
  timing::Exclusions::Found found;
  if (facts.schedule.timing.from_completion) {
    found.at = first_after(facts, facts.cursor.decided_until);
  } else {
    found = facts.exclusions.next(facts.rule, facts.cursor.decided_until);
  }
  if (found.at) *found.at += facts.delay;
  return found;
}

Micros jitter_delay(const std::string& key, Micros jitter) {
  // Round, since people read it; the digits of a hash are spread evenly, and are the same in every version.
  const Micros unit =
      jitter >= std::chrono::minutes(1) ? Micros(std::chrono::seconds(1)) : std::chrono::milliseconds(1);
  const auto steps = static_cast<std::uint64_t>(std::max(jitter, Micros(0)) / unit);
  if (steps == 0) return {};
  constexpr std::size_t digits = 15;
  const std::uint64_t hash = std::stoull(content_hash("jitter of " + key).substr(0, digits), nullptr, 16);
  return unit * static_cast<std::int64_t>(hash % (steps + 1));
}

const char* exclusion_reason(timing::Exclusion::Kind kind) {
  switch (kind) {
    case timing::Exclusion::Kind::before_start:
      return model::reason::before_start;
    case timing::Exclusion::Kind::after_end:
      return model::reason::after_end;
    case timing::Exclusion::Kind::excluded:
      return model::reason::excluded_by_calendar;
    case timing::Exclusion::Kind::not_in:
      return model::reason::not_in_calendar;
    case timing::Exclusion::Kind::none:
      break;
  }
  return "";
}

Instant cursor_after_completion(const model::Cursor& cursor, Instant finished_at) {
  return std::max(cursor.decided_until, finished_at);
}

int failures_in_a_row(const std::vector<model::Run>& runs, const std::string& ending,
                      std::optional<Instant> resumed_at) {
  int failures = 0;
  for (const model::Run& run : runs) {
    const bool counts = run.finished_at && (!resumed_at || *run.finished_at > *resumed_at);
    if (run.id == ending || (counts && run.state == model::RunState::failed)) {
      ++failures;
    } else if (counts && run.state == model::RunState::succeeded) {
      break;
    }
  }
  return failures;
}

}  // namespace eider::decide
