// What one seed means: a workspace, and what is done to it and to its server, in order. A plan is a value: the shrinker
// leaves actions out, and what is left means the same as before. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/pipeline.h"
#include "sim/dice.h"

namespace eider::sim {

/// What happens to a life, beside what its workers do by themselves.
enum class Deed {
  power_fails,      ///< at the a-th call over a seam from now; back after b
  commits_fail,     ///< a of them
  answer_is_lost,   ///< of the next commit, which holds
  store_is_locked,  ///< for a tries
  store_refuses,    ///< a kind of change, b times
  store_breaks,     ///< in the middle of a turn
  clock_is_set,     ///< back or forth by one of a few steps
  machine_sleeps,   ///< and wakes after one of a few whiles
  file_changes,     ///< a pipeline gets another rule, goes, comes, breaks, is mended; then a reload
  schedule_pauses,  ///< or is paused once more
  schedule_resumes,
  person_starts,  ///< a run, perhaps in the queue, perhaps with a key that was used before
  person_floods,  ///< with many starts at once
  person_cancels,
  person_retries,
  data_arrives,  ///< from outside, perhaps twice
  deliveries_retried,
  worker_dies,
  old_result_comes,  ///< of an attempt that was over long ago
  machine_lacks,     ///< what a start needs, for a while
  server_stops,      ///< drains, or hands over; back after b
};
inline constexpr int deed_count = static_cast<int>(Deed::server_stops) + 1;
const char* to_text(Deed deed);

struct Action {
  Micros at{};  ///< since the begin of the life, on the boot clock
  Deed deed = Deed::power_fails;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  Instant begin{};
  Micros length{};
  model::Settings settings;
  std::map<std::string, model::Pipeline> pipelines;
  std::vector<Action> actions;
  bool checks_each_step = true;  ///< false: each hour of the boot clock (long lives)
};

/// A short life in which much goes wrong.
Plan make_plan(std::uint64_t seed);
/// A long one in which little does: 200 schedules, a crash a week.
Plan make_calm_plan(std::uint64_t seed, Micros length);
/// A timing that may take another's place.
model::Timing make_timing(Dice& dice, Instant begin);

}  // namespace eider::sim
