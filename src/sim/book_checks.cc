// What the book finds when it looks at the whole: that nothing waits which could go on, that nothing is exceeded, and
// that the store says the same.
#include <fmt/format.h>

#include "sim/book.h"

namespace eider::sim {

using namespace std::chrono_literals;
using model::RunState;

Book::Use Book::use() const {
  Use out;
  for (const auto& [id, run] : open_) {
    if (!run.running) continue;
    ++out.workers;
    out.data_workers += run.trigger == model::TriggerKind::data ? 1 : 0;
    ++out.pipelines[run.pipeline];
    for (const auto& [pool, slots] : run.pools) out.pools[pool] += slots;
    if (run.database) ++(run.database->read_only ? out.readers : out.writers)[run.database->file];
  }
  return out;
}

/// After a claim: nothing of what it has taken is exceeded by it.
void Book::check_use(const std::string& name, const Use& use) {
  const model::Pipeline* definition = pipeline(name);
  if (!definition) return violated("I8", "a run of " + name + " is claimed, and the pipeline is not there");
  const model::Settings& settings = workspace_->settings;
  if (use.workers > settings.max_workers)
    violated("I7", fmt::format("{} of {} workers", use.workers, settings.max_workers));
  if (definition->max_active_runs > 0 && use.pipelines.at(name) > definition->max_active_runs) {
    violated("I3", fmt::format("{} runs of {} at once", use.pipelines.at(name), name));
  }
  for (const auto& [pool, slots] : definition->pools) {
    const int all = settings.pools.at(pool).slots;
    if (use.pools.at(pool) > all) violated("I7", fmt::format("{} of {} slots of {}", use.pools.at(pool), all, pool));
  }
  if (!definition->database) return;
  const std::string& file = definition->database->file;
  const auto of = [&](const std::map<std::string, int>& map) { return map.contains(file) ? map.at(file) : 0; };
  if (of(use.writers) > 1 || (of(use.writers) == 1 && of(use.readers) > 0)) {
    violated("I7",
             fmt::format("{} is open {} times for writing and {} for reading", file, of(use.writers), of(use.readers)));
  }
}

bool Book::fits(const OpenRun& run, const Use& use) const {
  const model::Pipeline* definition = pipeline(run.pipeline);
  if (!definition || run.not_before > clock_.now()) return false;
  const auto of = [](const std::map<std::string, int>& map, const std::string& key) {
    return map.contains(key) ? map.at(key) : 0;
  };
  const model::Settings& settings = workspace_->settings;
  if (use.workers >= settings.max_workers) return false;
  const int for_data = std::max(1, settings.max_workers * 3 / 4);
  if (run.trigger == model::TriggerKind::data && use.data_workers >= for_data) return false;
  if (definition->max_active_runs > 0 && of(use.pipelines, run.pipeline) >= definition->max_active_runs) return false;
  for (const auto& [pool, slots] : definition->pools) {
    if (of(use.pools, pool) + slots > settings.pools.at(pool).slots) return false;
  }
  if (!definition->database) return true;
  const std::string& file = definition->database->file;
  if (of(use.writers, file) > 0) return false;
  return definition->database->read_only || of(use.readers, file) == 0;
}

bool Book::share(const model::Pipeline& one, const model::Pipeline& other) {
  if (one.name == other.name) return true;
  if (one.database && other.database && one.database->file == other.database->file) return true;
  return std::any_of(one.pools.begin(), one.pools.end(),
                     [&](const auto& pool) { return other.pools.contains(pool.first); });
}

bool Book::may_be_kept_from(const OpenRun& run) const {
  const model::Pipeline* wanted = pipeline(run.pipeline);
  return std::any_of(open_.begin(), open_.end(), [&](const auto& entry) {
    const OpenRun& other = entry.second;
    if (other.running || other.turn > run.turn || &other == &run || other.created_at + 5min > clock_.now())
      return false;
    const model::Pipeline* definition = pipeline(other.pipeline);
    return definition && share(*wanted, *definition);
  });
}

void Book::check_settled(const Health& health) {
  check_claims();
  if (health.draining) return;
  check_schedules();
  if (health.starts) check_queue();
  if (unanswered_ > 0) violated("I1", fmt::format("{} commands have no answer", unanswered_));
}

void Book::check_schedules() {
  const Instant now = clock_.now();
  for (const auto& [key, in_force] : schedules_in_force_) {
    const auto found = schedules_.find(key);
    if (found == schedules_.end()) {
      violated("I1", key + " has not been taken up");
      continue;
    }
    const OfSchedule& schedule = found->second;
    if (schedule.paused) continue;
    if (in_force.oracle.from_completion() && std::any_of(open_.begin(), open_.end(), [&](const auto& one) {
          return one.second.trigger_id == key && one.second.trigger == model::TriggerKind::schedule;
        })) {
      continue;
    }
    if (!in_force.oracle.from_completion() && schedule.until > now + 500ms) {
      violated("I1", fmt::format("{} stands still until {}", key, format_rfc3339(schedule.until)));
    }
    if (const Instant due = next_uncovered(schedule, in_force.oracle, schedule.until); due <= now) {
      violated("I1", fmt::format("{} was due at {}, and nothing is decided", key, format_rfc3339(due)));
    }
  }
}

/// Every claim has somebody at work on it, or an end that is on its way.
void Book::check_claims() {
  for (const auto& [id, run] : open_) {
    if (!run.running) continue;
    const Execution* execution = world_.execution(id, run.attempt);
    if (!execution) {
      violated("I1", fmt::format("attempt {} of {} is claimed, and nobody has it", run.attempt, id));
    } else if (execution->told) {
      violated("I1", fmt::format("attempt {} of {} has ended, and that is not recorded", run.attempt, id));
    }
  }
}

void Book::check_queue() {
  const Use in_use = use();
  for (const auto& [id, run] : open_) {
    if (!run.running && fits(run, in_use) && !may_be_kept_from(run)) {
      violated("I1", fmt::format("run {} of {} could start, and does not", id, run.pipeline));
    }
  }
}

void Book::check_quiet() {
  for (const auto& [id, run] : open_) {
    if (pipeline(run.pipeline)) violated("I5", fmt::format("run {} of {} has not come to an end", id, run.pipeline));
  }
  for (const auto& [id, owed] : owed_) {
    const std::string name = owed.trigger.substr(0, owed.trigger.find('/'));
    if (owed.pending && pipeline(name))
      violated("I5", fmt::format("delivery {} to {} is still owed", id, owed.trigger));
  }
}

void Book::check_store(const store::OpenState& open) {
  std::size_t seen = 0;
  for (const model::Run& run : open.runs) {
    const auto found = open_.find(run.id);
    ++seen;
    if (found == open_.end() || found->second.attempt != run.attempt ||
        found->second.running != (run.state == RunState::running)) {
      violated("I5", "the store and the book differ about run " + run.id);
    }
  }
  if (seen != open_.size()) violated("I5", fmt::format("{} runs are open, the store has {}", open_.size(), seen));
  for (const model::Cursor& cursor : open.cursors) {
    const auto found = schedules_.find(cursor.schedule);
    if (found == schedules_.end() || found->second.until != cursor.decided_until ||
        found->second.paused != cursor.paused) {
      violated("I5", "the store and the book differ about the cursor of " + cursor.schedule);
    }
  }
}

}  // namespace eider::sim
