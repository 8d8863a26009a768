// What admission counts, for people: from memory, made when somebody asks.
#include <algorithm>

#include "engine/loop.h"

namespace eider::engine {
namespace {

using decide::Kind;
using decide::Thing;

/// How many queued runs lack what. A line's first run speaks for all of them.
std::map<Thing, int> count_waiting(const State& state, const decide::Room& room) {
  std::map<Thing, int> waiting;
  for (const auto& [key, line] : state.queue().lines()) {
    if (!state.pipeline(key.pipeline)) continue;
    for (const decide::Need& need : state.needs(key)) {
      if (state.queue().free(*line.runs.begin(), need.thing, room) >= need.amount) continue;
      waiting[need.thing] += static_cast<int>(line.runs.size());
    }
  }
  return waiting;
}

class LimitsOf {
 public:
  LimitsOf(const State& state, Instant now)
      : state_(state), room_(state.room(now)), now_(now), waiting_(count_waiting(state, room_)) {
    for (const auto& [id, attempt] : state.live()) {
      for (const decide::Need& need : state.held(attempt)) holders_[need.thing].push_back(id);
    }
  }

  LimitsView view() const {
    LimitsView out;
    out.pools = pools();
    out.locks = locks(Kind::lock);
    out.files = locks(Kind::database);
    out.workers = sum({Kind::worker, "worker"});
    out.data_workers = sum({Kind::share, model::to_text(model::TriggerKind::data)});
    out.backfill_workers = sum({Kind::share, model::to_text(model::TriggerKind::backfill)});
    out.memory = sum({Kind::memory, "memory"});
    out.temp = sum({Kind::temp, "temp"});
    return out;
  }

 private:
  int waiting_for(const Thing& thing) const {
    const auto found = waiting_.find(thing);
    return found == waiting_.end() ? 0 : found->second;
  }
  std::vector<std::string> holders_of(const Thing& thing) const {
    const auto found = holders_.find(thing);
    return found == holders_.end() ? std::vector<std::string>() : found->second;
  }
  SumUse sum(const Thing& thing) const { return {room_.limit(thing), room_.used(thing), waiting_for(thing)}; }

  std::vector<PoolUse> pools() const {
    // A pool that was removed from the file is shown until its last holder ends.
    std::map<std::string, model::Pool> all = state_.workspace().settings.pools;
    for (const auto& [thing, runs] : holders_) {
      if (thing.kind == Kind::pool) all.try_emplace(thing.name, model::Pool{thing.name, 0, {}});
    }
    std::vector<PoolUse> out;
    for (const auto& [name, pool] : all) {
      const Thing thing{Kind::pool, name};
      PoolUse use{name, pool.slots, static_cast<int>(room_.used(thing)), waiting_for(thing), holders_of(thing), {}};
      if (pool.rate) use.rate = rate(name, *pool.rate);
      out.push_back(std::move(use));
    }
    return out;
  }

  PoolUse::Rate rate(const std::string& pool, const model::Rate& limit) const {
    PoolUse::Rate out{limit, 0, waiting_for({Kind::rate, pool}), std::nullopt};
    const decide::RecentStarts* starts = state_.starts(pool);
    if (!starts) return out;
    out.started = starts->within(limit.per, now_);
    if (const auto opens = starts->opens_at(limit); opens && *opens > now_) out.next = opens;
    return out;
  }

  std::vector<LockUse> locks(Kind kind) const {
    std::map<std::string, LockUse> all;
    for (const auto& [thing, runs] : holders_) {
      if (thing.kind == kind) all[thing.name] = {thing.name, room_.used(thing) >= decide::whole, 0, runs};
    }
    for (const auto& [thing, count] : waiting_) {
      if (thing.kind != kind) continue;
      LockUse& use = all[thing.name];
      use.name = thing.name;
      use.waiting = count;
    }
    std::vector<LockUse> out;
    for (auto& [name, use] : all) out.push_back(std::move(use));
    return out;
  }

  const State& state_;
  const decide::Room room_;
  const Instant now_;
  const std::map<Thing, int> waiting_;
  std::map<Thing, std::vector<std::string>> holders_;
};

}  // namespace

LimitsView Loop::limits_view() const { return LimitsOf(state_, parts_.clock.now()).view(); }

}  // namespace eider::engine
