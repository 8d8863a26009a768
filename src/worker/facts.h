// What a step tells about its work through the file $EIDER_OUTPUT: JSON lines, each an object, merged in order (a
// later key wins). The merged object is stored with the step's result; a whole number under `rows` is shown as the
// step's rows.
//
// How later steps get it: a step with `needs` sees the facts of all steps it needs, directly or through others, as one
// JSON object {"step id": {facts}, …}: a program in the file named by $EIDER_FACTS, a SQL step in the variable `facts`.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace eider::worker {

inline constexpr std::size_t facts_limit_bytes = 1024 * 1024;

struct Facts {
  std::string json;  ///< an object; empty: the step wrote nothing
  std::optional<std::int64_t> rows;
};

/// A missing or empty file is no facts. Errors name the line: no JSON, no object, over 1 MiB.
Result<Facts> read_facts(const std::string& path);
/// {"step": facts, …} of steps whose facts are not empty.
std::string join_facts(const std::map<std::string, std::string>& facts_by_step);

}  // namespace eider::worker
