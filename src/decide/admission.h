// Which queued run may start now, and what the others wait for (design section 7). Pure.
//
// What is in use is never counted up and down: it is the sum over live claims, so a slot cannot leak (I7).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/pipeline.h"
#include "model/run.h"

namespace eider::decide {

/// What there is.
struct Capacity {
  int workers = 16;
  /// Runs that data has caused may take so many of them, so that clocks and people always find one.
  int data_workers = 12;
  std::map<std::string, int> pools;          ///< name -> slots
  std::optional<std::int64_t> memory_bytes;  ///< none: unbounded
};

/// What live claims have taken.
class Use {
 public:
  void add(const std::string& pipeline, const std::string& run_id, model::TriggerKind cause, const model::Taken& taken);

  int workers() const { return workers_; }
  int data_workers() const { return data_workers_; }
  int of_pool(const std::string& pool) const;
  int of_pipeline(const std::string& pipeline) const;
  std::int64_t memory_bytes() const { return memory_bytes_; }

  struct FileUse {
    int readers = 0;
    std::string writer;    ///< run id; empty: none
    std::string a_reader;  ///< one of them, to name
  };
  const FileUse* file(const std::string& path) const;

 private:
  int workers_ = 0;
  int data_workers_ = 0;
  std::int64_t memory_bytes_ = 0;
  std::map<std::string, int> pools_;
  std::map<std::string, int> pipelines_;
  std::map<std::string, FileUse> files_;
};

/// One thing a run waits for.
struct Shortage {
  std::string kind;  ///< worker | pool | pipeline | database | memory
  std::string name;
  std::string detail;  ///< for people
};

/// What a run of the pipeline takes. `database` is the path by which the file is known everywhere: absolute, with
/// symbolic links resolved by the caller.
model::Taken wanted(const model::Pipeline& pipeline, const std::string& database);

/// How many of the workers data may take: three quarters, and at least one.
int data_share(int workers);

/// Everything that is not free for it now; empty: it may start.
std::vector<Shortage> shortages(const model::Pipeline& pipeline, model::TriggerKind cause, const model::Taken& wants,
                                const Use& use, const Capacity& capacity);

}  // namespace eider::decide
