#include "api/holders.h"

#include <algorithm>

#include <boost/json.hpp>

namespace eider::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostNamed = 5;

bool holds(const model::Attempt& attempt, const std::string& kind, const std::string& name) {
  const model::Taken& taken = attempt.taken;
  if (kind == "pool") return taken.pools.contains(name);
  if (kind == "memory") return taken.memory_bytes > 0;
  if (kind == "temp") return taken.temp_bytes > 0;
  if (kind == "lock") return taken.locks.contains(name);
  if (kind == "concurrency") return taken.concurrency == name;
  return kind == "database" && std::any_of(taken.files.begin(), taken.files.end(),
                                           [&](const model::Taken::File& file) { return file.path == name; });
}

}  // namespace

void Holders::add_to(json::object& run) {
  json::value* waiting = run.if_contains("waiting_for");
  if (!waiting || !waiting->is_array()) return;
  for (json::value& each : waiting->get_array()) {
    json::object& entry = each.as_object();
    entry["held_by"] = of(json::value_to<std::string>(entry.at("kind")), json::value_to<std::string>(entry.at("name")));
  }
}

json::object Holders::named(const std::string& run_id) {
  return {{"run_id", run_id}, {"pipeline", pipeline_of(run_id)}};
}

const json::array& Holders::of(const std::string& kind, const std::string& name) {
  const auto [at, fresh] = found_.try_emplace({kind, name});
  if (!fresh) return at->second;
  for (const model::Attempt& attempt : live()) {
    const bool held = kind == "pipeline" ? pipeline_of(attempt.run_id) == name : holds(attempt, kind, name);
    if (held && at->second.size() < kMostNamed) at->second.push_back(named(attempt.run_id));
  }
  return at->second;
}

const std::vector<model::Attempt>& Holders::live() {
  if (!live_) {
    auto attempts = reader_.live_attempts();
    live_ = attempts ? *std::move(attempts) : std::vector<model::Attempt>();
  }
  return *live_;
}

const std::string& Holders::pipeline_of(const std::string& run_id) {
  const auto [at, fresh] = pipelines_.try_emplace(run_id);
  if (!fresh) return at->second;
  if (const auto run = reader_.run(run_id); run && *run) at->second = (*run)->pipeline;
  return at->second;
}

}  // namespace eider::api
