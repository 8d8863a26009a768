// When a schedule is due, by means that are not Eider's: the simulator's workspaces have a few kinds of rule only, and
// each is said here once more in the simplest way. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/pipeline.h"
#include "timing/zone.h"

namespace eider::sim {

class Oracle {
 public:
  /// `every` of whole seconds, `*/N * * * *` in UTC, `M H * * *` in a zone, `at`, and `from: completion`; anything else
  /// is a mistake of whoever made the workspace.
  static Oracle of(const model::Timing& timing);

  /// The first instant later than `after`; of a fixed delay: the delay after it.
  std::optional<Instant> next(Instant after) const;
  /// How many are in (after, until].
  std::int64_t count(Instant after, Instant until) const;
  bool from_completion() const { return from_completion_; }

 private:
  Instant of_day(std::chrono::local_days day) const;

  Micros step_{};  ///< multiples of it since 1970
  bool from_completion_ = false;
  std::optional<Instant> once_;
  std::chrono::seconds time_of_day_{};
  timing::Zone zone_;
};

}  // namespace eider::sim
