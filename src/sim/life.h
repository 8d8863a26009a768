// One life: the engine's own loop, rules and store (in memory), on a clock that is turned by hand, beside a world that
// is not kind. Everything in it follows from its plan. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/book.h"
#include "sim/fault.h"
#include "sim/plan.h"

namespace eider::sim {

struct Report {
  std::optional<Finding> finding;  ///< none: everything held
  std::int64_t turns = 0;
  std::int64_t decisions = 0;
  std::int64_t runs = 0;
  Micros lived{};
  std::vector<std::string> trace;  ///< asked for with `traced`
};

Report live(const Plan& plan, Mutation mutation = Mutation::none, bool traced = false);

/// The same plan with as few actions as still break the same law.
Plan shrink(Plan plan, Mutation mutation, const std::string& law);

/// What a person is told of a seed that fails: the law, the shortest plan found, and its trace.
std::string describe_failure(const Plan& plan, Mutation mutation, const Finding& finding);

}  // namespace eider::sim
