// The ceiling file: what the administrator of a machine lets one workspace ask for at most. It lies above all
// workspaces, and no workspace can change it. Reads one file; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/pipeline.h"
#include "workspace/diagnostic.h"
#include "workspace/reader.h"
#include "workspace/yaml_tree.h"

namespace eider::workspace {

struct Ceiling {
  std::string file;  ///< where it lies; empty: there is none
  std::optional<int> max_workers;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> temp_bytes;
  bool operator==(const Ceiling&) const = default;
};

/// Where it lies unless somebody says otherwise; not there: no ceiling.
inline constexpr const char* default_ceiling_file = "/etc/eider/ceiling.yaml";

/// The file that was asked for, or else EIDER_CEILING names, or else default_ceiling_file. What is asked for must be
/// there. One that others than its owner may write is refused: it would hold nobody. What is wrong goes to `found`.
std::optional<Ceiling> load_ceiling(const std::string& asked, const Environment& environment,
                                    std::vector<Diagnostic>& found);

/// Complains where eider.yaml asks for more; what it does not say is as much as the ceiling allows.
void apply_ceiling(const Ceiling& ceiling, YamlValue root, model::Settings& settings, Complaints& complaints);

}  // namespace eider::workspace
