// What the tests of this module share.
#pragma once

#include <string>
#include <vector>

#include "base/check.h"
#include "base/test_folder.h"
#include "workspace/load.h"

namespace eider::workspace {

/// Each diagnostic of the load as one line.
inline std::vector<std::string> lines_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : diagnostics) lines.push_back(format(diagnostic));
  return lines;
}

inline Workspace load(const TestFolder& folder, const LoadOptions& options = {}) {
  auto loaded = load_workspace(folder.path(), options);
  EIDER_CHECK(loaded.ok(), loaded.ok() ? "" : loaded.error().message);
  return *std::move(loaded);
}

}  // namespace eider::workspace
