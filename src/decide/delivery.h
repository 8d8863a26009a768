// Which pending deliveries of a trigger get a run now, and how many of them share one (design section 5). Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/asset.h"
#include "model/pipeline.h"

namespace eider::decide {

inline constexpr int batch_limit = 10'000;  ///< deliveries of one run; what lies beyond is the next one's
inline constexpr int depth_limit = 100;     ///< deliveries in a chain of causes; more is a loop, in all likelihood

/// The snapshot on which one trigger is decided.
struct TriggerFacts {
  const model::Trigger& trigger;
  int max_active_runs = 1;  ///< of the pipeline; 0: unbounded
  int open_runs = 0;        ///< made for the trigger and not ended
  /// `match: all`: the declared assets that the patterns match now.
  const std::vector<std::string>& needed;
  /// Of a trigger for which looks_at_groups() is false it may be one group of everything.
  const std::vector<model::PendingGroup>& pending;
  bool blocked = false;  ///< order: strict, and a failed delivery lies before what is pending
};

/// What becomes one run: the first `limit` pending deliveries in commit order, of that partition if one is named.
struct Take {
  std::optional<std::string> partition;
  int limit = 1;
  bool operator==(const Take&) const = default;
};

struct TriggerVerdict {
  std::vector<Take> takes;
  std::optional<Instant> look_again_at;  ///< when waiting alone will have changed something (debounce)
  std::string waiting;                   ///< why the rest makes no run yet, for people; empty: nothing is left
  /// Not empty: nothing changes before one of these assets has something pending (match: all).
  std::set<std::string> lacking;
  std::map<std::string, std::string> waiting_by_partition;  ///< the same of each partition, with `partition: same`
};

/// Whether one more run may be open; without it nothing else about the trigger matters now.
bool has_room(const model::Trigger& trigger, int max_active_runs, int open_runs);
/// Whether the rule needs to know what is pending by partition and asset.
bool looks_at_groups(const model::Trigger& trigger);

/// At most `limit` takes, none without room for its run: a trigger has at most max_active_runs open runs, one with
/// order: strict.
TriggerVerdict decide_trigger(const TriggerFacts& facts, Instant now, int limit);

/// Whether the trigger is owed an event that it asks for. `on: changed` is owed no unchanged one.
bool is_owed(const model::Trigger& trigger, const model::Materialization& event);

}  // namespace eider::decide
