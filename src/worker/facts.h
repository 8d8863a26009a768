// What a step tells about its work through the file $EIDER_OUTPUT: JSON lines, each an object, of two kinds.
//
// A line with the key `materialized` names an asset that the pipeline publishes and says what was made of it. Any other
// line holds facts: these are merged in order (a later key wins) and stored with the step's result; a whole number
// under `rows` is shown as the step's rows.
//
// How later steps get the facts: a step with `needs` sees those of all steps it needs, directly or through others, as
// one JSON object {"step id": {facts}, …}: a program in the file named by $EIDER_FACTS, a SQL step in the variable
// `facts`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace eider::worker {

inline constexpr std::size_t facts_limit_bytes = 1024 * 1024;

/// `{"materialized": "raw.x", "partition": "2026-03", "rows": 10, …}`: what a step says of an asset. What it leaves out
/// it does not say.
struct Said {
  std::string asset;
  std::optional<std::string> partition;  ///< empty: the whole asset
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> bytes;
  std::string fingerprint;
  std::string metadata;  ///< JSON object
  int line = 0;          ///< of the file, for messages
};

struct Facts {
  std::string json;  ///< an object; empty: the step wrote nothing
  std::optional<std::int64_t> rows;
  std::vector<Said> said;
  std::string said_lines;  ///< the same as they were written
};

/// A missing or empty file is no facts. Errors name the line and say what belongs there: no JSON, no object, a key or
/// a value that a line about an asset can't have; or the file is over 1 MiB.
Result<Facts> read_facts(const std::string& path);
/// The same of the file's content.
Result<Facts> parse_facts(std::string_view text);
/// A line of the file that can't be what it says, for whoever knows more of it.
Error bad_line(int line, const std::string& why, const std::string& instead);
/// {"step": facts, …} of steps whose facts are not empty.
std::string join_facts(const std::map<std::string, std::string>& facts_by_step);
/// The keys of both JSON objects, those of `later` where they are in both; either may be empty.
std::string merge_objects(const std::string& earlier, const std::string& later);

}  // namespace eider::worker
