#include <fmt/format.h>

#include "sim/living.h"

namespace eider::sim {

using namespace std::chrono_literals;

namespace {

template <typename T, std::size_t N>
T chosen(const T (&choices)[N], std::uint64_t choice) {
  return choices[choice % N];
}

/// Places in model::Change of what a store may refuse: each kind that the loop decides by itself.
template <typename Kind>
int index_of() {
  return static_cast<int>(model::Change(Kind{}).index());
}

}  // namespace

void Life::act(const Action& action) {
  say(fmt::format("*** {} ({}, {})", to_text(action.deed), action.a % 1000, action.b % 1000));
  switch (action.deed) {
    case Deed::commits_fail:
    case Deed::answer_is_lost:
    case Deed::store_is_locked:
    case Deed::store_refuses:
    case Deed::store_breaks:
      return act_on_store(action);
    case Deed::power_fails:
    case Deed::clock_is_set:
    case Deed::machine_sleeps:
    case Deed::worker_dies:
    case Deed::old_result_comes:
    case Deed::machine_lacks:
    case Deed::server_stops:
      return act_on_machine(action);
    case Deed::file_changes:
    case Deed::schedule_pauses:
    case Deed::schedule_resumes:
      return act_on_files(action);
    case Deed::person_starts:
    case Deed::person_floods:
    case Deed::person_cancels:
    case Deed::person_retries:
      return act_as_person(action);
    case Deed::data_arrives:
    case Deed::deliveries_retried:
      return act_on_data(action);
  }
}

void Life::act_on_store(const Action& action) {
  static const int kinds[] = {index_of<model::AttemptEnded>(),      index_of<model::RunClaimed>(),
                              index_of<model::CursorPlaced>(),      index_of<model::OccurrencesDecided>(),
                              index_of<model::CursorWithdrawn>(),   index_of<model::QueuedCancelled>(),
                              index_of<model::AssetMaterialized>(), index_of<model::DeliveriesClaimed>(),
                              index_of<model::TriggerPlaced>(),     index_of<model::RunQueued>()};
  switch (action.deed) {
    case Deed::commits_fail:
      faults_.commits_fail = 1 + static_cast<int>(action.a % 3);
      break;
    case Deed::answer_is_lost:
      faults_.answers_lost = 1;
      break;
    case Deed::store_is_locked:
      faults_.locked = 1 + static_cast<int>(action.a % 40);
      break;
    case Deed::store_refuses:
      faults_.refuse_kind = chosen(kinds, action.a);
      faults_.refusals = 1 + static_cast<int>(action.b % 3);
      break;
    default:
      faults_.applies_break = 1;
      break;
  }
}

void Life::act_on_machine(const Action& action) {
  constexpr Micros downs[] = {0s, 10ms, 3s, 2min, 1h, 50h};
  constexpr Micros steps[] = {-2s, 2s, -61s, 61s, -10min, 10min, -1h, 1h, -26h, 26h};
  constexpr Micros sleeps[] = {5s, 2min, 1h, 30h, 24h * 400};
  constexpr Micros lacks[] = {1s, 10s, 2min};
  switch (action.deed) {
    case Deed::power_fails:
      faults_.steps_to_crash = static_cast<int>(action.a % 13);
      down_for_ = chosen(downs, action.b);
      break;
    case Deed::clock_is_set:
      clock_.step_to(clock_.now() + chosen(steps, action.a));
      book_.clock_was_set(chosen(steps, action.a));
      break;
    case Deed::machine_sleeps:
      // The workers sleep as well; what they would have done meanwhile happens when they wake.
      clock_.advance(chosen(sleeps, action.a));
      break;
    case Deed::worker_dies:
      world_.kill_some(action.a, action.b % 2 == 0 ? 9 : 11);
      break;
    case Deed::old_result_comes:
      world_.tell_old_result(action.a);
      break;
    case Deed::machine_lacks:
      world_.lack_until(clock_.boottime() + chosen(lacks, action.a));
      break;
    default:
      if (!loop_) return;
      draining_ = true;
      down_for_ = chosen(downs, action.b);
      post(engine::Stop{action.a % 2 == 0, action.a % 3 == 0, [this](const auto&) { book_.answered(); }});
      break;
  }
}

void Life::act_on_files(const Action& action) {
  if (action.deed == Deed::file_changes) {
    say(files_.change(action.a, action.b, clock_.now()));
    return post(engine::Reload{[this](const auto&) { book_.answered(); }});
  }
  constexpr model::Misfire catch_up[] = {model::Misfire::skip, model::Misfire::latest, model::Misfire::all};
  engine::PauseSchedule command;
  command.paused = action.deed == Deed::schedule_pauses;
  command.key = some_schedule(action.a, !command.paused);
  if (command.key.empty()) return;
  command.catch_up = chosen(catch_up, action.b);
  if (action.b % 2 == 0) command.note = fmt::format("for the {}th reason", action.b % 10);
  command.reply = [this](const Result<void>&) { book_.answered(); };
  post(std::move(command));
}

void Life::act_as_person(const Action& action) {
  const std::string pipeline = some_pipeline(action.a);
  switch (action.deed) {
    case Deed::person_starts:
      return ask_for_run(pipeline, action.b % 2 == 0, action.b % 3 != 0 ? fmt::format("key{}", action.b / 6 % 2) : "",
                         action.b / 12);
    case Deed::person_floods:
      for (std::uint64_t i = 0; i < 5 + action.b % 40; ++i) ask_for_run(pipeline, i % 4 != 0, "", i);
      return;
    case Deed::person_cancels: {
      const auto open = book_.open_ids();
      if (open.empty()) return;
      return post(engine::CancelRun{open[action.b % open.size()], "person",
                                    [this](const Result<model::RunState>&) { book_.answered(); }});
    }
    default: {
      const auto ended = book_.ended_ids();
      if (ended.empty()) return;
      return post(engine::RetryRun{ended[action.b % ended.size()], action.a % 4 != 0, "person",
                                   [this](const auto&) { book_.answered(); }});
    }
  }
}

void Life::act_on_data(const Action& action) {
  if (action.deed == Deed::deliveries_retried) {
    if (action.a % 2 == 0) {
      return post(
          engine::RetryDeliveries{{}, "person", [this](const Result<std::vector<std::string>>&) { book_.answered(); }});
    }
    engine::SkipDeliveries command;
    command.which.state = model::DeliveryState::pending;
    command.reply = [this](const Result<std::vector<std::string>>&) { book_.answered(); };
    return post(std::move(command));
  }
  for (std::uint64_t i = 0; i <= action.b % 3; ++i) {
    engine::Materialize command;
    command.asset = "outside";
    command.fingerprint = std::to_string(action.a % 3);
    if (action.a % 2 == 0) command.idempotency_key = fmt::format("event{}", action.a % 7);
    command.reply = [this](const Result<engine::Materialize::Answer>&) { book_.answered(); };
    post(std::move(command));
  }
}

/// `choice`: of its partition and of its parameter.
void Life::ask_for_run(const std::string& pipeline, bool queue, const std::string& key, std::uint64_t choice) {
  static const char* const partitions[] = {"", "north", "south"};
  static const char* const params[] = {"", R"({"region":"east"})", R"({"region":"west"})", R"({"region":7})"};
  engine::StartRun command;
  command.pipeline = pipeline;
  command.queue = queue;
  command.idempotency_key = key;
  command.partition = chosen(partitions, choice);
  command.params = chosen(params, choice / 3);
  command.asked_by = fmt::format("person{}", ++commands_);
  command.reply = [this](const Result<std::string>& id) { book_.answered(id ? *id : std::string()); };
  post(std::move(command));
}

void Life::post(engine::Command command) {
  if (loop_ && inbox_->post(std::move(command))) book_.asked();
}

std::string Life::some_pipeline(std::uint64_t choice) const {
  auto at = plan_.pipelines.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(choice % plan_.pipelines.size()));
  return at->first;
}

/// `paused`: one that is, if one is.
std::string Life::some_schedule(std::uint64_t choice, bool paused) const {
  std::vector<std::string> keys;
  std::vector<std::string> paused_keys;
  for (const auto& [name, loaded] : book_.workspace().pipelines) {
    for (const model::Schedule& schedule : loaded.pipeline->schedules) {
      keys.push_back(model::schedule_key(name, schedule.id));
      if (book_.is_paused(keys.back())) paused_keys.push_back(keys.back());
    }
  }
  if (paused && !paused_keys.empty()) return paused_keys[choice % paused_keys.size()];
  return keys.empty() ? std::string() : keys[choice % keys.size()];
}

void Life::pause_all(bool paused) {
  // One after the other, as the file names them now.
  for (const auto& [name, pipeline] : plan_.pipelines) {
    for (const model::Schedule& schedule : pipeline.schedules) {
      engine::PauseSchedule command;
      command.key = model::schedule_key(name, schedule.id);
      command.paused = paused;
      command.catch_up = schedule.misfire;
      command.reply = [this](const Result<void>&) { book_.answered(); };
      post(std::move(command));
    }
  }
}

}  // namespace eider::sim
