// Coming instants of a clock rule as the API shows them. Pure.
#pragma once

#include <optional>

#include <boost/json/array.hpp>

#include "base/result.h"
#include "base/time.h"
#include "model/pipeline.h"

namespace eider::api {

/// The first `count` firings in (after, until], each as shapes::preview shows it; `until` absent: without end. An
/// Error `invalid` when the rule is none (its zone is not installed any more).
Result<boost::json::array> upcoming(const model::Timing& timing, Instant after, std::optional<Instant> until,
                                    int count);
/// One instant that is known otherwise, in the rule's zone; none where it is later than `until`.
Result<boost::json::array> upcoming_one(const model::Timing& timing, Instant at, std::optional<Instant> until);

}  // namespace eider::api
