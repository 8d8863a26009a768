// What the book says of limits: nothing that runs exceeds one, and nothing waits for what is free. A limit is said here
// as docs/admission.md has it, each by a sum over the runs that run.
#include <fmt/format.h>

#include "sim/book.h"

namespace eider::sim {

using namespace std::chrono_literals;

namespace {

constexpr Micros remembered = 100h;  ///< starts: the clock may be set back by days, and they are recent again

template <typename T>
T of(const std::map<std::string, T>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? T{} : found->second;
}

template <typename T>
bool have_one_in_common(const std::map<std::string, T>& a, const std::map<std::string, T>& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& entry) { return b.contains(entry.first); });
}

}  // namespace

Book::Taken Book::taken(const model::Pipeline& definition, const OpenRun& run) {
  Taken out;
  // Runs have one parameter here, or none, so all of them stand for it. Not to have the value is a value like others.
  if (const std::string& key = definition.concurrency_key; !key.empty()) {
    out.key = fmt::format("{} {}={}", run.pipeline, key, key == "partition" ? run.partition : run.params);
  }
  out.pools = definition.pools;
  out.memory = definition.resources.memory_bytes.value_or(0);
  for (const auto& [name, mode] : definition.locks) out.locks["lock " + name] = mode;
  if (const auto& database = definition.database) {
    out.locks["file " + database->file] = database->read_only ? model::LockMode::read : model::LockMode::write;
  }
  return out;
}

void Book::take(Use& use, const OpenRun& run) {
  ++use.workers;
  use.data_workers += run.trigger == model::TriggerKind::data ? 1 : 0;
  use.memory += run.taken.memory;
  ++use.pipelines[run.pipeline];
  if (!run.taken.key.empty()) ++use.keys[run.taken.key];
  for (const auto& [pool, slots] : run.taken.pools) use.pools[pool] += slots;
  for (const auto& [name, mode] : run.taken.locks) {
    ++(mode == model::LockMode::read ? use.readers : use.writers)[name];
  }
}

Book::Use Book::use() const {
  Use out;
  for (const auto& [id, run] : open_) {
    if (run.running) take(out, run);
  }
  return out;
}

/// Of what the run takes, what there is not: in `use` it has it already.
std::optional<Book::Excess> Book::excess(const OpenRun& run, const Use& use) const {
  const model::Settings& settings = workspace_->settings;
  const model::Pipeline& definition = *pipeline(run.pipeline);
  if (use.workers > settings.max_workers) {
    return Excess{"I7", fmt::format("{} of {} workers", use.workers, settings.max_workers)};
  }
  const int for_data = std::max(1, settings.max_workers * 3 / 4);
  if (run.trigger == model::TriggerKind::data && use.data_workers > for_data) {
    return Excess{"I7", fmt::format("{} workers of {} are busy for data", use.data_workers, for_data)};
  }
  if (settings.memory_bytes && run.taken.memory > 0 && use.memory > *settings.memory_bytes) {
    return Excess{"I7", fmt::format("{} of {} bytes of memory", use.memory, *settings.memory_bytes)};
  }
  const int active = of(use.pipelines, run.pipeline);
  if (definition.max_active_runs > 0 && active > definition.max_active_runs) {
    return Excess{"I3", fmt::format("{} runs of {} at once", active, run.pipeline)};
  }
  if (of(use.keys, run.taken.key) > 1) {
    return Excess{"I3", fmt::format("{} runs at once of {}", of(use.keys, run.taken.key), run.taken.key)};
  }
  for (const auto& [pool, slots] : run.taken.pools) {
    const int all = settings.pools.at(pool).slots;
    if (all > 0 && of(use.pools, pool) > all) {
      return Excess{"I7", fmt::format("{} of {} slots of {}", of(use.pools, pool), all, pool)};
    }
  }
  for (const auto& [name, mode] : run.taken.locks) {
    const int writers = of(use.writers, name);
    const int readers = of(use.readers, name);
    if (writers > 1 || (writers == 1 && readers > 0)) {
      return Excess{"I7", fmt::format("{} is held {} times for writing and {} for reading", name, writers, readers)};
    }
  }
  return std::nullopt;
}

