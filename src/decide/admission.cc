#include "decide/admission.h"

#include <algorithm>

#include <fmt/format.h>

namespace eider::decide {
namespace {

template <typename Map>
int count_in(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

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

/// A DuckDB file has one writing process or several readers.
std::optional<Shortage> file_shortage(const model::Taken::File& file, const Use& use) {
  const Use::FileUse* in_use = use.file(file.path);
  if (!in_use) return std::nullopt;
  if (!in_use->writer.empty()) {
    return Shortage{"database", file.path, fmt::format("run {} writes to it", in_use->writer)};
  }
  if (!file.read_only && in_use->readers > 0) {
    return Shortage{"database", file.path,
                    fmt::format("{} run(s) read it, among them {}", in_use->readers, in_use->a_reader)};
  }
  return std::nullopt;
}

}  // namespace

void Use::add(const std::string& pipeline, const std::string& run_id, model::TriggerKind cause,
              const model::Taken& taken) {
  ++workers_;
  data_workers_ += cause == model::TriggerKind::data ? 1 : 0;
  ++pipelines_[pipeline];
  memory_bytes_ += taken.memory_bytes;
  for (const auto& [pool, slots] : taken.pools) pools_[pool] += slots;
  for (const model::Taken::File& file : taken.files) {
    FileUse& in_use = files_[file.path];
    if (file.read_only) {
      ++in_use.readers;
      in_use.a_reader = run_id;
    } else {
      in_use.writer = run_id;
    }
  }
}

int Use::of_pool(const std::string& pool) const { return count_in(pools_, pool); }
int Use::of_pipeline(const std::string& pipeline) const { return count_in(pipelines_, pipeline); }

const Use::FileUse* Use::file(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

model::Taken wanted(const model::Pipeline& pipeline, const std::string& database) {
  model::Taken taken;
  taken.pools = pipeline.pools;
  if (pipeline.database) taken.files.push_back({database, pipeline.database->read_only});
  taken.memory_bytes = pipeline.resources.memory_bytes.value_or(0);
  return taken;
}

int data_share(int workers) { return std::max(1, workers * 3 / 4); }

std::vector<Shortage> shortages(const model::Pipeline& pipeline, model::TriggerKind cause, const model::Taken& wants,
                                const Use& use, const Capacity& capacity) {
  std::vector<Shortage> out;
  if (const int running = use.of_pipeline(pipeline.name);
      pipeline.max_active_runs > 0 && running >= pipeline.max_active_runs) {
    out.push_back({"pipeline", pipeline.name,
                   fmt::format("{} of max_active_runs {} running", running, pipeline.max_active_runs)});
  }
  for (const auto& [pool, slots] : wants.pools) {
    const int used = use.of_pool(pool);
    const int all = count_in(capacity.pools, pool);
    if (used + slots > all)
      out.push_back({"pool", pool, fmt::format("{} of {} slots in use, {} wanted", used, all, slots)});
  }
  for (const model::Taken::File& file : wants.files) {
    if (auto shortage = file_shortage(file, use)) out.push_back(std::move(*shortage));
  }
  if (capacity.memory_bytes && wants.memory_bytes > 0 &&
      use.memory_bytes() + wants.memory_bytes > *capacity.memory_bytes) {
    out.push_back({"memory", "memory",
                   fmt::format("{} of {} in use, {} wanted", size_text(use.memory_bytes()),
                               size_text(*capacity.memory_bytes), size_text(wants.memory_bytes))});
  }
  if (use.workers() >= capacity.workers) {
    out.push_back({"worker", "worker", fmt::format("{} of {} busy", use.workers(), capacity.workers)});
  } else if (cause == model::TriggerKind::data && use.data_workers() >= capacity.data_workers) {
    out.push_back({"worker", "worker",
                   fmt::format("{} of {} busy with runs that data has caused; the rest is kept for clocks and people",
                               use.data_workers(), capacity.workers)});
  }
  return out;
}

}  // namespace eider::decide
