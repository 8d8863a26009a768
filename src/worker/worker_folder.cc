#include "worker/worker_folder.h"

#include <sys/stat.h>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/fd.h"

namespace eider::worker {
namespace {

namespace fs = std::filesystem;

void remove_those_of_dead_workers(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> dead;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int pid = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc() || end != name.data() + name.size()) continue;
    // An unrelated process of that number keeps a folder that nobody needs: no harm.
    if (::kill(pid, 0) != 0 && errno == ESRCH) dead.push_back(entry->path());
  }
  for (const fs::path& path : dead) fs::remove_all(path, error);
}

}  // namespace

WorkerFolder::~WorkerFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<void> WorkerFolder::prepare(const std::string& path) {
  if (!path_.empty()) return {};
  remove_those_of_dead_workers(fs::path(path).parent_path());
  std::error_code ignored;
  fs::remove_all(path, ignored);  // of a worker that had this number before
  if (auto made = make_folders(path); !made) return made;
  path_ = path;
  return {};
}

Result<void> WorkerFolder::lend_temp(const std::string& path) {
  if (has_spare_) {
    has_spare_ = false;
    if (::rename((path_ + "/tmp").c_str(), path.c_str()) == 0) return {};
  }
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  std::error_code ignored;
  if (errno == EEXIST) fs::remove_all(path, ignored);
  return make_folders(path);
}

void WorkerFolder::take_back_temp(const std::string& path) {
  std::error_code error;
  if (!has_spare_ && !path_.empty() && fs::is_empty(path, error) && !error) {
    has_spare_ = ::rename(path.c_str(), (path_ + "/tmp").c_str()) == 0;
    if (has_spare_) return;
  }
  fs::remove_all(path, error);
}

}  // namespace eider::worker
