// What is wrong between pipelines, each of which is right by itself. Pure.
#pragma once

#include <string>
#include <vector>

#include "workspace/diagnostic.h"
#include "workspace/load.h"

namespace eider::workspace {

struct CrossFinding {
  enum class Kind {
    unknown,    ///< a trigger waits for what nothing publishes
    conflict,   ///< pipelines start each other in a circle, or publish the same asset without saying `shared`
    partition,  ///< what a trigger hands on can never be taken
  };
  Kind kind = Kind::unknown;
  Severity severity = Severity::error;  ///< error: the pipeline can't be loaded
  std::string pipeline;                 ///< whose file it is about
  std::string key;                      ///< like `triggers[0].assets[1]`
  std::string message;
  std::string suggestion;  ///< or empty
};

/// Looks at pipelines, settings and broken files. What a broken file may declare is not held against the others: then
/// an unknown asset or pipeline is a warning. By pipeline; time grows with pipelines, assets and who starts whom.
std::vector<CrossFinding> check_across(const Workspace& workspace);

/// The part of it about named locks; locks.cc.
std::vector<CrossFinding> check_locks(const Workspace& workspace);

}  // namespace eider::workspace
