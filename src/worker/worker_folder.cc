#include "worker/worker_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

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

// What can't be made or is gone is made when it is needed, and says then what is wrong.
void WorkerFolder::make_spares() {
  if (path_.empty()) return;
  if (!has_spare_run_) has_spare_run_ = ::mkdir(spare_run().c_str(), 0700) == 0 || errno == EEXIST;
  if (has_spare_file_) return;
  has_spare_file_ =
      UniqueFd(::open(spare_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)).get() >= 0;
}

Result<void> WorkerFolder::lend_run_folder(const std::string& path) {
  if (has_spare_run_) {
    if (::rename(spare_run().c_str(), path.c_str()) == 0) {
      has_spare_run_ = false;
      return {};
    }
    if (errno == ENOTEMPTY || errno == EEXIST) return {};  // an earlier attempt's
    has_spare_run_ = false;
  }
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return make_folders(path);
}

Result<void> WorkerFolder::put_file(const std::string& path, std::string_view text) {
  if (!std::exchange(has_spare_file_, false)) return replace_file(path, text);
  UniqueFd file(::open(spare_file().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return replace_file(path, text);
  if (auto written = write_all(file.get(), text); !written) {
    ::unlink(spare_file().c_str());  // on a full disk, half a file is in the way
    return Error{ErrorCode::io, path + ": " + written.error().message};
  }
  file.reset();
  if (::rename(spare_file().c_str(), path.c_str()) == 0) return {};
  return replace_file(path, text);
}

Result<void> WorkerFolder::lend_temp(const std::string& path) {
  if (has_spare_temp_) {
    has_spare_temp_ = false;
    if (::rename(spare_temp().c_str(), path.c_str()) == 0) return {};
  }
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  std::error_code ignored;
  if (errno == EEXIST) fs::remove_all(path, ignored);
  return make_folders(path);
}

void WorkerFolder::take_back_temp(const std::string& path) {
  std::error_code error;
  if (!has_spare_temp_ && !path_.empty() && fs::is_empty(path, error) && !error) {
    has_spare_temp_ = ::rename(path.c_str(), spare_temp().c_str()) == 0;
    if (has_spare_temp_) return;
  }
  fs::remove_all(path, error);
}

}  // namespace eider::worker
