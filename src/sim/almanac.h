// The calendars of simulated workspaces, each said twice: as Eider reads it, and by plain sums over the seconds since
// 1970 for whoever checks. And by the same means: why an instant of a schedule is not to run. Pure.
#pragma once

#include <set>
#include <string>

#include "base/time.h"
#include "model/pipeline.h"
#include "timing/exclusions.h"

namespace eider::sim {

inline constexpr const char* calendar_names[] = {"sundays", "breaks", "early"};

timing::Calendars calendars();
bool lies_in(const std::string& calendar, Instant at);

/// The codes of all reasons that there are; none: it may run.
std::set<std::string> why_excluded(const model::Schedule& schedule, Instant at);

}  // namespace eider::sim
