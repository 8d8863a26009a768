// What `eider init` writes: a small workspace that works as it is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace eider::workspace {

struct ScaffoldFile {
  std::string path;  ///< workspace-relative
  std::string content;
  bool optional = false;  ///< one that is there already stays as it is
};
std::vector<ScaffoldFile> scaffold_files();

/// Writes them under `root`, which is made when it is missing, and returns their paths. Errors: conflict (one of them
/// that is not optional is there already: then nothing is written), io.
Result<std::vector<std::string>> write_scaffold(const std::string& root);

}  // namespace eider::workspace
