#include "decide/admission.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <boost/json.hpp>

namespace eider::decide {
namespace {

constexpr std::array kinds = {"definition", "pipeline", "concurrency", "lock",  "database", "pool",
                              "rate",       "temp",     "memory",      "share", "worker"};
constexpr std::string_view params_prefix = "params.";
constexpr std::int64_t boundless = std::numeric_limits<std::int64_t>::max() / 4;

/// `400 MB`, `2.5 GB`, `512 MiB`: in the units in which it was probably written.
std::string size_text(std::int64_t bytes) {
  const bool binary = bytes != 0 && bytes % (1 << 20) == 0;
  const double step = binary ? 1024 : 1000;
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= step && unit < 4) {
    value /= step;
    ++unit;
  }
  constexpr const char* units[] = {"", "k", "M", "G", "T"};
  return fmt::format("{:.4g} {}{}B", value, units[unit], binary && unit > 0 ? "i" : "");
}

/// The parameter as its run was given it, in JSON.
std::string parameter(const std::string& params, std::string_view name) {
  boost::system::error_code failed;
  const boost::json::value all = boost::json::parse(params, failed);
  const boost::json::object* object = failed ? nullptr : all.if_object();
  const boost::json::value* found = object ? object->if_contains(name) : nullptr;
  return found ? boost::json::serialize(*found) : std::string();
}

/// `run X holds it alone`, `2 runs share it, among them X`.
std::string holders_text(std::int64_t used, const std::vector<std::string>& holders, const char* alone,
                         const char* shared) {
  const std::string first = holders.empty() ? std::string("?") : holders.front();
  if (used >= whole) return fmt::format("run {} {}", first, alone);
  return fmt::format("{} run{} {}, among them {}", used, used == 1 ? "" : "s", shared, first);
}

}  // namespace

const char* to_text(Kind value) { return kinds.at(static_cast<std::size_t>(value)); }

model::Taken wanted(const model::Pipeline& pipeline, const std::string& database) {
  model::Taken taken;
  taken.pools = pipeline.pools;
  taken.locks = pipeline.locks;
  if (pipeline.database) taken.files.push_back({database, pipeline.database->read_only});
  taken.memory_bytes = pipeline.resources.memory_bytes.value_or(0);
  taken.temp_bytes = pipeline.resources.temp_bytes.value_or(0);
  return taken;
}

std::string concurrency_of(const model::Pipeline& pipeline, const model::Run& run) {
  const std::string& key = pipeline.concurrency_key;
  if (key.empty()) return {};
  const std::string value = key.starts_with(params_prefix)
                                ? parameter(run.params, std::string_view(key).substr(params_prefix.size()))
                                : run.partition;
  return fmt::format("{} {}={}", pipeline.name, key, value);
}

std::vector<Need> needs(const std::string& pipeline, model::TriggerKind cause, const model::Taken& taken) {
  std::vector<Need> out;
  out.push_back({{Kind::pipeline, pipeline}});
  if (!taken.concurrency.empty()) out.push_back({{Kind::concurrency, taken.concurrency}});
  for (const auto& [name, mode] : taken.locks) {
    out.push_back({{Kind::lock, name}, mode == model::LockMode::write ? whole : 1});
  }
  for (const model::Taken::File& file : taken.files) {
    out.push_back({{Kind::database, file.path}, file.read_only ? 1 : whole});
  }
  for (const auto& [name, slots] : taken.pools) out.push_back({{Kind::pool, name}, slots});
  for (const auto& [name, slots] : taken.pools) out.push_back({{Kind::rate, name}});
  if (taken.temp_bytes > 0) out.push_back({{Kind::temp, "temp"}, taken.temp_bytes});
  if (taken.memory_bytes > 0) out.push_back({{Kind::memory, "memory"}, taken.memory_bytes});
  if (cause == model::TriggerKind::data || cause == model::TriggerKind::backfill) {
    out.push_back({{Kind::share, model::to_text(cause)}});
  }
  out.push_back({{Kind::worker, "worker"}});
  return out;
}

int share_of(int workers, double share) {
  constexpr double slack = 1e-9;  // 0.29 of 100 are 29
  return std::clamp(static_cast<int>(static_cast<double>(workers) * share + slack), 1, std::max(1, workers));
}

std::optional<std::int64_t> Capacity::limit(const Thing& thing) const {
  switch (thing.kind) {
    case Kind::definition:
      return 0;  // no room helps: what is missing must come (engine/queue.h)
    case Kind::pipeline: {
      const auto found = max_active_runs.find(thing.name);
      return found == max_active_runs.end() || found->second == 0 ? std::nullopt : std::optional(found->second);
    }
    case Kind::concurrency:
      return 1;
    case Kind::lock:
    case Kind::database:
      return whole;
    case Kind::pool: {
      const auto found = pools.find(thing.name);
      if (found == pools.end()) return 0;
      return found->second.slots == 0 ? std::nullopt : std::optional(found->second.slots);
    }
    case Kind::rate: {
      const auto found = pools.find(thing.name);
      return found == pools.end() || !found->second.rate ? std::nullopt : std::optional(found->second.rate->starts);
    }
    case Kind::temp:
      return temp_bytes;
    case Kind::memory:
      return memory_bytes;
    case Kind::share:
      return thing.name == model::to_text(model::TriggerKind::data) ? data_workers : backfill_workers;
    case Kind::worker:
      return workers;
  }
  return std::nullopt;
}

std::int64_t Room::used(const Thing& thing) const {
  const auto found = used_.find(thing);
  return found == used_.end() ? 0 : found->second;
}

std::int64_t Room::free(const Thing& thing) const {
  const auto limit = capacity_->limit(thing);
  return limit ? *limit - used(thing) : boundless;
}

Instant rank(const model::Run& run) { return run.created_at - run.priority * priority_step; }

std::string shortage_text(const Need& need, std::int64_t used, std::optional<std::int64_t> limit,
                          const std::vector<std::string>& holders) {
  const std::int64_t all = limit.value_or(0);
  switch (need.thing.kind) {
    case Kind::definition:
      return "the pipeline's file is wrong; run `eider validate`";
    case Kind::pipeline:
      return fmt::format("{} of max_active_runs {} running", used, all);
    case Kind::concurrency:
      return fmt::format("run {} is for the same", holders.empty() ? "?" : holders.front());
    case Kind::lock:
      return holders_text(used, holders, "holds it alone", "hold it to read");
    case Kind::database:
      return holders_text(used, holders, "writes to it", "read it");
    case Kind::pool:
      return fmt::format("{} of {} slots in use, {} wanted", used, all, need.amount);
    case Kind::rate:
      return fmt::format("{} of {} starts are used up", used, all);
    case Kind::temp:
    case Kind::memory:
      return fmt::format("{} of {} in use, {} wanted", size_text(used), size_text(all), size_text(need.amount));
    case Kind::share:
      return fmt::format(
          "{} of {} busy with runs that {}; the rest is kept for clocks and people", used, all,
          need.thing.name == model::to_text(model::TriggerKind::data) ? "data has caused" : "backfills have caused");
    case Kind::worker:
      return fmt::format("{} of {} busy", used, all);
  }
  return {};
}

}  // namespace eider::decide
