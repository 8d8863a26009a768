#include "decide/due.h"

#include <algorithm>

#include "base/check.h"
#include "decide/overlap.h"

namespace eider::decide {
namespace {

using model::Decision;
using model::Occurrence;

using IdSource = std::function<std::string()>;

constexpr Micros one(1);

/// The undecided instants of one schedule: (after, until].
struct Span {
  Instant first{};
  Instant last{};
  std::int64_t count = 0;
};

std::optional<Instant> first_after(const DueFacts& facts, Instant after) {
  return facts.schedule.timing.from_completion ? facts.rule.next_after_completion(after) : facts.rule.next(after);
}

class Planner {
 public:
  Planner(const DueFacts& facts, Instant now, int limit, const IdSource& new_id)
      : facts_(facts), now_(now), limit_(limit), new_id_(new_id), active_(facts.active) {}

  std::vector<DueDecision> plan() {
    const auto due = span(facts_.cursor.decided_until, now_);
    if (!due) return {};
    const bool late = now_ - due->first > facts_.schedule.grace;
    if (!late) {
      each_on_time(facts_.cursor.decided_until);
    } else {
      switch (facts_.schedule.misfire) {
        case model::Misfire::skip:
          skip_late(*due);
          break;
        case model::Misfire::latest:
          run_latest(*due);
          break;
        case model::Misfire::all:
          run_all(*due);
          break;
      }
    }
    return std::move(out_);
  }

  std::optional<Span> span(Instant after, Instant until) const {
    const auto first = first_after(facts_, after);
    if (!first || *first > until) return std::nullopt;
    // A fixed delay has one instant at a time: the next one is known when this one's run has ended.
    if (facts_.schedule.timing.from_completion) return Span{*first, *first, 1};
    const auto last = facts_.rule.previous(until);
    EIDER_CHECK(last && *last >= *first, "previous() is the inverse of next()");
    return Span{*first, *last, facts_.rule.count(after, until)};
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

 private:
  bool full() const { return static_cast<int>(out_.size()) >= limit_; }

  /// Every instant in (after, now] for itself, as overlap says.
  void each_on_time(Instant after) {
    for (auto at = first_after(facts_, after); at && *at <= now_ && !full(); at = first_after(facts_, *at)) {
      out_.push_back(decide_one(*at, model::reason::due, false));
      if (facts_.schedule.timing.from_completion) return;
    }
  }

  /// misfire: skip. What is late is missed, in one row; what is on time runs.
  void skip_late(const Span& due) {
    const Instant on_time_after = now_ - facts_.schedule.grace - one;
    const auto late = span(facts_.cursor.decided_until, on_time_after);
    EIDER_CHECK(late && late->first == due.first, "the first is late");
    without_run(row(*late, Decision::missed, model::reason::misfire_skip));
    each_on_time(late->last);
  }

  /// misfire: latest. The newest runs, whatever its age; all others are coalesced into it, in one decision with it.
  void run_latest(const Span& due) {
    const bool newest_late = now_ - due.last > facts_.schedule.grace;
    DueDecision decision = decide_one(due.last, newest_late ? model::reason::late : model::reason::due, false);
    if (due.count > 1) {
      const auto others = span(facts_.cursor.decided_until, due.last - one);
      EIDER_CHECK(others && others->count == due.count - 1, "all but the newest");
      Occurrence coalesced = row(*others, Decision::coalesced, model::reason::newer_due);
      coalesced.run_id = decision.run_id;
      decision.occurrences.insert(decision.occurrences.begin(), std::move(coalesced));
    }
    out_.push_back(std::move(decision));
  }

  /// misfire: all. The newest max_catchup within catchup_window run, oldest first, one decision each; what is older is
  /// missed. A plan longer than one turn goes on where the cursor stands.
  void run_all(const Span& due) {
    const Instant window_after = std::max(facts_.cursor.decided_until, now_ - facts_.schedule.catchup_window - one);
    std::vector<Instant> chosen = facts_.rule.newest(window_after, now_, facts_.schedule.max_catchup);
    if (facts_.schedule.timing.from_completion) chosen = {due.first};
    const Instant first_chosen = chosen.empty() ? now_ + one : chosen.front();
    Instant after = facts_.cursor.decided_until;
    if (const auto outside = span(after, std::min(window_after, first_chosen - one)); outside && window_after > after) {
      without_run(row(*outside, Decision::missed, model::reason::catchup_window));
      after = outside->last;
    }
    if (const auto beyond = span(after, first_chosen - one)) {
      without_run(row(*beyond, Decision::missed, model::reason::catchup_limit));
    }
    for (const Instant at : chosen) {
      if (full()) return;
      out_.push_back(decide_one(at, due.count == 1 ? model::reason::late : model::reason::caught_up, true));
    }
  }

  void without_run(Occurrence occurrence) {
    DueDecision decision;
    decision.decided_until = occurrence.scheduled_until;
    decision.occurrences.push_back(std::move(occurrence));
    out_.push_back(std::move(decision));
  }

  DueDecision decide_one(Instant at, const char* why, bool catch_up) {
    DueDecision decision;
    decision.decided_until = at;
    const Span covered{at, at, 1};
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
  const int limit_;
  const IdSource& new_id_;
  std::vector<ActiveRun> active_;
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

std::optional<model::Occurrence> decide_pause_over(const DueFacts& facts, Instant now) {
  const Planner planner(facts, now, 1, {});
  const auto covered = planner.span(facts.cursor.decided_until, now);
  if (!covered) return std::nullopt;
  return planner.row(*covered, Decision::paused, model::reason::paused);
}

std::optional<Instant> next_due(const DueFacts& facts) {
  if (facts.cursor.paused || waits_for_own_run(facts)) return std::nullopt;
  return first_after(facts, facts.cursor.decided_until);
}

Instant cursor_after_completion(const model::Cursor& cursor, Instant finished_at) {
  return std::max(cursor.decided_until, finished_at);
}

}  // namespace eider::decide
