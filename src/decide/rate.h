// How many runs of a pool with a rate have started lately, and when the next may. Pure.
#pragma once

#include <optional>
#include <set>

#include "base/time.h"
#include "model/pipeline.h"

namespace eider::decide {

/// The starts of one pool that may still count. What is older than the rate's time is forgotten as new ones come, so
/// there are no more of them than the rate allows.
class RecentStarts {
 public:
  /// A start in the future was recorded by a clock that has been set back since: it counts as of now.
  void add(Instant recorded, Instant now, Micros per);
  /// The attempt ran nothing: it was no start, as of whenever it counts.
  void take_back(Instant recorded);
  /// The clock was set back by so much.
  void shift(Micros by);

  /// Starts in the time `per` that ends now.
  int within(Micros per, Instant now) const;
  /// From when on one more is allowed; none: it is, whatever the time.
  std::optional<Instant> opens_at(const model::Rate& rate) const;

 private:
  struct Start {
    Instant at{};
    Instant recorded{};
    auto operator<=>(const Start&) const = default;  // NOLINT(modernize-use-nullptr): of the operator itself
  };
  std::multiset<Start> starts_;
};

}  // namespace eider::decide
