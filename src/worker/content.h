// What a published file or folder holds: its size and a fingerprint of its bytes, so that a publication of the same
// content can be told from one of another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace eider::worker {

struct Content {
  std::int64_t bytes = 0;  ///< of all files
  /// Of one file: base/ids content_hash of its bytes. Of a folder: a hash over its files, their names (relative,
  /// sorted) and contents; times, modes and empty folders do not count. Empty where it can't be known: something is a
  /// link or a pipe, whose content lies elsewhere and may change.
  std::string fingerprint;
  std::vector<std::string> files;  ///< regular files, sorted: of a folder, relative to it; of a file, its path
};

/// Reads everything. Errors: what can't be read; `unavailable` when `stopped` said so, which is asked after each MiB.
/// Any thread; nobody writes there meanwhile.
Result<Content> read_content(const std::string& path, const std::function<bool()>& stopped);

}  // namespace eider::worker
