// The checks of what a pipeline takes, against what there is (assemble.h).
#include <fmt/format.h>

#include "workspace/assemble.h"
#include "workspace/words.h"

namespace eider::workspace {
namespace {

using model::Pipeline;

class LimitChecker {
 public:
  LimitChecker(const Pipeline& pipeline, const Surroundings& around) : pipeline_(pipeline), around_(around) {}

  void all() {
    pools();
    concurrency_key();
    retry();
    sum("resources.memory", pipeline_.resources.memory_bytes, around_.settings.memory_bytes);
    sum("resources.temp", pipeline_.resources.temp_bytes, around_.settings.temp_bytes);
  }

 private:
  void retry() {
    const model::RetryPolicy& policy = pipeline_.retry;
    if (policy.max_attempts <= 1) return;
    if (policy.on.empty())
      say(Severity::warning, "retry.max_attempts", "has no effect with on: [], which retries nothing");
    if (policy.backoff > policy.max_backoff) {
      say(Severity::warning, "retry.backoff",
          fmt::format("is more than max_backoff ({}), which is all that is waited",
                      format_duration(policy.max_backoff)));
    }
  }
  void say(Severity severity, const std::string& key, std::string message, std::string suggestion = "") {
    const Mark mark = around_.complaints.full() ? Mark{} : locate(around_.root, key);
    around_.complaints.add(severity, mark, key, std::move(message), std::move(suggestion));
  }

  void pools() {
    const auto& declared = around_.settings.pools;
    std::vector<std::string_view> names;
    for (const auto& [name, pool] : declared) names.push_back(name);
    for (const auto& [name, weight] : pipeline_.pools) {
      const std::string key = around_.root.find("pool") ? "pool" : "pools." + name;
      const auto found = declared.find(name);
      if (found == declared.end()) {
        say(Severity::error, key,
            fmt::format("the pool \"{}\" is not declared in eider.yaml (pools: {{{}: 1}})", name, name),
            std::string(closest(name, names)));
      } else if (const int slots = found->second.slots; slots > 0 && weight > slots) {
        say(Severity::error, key,
            fmt::format("takes {} slots of a pool that has {}: it could never start", weight, slots));
      }
    }
  }

  void concurrency_key() {
    const std::string& key = pipeline_.concurrency_key;
    if (key.empty()) return;
    constexpr std::string_view params = "params.";
    if (key != "partition" && !(key.starts_with(params) && key.size() > params.size())) {
      return say(Severity::error, "concurrency_key",
                 fmt::format("\"{}\" names nothing that a run has; expected partition or params.NAME", shown(key)),
                 std::string(closest(key, {"partition", "params.name"})));
    }
    if (pipeline_.max_active_runs == 1) {
      say(Severity::warning, "concurrency_key",
          "has no effect with max_active_runs 1, which lets one run at once; say max_active_runs: 0");
    }
  }

  void sum(const char* key, std::optional<std::int64_t> wanted, std::optional<std::int64_t> most) {
    if (!wanted || !most || *wanted <= *most) return;
    say(Severity::error, key,
        fmt::format("{} bytes are more than {} of eider.yaml ({} bytes): it could never start", *wanted, key, *most));
  }

  const Pipeline& pipeline_;
  const Surroundings& around_;
};

}  // namespace

void check_limits(const Pipeline& pipeline, const Surroundings& around) { LimitChecker(pipeline, around).all(); }

void settle_pools(YamlValue root, model::Settings& settings, Complaints& complaints) {
  const YamlValue pools = root.find("pools");
  for (auto& [name, pool] : settings.pools) {
    const YamlValue written = pools.find(name);
    // Who says how often says that it need not be counted as well.
    if (pool.rate && !written.find("slots")) pool.slots = 0;
    if (pool.slots > 0 || pool.rate) continue;
    complaints.add(Severity::error, written.find("slots") ? written.find("slots").mark() : written.mark(),
                   fmt::format("pools.{}.slots", name),
                   "0 is without a bound, which is for a pool with a rate; without one it would limit nothing");
  }
}

}  // namespace eider::workspace
