#include "engine/subscriptions.h"

#include <algorithm>

#include "base/check.h"
#include "model/glob.h"

namespace eider::engine {
namespace {

constexpr Instant at_once{};  // long past

}  // namespace

void Subscriptions::load(store::OpenData open) {
  cursors_.clear();
  pending_.clear();
  open_runs_.clear();
  looks_.clear();
  looks_in_order_.clear();
  lacking_.clear();
  for (model::TriggerCursor& cursor : open.triggers) {
    std::string key = cursor.trigger;
    cursors_.insert_or_assign(std::move(key), std::move(cursor));
  }
  for (auto& [trigger, count] : open.pending) pending_[trigger] = count;
  unplaced_.clear();
  replaying_.clear();
  for (const auto& [key, entry] : triggers_) classify(key);
  look_at_all();
}

void Subscriptions::classify(const std::string& key) {
  const auto cursor = cursors_.find(key);
  if (cursor == cursors_.end()) {
    unplaced_.insert(key);
  } else if (cursor->second.replayed_to < cursor->second.replay_until) {
    replaying_.insert(key);
  }
}

void Subscriptions::set_workspace(const workspace::Workspace& workspace) {
  catalog_ = workspace::make_catalog(workspace.settings, workspace.pipelines);
  triggers_.clear();
  by_asset_.clear();
  with_patterns_.clear();
  unplaced_.clear();
  replaying_.clear();
  for (const auto& [name, loaded] : workspace.pipelines) {
    const auto& triggers = loaded.pipeline->triggers;
    for (std::size_t i = 0; i < triggers.size(); ++i) {
      const model::Trigger& trigger = triggers[i];
      std::string key = model::schedule_key(name, trigger.id);
      const TriggerEntry& entry = triggers_[key] = {key, loaded.pipeline, i, matched_assets(catalog_, trigger)};
      if (std::any_of(trigger.assets.begin(), trigger.assets.end(), model::is_glob)) {
        with_patterns_.push_back(&entry);
      } else {
        const std::set<std::string> names(trigger.assets.begin(), trigger.assets.end());
        for (const std::string& asset : names) by_asset_[asset].push_back(&entry);
      }
      classify(key);
    }
  }
  look_at_all();
}

const TriggerEntry* Subscriptions::find(const std::string& key) const {
  const auto found = triggers_.find(key);
  return found == triggers_.end() ? nullptr : &found->second;
}

std::vector<const TriggerEntry*> Subscriptions::asking_for(const std::string& asset,
                                                           const std::string& producer) const {
  std::vector<const TriggerEntry*> out;
  const auto add = [&](const std::vector<const TriggerEntry*>& candidates) {
    for (const TriggerEntry* entry : candidates) {
      if (workspace::asks_for(entry->trigger(), asset, producer)) out.push_back(entry);
    }
  };
  if (const auto named = by_asset_.find(asset); named != by_asset_.end()) add(named->second);
  add(with_patterns_);
  return out;
}

std::int64_t Subscriptions::pending(const std::string& trigger) const {
  const auto found = pending_.find(trigger);
  return found == pending_.end() ? 0 : found->second;
}

int Subscriptions::open_runs(const std::string& trigger) const {
  const auto found = open_runs_.find(trigger);
  return found == open_runs_.end() ? 0 : found->second;
}

std::vector<model::Change> Subscriptions::placements(
    std::int64_t newest_event, const std::function<bool(const std::string&)>& may_be_broken) const {
  std::vector<model::Change> out;
  for (const auto& [key, cursor] : cursors_) {
    const bool is_away = cursor.replay_until == model::TriggerCursor::away;
    if (triggers_.contains(key)) {
      if (is_away) out.emplace_back(model::TriggerPlaced{{key, cursor.replayed_to, newest_event}});
    } else if (!is_away && may_be_broken(key.substr(0, key.find('/')))) {
      const bool whole = cursor.replayed_to >= cursor.replay_until;
      out.emplace_back(
          model::TriggerPlaced{{key, whole ? newest_event : cursor.replayed_to, model::TriggerCursor::away}});
    }
  }
  for (const std::string& key : unplaced_) {
    const bool replay = triggers_.at(key).trigger().start == model::Trigger::Start::earliest;
    out.emplace_back(model::TriggerPlaced{{key, replay ? 0 : newest_event, newest_event}});
  }
  return out;
}

std::optional<model::TriggerCursor> Subscriptions::replaying() const {
  if (replaying_.empty()) return std::nullopt;
  return cursors_.at(*replaying_.begin());
}

std::optional<std::pair<Instant, std::string>> Subscriptions::first_look() const {
  if (looks_in_order_.empty()) return std::nullopt;
  return *looks_in_order_.begin();
}

void Subscriptions::look_at(const std::string& trigger, std::optional<Instant> at) {
  if (const auto found = looks_.find(trigger); found != looks_.end()) {
    looks_in_order_.erase({found->second, trigger});
    looks_.erase(found);
  }
  lacking_.erase(trigger);
  if (!at || pending(trigger) == 0) return;
  looks_.emplace(trigger, *at);
  looks_in_order_.emplace(*at, trigger);
}

void Subscriptions::wait_for(const std::string& trigger, std::set<std::string> lacking) {
  if (!lacking.empty() && !looks_.contains(trigger)) lacking_.insert_or_assign(trigger, std::move(lacking));
}

std::optional<Instant> Subscriptions::look_of(const std::string& trigger) const {
  const auto found = looks_.find(trigger);
  return found == looks_.end() ? std::nullopt : std::optional(found->second);
}

void Subscriptions::look_at_all() {
  for (const auto& [trigger, count] : pending_) look_at(trigger, at_once);
}

void Subscriptions::apply(const model::Change& change) {
  if (const auto* event = std::get_if<model::AssetMaterialized>(&change)) {
    owed(event->owed);
  } else if (const auto* placed = std::get_if<model::TriggerPlaced>(&change)) {
    const model::TriggerCursor& cursor = placed->cursor;
    cursors_.insert_or_assign(cursor.trigger, cursor);
    unplaced_.erase(cursor.trigger);
    replaying_.erase(cursor.trigger);
    if (triggers_.contains(cursor.trigger)) classify(cursor.trigger);
  } else if (const auto* replayed = std::get_if<model::TriggerReplayed>(&change)) {
    model::TriggerCursor& cursor = cursors_.at(replayed->trigger);
    cursor.replayed_to = replayed->replayed_to;
    owed(replayed->owed);
    if (cursor.replayed_to < cursor.replay_until) return;
    replaying_.erase(replayed->trigger);
    look_at(replayed->trigger, at_once);
  } else if (const auto* claimed = std::get_if<model::DeliveriesClaimed>(&change)) {
    taken(claimed->trigger, claimed->ids.size());
  } else if (const auto* skipped = std::get_if<model::DeliveriesSkipped>(&change)) {
    if (skipped->from == model::DeliveryState::pending) taken(skipped->trigger, skipped->ids.size());
    look_at(skipped->trigger, at_once);  // order: strict waits for a failed one
  }
}

void Subscriptions::owed(const std::vector<model::Delivery>& deliveries) {
  for (const model::Delivery& delivery : deliveries) {
    ++pending_[delivery.trigger];
    // One that waits for quiet looks when it meant to, and sees then that more has come: a flood costs it nothing.
    if (looks_.contains(delivery.trigger)) continue;
    const auto lacking = lacking_.find(delivery.trigger);
    if (lacking == lacking_.end() || lacking->second.contains(delivery.asset)) look_at(delivery.trigger, at_once);
  }
}

void Subscriptions::taken(const std::string& trigger, std::size_t count) {
  const auto found = pending_.find(trigger);
  EIDER_CHECK(found != pending_.end() && found->second >= static_cast<std::int64_t>(count),
              "only what is pending is taken");
  found->second -= static_cast<std::int64_t>(count);
  if (found->second > 0) return;
  pending_.erase(found);
  look_at(trigger, std::nullopt);
}

void Subscriptions::run_ended(const std::string& trigger) {
  const auto found = open_runs_.find(trigger);
  EIDER_CHECK(found != open_runs_.end(), "only an open run ends");
  if (--found->second == 0) open_runs_.erase(found);
  look_at(trigger, at_once);  // there is room again
}

}  // namespace eider::engine
