// Files that a run publishes (design section 3, "Effects once"): made beside their target under a name of the attempt,
// synced, and renamed after the commit point.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/pipeline.h"
#include "wire/messages.h"

namespace eider::worker {

struct Staged {
  std::string asset;
  std::string target;  ///< absolute
  std::string staged;  ///< absolute: `<folder of target>/.<name>.<run>.<attempt>.tmp`
};

/// One attempt's published paths. One thread.
class Publishing {
 public:
  Publishing(const model::Pipeline& pipeline, const std::string& workspace, const std::string& run_id, int attempt);

  /// Staged path by name, see model::output_names.
  std::map<std::string, std::string> names() const;

  /// Makes the targets' folders, and removes what killed earlier attempts of this run left staged.
  Result<void> prepare() const;
  /// Every staged path must be there; it is synced, with all that is in it. The renames to write into the result.
  Result<std::vector<wire::Rename>> collect() const;
  /// Removes what is staged: the attempt did not succeed.
  void discard() const;

 private:
  std::vector<std::string> assets() const;
  std::string shortest_name(const std::string& staged) const;

  std::string run_id_;
  int attempt_ = 0;
  std::vector<Staged> all_;
};

}  // namespace eider::worker
