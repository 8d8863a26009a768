// How long runs of a pipeline usually take, and when one is longer than that. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/time.h"

namespace eider::decide {

/// So many of the last succeeded runs are looked at.
inline constexpr int usual_runs = 20;
/// Fewer say nothing.
inline constexpr int usual_runs_needed = 5;
/// What is over so soon is never too long.
inline constexpr Micros usual_least = std::chrono::seconds(10);

struct Usual {
  Micros median{};
  Micros limit{};  ///< longer than this is longer than usual
  int runs = 0;    ///< that say so
};

/// The limit is three times the median, or what 95 of 100 stayed within where that is more: a pipeline whose runs
/// differ much is not told off for it.
std::optional<Usual> usual(std::vector<Micros> durations);

/// How long a running run may show no sign of life (a line of its log, a step that begins or ends) before it counts as
/// one without progress: as long as would be longer than usual for all of it, at least ten minutes; an hour where the
/// usual is not known.
Micros longest_silence(const std::optional<Usual>& usual);

}  // namespace eider::decide
