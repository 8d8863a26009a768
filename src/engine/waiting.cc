// What a queued run waits for, and since when.
#include <algorithm>

#include <fmt/format.h>

#include "engine/loop.h"

namespace eider::engine {

std::vector<Waiting> Loop::waiting_for(const model::Run& run) const {
  std::vector<Waiting> out;
  if (run.state != model::RunState::queued) return out;
  const Instant now = parts_.clock.now();
  if (draining_) out.push_back({"draining", "server", "the server is stopping", now});
  const workspace::LoadedPipeline* loaded = state_.pipeline(run.pipeline);
  if (!loaded) {
    out.push_back({"definition", run.pipeline, "the pipeline's file is wrong; run `eider validate`", run.created_at});
    return out;
  }
  if (starts_are_held()) out.push_back({"start", "server", start_trouble_, start_trouble_since_});
  if (const auto since = released_since_.find(run.id); since != released_since_.end()) {
    const bool held = run.reason == model::reason::file_held && loaded->pipeline->database;
    out.push_back(
        {held ? "database" : "start", held ? loaded->pipeline->database->file : "server", run.error, since->second});
  } else if (run.not_before > now) {
    const std::string why = run.error.empty() ? std::string() : ": " + run.error.substr(0, run.error.find('\n'));
    out.push_back(
        {"backoff", run.pipeline, fmt::format("not before {}{}", format_rfc3339(run.not_before), why), run.not_before});
  }
  for (Waiting& shortage : shortages(run)) out.push_back(std::move(shortage));
  return out;
}

/// All that it lacks at once, whichever of it its line sleeps on.
std::vector<Waiting> Loop::shortages(const model::Run& run) const {
  std::vector<Waiting> out;
  const decide::Room room = state_.room(parts_.clock.now());
  const Place place = State::place_of(run);
  for (const decide::Need& need : state_.needs(state_.line_of(run))) {
    if (state_.queue().free(place, need.thing, room) >= need.amount) continue;
    Waiting waiting{decide::to_text(need.thing.kind), need.thing.name, {}, short_since(run, need, room)};
    const Place* before = state_.queue().kept_for(place, need.thing);
    if (before && room.free(need.thing) >= need.amount) {
      waiting.kind = "reserved";
      waiting.detail = fmt::format("what is free of this {} is kept for run {}, which has waited for long",
                                   decide::to_text(need.thing.kind), before->run_id);
    } else {
      waiting.detail = decide::shortage_text(need, room.used(need.thing), room.limit(need.thing), holders(need.thing));
    }
    if (const decide::RecentStarts* starts = state_.starts(need.thing.name);
        starts && need.thing.kind == decide::Kind::rate) {
      const model::Rate& rate = *state_.workspace().settings.pools.at(need.thing.name).rate;
      waiting.detail += fmt::format(" in the last {}", format_duration(rate.per));
      if (const auto opens = starts->opens_at(rate)) waiting.detail += "; the next at " + format_rfc3339(*opens);
    }
    out.push_back(std::move(waiting));
  }
  return out;
}

std::vector<std::string> Loop::holders(const decide::Thing& thing) const {
  std::vector<std::string> out;
  for (const auto& [id, attempt] : state_.live()) {
    const auto held = state_.held(attempt);
    if (std::any_of(held.begin(), held.end(), [&](const decide::Need& need) { return need.thing == thing; })) {
      out.push_back(id);
    }
  }
  return out;
}

/// What its line sleeps on has been short since it does. Of anything else: since that of its present holders was
/// claimed with which it became too little.
Instant Loop::short_since(const model::Run& run, const decide::Need& need, const decide::Room& room) const {
  const Instant waits_since = State::place_of(run).since;
  const Queue::Line* line = state_.queue().line(state_.line_of(run));
  if (line && line->asleep && line->lacks->thing == need.thing) return std::max(line->lacks_since, waits_since);
  std::map<Instant, std::int64_t> taken;
  for (const auto& [id, attempt] : state_.live()) {
    for (const decide::Need& held : state_.held(attempt)) {
      if (held.thing == need.thing) taken[attempt.claimed_at] += held.amount;
    }
  }
  std::int64_t left = room.limit(need.thing).value_or(0);
  for (const auto& [at, amount] : taken) {
    left -= amount;
    if (left < need.amount) return std::max(at, waits_since);
  }
  return waits_since;
}

}  // namespace eider::engine
