#include "decide/delivery.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace eider::decide {
namespace {

using model::Trigger;

/// What would share one run: everything, or with `partition: same` everything of one partition.
struct Batch {
  std::optional<std::string> partition;
  std::set<std::string> assets;
  Instant first_at = Instant::max();
  Instant last_at = Instant::min();
};

std::vector<Batch> batches(const TriggerFacts& facts) {
  std::map<std::string, Batch> by_partition;
  for (const model::PendingGroup& group : facts.pending) {
    const bool same = facts.trigger.same_partition;
    Batch& batch = by_partition[same ? group.partition : std::string()];
    if (same) batch.partition = group.partition;
    batch.assets.insert(group.asset);
    batch.first_at = std::min(batch.first_at, group.first_at);
    batch.last_at = std::max(batch.last_at, group.last_at);
  }
  std::vector<Batch> out;
  for (auto& [partition, batch] : by_partition) out.push_back(std::move(batch));
  std::stable_sort(out.begin(), out.end(), [](const Batch& a, const Batch& b) { return a.first_at < b.first_at; });
  return out;
}

/// The first asset of `match: all` that has nothing pending; none: it may run. A trigger whose patterns match no asset
/// at all never runs.
std::optional<std::string> lacks(const TriggerFacts& facts, const Batch& batch) {
  if (facts.trigger.match != Trigger::Match::all) return std::nullopt;
  if (facts.needed.empty()) return "any asset that its patterns match";
  for (const std::string& asset : facts.needed) {
    if (!batch.assets.contains(asset)) return asset;
  }
  return std::nullopt;
}

/// When it has been quiet for long enough. What seems to have been published in the future was published before the
/// clock was set back, and is old.
Instant quiet_at(const Trigger& trigger, const Batch& batch, Instant now) {
  if (!trigger.debounce || batch.last_at > now) return now;
  const Instant quiet = batch.last_at + *trigger.debounce;
  return trigger.max_wait ? std::min(quiet, batch.first_at + *trigger.max_wait) : quiet;
}

/// How many runs may be open at once; none: any number.
std::optional<int> bound_of(const Trigger& trigger, int max_active_runs) {
  if (trigger.order == Trigger::Order::strict) return 1;
  return max_active_runs == 0 ? std::nullopt : std::optional(max_active_runs);
}

/// Why there is no room; where nothing bounds the trigger, it was the turn that was full.
std::string no_room(const TriggerFacts& facts, int made) {
  const auto bound = bound_of(facts.trigger, facts.max_active_runs);
  if (!bound) return "the next turn of the loop goes on";
  const int open = facts.open_runs + made;
  return fmt::format("{} of its runs {} open, and {} at once is the limit ({})", open, open == 1 ? "is" : "are", *bound,
                     facts.trigger.order == Trigger::Order::strict ? "order: strict" : "max_active_runs");
}

void decide_batches(const TriggerFacts& facts, Instant now, int room, TriggerVerdict& verdict) {
  for (const Batch& batch : batches(facts)) {
    const auto waits = [&](std::string why) {
      if (batch.partition) verdict.waiting_by_partition[*batch.partition] = why;
      if (verdict.waiting.empty()) verdict.waiting = std::move(why);
    };
    const std::string of = batch.partition && !batch.partition->empty() ? " of partition " + *batch.partition : "";
    if (const auto missing = lacks(facts, batch)) {
      verdict.lacking.insert(*missing);
      waits(fmt::format("waits for {}{}, of which nothing is pending", *missing, of));
      continue;
    }
    if (const Instant at = quiet_at(facts.trigger, batch, now); at > now) {
      if (!verdict.look_again_at || at < *verdict.look_again_at) verdict.look_again_at = at;
      waits(fmt::format("waits until nothing new has come for {} (debounce): until {} unless something comes{}",
                        format_duration(*facts.trigger.debounce), format_rfc3339(at), of));
      continue;
    }
    const int made = static_cast<int>(verdict.takes.size());
    if (made < room) {
      verdict.takes.push_back({batch.partition, batch_limit});
    } else {
      waits(no_room(facts, made));
    }
  }
}

}  // namespace

bool has_room(const Trigger& trigger, int max_active_runs, int open_runs) {
  const auto bound = bound_of(trigger, max_active_runs);
  return !bound || open_runs < *bound;
}

bool looks_at_groups(const Trigger& trigger) {
  return trigger.batch || trigger.debounce || trigger.match == Trigger::Match::all;
}

TriggerVerdict decide_trigger(const TriggerFacts& facts, Instant now, int limit) {
  TriggerVerdict verdict;
  std::int64_t pending = 0;
  for (const model::PendingGroup& group : facts.pending) pending += group.count;
  if (pending == 0) return verdict;
  if (facts.blocked) {
    verdict.waiting = "a delivery before has failed, and order: strict says to wait until it is retried or skipped";
    return verdict;
  }
  const auto bound = bound_of(facts.trigger, facts.max_active_runs);
  const int free = bound ? std::max(0, *bound - facts.open_runs) : limit;
  const int room = std::min(free, limit);
  if (free == 0) {
    verdict.waiting = no_room(facts, 0);
  } else if (looks_at_groups(facts.trigger)) {
    decide_batches(facts, now, room, verdict);
  } else {
    const auto count = std::min<std::int64_t>(pending, room);
    verdict.takes.assign(static_cast<std::size_t>(count), Take{});
    if (count < pending) verdict.waiting = no_room(facts, static_cast<int>(count));
  }
  return verdict;
}

bool is_owed(const Trigger& trigger, const model::Materialization& event) {
  return !(trigger.changed_only && event.unchanged);
}

}  // namespace eider::decide
