// What a run needs to start, and what of it is free (design section 7). Pure.
//
// Every limit is a count: of slots, of bytes, of starts, of the parts of a lock. A reader takes one part of a lock or
// of a DuckDB file, a writer all of them. So one rule admits, and one sum says what is in use: the sum over live
// claims, never a stored counter (I7).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/pipeline.h"
#include "model/run.h"

namespace eider::decide {

/// A kind of limited thing. Their order is that in which a run gathers what it lacks: what others share most comes
/// last, so that nobody keeps a worker idle while it waits for a lock.
enum class Kind { definition, pipeline, concurrency, lock, database, pool, rate, temp, memory, share, worker };
const char* to_text(Kind value);

struct Thing {
  Kind kind = Kind::worker;
  std::string name;
  auto operator<=>(const Thing&) const = default;  // NOLINT(modernize-use-nullptr): of the operator itself
};

/// All of a lock or of a file.
inline constexpr std::int64_t whole = std::int64_t{1} << 40;

struct Need {
  Thing thing;
  std::int64_t amount = 1;
  bool operator==(const Need&) const = default;
};

/// What a run of the pipeline takes. `database` is the path by which the file is known everywhere: absolute, with
/// symbolic links resolved by the caller.
model::Taken wanted(const model::Pipeline& pipeline, const std::string& database);

/// The value of the pipeline's concurrency key in that run, as claims keep it: `load partition=2026-03-29`. Runs in
/// which it is not there have that in common. Empty: the pipeline has no such key.
std::string concurrency_of(const model::Pipeline& pipeline, const model::Run& run);

/// All that a run needs to start, in the order of things. What it holds while it runs is the same, without rates.
std::vector<Need> needs(const std::string& pipeline, model::TriggerKind cause, const model::Taken& taken);

/// How many of the workers a share is: at least one.
int share_of(int workers, double share);

/// What there is.
struct Capacity {
  int workers = 16;
  int data_workers = 12;     ///< of them, for runs that data has caused
  int backfill_workers = 8;  ///< of them, for runs of backfills
  std::map<std::string, model::Pool> pools;
  std::map<std::string, int> max_active_runs;  ///< by pipeline; not there or 0: unbounded
  std::optional<std::int64_t> memory_bytes;    ///< none: unbounded
  std::optional<std::int64_t> temp_bytes;

  /// None: unbounded.
  std::optional<std::int64_t> limit(const Thing& thing) const;
};

/// What is free of it.
class Room {
 public:
  /// `capacity` outlives this object.
  explicit Room(const Capacity& capacity) : capacity_(&capacity) {}

  void take(const Need& need) { used_[need.thing] += need.amount; }
  void take(const std::vector<Need>& all) {
    for (const Need& need : all) take(need);
  }
  std::int64_t used(const Thing& thing) const;
  /// Below zero where there is less than is in use: it was made smaller, which evicts nobody.
  std::int64_t free(const Thing& thing) const;
  std::optional<std::int64_t> limit(const Thing& thing) const { return capacity_->limit(thing); }

 private:
  const Capacity* capacity_;
  std::map<Thing, std::int64_t> used_;
};

/// Among runs that wait, whose turn comes first: priority, raised by one for each ten minutes of waiting, then age.
/// It does not change while they wait: a step of priority is ten minutes of age.
inline constexpr Micros priority_step = std::chrono::minutes(10);
Instant rank(const model::Run& run);
/// A run that has waited so long keeps what it needs from those whose turn comes after its own.
inline constexpr Micros reserves_after = std::chrono::minutes(5);

/// Why a need is not met, for people. `holders` are the runs that hold some of the thing.
std::string shortage_text(const Need& need, std::int64_t used, std::optional<std::int64_t> limit,
                          const std::vector<std::string>& holders);

}  // namespace eider::decide
