// The assets that a workspace declares, who makes them and who waits for them. Pure.
#pragma once

#include <map>
#include <string>
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
  std::vector<std::string> consumers;  ///< triggers that it matches, `pipeline/id`
  std::string path;                    ///< of the first producer, as it is written; or empty
  std::string table;                   ///< of the first producer; or empty
};

struct Catalog {
  std::map<std::string, AssetEntry> assets;  ///< by name
};

Catalog make_catalog(const model::Settings& settings, const std::map<std::string, LoadedPipeline>& pipelines);
/// Whether a materialization of the asset by that producer (empty: from outside) is one the trigger asks for.
bool asks_for(const model::Trigger& trigger, const std::string& asset, const std::string& producer);
/// The declared assets that the trigger asks for, in order of names.
std::vector<std::string> matched_assets(const Catalog& catalog, const model::Trigger& trigger);

/// What is wrong between pipelines, each with the pipelines that can't be loaded because of it: a cycle of publishing
/// and triggering (with the path in words), an asset that several publish without saying `shared`, a trigger for what
/// nothing can ever publish. Warnings disable nothing.
struct CrossFinding {
  bool error = true;
  std::string pipeline;  ///< whose file it is about
  std::string key;       ///< like `triggers[0].assets[1]`
  std::string message;
  std::string suggestion;  ///< or empty
};
std::vector<CrossFinding> check_across(const model::Settings& settings,
                                       const std::map<std::string, LoadedPipeline>& pipelines);

}  // namespace eider::workspace
