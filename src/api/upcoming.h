// Coming instants of a clock rule as the API shows them, and what would become of them. Pure.
#pragma once

#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/result.h"
#include "base/time.h"
#include "engine/inbox.h"
#include "model/pipeline.h"

namespace eider::api {

/// Which instants are asked for: the first `count` in (after, until]; `until` absent: without end.
struct Ahead {
  Instant after{};
  std::optional<Instant> until;
  int count = 0;
};

/// The firings of a rule alone, each as shapes::preview shows it. An Error `invalid` when the rule is none (its zone is
/// not installed any more).
Result<boost::json::array> upcoming(const model::Timing& timing, const Ahead& ahead);

/// The instants of a schedule, each with what would be decided if it were due with all as it is now: `decision`,
/// `reason`, `reason_text`, `calendar`, and `due_at` with its jitter. With `from: completion` only the next one is
/// known.
Result<boost::json::array> upcoming(const engine::ScheduleView& view, const Ahead& ahead);

/// The first instant after `after` that no calendar and no bound excludes: `next_run` (null: none) and
/// `next_run_unknown` (true: it lies further ahead than is looked).
Result<boost::json::object> next_run(const engine::ScheduleView& view, Instant after);

}  // namespace eider::api
