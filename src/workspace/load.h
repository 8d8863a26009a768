// A workspace's files as one value. A file with an error disables its own pipeline only; an error in eider.yaml
// refuses the whole. Reads files, nothing else; any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/pipeline.h"
#include "timing/exclusions.h"
#include "timing/rule.h"
#include "workspace/diagnostic.h"
#include "workspace/reader.h"

namespace eider::workspace {

/// When a schedule fires.
struct LoadedRule {
  std::string hash;                  ///< model::rule_hash
  std::optional<timing::Rule> rule;  ///< none: its zone went from this machine since the file was checked
};

struct LoadedPipeline {
  std::shared_ptr<const model::Pipeline> pipeline;
  std::shared_ptr<const std::string> definition;  ///< model::definition_json
  std::string hash;                               ///< model::definition_hash
  std::vector<LoadedRule> rules;                  ///< of each schedule
};

/// The pipeline with what is made of it once, when its file is read.
LoadedPipeline make_loaded(model::Pipeline pipeline);

/// A file that was not loaded.
struct BrokenFile {
  std::string pipeline;     ///< the name it gives, where that much could be read
  std::string fingerprint;  ///< of its content and its errors: what is the same has been said already
  bool operator==(const BrokenFile&) const = default;
};

struct Workspace {
  std::string root;     ///< absolute, without symbolic links
  bool usable = false;  ///< false: eider.yaml (or the folder pipelines) is broken; nothing but diagnostics is set
  model::Settings settings;
  std::map<std::string, LoadedPipeline> pipelines;       ///< by name
  std::map<std::string, BrokenFile> broken;              ///< by file, workspace-relative
  std::vector<Diagnostic> diagnostics;                   ///< by file, then line
  timing::Calendars calendars{};                         ///< by name
  std::map<std::string, BrokenFile> broken_calendars{};  ///< by file; `pipeline` is empty
};

struct LoadOptions {
  Environment environment;  ///< default: the process's
  std::size_t file_limit_bytes = 16 * 1024 * 1024;
  std::size_t sql_limit_bytes = 4 * 1024 * 1024;
  std::optional<Instant> now;  ///< to warn of schedules that are never due again; none: no such warning
  std::string ceiling{};       ///< the ceiling file; empty: where load_ceiling() looks by itself
};

/// Errors: not_found (no such folder, or no eider.yaml in it), io. What is wrong in files is in the diagnostics.
Result<Workspace> load_workspace(const std::string& root, const LoadOptions& options = {});

}  // namespace eider::workspace
