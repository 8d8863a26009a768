// What memory knows for admission: the queue's lines, what live claims hold, and recent starts.
#include "base/check.h"
#include "engine/state.h"

namespace eider::engine {

Place State::place_of(const model::Run& run) {
  return {decide::rank(run), run.id, std::max(run.created_at, run.not_before)};
}

LineKey State::line_of(const model::Run& run) const {
  const workspace::LoadedPipeline* loaded = workspace_ ? pipeline(run.pipeline) : nullptr;
  return {run.pipeline, run.trigger, loaded ? decide::concurrency_of(*loaded->pipeline, run) : std::string()};
}

model::Taken State::wanted(const LineKey& line) const {
  const auto found = wanted_.find(line.pipeline);
  EIDER_CHECK(found != wanted_.end(), "only pipelines of the workspace are admitted");
  model::Taken taken = found->second;
  taken.concurrency = line.concurrency;
  return taken;
}

std::vector<decide::Need> State::needs(const LineKey& line) const {
  return decide::needs(line.pipeline, line.cause, wanted(line));
}

std::vector<decide::Need> State::held(const model::Attempt& attempt) const {
  const model::Run* owner = run(attempt.run_id);
  EIDER_CHECK(owner != nullptr, "a live attempt has its run");
  std::vector<decide::Need> out = decide::needs(owner->pipeline, owner->trigger, attempt.taken);
  std::erase_if(out, [](const decide::Need& need) { return need.thing.kind == decide::Kind::rate; });
  return out;
}

decide::Room State::room(Instant now) const {
  decide::Room room(capacity_);
  for (const auto& [id, attempt] : live_) room.take(held(attempt));
  for (const auto& [pool, starts] : starts_) {
    const decide::Thing rate{decide::Kind::rate, pool};
    room.take({rate, starts.within(capacity_.pools.at(pool).rate->per, now)});
  }
  return room;
}

/// The lines follow from the pipelines' keys, and all of them are looked at with the new limits.
void State::queue_anew() {
  const Queue before = std::exchange(queue_, {});
  for (const auto& [id, run] : runs_) {
    if (run.state != model::RunState::queued || backing_off_.contains({run.not_before, id})) continue;
    queue_.add(line_of(run), place_of(run));
  }
  queue_.inherit(before);
}

void State::set_capacity() {
  const model::Settings& settings = workspace_->settings;
  capacity_ = {};
  capacity_.workers = settings.max_workers;
  capacity_.data_workers = decide::share_of(settings.max_workers, settings.data_share);
  capacity_.backfill_workers = decide::share_of(settings.max_workers, settings.backfill_share);
  capacity_.pools = settings.pools;
  capacity_.memory_bytes = settings.memory_bytes;
  capacity_.temp_bytes = settings.temp_bytes;
  for (const auto& [name, loaded] : workspace_->pipelines) {
    capacity_.max_active_runs[name] = loaded.pipeline->max_active_runs;
  }
  std::erase_if(starts_, [&](const auto& entry) { return !capacity_.limit({decide::Kind::rate, entry.first}); });
}

/// The attempt is over: who waits for what it held may look.
void State::end_live(const std::string& id) {
  const auto live = live_.find(id);
  if (live == live_.end()) return;
  for (const decide::Need& need : held(live->second)) queue_.freed(need.thing);
  live_.erase(live);
}

void State::release_backoffs(Instant now) {
  while (!backing_off_.empty() && backing_off_.begin()->first <= now) {
    const model::Run& run = runs_.at(backing_off_.begin()->second);
    queue_.add(line_of(run), place_of(run));
    backing_off_.erase(backing_off_.begin());
  }
}

void State::hold_run(const std::string& id, Instant at) {
  model::Run& run = runs_.at(id);
  unindex(run);
  run.not_before = at == run.created_at ? at + Micros(1) : at;  // else it would be as new
  index(run);
}

// ---- rates ---------------------------------------------------------------------------------------------------------

std::optional<Micros> State::longest_rate() const {
  std::optional<Micros> longest;
  for (const auto& [name, pool] : capacity_.pools) {
    if (pool.rate) longest = std::max(longest.value_or(Micros(0)), pool.rate->per);
  }
  return longest;
}

void State::load_starts(const std::vector<store::RecordedStart>& starts, Instant now) {
  starts_.clear();
  for (const store::RecordedStart& start : starts) count_start(start, now);
  rates_opened_at_ = {};
}

void State::count_start(const store::RecordedStart& start, Instant now) {
  for (const auto& [name, slots] : start.pools) {
    const auto pool = capacity_.pools.find(name);
    if (pool != capacity_.pools.end() && pool->second.rate) starts_[name].add(start.at, now, pool->second.rate->per);
  }
}

void State::take_back_start(const model::Attempt& attempt) {
  for (const auto& [name, slots] : attempt.taken.pools) {
    const auto starts = starts_.find(name);
    if (starts == starts_.end()) continue;
    starts->second.take_back(attempt.claimed_at);
    queue_.freed({decide::Kind::rate, name});
  }
}

const decide::RecentStarts* State::starts(const std::string& pool) const {
  const auto found = starts_.find(pool);
  return found == starts_.end() ? nullptr : &found->second;
}

void State::open_rates(Instant now) {
  for (const auto& [name, starts] : starts_) {
    const auto opens = starts.opens_at(*capacity_.pools.at(name).rate);
    if (!opens || *opens <= now) queue_.freed({decide::Kind::rate, name});
  }
  rates_opened_at_ = now;
}

std::optional<Instant> State::first_rate() const {
  std::optional<Instant> first;
  for (const auto& [name, starts] : starts_) {
    if (!queue_.has_sleepers({decide::Kind::rate, name})) continue;
    const auto opens = starts.opens_at(*capacity_.pools.at(name).rate);
    // One that is open already was looked at: what it has is kept for somebody else.
    if (opens && *opens > rates_opened_at_ && (!first || *opens < *first)) first = opens;
  }
  return first;
}

}  // namespace eider::engine
