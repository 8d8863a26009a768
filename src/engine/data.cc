// Data: what runs have published becomes events with what they owe; what is pending of a trigger becomes runs. A
// delivery and its run enter in one change set, so that neither is ever there without the other.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/log.h"
#include "engine/limits.h"
#include "engine/loop.h"
#include "engine/turn.h"

namespace eider::engine {
namespace {

namespace json = boost::json;

template <typename T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

/// An event as the steps of its consumer see it.
json::object event_json(const model::Materialization& event) {
  json::value metadata(nullptr);
  if (!event.metadata.empty()) {
    boost::system::error_code failed;  // what can't be read is told to nobody
    metadata = json::parse(event.metadata, failed);
  }
  return {{"id", event.id},
          {"asset", event.asset},
          {"partition", event.partition},
          {"pipeline", event.pipeline},
          {"run_id", event.run_id},
          {"committed_at", format_rfc3339(event.committed_at)},
          {"rows", or_null(event.rows)},
          {"bytes", or_null(event.bytes)},
          {"fingerprint", event.fingerprint},
          {"unchanged", event.unchanged},
          {"metadata", std::move(metadata)}};
}

struct Refusal {
  const char* reason;
  std::string error;
};

/// The deliveries whose chain of causes is too long to be a real one.
std::vector<std::string> too_long(const std::vector<model::Delivery>& taken) {
  std::vector<std::string> out;
  for (const model::Delivery& delivery : taken) {
    if (delivery.event_depth + 1 > decide::depth_limit) out.push_back(delivery.id);
  }
  return out;
}

Refusal chain_refusal() {
  return {
      model::reason::chain_too_long,
      fmt::format("more than {} deliveries lie between it and where its chain of causes began; `eider explain` shows "
                  "them: most likely they are a loop",
                  decide::depth_limit)};
}

/// Why what was taken makes no run; none: it makes one.
std::optional<Refusal> partition_refusal(const TriggerEntry& entry, const model::Run& run) {
  const auto& partitions = entry.pipeline->partitions;
  if (!entry.trigger().same_partition || !partitions || model::has_partition(*partitions, run.partition)) return {};
  const std::string found =
      run.partition.empty() ? std::string("an event without a partition") : fmt::format("\"{}\"", run.partition);
  return Refusal{model::reason::unknown_partition,
                 fmt::format("pipeline \"{}\" expects {}, and this is {}", run.pipeline, describe(*partitions), found)};
}

/// What an event owes a trigger. The number of a new one is the store's to give.
model::Delivery owed_to(const TriggerEntry& entry, const model::Materialization& event, Instant now) {
  model::Delivery delivery;
  delivery.id = model::delivery_id(entry.key, event.id);
  delivery.trigger = entry.key;
  delivery.pipeline = entry.pipeline->name;
  delivery.event = event.number;
  delivery.event_id = event.id;
  delivery.asset = event.asset;
  delivery.partition = event.partition;
  delivery.created_at = now;
  return delivery;
}

bool refuse(Turn& turn, const TriggerEntry& entry, std::vector<std::string> ids, const Refusal& why) {
  return turn.decide_surely({model::DeliveriesSkipped{entry.key, std::move(ids), model::DeliveryState::pending,
                                                      why.reason, why.error, turn.now()}});
}

}  // namespace

void Loop::decide_published(Turn& turn) {
  for (const wire::Published& published : published_) {
    if (turn.failed()) return;
    const auto live = state_.live().find(published.run_id);
    if (live == state_.live().end() || live->second.number != published.attempt) {
      ++stale_results_;
      log::warning(fmt::format("run {}: attempt {} published {} after it was over: that changes nothing",
                               published.run_id, published.attempt, published.publication.asset));
      continue;
    }
    auto changes =
        materializations(turn, *state_.run(published.run_id), live->second.definition, {published.publication});
    if (!changes || turn.insist(std::move(*changes)) || turn.failed()) continue;
    turn.refused_published_.push_back(published);
  }
}

/// The id of the event that the publication is; empty: it has been recorded. A run that publishes the same content
/// again says nothing new, unless something else was published in between: then its attempt is a new origin.
Result<std::string> Loop::new_event_id(const model::Run& run, const wire::Publication& publication,
                                       const std::optional<model::Materialization>& newest) {
  if (newest && newest->run_id == run.id && newest->fingerprint == publication.fingerprint) return std::string();
  for (const std::string& origin : {run.id, fmt::format("{} attempt {}", run.id, run.attempt)}) {
    std::string id =
        model::materialization_id(origin, publication.asset, publication.partition, publication.fingerprint);
    const auto known = parts_.store.find_event(id);
    if (!known) return known.error();
    if (!*known) return id;
    if ((*known)->attempt == run.attempt) break;
  }
  return std::string();
}

std::optional<model::ChangeSet> Loop::materializations(Turn& turn, const model::Run& run, const std::string& definition,
                                                       const std::vector<wire::Publication>& publications) {
  model::ChangeSet out;
  std::set<std::string> seen;
  for (const wire::Publication& publication : publications) {
    model::Materialization event;
    const auto before = parts_.store.newest_of(publication.asset, publication.partition);
    auto id = before ? new_event_id(run, publication, *before) : before.error();
    if (!id) {
      turn.fail(id.error());
      return std::nullopt;
    }
    if (id->empty() || !seen.insert(*id).second) continue;
    event.id = std::move(*id);
    event.asset = publication.asset;
    event.partition = publication.partition;
    event.pipeline = run.pipeline;
    event.run_id = run.id;
    event.attempt = run.attempt;
    event.definition = definition;
    event.committed_at = turn.now();
    event.rows = publication.rows;
    event.bytes = publication.bytes;
    event.columns = publication.columns;
    event.fingerprint = publication.fingerprint;
    event.unchanged = *before && !event.fingerprint.empty() && (*before)->fingerprint == event.fingerprint;
    if (const auto checked = model::check_metadata(publication.metadata); checked) {
      event.metadata = publication.metadata;
    } else if (!publication.metadata.empty()) {
      log::warning(fmt::format("run {}: {} of {} is left out", run.id, checked.error().message, publication.asset));
    }
    event.depth = run.depth;
    out.emplace_back(owe(std::move(event)));
  }
  return out;
}

/// The event with a delivery for each trigger that asks for it.
model::AssetMaterialized Loop::owe(model::Materialization event) const {
  model::AssetMaterialized out;
  for (const TriggerEntry* entry : state_.subscriptions().asking_for(event.asset, event.pipeline)) {
    if (decide::is_owed(entry->trigger(), event)) out.owed.push_back(owed_to(*entry, event, event.committed_at));
  }
  out.event = std::move(event);
  return out;
}

void Loop::place_triggers(Turn& turn) {
  if (turn.failed()) return;
  const auto newest = parts_.store.newest_event_number();
  if (!newest) return turn.fail(newest.error());
  turn.insist(state_.subscriptions().placements(
      *newest, [this](const std::string& pipeline) { return state_.may_be_broken(pipeline); }));
}

/// What the store has refused waits with it.
bool Loop::replay_is_due() const { return state_.subscriptions().replaying() && !refused_.again_at; }

/// One portion a turn, so that a long history keeps nobody waiting.
void Loop::replay_events(Turn& turn) {
  const auto cursor = state_.subscriptions().replaying();
  if (!replay_is_due() || turn.failed() || turn.full()) return;
  const auto events = parts_.store.events_between(cursor->replayed_to, cursor->replay_until, limits::replayed_per_turn);
  if (!events) return turn.fail(events.error());
  const TriggerEntry& entry = *state_.subscriptions().find(cursor->trigger);
  model::TriggerReplayed replayed{cursor->trigger, cursor->replayed_to, cursor->replay_until, {}};
  if (events->size() == static_cast<std::size_t>(limits::replayed_per_turn)) {
    replayed.replayed_to = events->back().number;
  }
  for (const model::Materialization& event : *events) {
    if (!workspace::asks_for(entry.trigger(), event.asset, event.pipeline)) continue;
    if (!decide::is_owed(entry.trigger(), event)) continue;
    model::Delivery delivery = owed_to(entry, event, turn.now());
    // A trigger that was away in the middle of its past has been owed some of what is looked at again.
    const auto there = parts_.store.find_delivery(delivery.id);
    if (!there) return turn.fail(there.error());
    if (!*there) replayed.owed.push_back(std::move(delivery));
  }
  turn.insist({std::move(replayed)});
}

void Loop::decide_triggers(Turn& turn) {
  while (!turn.failed() && !turn.full()) {
    const auto look = state_.subscriptions().first_look();
    if (!look || look->first > turn.now()) return;
    look_at_trigger(turn, look->second);
  }
}

/// Leaves the trigger to be looked at again at once where it has made a run: there may be more to make.
void Loop::look_at_trigger(Turn& turn, const std::string& key) {
  Subscriptions& subscriptions = state_.subscriptions();
  const TriggerEntry* entry = subscriptions.find(key);
  if (!entry) return skip_removed(turn, key);
  if (subscriptions.is_replaying(key)) return subscriptions.look_at(key, std::nullopt);
  if (state_.queued_count() >= limits::queued_runs) {
    return subscriptions.look_at(key, turn.now() + limits::hold_after_error);
  }
  Result<void> asked;
  auto verdict = judge_trigger(*entry, limits::decisions_per_turn - turn.decisions(), asked);
  if (!asked) return turn.fail(asked.error());
  for (const decide::Take& take : verdict.takes) {
    if (take_deliveries(turn, *entry, take)) continue;
    if (!turn.failed()) subscriptions.look_at(key, turn.now() + limits::hold_after_error);
    return;
  }
  if (!verdict.takes.empty()) return;
  subscriptions.look_at(key, verdict.look_again_at);
  subscriptions.wait_for(key, std::move(verdict.lacking));
}

/// The store is asked only for what the rule needs: nothing when there is no room.
decide::TriggerVerdict Loop::judge_trigger(const TriggerEntry& entry, int limit, Result<void>& asked) {
  const model::Trigger& trigger = entry.trigger();
  const Subscriptions& subscriptions = state_.subscriptions();
  const int open_runs = subscriptions.open_runs(entry.key);
  std::vector<model::PendingGroup> groups(1);
  groups.front().count = subscriptions.pending(entry.key);
  bool blocked = false;
  if (decide::has_room(trigger, entry.pipeline->max_active_runs, open_runs)) {
    if (decide::looks_at_groups(trigger)) {
      auto found = parts_.store.pending_groups(entry.key);
      if (!found) asked = found.error();
      if (found) groups = std::move(*found);
    }
    if (trigger.order == model::Trigger::Order::strict) {
      const auto failed = parts_.store.first_failed(entry.key);
      const auto first = parts_.store.pending(entry.key, std::nullopt, 1);
      if (!failed) asked = failed.error();
      if (!first) asked = first.error();
      blocked = failed && *failed && first && !first->empty() && (*failed)->event < first->front().event;
    }
  }
  if (!asked) return {};
  return decide::decide_trigger({trigger, entry.pipeline->max_active_runs, open_runs, entry.matches, groups, blocked},
                                parts_.clock.now(), limit);
}

/// One savepoint: the run, and the deliveries that it is made for. False: the store has failed, or refused it.
bool Loop::take_deliveries(Turn& turn, const TriggerEntry& entry, const decide::Take& take) {
  const auto taken = parts_.store.pending(entry.key, take.partition, take.limit);
  if (!taken || taken->empty()) {
    turn.fail(taken ? Error{ErrorCode::conflict, "deliveries that are pending by all that is known are not there"}
                    : taken.error());
    return false;
  }
  if (auto ids = too_long(*taken); !ids.empty()) return refuse(turn, entry, std::move(ids), chain_refusal());
  model::Run run;
  run.id = ids_.make(turn.now());
  run.pipeline = entry.pipeline->name;
  run.trigger = model::TriggerKind::data;
  run.trigger_id = entry.key;
  run.parent = taken->back().event_run_id;
  run.priority = entry.pipeline->priority;
  if (entry.trigger().same_partition) run.partition = taken->back().partition;
  run.created_at = run.not_before = turn.now();
  run.reason = model::reason::data_published;
  std::vector<std::string> ids;
  for (const model::Delivery& delivery : *taken) {
    run.depth = std::max(run.depth, delivery.event_depth + 1);
    ids.push_back(delivery.id);
  }
  if (const auto refusal = partition_refusal(entry, run)) return refuse(turn, entry, std::move(ids), *refusal);
  model::DeliveriesClaimed claimed{entry.key, std::move(ids), run.id, options_.owner, turn.now()};
  if (!turn.decide_surely({model::RunQueued{std::move(run)}, std::move(claimed)})) return false;
  return true;
}

/// What is pending of a trigger that is gone will have no run; what waits for a broken file waits.
void Loop::skip_removed(Turn& turn, const std::string& key) {
  Subscriptions& subscriptions = state_.subscriptions();
  if (state_.may_be_broken(key.substr(0, key.find('/')))) return subscriptions.look_at(key, std::nullopt);
  auto ids = parts_.store.delivery_ids(key, model::DeliveryState::pending, limits::deliveries_per_command);
  if (!ids) return turn.fail(ids.error());
  const char* why = model::reason::trigger_removed;
  if (turn.decide_surely({model::DeliveriesSkipped{key, std::move(*ids), model::DeliveryState::pending, why,
                                                   model::reason_sentence(why), turn.now()}})) {
    return;
  }
  if (!turn.failed()) subscriptions.look_at(key, turn.now() + limits::hold_after_error);
}

/// What the steps of a data run are told of its events. False: the store could not say.
bool Loop::event_facts(Turn& turn, const model::Run& run, std::map<std::string, std::string>& facts) {
  const auto events = parts_.store.events_of(run.id, limits::metadata_of_a_run_bytes);
  if (!events) {
    turn.fail(events.error());
    return false;
  }
  json::array all;
  for (const model::Materialization& event : *events) all.emplace_back(event_json(event));
  facts["events"] = json::serialize(all);
  if (events->empty()) return true;
  const model::Materialization& newest = events->back();
  facts["event_id"] = newest.id;
  facts["event_asset"] = newest.asset;
  facts["event_partition"] = newest.partition;
  facts["event_run"] = newest.run_id;
  return true;
}

}  // namespace eider::engine
