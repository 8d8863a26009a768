// What a reload changes. Pure.
#pragma once

#include <string>
#include <vector>

#include "workspace/load.h"

namespace eider::workspace {

struct Reloaded {
  Workspace workspace;  ///< what holds from now on
  // Names of pipelines, sorted.
  std::vector<std::string> added;
  std::vector<std::string> changed;  ///< by definition hash
  std::vector<std::string> removed;
  std::vector<std::string> kept;  ///< the file is broken: the last good version stays
  bool settings_changed = false;
  bool calendars_changed = false;
  /// What was not said at an earlier load: the diagnostics of files whose content or errors are new.
  std::vector<Diagnostic> news;
};

/// Good files take effect; a broken file keeps the pipeline that it last gave; a broken eider.yaml keeps everything.
/// What holds from now on has no circle of pipelines that start each other: a good file that would make one with a last
/// good version does not take effect before that is mended, and its last version stays as well.
/// `previous` is usable: a first load that is not has nothing to be merged with.
Reloaded merge(const Workspace& previous, Workspace fresh);

}  // namespace eider::workspace
