// Files that a run publishes (design section 3, "Effects once"): made beside their target under a name of the attempt,
// synced, and renamed after the commit point: of the run, or of what is published `after` a step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/pipeline.h"
#include "wire/layout.h"
#include "wire/messages.h"
#include "wire/staged.h"

namespace eider::worker {

struct Staged {
  std::string asset;
  std::string target;  ///< absolute
  std::string staged;  ///< wire::staged_path()
  std::string after;   ///< step, or empty: at the end of the run
};

/// What must be synced so that a published file or folder survives a power cut with all that is in it: what holds
/// content comes before the folder that names it. Links and pipes have no content of their own.
Result<std::vector<std::string>> all_to_sync(const std::string& path);

/// One attempt's published paths. It does not change: any thread.
class Publishing {
 public:
  Publishing(const model::Pipeline& pipeline, const std::string& workspace, const std::string& run_id, int attempt);

  /// Staged path by name, see model::output_names.
  std::map<std::string, std::string> names() const;

  /// Makes the targets' folders and the list of what will be staged. Errors: a target can't be replaced, or lies in
  /// Eider's own folder, whatever links lead there.
  Result<void> prepare() const;
  /// Every path that is published then (`after` a step, or at the end of the run) must be staged and fit its target; it
  /// is synced, with all that is in it. The renames that are to be on record before they are done. What can be known
  /// before them is an error here, while nothing is published.
  Result<std::vector<wire::Rename>> collect(const std::string& after) const;
  /// What is staged now: by asset, what tells one state of its file or folder from another.
  std::map<std::string, std::string> staged() const;
  /// Removes what is left of what was staged, and the list. Not while the renames may be repeated.
  void clean_up() const;

 private:
  Result<void> prepare(const Staged& one) const;
  std::vector<std::string> assets() const;
  std::string shortest_name(const std::string& staged) const;

  wire::Layout layout_;
  wire::AttemptId id_;
  std::vector<Staged> all_;
};

}  // namespace eider::worker
