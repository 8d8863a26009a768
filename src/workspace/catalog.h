// The assets that a workspace declares, who makes them and who waits for them. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/pipeline.h"
#include "workspace/load.h"

namespace eider::workspace {

struct AssetEntry {
  std::string name;
  std::string description;             ///< of an external one
  bool external = false;               ///< declared in eider.yaml: made outside Eider
  std::string watch;                   ///< of an external one: the folder
  std::vector<std::string> producers;  ///< pipelines that publish it, in order of names
  std::vector<std::string> consumers;  ///< triggers that ask for it, `pipeline/id`, in order of pipelines
  std::string path;                    ///< of the first producer, as it is written; or empty
  std::string table;                   ///< of the first producer; or empty
};

struct Catalog {
  std::map<std::string, AssetEntry> assets;  ///< by name
};

Catalog make_catalog(const model::Settings& settings, const std::map<std::string, LoadedPipeline>& pipelines);
/// Whether a materialization of the asset by that producer (empty: from outside) is one the trigger asks for.
bool asks_for(const model::Trigger& trigger, const std::string& asset, const std::string& producer);
/// The declared assets that the trigger asks for, in order of names. With `match: all` also the names that it writes
/// out and nothing declares: their producer's file is broken, and the trigger must not run without them.
std::vector<std::string> matched_assets(const Catalog& catalog, const model::Trigger& trigger);

/// The entries that one item of a trigger's `assets` matches.
std::vector<const AssetEntry*> matching(const Catalog& catalog, std::string_view item);
/// Whether `from` (empty: anybody) makes it.
bool is_made_by(const AssetEntry& entry, const std::string& from);

}  // namespace eider::workspace
