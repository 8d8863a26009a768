// What to do with a schedule's instants that have fallen due: misfire and overlap (design section 6). Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/change.h"
#include "model/pipeline.h"
#include "model/run.h"
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
  const model::Cursor& cursor;
  const std::vector<ActiveRun>& active;  ///< of the pipeline, oldest first
  int queue_room = 0;                    ///< runs that the server's queue still takes (I9)
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

/// The decisions that are due at `now`, oldest first, at most `limit`; what lies beyond is due again at once (the
/// cursor stands before it). Empty: nothing is due. `new_id` gives the ids of the runs it makes.
std::vector<DueDecision> decide_due(const DueFacts& facts, Instant now, int limit,
                                    const std::function<std::string()>& new_id);

/// The one row that covers a pause: every instant in (cursor, now]; none when there was none.
std::optional<model::Occurrence> decide_pause_over(const DueFacts& facts, Instant now);

/// When the schedule must be looked at next: its first undecided instant; none when it is paused, can never fire
/// again, or waits for its own run's end (`from: completion`).
std::optional<Instant> next_due(const DueFacts& facts);

/// `from: completion`: the cursor after its run has ended: the delay counts from there.
Instant cursor_after_completion(const model::Cursor& cursor, Instant finished_at);

}  // namespace eider::decide
