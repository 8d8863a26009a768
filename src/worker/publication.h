// What a run publishes, as facts: for each asset (and partition) one wire::Publication, with what Eider can find out by
// itself and what the steps said of it through $EIDER_OUTPUT. What a step says wins: it may know of its partition what
// only the whole asset shows.
#pragma once

#include <string>
#include <vector>

#include "model/pipeline.h"
#include "wire/messages.h"
#include "worker/facts.h"
#include "worker/publishing.h"
#include "worker/sql_step.h"

namespace eider::worker {

/// What Eider has found out about a whole asset; nothing of one that has neither path nor table.
struct Known {
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> bytes;
  std::string columns;
  std::string fingerprint;
};

/// All publications of one asset: one a partition that the steps named, in that order; without any, one with the run's.
/// Pure.
std::vector<wire::Publication> publications_of(const model::Publish& publish, const Known& known,
                                               const std::vector<Said>& said, const std::string& run_partition);

/// What one attempt publishes at one moment (`after` a step, or at the end of the run). It is made by the main thread,
/// works on the thread of a SqlStep, and is read by the main thread when that step is over.
///
/// After a step this is all of it: what is staged is synced and looked at, then `<attempt>.published.json` is written
/// and synced (the commit point), then the renames are done. At the end of a run the commit point is the result, which
/// the attempt writes.
class PublishWork {
 public:
  struct Task {
    const model::Pipeline& pipeline;
    const Publishing& publishing;
    std::string after;
    std::string run_partition;
    std::vector<Said> said;       ///< by the steps that are over
    std::string record;           ///< path of `<attempt>.published.json`
    std::string record_folder;    ///< what names the folder of `record`: synced as well
    wire::PublishedSoFar before;  ///< what the record holds already
  };
  explicit PublishWork(Task task) : task_(std::move(task)) {}

  /// A failure's error says what is missing, and how to mend it. An interrupted one has published nothing.
  duck::ScriptOutcome go(SqlThread& thread);

  /// Published (after a step), or to be published with the result.
  const std::vector<wire::Publication>& publications() const { return publications_; }
  /// At the end of the run: still to do.
  const std::vector<wire::Rename>& renames() const { return renames_; }
  const wire::PublishedSoFar& record() const { return record_; }

 private:
  Result<void> look_at_all(SqlThread& thread);
  Result<Known> look_at_path(const model::Publish& publish, const wire::Rename& rename, SqlThread& thread) const;
  Result<Known> look_at_table(const model::Publish& publish, SqlThread& thread) const;
  Result<void> commit();
  Result<void> write_record() const;

  const Task task_;
  std::vector<wire::Publication> publications_;
  std::vector<wire::Rename> renames_;
  wire::PublishedSoFar record_;
};

}  // namespace eider::worker
