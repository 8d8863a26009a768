#include "sim/forgetful_store.h"

#include <algorithm>
#include <set>

namespace eider::sim {

Result<bool> ForgetfulStore::apply(const model::ChangeSet& changes) {
  for (const model::Change& change : changes) {
    if (const auto* made = std::get_if<model::AssetMaterialized>(&change)) {
      ++events_;
      for (model::Delivery delivery : made->owed) {
        delivery.event = events_;
        delivery.event_run_id = made->event.run_id;
        delivery.event_depth = made->event.depth;
        pending_[delivery.trigger].push_back(std::move(delivery));
      }
    } else if (const auto* claimed = std::get_if<model::DeliveriesClaimed>(&change)) {
      take(claimed->trigger, claimed->ids);
    } else if (const auto* skipped = std::get_if<model::DeliveriesSkipped>(&change)) {
      take(skipped->trigger, skipped->ids);
    }
  }
  return true;
}

void ForgetfulStore::take(const std::string& trigger, const std::vector<std::string>& ids) {
  const std::set<std::string> gone(ids.begin(), ids.end());
  auto& line = pending_[trigger];
  std::erase_if(line, [&](const model::Delivery& delivery) { return gone.contains(delivery.id); });
}

Result<std::vector<model::Delivery>> ForgetfulStore::pending(const std::string& trigger,
                                                             const std::optional<std::string>& partition, int limit) {
  std::vector<model::Delivery> out;
  for (const model::Delivery& delivery : pending_[trigger]) {
    if (std::ssize(out) >= limit) break;
    if (!partition || delivery.partition == *partition) out.push_back(delivery);
  }
  return out;
}

Result<std::vector<store::PendingGroup>> ForgetfulStore::pending_groups(const std::string& trigger) {
  std::map<std::pair<std::string, std::string>, store::PendingGroup> groups;
  for (const model::Delivery& delivery : pending_[trigger]) {
    store::PendingGroup& group = groups[{delivery.partition, delivery.asset}];
    if (group.count++ == 0) group.first_at = delivery.created_at;
    group.last_at = delivery.created_at;
    group.partition = delivery.partition;
    group.asset = delivery.asset;
  }
  std::vector<store::PendingGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  return out;
}

Result<std::vector<std::string>> ForgetfulStore::delivery_ids(const std::string& trigger, model::DeliveryState state,
                                                              int limit) {
  std::vector<std::string> out;
  if (state != model::DeliveryState::pending) return out;
  for (const model::Delivery& delivery : pending_[trigger]) {
    if (std::ssize(out) >= limit) break;
    out.push_back(delivery.id);
  }
  return out;
}

}  // namespace eider::sim
