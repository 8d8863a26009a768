#include <fmt/format.h>

#include "sim/almanac.h"
#include "sim/living.h"

namespace eider::sim {

Files::Files(const Plan& plan) : settings_(plan.settings) {
  for (const auto& [name, pipeline] : plan.pipelines) {
    File& file = files_[name];
    file.pipeline = pipeline;
    load(file);
  }
}

void Files::load(File& file) { file.loaded = workspace::make_loaded(file.pipeline); }

std::shared_ptr<const workspace::Workspace> Files::read(const workspace::Workspace* in_force) const {
  auto out = std::make_shared<workspace::Workspace>();
  out->root = "/simulated";
  out->usable = true;
  out->settings = settings_;
  static const timing::Calendars all = calendars();
  out->calendars = all;
  for (const auto& [name, file] : files_) {
    if (file.state == State::good) out->pipelines[name] = file.loaded;
    if (file.state != State::broken) continue;
    out->broken[file.pipeline.file] = {name, "broken"};
    if (!in_force) continue;
    if (const auto kept = in_force->pipelines.find(name); kept != in_force->pipelines.end()) {
      out->pipelines[name] = kept->second;
    }
  }
  return out;
}

std::string Files::change(std::uint64_t a, std::uint64_t b, Instant now) {
  Dice dice(mixed(a, b));
  auto at = files_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(a % files_.size()));
  File& file = at->second;
  if (file.state != State::good) {
    file.state = State::good;
    return fmt::format("{} is good again", at->first);
  }
  switch (dice.below(5)) {
    case 0:
      file.state = State::gone;
      return fmt::format("{} is gone", at->first);
    case 1:
      file.state = State::broken;
      return fmt::format("{} is broken", at->first);
    case 2:
      if (!file.pipeline.schedules.empty()) {
        model::Schedule& schedule = file.pipeline.schedules.front();
        const bool completion = schedule.timing.from_completion;
        do schedule.timing = make_timing(dice, now);
        while (schedule.timing.from_completion != completion);
        load(file);
        return fmt::format("{} has another rule", at->first);
      }
      [[fallthrough]];
    case 3:
      file.pipeline.locks["house"] = dice.one_of({model::LockMode::read, model::LockMode::write});
      if (dice.one_in(2)) file.pipeline.steps.back().argv = {"true", std::to_string(b % 100)};
      load(file);
      return fmt::format("{} takes another lock, and perhaps does something else", at->first);
    default:
      settings_.pools["heavy"].slots = dice.one_of({1, 2});
      settings_.max_workers = dice.one_of({2, 4, 8});
      if (settings_.pools["net"].rate) settings_.pools["net"].rate->starts = dice.one_of({1, 2, 5});
      if (settings_.memory_bytes) settings_.memory_bytes = dice.one_of({3'000'000'000, 5'000'000'000});
      return fmt::format("{} slots of heavy, {} workers", settings_.pools["heavy"].slots, settings_.max_workers);
  }
}

void Files::mend_all() {
  for (auto& [name, file] : files_) {
    if (file.state == State::broken) file.state = State::good;
  }
  // A queue that a rate has made longer than the calm is no fault.
  if (auto& rate = settings_.pools["net"].rate) rate->starts = 1000;
}

void Files::leak(const std::map<std::string, int>& slots) {
  for (const auto& [pool, count] : slots) leaked_[pool] += count;
}

}  // namespace eider::sim
