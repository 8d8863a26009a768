#include "api/usual.h"

#include <fmt/format.h>
#include <boost/json.hpp>

namespace eider::api {

namespace json = boost::json;

std::string short_duration(Micros duration) {
  if (duration < std::chrono::seconds(1)) return format_duration(duration);
  return format_duration(std::chrono::floor<std::chrono::seconds>(duration));
}

/// From the claim to the end of the attempt that succeeded.
std::vector<Micros> Usuals::durations(const std::string& pipeline) {
  std::vector<Micros> out;
  const auto page = reader_.runs({pipeline, model::RunState::succeeded, false}, decide::usual_runs, "");
  if (!page) return out;
  for (const model::Run& run : page->items) {
    if (!run.finished_at) continue;
    std::optional<Instant> began = run.started_at;
    if (run.attempt > 1) {
      const auto attempts = reader_.attempts(run.id);
      began = attempts && !attempts->empty() ? std::optional(attempts->back().claimed_at) : std::nullopt;
    }
    if (began && run.kept.empty()) out.push_back(*run.finished_at - *began);
  }
  return out;
}

const std::optional<decide::Usual>& Usuals::of(const std::string& pipeline) {
  const auto [at, fresh] = known_.try_emplace(pipeline);
  if (fresh) at->second = decide::usual(durations(pipeline));
  return at->second;
}

std::optional<Micros> Usuals::takes(const model::Run& run, const std::vector<model::Attempt>& attempts) const {
  if (run.state != model::RunState::running || attempts.empty() || attempts.back().outcome) return std::nullopt;
  return now_ - attempts.back().claimed_at;
}

bool Usuals::is_long(const model::Run& run, const std::vector<model::Attempt>& attempts) {
  const auto taken = takes(run, attempts);
  if (!taken || *taken <= decide::usual_least) return false;
  const auto& usual = of(run.pipeline);
  return usual && *taken > usual->limit;
}

void Usuals::add_to(json::object& shown, const model::Run& run, const std::vector<model::Attempt>& attempts) {
  shown["longer_than_usual"] = is_long(run, attempts);
  shown["usual"] = nullptr;
  if (run.state != model::RunState::running) return;
  if (const auto& usual = of(run.pipeline)) {
    shown["usual"] = {
        {"median", short_duration(usual->median)}, {"limit", short_duration(usual->limit)}, {"runs", usual->runs}};
  }
}

std::string Usuals::words(const model::Run& run, const std::vector<model::Attempt>& attempts) {
  if (!is_long(run, attempts)) return {};
  return fmt::format("longer than usual ({})", short_duration(of(run.pipeline)->median));
}

}  // namespace eider::api
