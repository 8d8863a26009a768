// A schedule's timing as written, made into the rule that answers when it fires. Pure.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/pipeline.h"
#include "timing/exclusions.h"
#include "timing/rule.h"

namespace eider::workspace {

/// An Error `invalid` names what is wrong; timings of a loaded pipeline make none, but for a zone that this machine
/// does not have any more.
Result<timing::Rule> make_rule(const model::Timing& timing);

/// What keeps instants of the schedule from running; an Error `invalid` names a calendar that is not there.
Result<std::shared_ptr<const timing::Exclusions>> make_exclusions(const model::Schedule& schedule,
                                                                  const timing::Calendars& calendars,
                                                                  const timing::Zone& zone);

}  // namespace eider::workspace
