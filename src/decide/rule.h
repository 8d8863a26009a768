// A schedule's timing as written, made into the rule that answers when it fires. Pure.
#pragma once

#include "base/result.h"
#include "model/pipeline.h"
#include "timing/rule.h"

namespace eider::decide {

/// An Error `invalid` names what is wrong; timings that workspace/ has let through make none.
Result<timing::Rule> make_rule(const model::Timing& timing);

}  // namespace eider::decide
