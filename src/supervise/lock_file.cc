#include "supervise/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace eider::supervise {
namespace {

/// As many as end at about the same time; more would only lie there.
constexpr std::size_t kMostSpares = 64;

bool try_flock(const UniqueFd& file, int how) {
  int done = 0;
  do done = ::flock(file.get(), how | LOCK_NB);
  while (done != 0 && errno == EINTR);
  return done == 0;
}

}  // namespace

Result<UniqueFd> take_lock(const std::string& path) {
  const auto open_it = [&] { return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)); };
  UniqueFd file = open_it();
  if (!file && errno == ENOENT && make_folders(path.substr(0, path.rfind('/')))) file = open_it();
  if (!file) return io_error("can't make the run's lock file " + path, errno);
  if (try_flock(file, LOCK_EX)) return file;
  if (errno != EWOULDBLOCK) return io_error("can't lock " + path, errno);
  return Error{ErrorCode::conflict,
               path + " is held by a process of an earlier attempt: it is not started beside that"};
}

bool lock_is_free(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return errno == ENOENT;
  // Shared, so that two who ask at once don't take each other for a holder.
  return try_flock(file, LOCK_SH);
}

bool remove_free_lock(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return errno == ENOENT;
  if (!try_flock(file, LOCK_EX)) return false;
  ::unlink(path.c_str());
  return true;
}

LockFiles::LockFiles(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".lock") remove_free_lock(at->path());
  }
}

LockFiles::~LockFiles() {
  sweep();
  for (const std::string& spare : spares_) remove_free_lock(spare);
}

Result<UniqueFd> LockFiles::take(const std::string& path) {
  std::erase(spares_, path);
  ended_.erase(path);
  // The run's own file first: what is left of an earlier attempt may hold it.
  if (::access(path.c_str(), F_OK) != 0 && !spares_.empty()) {
    ::rename(spares_.back().c_str(), path.c_str());  // gone? then take_lock makes one
    spares_.pop_back();
  }
  return take_lock(path);
}

void LockFiles::ended(const std::string& path) {
  ended_.insert(path);
  sweep();
}

void LockFiles::sweep() {
  std::erase_if(ended_, [this](const std::string& path) {
    if (spares_.size() >= kMostSpares) return remove_free_lock(path);
    if (!lock_is_free(path)) return false;
    if (::access(path.c_str(), F_OK) != 0) return true;  // free, because it is not there
    if (std::find(spares_.begin(), spares_.end(), path) == spares_.end()) spares_.push_back(path);
    return true;
  });
}

}  // namespace eider::supervise
