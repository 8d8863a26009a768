#include "workspace/catalog.h"

#include <algorithm>
#include <set>

#include "model/glob.h"

namespace eider::workspace {

std::vector<const AssetEntry*> matching(const Catalog& catalog, std::string_view item) {
  std::vector<const AssetEntry*> found;
  // What stands before the first special character must be there: names with it are neighbours.
  const std::string prefix(item.substr(0, item.find_first_of("*?[")));
  if (!model::is_glob(item)) {
    const auto entry = catalog.assets.find(prefix);
    if (entry != catalog.assets.end()) found.push_back(&entry->second);
    return found;
  }
  for (auto entry = catalog.assets.lower_bound(prefix); entry != catalog.assets.end(); ++entry) {
    if (!entry->first.starts_with(prefix)) break;
    if (model::glob_matches(item, entry->first)) found.push_back(&entry->second);
  }
  return found;
}

bool is_made_by(const AssetEntry& entry, const std::string& from) {
  return from.empty() || std::find(entry.producers.begin(), entry.producers.end(), from) != entry.producers.end();
}

Catalog make_catalog(const model::Settings& settings, const std::map<std::string, LoadedPipeline>& pipelines) {
  Catalog catalog;
  for (const auto& [name, external] : settings.assets) {
    AssetEntry& entry = catalog.assets[name];
    entry.name = name;
    entry.description = external.description;
    entry.external = true;
    entry.watch = external.watch;
  }
  for (const auto& [name, loaded] : pipelines) {
    for (const model::Publish& publish : loaded.pipeline->publishes) {
      AssetEntry& entry = catalog.assets[publish.asset];
      if (entry.producers.empty()) {
        entry.name = publish.asset;
        entry.path = publish.path;
        entry.table = publish.table;
      }
      entry.producers.push_back(name);
    }
  }
  for (const auto& [name, loaded] : pipelines) {
    for (const model::Trigger& trigger : loaded.pipeline->triggers) {
      const std::string key = model::schedule_key(name, trigger.id);
      for (const std::string& asset : matched_assets(catalog, trigger)) {
        const auto entry = catalog.assets.find(asset);
        if (entry != catalog.assets.end()) entry->second.consumers.push_back(key);
      }
    }
  }
  return catalog;
}

bool asks_for(const model::Trigger& trigger, const std::string& asset, const std::string& producer) {
  if (!trigger.from.empty() && trigger.from != producer) return false;
  return std::any_of(trigger.assets.begin(), trigger.assets.end(), [&](const std::string& item) {
    return item == asset || (model::is_glob(item) && model::glob_matches(item, asset));
  });
}

std::vector<std::string> matched_assets(const Catalog& catalog, const model::Trigger& trigger) {
  std::set<std::string_view> names;
  for (const std::string& item : trigger.assets) {
    const std::vector<const AssetEntry*> entries = matching(catalog, item);
    for (const AssetEntry* entry : entries) {
      if (is_made_by(*entry, trigger.from)) names.insert(entry->name);
    }
    const bool waits = trigger.match == model::Trigger::Match::all && !model::is_glob(item);
    if (waits && entries.empty()) names.insert(item);
  }
  return {names.begin(), names.end()};
}

}  // namespace eider::workspace