/// After it nothing that it has taken is exceeded.
void Book::claim(const std::string& id, OpenRun& run) {
  const model::Pipeline* definition = pipeline(run.pipeline);
  if (!definition) return violated("I8", "a run of " + run.pipeline + " is claimed, and the pipeline is not there");
  if (time_passed() < run.ready_at) violated("I5", id + " is claimed before it is to be tried again");
  run.taken = taken(*definition, run);
  if (const auto found = excess(run, use())) violated(found->law, found->what);
  while (!starts_.empty() && starts_.front().at + remembered < clock_.now()) starts_.pop_front();
  if (!run.taken.pools.empty()) starts_.push_back({id, run.attempt, clock_.now(), time_passed(), run.taken.pools});
  check_rates(run);
}

/// No stretch of time that ends now has more starts than a rate allows. Where the clock was set forth, time has passed
/// for everybody; where it was set back, none has.
void Book::check_rates(const OpenRun& run) {
  for (const auto& [pool, slots] : run.taken.pools) {
    const auto& rate = workspace_->settings.pools.at(pool).rate;
    if (!rate) continue;
    int recent = 0;
    for (auto one = starts_.rbegin(); one != starts_.rend() && one->passed + rate->per > time_passed(); ++one) {
      recent += one->pools.contains(pool) ? 1 : 0;
    }
    if (recent > rate->starts) {
      violated("I7", fmt::format("{} starts of {} in {}, {} are allowed", recent, pool, format_duration(rate->per),
                                 rate->starts));
    }
  }
}

/// For certain: a start that is recorded as of later than now, by a clock that was set back since, may count as one of
/// now until that time has come.
bool Book::rate_is_open(const std::string& pool) const {
  const auto& rate = workspace_->settings.pools.at(pool).rate;
  if (!rate) return true;
  const auto recent = std::count_if(starts_.begin(), starts_.end(), [&](const Start& one) {
    return one.pools.contains(pool) && one.at + rate->per > clock_.now();
  });
  return recent < rate->starts;
}

bool Book::fits(const OpenRun& run, const Use& use) const {
  const model::Pipeline* definition = pipeline(run.pipeline);
  if (!definition || run.not_before > clock_.now()) return false;
  OpenRun started = run;
  started.taken = taken(*definition, run);
  const auto& pools = started.taken.pools;
  if (!std::all_of(pools.begin(), pools.end(), [&](const auto& pool) { return rate_is_open(pool.first); }))
    return false;
  Use with_it = use;
  take(with_it, started);
  return !excess(started, with_it);
}

bool Book::share(const OpenRun& one, const Taken& of_one, const OpenRun& other, const Taken& of_other) {
  return one.pipeline == other.pipeline || have_one_in_common(of_one.pools, of_other.pools) ||
         have_one_in_common(of_one.locks, of_other.locks) || (of_one.memory > 0 && of_other.memory > 0);
}

bool Book::may_be_kept_from(const OpenRun& run) const {
  const Taken wanted = taken(*pipeline(run.pipeline), run);
  return std::any_of(open_.begin(), open_.end(), [&](const auto& entry) {
    const OpenRun& other = entry.second;
    if (other.running || other.turn > run.turn || &other == &run || other.queued_at + 5min > time_passed())
      return false;
    const model::Pipeline* definition = pipeline(other.pipeline);
    return definition && share(run, wanted, other, taken(*definition, other));
  });
}

void Book::check_queue() {
  const Use in_use = use();
  for (const auto& [id, run] : open_) {
    if (!run.running && fits(run, in_use) && !may_be_kept_from(run)) {
      violated("I1", fmt::format("run {} of {} could start, and does not", id, run.pipeline));
    }
  }
}

}  // namespace eider::sim
