// `.eider/workers/<pid>/`: what a worker keeps from one run to the next, so that a run makes and removes as few inodes
// as it can. Making a folder and a socket for each run and removing them again costs 60 µs of a quiet disk, and on ext4
// without a journal several hundred: it passes over inodes that were freed in the last minutes one by one.
#pragma once

#include <string>

#include "base/result.h"

namespace eider::worker {

/// One a worker process. One thread.
class WorkerFolder {
 public:
  WorkerFolder() = default;
  /// Removes it.
  ~WorkerFolder();
  WorkerFolder(const WorkerFolder&) = delete;
  WorkerFolder& operator=(const WorkerFolder&) = delete;

  /// Makes it, once, and removes those of workers that were killed. `path` is Layout::worker_folder of this process.
  Result<void> prepare(const std::string& path);
  /// Where the worker's one listening socket lies; each attempt's socket is a second name of it.
  std::string socket() const { return path_ + "/sock"; }

  /// An empty folder at `path`: the spare one, or a new one.
  Result<void> lend_temp(const std::string& path);
  /// Keeps it when it is still empty, else removes it with what is in it.
  void take_back_temp(const std::string& path);

 private:
  std::string path_;
  bool has_spare_ = false;
};

}  // namespace eider::worker
