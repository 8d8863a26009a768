#include "supervise/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>

namespace eider::supervise {
namespace {

bool try_flock(const UniqueFd& file, int how) {
  int done = 0;
  do done = ::flock(file.get(), how | LOCK_NB);
  while (done != 0 && errno == EINTR);
  return done == 0;
}

}  // namespace

Result<UniqueFd> take_lock(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
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

}  // namespace eider::supervise
