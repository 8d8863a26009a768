// What people, and what watches for them, ask about data: something outside has made some; a delivery is to be tried
// again, or given up.
#include <fmt/format.h>

#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"
#include "workspace/words.h"

namespace eider::engine {
namespace {

using model::DeliveryState;

Error no_such_delivery(const std::string& id) {
  return Error{ErrorCode::not_found, fmt::format("there is no delivery {}", id)};
}

Error wrong_state(const model::Delivery& delivery, std::string_view wanted) {
  std::string hint;
  if (delivery.state == DeliveryState::claimed) {
    hint = fmt::format("; its run {} is not over: cancel that, or wait", delivery.run_id);
  }
  return Error{ErrorCode::conflict,
               fmt::format("delivery {} is {}; only {} can be{}", delivery.id, to_text(delivery.state), wanted, hint)};
}

Error trigger_is_gone(const std::string& trigger) {
  return Error{ErrorCode::conflict,
               fmt::format("the trigger {} is not in the workspace, so nothing can run for it", trigger)};
}

}  // namespace

void Loop::materialize(Turn& turn, const Materialize& command) {
  const auto answer = [&](Result<Materialize::Answer> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  const auto& assets = state_.subscriptions().catalog().assets;
  if (!assets.contains(command.asset)) {
    std::vector<std::string_view> names;
    for (const auto& [name, entry] : assets) names.push_back(name);
    const std::string_view meant = workspace::closest(command.asset, names);
    return answer(Error{ErrorCode::not_found, fmt::format("there is no asset \"{}\" in this workspace{}", command.asset,
                                                          meant.empty() ? "; declare it in eider.yaml, under assets"
                                                                        : fmt::format("; did you mean {}?", meant))});
  }
  if (!command.partition.empty()) {
    if (const auto checked = model::check_partition(command.partition); !checked) return answer(checked.error());
  }
  if (!command.metadata.empty()) {
    if (const auto checked = model::check_metadata(command.metadata); !checked) return answer(checked.error());
  }
  const bool keyed = !command.idempotency_key.empty();
  const std::string origin = keyed ? "key " + command.idempotency_key : ids_.make(turn.now());
  model::Materialization event;
  event.id = model::materialization_id(origin, command.asset, command.partition, keyed ? "" : command.fingerprint);
  const auto known = parts_.store.find_event(event.id);
  const auto before = parts_.store.newest_of(command.asset, command.partition);
  if (!known) return turn.fail(known.error());
  if (!before) return turn.fail(before.error());
  if (*known) return answer(Materialize::Answer{event.id, true, 0});
  if (!command.cause_run_id.empty()) {
    const auto cause = parts_.store.find_run(command.cause_run_id);
    if (!cause) return turn.fail(cause.error());
    if (!*cause) {
      return answer(Error{ErrorCode::invalid, fmt::format("there is no run {} to be the cause", command.cause_run_id)});
    }
    event.run_id = command.cause_run_id;
    event.depth = (*cause)->depth;
  }
  event.asset = command.asset;
  event.partition = command.partition;
  event.source = command.source;
  event.said_by = command.asked_by;
  event.committed_at = turn.now();
  event.rows = command.rows;
  event.bytes = command.bytes;
  event.fingerprint = command.fingerprint;
  event.unchanged = *before && !event.fingerprint.empty() && (*before)->fingerprint == event.fingerprint;
  event.metadata = command.metadata;
  model::AssetMaterialized change = owe(std::move(event));
  Materialize::Answer made{change.event.id, false, static_cast<int>(change.owed.size())};
  if (turn.decide_surely({std::move(change)})) return answer(std::move(made));
  if (!turn.failed()) answer(*turn.own_error());
}

/// The triggers that a selection without an id is about.
Result<std::vector<std::string>> Loop::selected_triggers(const DeliverySelection& which) const {
  std::vector<std::string> out;
  for (const auto& [key, cursor] : state_.subscriptions().cursors()) {
    const bool chosen = !which.trigger.empty()    ? key == which.trigger
                        : !which.pipeline.empty() ? key.starts_with(which.pipeline + "/")
                                                  : true;
    if (chosen) out.push_back(key);
  }
  if (!out.empty() || (which.trigger.empty() && which.pipeline.empty())) return out;
  return Error{ErrorCode::not_found, which.trigger.empty()
                                         ? fmt::format("pipeline \"{}\" has no triggers", which.pipeline)
                                         : fmt::format("there is no trigger \"{}\"", which.trigger)};
}

void Loop::retry_deliveries(Turn& turn, const RetryDeliveries& command) {
  const auto answer = [&](Result<std::vector<std::string>> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  if (draining_) return answer(Error{ErrorCode::unavailable, "the server is stopping and starts nothing"});
  std::vector<std::string> chosen;
  if (!command.which.id.empty()) {
    const auto found = parts_.store.find_delivery(command.which.id);
    if (!found) return turn.fail(found.error());
    if (!*found) return answer(no_such_delivery(command.which.id));
    if ((*found)->state != DeliveryState::failed) return answer(wrong_state(**found, "a failed one can be retried"));
    chosen.push_back(command.which.id);
  } else {
    if (command.which.state && *command.which.state != DeliveryState::failed) {
      return answer(Error{ErrorCode::invalid, "only failed deliveries can be retried"});
    }
    const auto triggers = selected_triggers(command.which);
    if (!triggers) return answer(triggers.error());
    for (const std::string& trigger : *triggers) {
      const int room = limits::deliveries_per_command - static_cast<int>(chosen.size());
      if (room <= 0) break;
      if (!state_.subscriptions().find(trigger)) {  // nothing can run for it
        if (trigger == command.which.trigger) return answer(trigger_is_gone(trigger));
        continue;
      }
      const auto ids = parts_.store.delivery_ids(trigger, DeliveryState::failed, room);
      if (!ids) return turn.fail(ids.error());
      chosen.insert(chosen.end(), ids->begin(), ids->end());
    }
  }
  std::vector<std::string> retried;
  for (const std::string& id : chosen) {
    // One that shares its run with one before is claimed again already.
    const auto found = parts_.store.find_delivery(id);
    if (!found) return turn.fail(found.error());
    if (!*found || (*found)->state == DeliveryState::claimed) {
      retried.push_back(id);
      continue;
    }
    const auto restarted = restart_run(turn, (*found)->run_id, false);
    if (turn.failed()) return;
    if (!restarted && !command.which.id.empty()) return answer(restarted.error());
    if (restarted) retried.push_back(id);
  }
  answer(std::move(retried));
}

void Loop::skip_deliveries(Turn& turn, const SkipDeliveries& command) {
  const auto answer = [&](Result<std::vector<std::string>> result) {
    turn.after_commit([reply = command.reply, result = std::move(result)] { reply(result); });
  };
  struct Portion {
    std::string trigger;
    DeliveryState from;
    std::vector<std::string> ids;
  };
  std::vector<Portion> portions;
  if (!command.which.id.empty()) {
    const auto found = parts_.store.find_delivery(command.which.id);
    if (!found) return turn.fail(found.error());
    if (!*found) return answer(no_such_delivery(command.which.id));
    if (!model::next((*found)->state, model::DeliveryEvent::skip)) {
      return answer(wrong_state(**found, "a pending or failed one can be skipped"));
    }
    portions.push_back({(*found)->trigger, (*found)->state, {command.which.id}});
  } else {
    const auto triggers = selected_triggers(command.which);
    if (!triggers) return answer(triggers.error());
    int room = limits::deliveries_per_command;
    for (const DeliveryState state : {DeliveryState::pending, DeliveryState::failed}) {
      if (command.which.state && *command.which.state != state) continue;
      for (const std::string& trigger : *triggers) {
        if (room <= 0) break;
        auto ids = parts_.store.delivery_ids(trigger, state, room);
        if (!ids) return turn.fail(ids.error());
        room -= static_cast<int>(ids->size());
        if (!ids->empty()) portions.push_back({trigger, state, std::move(*ids)});
      }
    }
  }
  std::string error = "skipped by " + command.asked_by;
  if (!command.note.empty()) error += ": " + command.note;
  std::vector<std::string> skipped;
  for (Portion& portion : portions) {
    skipped.insert(skipped.end(), portion.ids.begin(), portion.ids.end());
    if (turn.decide_surely({model::DeliveriesSkipped{portion.trigger, std::move(portion.ids), portion.from,
                                                     model::reason::skipped_by_person, error, turn.now()}})) {
      continue;
    }
    if (!turn.failed()) answer(*turn.own_error());
    return;
  }
  answer(std::move(skipped));
}

}  // namespace eider::engine
