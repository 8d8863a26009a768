#include "engine/state.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "decide/overlap.h"
#include "engine/limits.h"
#include "workspace/rule.h"

namespace eider::engine {
namespace {

/// The one name under which a DuckDB file is known, whatever path leads to it.
std::string resolved(const std::string& root, const std::string& file) {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::path(root) / file;
  const auto canonical = std::filesystem::weakly_canonical(path, failed);
  return failed ? path.lexically_normal().string() : canonical.string();
}

}  // namespace

void State::load(store::OpenState open, Instant now) {
  cursors_.clear();
  excluded_.clear();
  runs_.clear();
  by_pipeline_.clear();
  const Queue before = std::exchange(queue_, {});
  live_.clear();
  backing_off_.clear();
  expiring_.clear();
  keys_.clear();
  cursors_.reserve(std::max(open.cursors.size(), schedules_.size()));
  definitions_ = {std::make_move_iterator(open.definitions.begin()), std::make_move_iterator(open.definitions.end())};
  for (model::Cursor& cursor : open.cursors) {
    std::string key = cursor.schedule;
    cursors_.insert_or_assign(std::move(key), std::move(cursor));
  }
  subscriptions_.load(std::move(open.data));
  for (model::Run& run : open.runs) {
    // No backoff is longer than a day: what lies further ahead was set by a clock that has been set back since.
    run.not_before = std::min(run.not_before, now + std::chrono::hours(24));
    index(run);
    if (run.trigger == model::TriggerKind::data) subscriptions_.run_opened(run.trigger_id);
    std::string id = run.id;
    runs_.insert_or_assign(std::move(id), std::move(run));
  }
  for (model::Attempt& attempt : open.live_attempts) {
    std::string id = attempt.run_id;
    live_.insert_or_assign(std::move(id), std::move(attempt));
  }
  queue_.inherit(before);
  for (auto& [key, entry] : schedules_) refresh(entry);
}

void State::set_workspace(std::shared_ptr<const workspace::Workspace> workspace) {
  workspace_ = std::move(workspace);
  schedules_.clear();
  in_order_.clear();
  due_.clear();
  wanted_.clear();
  set_capacity();
  broken_names_.clear();
  std::size_t count = 0;
  for (const auto& [name, loaded] : workspace_->pipelines) count += loaded.pipeline->schedules.size();
  schedules_.reserve(count);
  in_order_.reserve(count);
  cursors_.reserve(count);
  for (const auto& [file, broken] : workspace_->broken) broken_names_.insert(broken.pipeline);
  subscriptions_.set_workspace(*workspace_);
  expiring_.clear();
  for (const auto& [id, run] : runs_) {
    const auto at = expiry(run);
    if (at && run.state == model::RunState::queued) expiring_.emplace(*at, id);
  }
  for (const auto& [name, loaded] : workspace_->pipelines) {
    const model::Pipeline& pipeline = *loaded.pipeline;
    const std::string database =
        pipeline.database ? resolved(workspace_->root, pipeline.database->file) : std::string();
    wanted_[name] = decide::wanted(pipeline, database);
    EIDER_CHECK(loaded.rules.size() == pipeline.schedules.size(), "a loaded pipeline has its schedules' rules");
    for (std::size_t i = 0; i < pipeline.schedules.size(); ++i) {
      // A zone that vanished since the file was checked disables this schedule only.
      const workspace::LoadedRule& rule = loaded.rules[i];
      if (!rule.rule) continue;
      auto exclusions = workspace::make_exclusions(pipeline.schedules[i], workspace_->calendars, rule.rule->zone());
      if (!exclusions) continue;
      std::string key = model::schedule_key(name, pipeline.schedules[i].id);
      const Micros delay = decide::jitter_delay(key, pipeline.schedules[i].jitter);
      ScheduleEntry entry{key, loaded.pipeline, i, &rule, *std::move(exclusions), delay, std::nullopt, std::nullopt};
      const auto placed = schedules_.insert_or_assign(std::move(key), std::move(entry)).first;
      in_order_.push_back(&placed->second);
      refresh(placed->second);
    }
  }
  queue_anew();
}

model::Cursor State::first_cursor(const model::Schedule& schedule, Instant now) {
  model::Cursor cursor;
  if (!schedule.paused) return cursor;
  cursor.paused = true;
  cursor.paused_at = now;
  cursor.note = schedule.note;
  cursor.reason = model::reason::starts_paused;
  return cursor;
}

std::vector<model::Change> State::cursor_changes(Instant now, std::size_t from, std::size_t count) const {
  std::vector<model::Change> out;
  for (std::size_t i = from; i < in_order_.size() && i - from < count; ++i) {
    const ScheduleEntry& entry = *in_order_[i];
    const auto found = cursors_.find(entry.key);
    if (found != cursors_.end() && found->second.rule == entry.loaded->hash) continue;
    // A pause outlives a change of the rule.
    model::Cursor cursor = found != cursors_.end() ? found->second : first_cursor(entry.schedule(), now);
    cursor.schedule = entry.key;
    cursor.rule = entry.loaded->hash;
    cursor.decided_until = now;
    if (out.empty()) out.reserve(std::min(count, in_order_.size() - i));
    out.emplace_back(model::CursorPlaced{std::move(cursor)});
  }
  return out;
}

std::vector<model::Change> State::forgotten_cursors() const {
  std::vector<model::Change> out;
  if (cursors_.size() == schedules_.size()) return out;  // each schedule has been given its own
  for (const auto& [key, cursor] : cursors_) {
    if (cursor.rule.empty() || is_in_files(key)) continue;
    model::Cursor forgotten = cursor;
    forgotten.rule.clear();
    out.emplace_back(model::CursorPlaced{std::move(forgotten)});
  }
  return out;
}

/// Also where a file can't be read now, or names a zone that this machine no longer has.
bool State::is_in_files(const std::string& schedule) const {
  if (schedules_.contains(schedule)) return true;
  const std::string name = schedule.substr(0, schedule.find('/'));
  if (may_be_broken(name)) return true;
  const workspace::LoadedPipeline* loaded = pipeline(name);
  if (!loaded) return false;
  return std::any_of(loaded->pipeline->schedules.begin(), loaded->pipeline->schedules.end(),
                     [&](const model::Schedule& one) { return model::schedule_key(name, one.id) == schedule; });
}

const workspace::LoadedPipeline* State::pipeline(const std::string& name) const {
  const auto found = workspace_->pipelines.find(name);
  return found == workspace_->pipelines.end() ? nullptr : &found->second;
}

bool State::is_broken(const std::string& name) const { return broken_names_.contains(name) && !pipeline(name); }

bool State::may_be_broken(const std::string& name) const {
  return is_broken(name) || (broken_names_.contains("") && !pipeline(name));
}

const model::Run* State::run(const std::string& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

std::vector<decide::ActiveRun> State::active(const ScheduleEntry& entry) const {
  std::vector<decide::ActiveRun> out;
  const auto found = by_pipeline_.find(entry.pipeline->name);
  if (found == by_pipeline_.end()) return out;
  const std::size_t enough = decide::enough_active(*entry.pipeline, entry.schedule());
  std::size_t counted = 0;
  for (const std::string& id : found->second.open) {
    if (!out.empty() && counted >= enough) break;
    const model::Run& run = runs_.at(id);
    const bool ours = run.trigger == model::TriggerKind::schedule && !run.cancel_asked_at;
    out.push_back({id, ours ? run.trigger_id : std::string(), run.state == model::RunState::running, run.catch_up});
    counted += run.catch_up ? 0 : 1;
  }
  return out;
}

const std::string* State::first_active(const std::string& pipeline) const {
  const auto found = by_pipeline_.find(pipeline);
  return found == by_pipeline_.end() ? nullptr : &*found->second.open.begin();
}

const std::string* State::run_of_key(const std::string& idempotency_key) const {
  const auto found = keys_.find(idempotency_key);
  return found == keys_.end() ? nullptr : &found->second;
}

decide::DueFacts State::facts(const ScheduleEntry& entry, const std::vector<decide::ActiveRun>& active) const {
  const auto cursor = cursors_.find(entry.key);
  EIDER_CHECK(cursor != cursors_.end(), "every schedule in force has a cursor");
  return facts(entry, cursor->second, active);
}

decide::DueFacts State::facts(const ScheduleEntry& entry, const model::Cursor& cursor,
                              const std::vector<decide::ActiveRun>& active) const {
  const int room = limits::queued_runs - queued_count();
  decide::DueFacts out{entry.key, *entry.pipeline, entry.schedule(),  entry.rule(), *entry.exclusions,
                       cursor,    active,          std::max(room, 0), entry.delay};
  const auto excluded = excluded_.find(entry.key);
  if (excluded != excluded_.end()) out.excluded_before = &excluded->second;
  return out;
}

std::optional<std::pair<Instant, std::string>> State::first_due() const {
  if (due_.empty()) return std::nullopt;
  return *due_.begin();
}

void State::hold(const std::string& key, Instant at) {
  const auto found = schedules_.find(key);
  if (found == schedules_.end()) return;
  found->second.held_until = at;
  refresh(found->second);
  found->second.held_until.reset();
}

std::optional<Instant> State::first_backoff() const {
  if (backing_off_.empty()) return std::nullopt;
  return backing_off_.begin()->first;
}

void State::shift_backoffs(Micros by) {
  std::set<std::pair<Instant, std::string>> shifted;
  for (const auto& [at, id] : backing_off_) {
    model::Run& run = runs_.at(id);
    if (const auto expires = expiry(run)) expiring_.erase({*expires, id});
    run.not_before = at - by;
    if (const auto expires = expiry(run)) expiring_.emplace(*expires, id);
    shifted.emplace(at - by, id);
  }
  backing_off_ = std::move(shifted);
  for (auto& [pool, starts] : starts_) starts.shift(by);
  rates_opened_at_ -= by;
}

std::optional<std::pair<Instant, std::string>> State::first_expiry() const {
  if (expiring_.empty()) return std::nullopt;
  const auto& [at, id] = *expiring_.begin();
  return std::pair(std::max(at, expiries_held_until_), id);
}

std::vector<std::string> State::cursors_after(Instant now) const {
  std::vector<std::string> out;
  for (const auto& [key, entry] : schedules_) {
    const auto cursor = cursors_.find(key);
    if (cursor != cursors_.end() && cursor->second.decided_until > now) out.push_back(key);
  }
  return out;
}

void State::refresh(ScheduleEntry& entry) {
  const auto cursor = cursors_.find(entry.key);
  refresh(entry, cursor == cursors_.end() ? nullptr : &cursor->second);
}

void State::refresh(ScheduleEntry& entry, const model::Cursor* cursor) {
  if (entry.next) due_.erase({*entry.next, entry.key});
  entry.next.reset();
  if (cursor == nullptr) return;
  const auto active = this->active(entry);
  entry.next = decide::next_due(facts(entry, *cursor, active));
  if (entry.next && entry.held_until) entry.next = std::max(*entry.next, *entry.held_until);
  if (entry.next) due_.emplace(*entry.next, entry.key);
}

void State::refresh(const std::string& key) {
  const auto found = schedules_.find(key);
  if (found != schedules_.end()) refresh(found->second);
}

void State::index(const model::Run& run) {
  PipelineRuns& of_pipeline = by_pipeline_[run.pipeline];
  of_pipeline.open.insert(run.id);
  if (!run.idempotency_key.empty()) keys_[run.idempotency_key] = run.id;
  if (run.state != model::RunState::queued) return;
  // A new run is ready, whatever the clock says of when it was made. One that comes back, or is held, is ready when its
  // time has come, also by a clock that was set back to before it was made.
  const bool is_new = run.attempt == 0 && run.not_before == run.created_at;
  if (is_new) {
    queue_.add(line_of(run), place_of(run));
  } else {
    backing_off_.emplace(run.not_before, run.id);
  }
  if (const auto at = expiry(run)) expiring_.emplace(*at, run.id);
}

std::optional<Instant> State::expiry(const model::Run& run) const {
  const workspace::LoadedPipeline* loaded = workspace_ ? pipeline(run.pipeline) : nullptr;
  if (!loaded || !loaded->pipeline->queue_timeout) return std::nullopt;
  // A run that comes back to the queue begins to wait anew.
  return std::max(run.created_at, run.not_before) + *loaded->pipeline->queue_timeout;
}

void State::unindex(const model::Run& run) {
  queue_.remove(line_of(run), place_of(run));
  backing_off_.erase({run.not_before, run.id});
  if (const auto at = expiry(run)) expiring_.erase({*at, run.id});
}

void State::end_run(const std::string& id) {
  const auto found = runs_.find(id);
  EIDER_CHECK(found != runs_.end(), "only an open run ends");
  end_live(id);
  const model::Run run = std::move(found->second);
  unindex(run);
  runs_.erase(found);
  if (!run.idempotency_key.empty()) keys_.erase(run.idempotency_key);
  const auto of_pipeline = by_pipeline_.find(run.pipeline);
  of_pipeline->second.open.erase(id);
  if (of_pipeline->second.open.empty()) by_pipeline_.erase(of_pipeline);
  if (run.trigger == model::TriggerKind::schedule) refresh(run.trigger_id);
  if (run.trigger == model::TriggerKind::data) subscriptions_.run_ended(run.trigger_id);
}

void State::apply(const model::ChangeSet& changes) {
  for (const model::Change& change : changes) {
    subscriptions_.apply(change);
    std::visit([this](const auto& one) { apply_one(one); }, change);
  }
}

void State::apply_one(const model::CursorPlaced& change) {
  const auto placed = cursors_.insert_or_assign(change.cursor.schedule, change.cursor).first;
  excluded_.erase(change.cursor.schedule);
  const auto entry = schedules_.find(change.cursor.schedule);
  if (entry != schedules_.end()) refresh(entry->second, &placed->second);
}

void State::apply_one(const model::OccurrencesDecided& change) {
  cursors_.at(change.schedule).decided_until = change.decided_until;
  if (!change.occurrences.empty() && change.occurrences.back().decision == model::Decision::excluded) {
    excluded_.insert_or_assign(change.schedule, change.occurrences.back());
  } else {
    excluded_.erase(change.schedule);
  }
  refresh(change.schedule);
}

void State::apply_one(const model::CursorWithdrawn& change) {
  cursors_.at(change.schedule).decided_until = change.to;
  excluded_.erase(change.schedule);
  refresh(change.schedule);
}

void State::apply_one(const model::SchedulePaused& change) {
  model::Cursor& cursor = cursors_.at(change.schedule);
  cursor.paused = change.paused;
  cursor.note = change.note;
  cursor.paused_at = change.paused ? std::optional(change.at) : std::nullopt;
  cursor.reason = change.reason;
  if (!change.paused) cursor.resumed_at = change.at;
  refresh(change.schedule);
}

void State::apply_one(const model::RunQueued& change) {
  index(change.run);
  runs_.insert_or_assign(change.run.id, change.run);
  if (change.run.trigger == model::TriggerKind::schedule) refresh(change.run.trigger_id);
  if (change.run.trigger == model::TriggerKind::data) subscriptions_.run_opened(change.run.trigger_id);
}

void State::apply_one(const model::RunRestarted& change) { apply_one(model::RunQueued{change.run}); }

void State::apply_one(const model::RunClaimed& change) {
  model::Run& run = runs_.at(change.run_id);
  unindex(run);
  run.state = model::RunState::running;
  run.attempt = change.number;
  run.definition = change.definition;
  if (!run.started_at) run.started_at = change.at;
  model::Attempt attempt;
  attempt.run_id = change.run_id;
  attempt.number = change.number;
  attempt.claimed_at = change.at;
  attempt.definition = change.definition;
  attempt.taken = change.taken;
  count_start({change.at, change.taken.pools}, change.at);
  live_.insert_or_assign(change.run_id, std::move(attempt));
}

void State::apply_one(const model::AttemptEnded& change) {
  const std::string& id = change.attempt.run_id;
  model::Run& run = runs_.at(id);
  const auto transition = model::next(run.state, change.event);
  EIDER_CHECK(transition.has_value(), "the store refused an impossible transition");
  if (change.attempt.outcome == model::Outcome::released) take_back_start(live_.at(id));
  if (model::is_terminal(transition->to)) {
    end_run(id);
    return;
  }
  end_live(id);
  run.state = transition->to;
  run.failures += transition->counts_failure ? 1 : 0;
  run.interruptions += transition->counts_interruption ? 1 : 0;
  run.not_before = change.not_before;
  run.reason = change.reason;
  run.error = change.error;
  index(run);
}

void State::apply_one(const model::CancelAsked& change) {
  model::Run& run = runs_.at(change.run_id);
  run.cancel_asked_at = change.at;
  run.reason = change.reason;
}

void State::apply_one(const model::QueuedCancelled& change) { end_run(change.run_id); }

void State::apply_one(const model::DefinitionStored& change) { definitions_.insert(change.hash); }

}  // namespace eider::engine
