// Which steps of a failed run are not done again (`retry --from-failed`). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/pipeline.h"

namespace eider::decide {

/// A step as its newest attempt left it.
struct StepDone {
  std::string step;
  bool succeeded = false;
  std::string content;  ///< model::step_hash; empty: an eider that did not say it
  /// Assets that wait for publication with it: their staged files were its work, or it is what they are published
  /// after. What is staged goes with its attempt. None: not known, because the attempt could not tell.
  std::optional<std::vector<std::string>> unpublished;
};

struct StepVerdict {
  std::string step;
  bool kept = false;
  std::string why;  ///< it is done again, in words
  bool operator==(const StepVerdict&) const = default;
};

/// One verdict a step of the pipeline as it is now, in its order. A step is kept when all of this holds:
/// - it succeeded, and does the same now as it did then;
/// - all that it needs is kept;
/// - what it made outlives its attempt: a `sql` step works on a DuckDB file opened for writing (one without works in
///   memory), and nothing that it made waits for publication.
std::vector<StepVerdict> kept_steps(const model::Pipeline& pipeline, const std::vector<StepDone>& done);

}  // namespace eider::decide
