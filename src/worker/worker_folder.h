// `.eider/workers/<pid>/`: what a worker keeps from one run to the next, so that a run makes and removes as few inodes
// as it can. Making a folder and a socket for each run and removing them again costs 60 µs of a quiet disk, and on ext4
// without a journal several hundred: it passes over inodes that were freed in the last minutes one by one.
#pragma once

#include <string>
#include <string_view>

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

  /// Makes what the next run needs. The worker calls it when it waits for one: then nobody waits for it.
  void make_spares();
  /// A folder at `path`: the spare one, or a new one. One that is there already is as good.
  Result<void> lend_run_folder(const std::string& path);
  /// A file of `text` at `path`, whole or not at all, in the place of what was there. Not synced.
  Result<void> put_file(const std::string& path, std::string_view text);

  /// An empty folder at `path`: the spare one, or a new one.
  Result<void> lend_temp(const std::string& path);
  /// Keeps it when it is still empty, else removes it with what is in it.
  void take_back_temp(const std::string& path);

 private:
  std::string spare_temp() const { return path_ + "/tmp"; }
  std::string spare_run() const { return path_ + "/run"; }
  std::string spare_file() const { return path_ + "/file"; }

  std::string path_;
  bool has_spare_temp_ = false;  ///< a folder, spare_temp()
  bool has_spare_run_ = false;   ///< a folder, spare_run()
  bool has_spare_file_ = false;  ///< an empty file, spare_file()
};

}  // namespace eider::worker
