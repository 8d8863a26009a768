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

}  // namespace eider::api
