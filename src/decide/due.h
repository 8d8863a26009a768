// What to do with a schedule's instants that have fallen due: exclusions, misfire and overlap (design section 6).
// Pure. Work grows with the decisions that are made and with the stretches of time that exclusions cut an outage into,
// never with the number of instants.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/change.h"
#include "model/pipeline.h"
#include "model/run.h"
#include "timing/exclusions.h"
#include "timing/rule.h"

namespace eider::decide {

/// A run of the pipeline that is not terminal, as the overlap rules see it.
struct ActiveRun {
  std::string run_id;
  std::string schedule;  ///< `pipeline/id` of the schedule that made it; empty: something else did
  bool running = false;  ///< else queued: waiting or backing off
  bool catch_up = false;
};

/// The snapshot on which one schedule is decided.
struct DueFacts {
  const std::string& key;  ///< `pipeline/id`
  const model::Pipeline& pipeline;
  const model::Schedule& schedule;
  const timing::Rule& rule;
  const timing::Exclusions& exclusions;
  const model::Cursor& cursor;
  const std::vector<ActiveRun>& active;  ///< of the pipeline, oldest first
  int queue_room = 0;                    ///< runs that the server's queue still takes (I9)
  Micros delay{};                        ///< jitter_delay(): each instant is due so much later
  /// Instants after the cursor that have run, in order: before the clock was set back (O-05). They are passed over.
  std::vector<Instant> ran{};
  /// The row of excluded instants that ends where the cursor stands, if there is one: it grows.
  const model::Occurrence* excluded_before = nullptr;
};

/// One decision: what holds together in one savepoint.
struct DueDecision {
  std::vector<model::Occurrence> occurrences;
  std::string run_id;  ///< of the run it makes; empty: it makes none
  bool catch_up = false;
  Instant scheduled_for{};                  ///< of the run
  std::string reason;                       ///< of the run
  std::vector<std::string> cancel_running;  ///< replace: asked to end
  std::vector<std::string> cancel_queued;   ///< replace: superseded while waiting
  Instant decided_until{};                  ///< where the cursor stands after it
};

using IdSource = std::function<std::string()>;

/// The decisions that are due at `now`, oldest first, at most `limit` and a few; what lies beyond is due again at once
/// (the cursor stands before it). Empty: nothing is due. `new_id` gives the ids of the runs it makes.
std::vector<DueDecision> decide_due(const DueFacts& facts, Instant now, int limit, const IdSource& new_id);

/// The decisions with which a pause ends at `now`. `catch_up` says what becomes of the instants that fell due in it:
/// skip: one `paused` row covers them; latest: the newest that is not excluded runs, as overlap says; all: they run as
/// with misfire: all, which needs overlap: queue (an Error `invalid` otherwise, or when more than `most` would run).
Result<std::vector<DueDecision>> decide_resume(const DueFacts& facts, Instant now, model::Misfire catch_up, int most,
                                               const IdSource& new_id);
/// Where the cursor stands when a pause has ended at `now` and its decisions are made.
Instant cursor_after_pause(const DueFacts& facts, Instant now);

/// When the schedule must be looked at next: its first undecided instant, and its jitter; none when it is paused, can
/// never fire again, or waits for its own run's end (`from: completion`).
std::optional<Instant> next_due(const DueFacts& facts);
/// True when more than one instant is undecided at `now`: DueFacts::ran is asked for then only.
bool is_behind(const DueFacts& facts, Instant now);
/// When it will run next, as far as can be told: the first instant that is not excluded, and its jitter.
timing::Exclusions::Found next_run(const DueFacts& facts);

/// How much later than its instants a schedule is due, from nothing to `jitter`: always the same for one key.
Micros jitter_delay(const std::string& key, Micros jitter);

/// The rows' reason code for an exclusion.
const char* exclusion_reason(timing::Exclusion::Kind kind);

/// `from: completion`: the cursor after its run has ended: the delay counts from there.
Instant cursor_after_completion(const model::Cursor& cursor, Instant finished_at);

/// How many of a schedule's runs have failed one after the other: `runs` are its newest, the newest instant first, and
/// `ending` is the one of them that fails now. Cancelled and open runs say nothing; what had ended by `resumed_at` does
/// not count.
int failures_in_a_row(const std::vector<model::Run>& runs, const std::string& ending,
                      std::optional<Instant> resumed_at);

}  // namespace eider::decide
