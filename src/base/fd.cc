#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

namespace eider {

void UniqueFd::reset(int fd) {
  // EINTR from close() on Linux means closed: never close twice.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<std::string> read_file(const std::string& path, std::size_t limit_bytes) {
  // O_NONBLOCK: opening a pipe would wait for its other end.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return Error{ErrorCode::not_found, path + ": no such file"};
    if (errno == ENXIO) return Error{ErrorCode::invalid, path + ": is no regular file"};  // a socket
    return io_error(path, errno);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return io_error(path, errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::invalid, path + ": is no regular file"};
  std::string out;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, errno);
    if (n == 0) return out;
    out.append(buffer, static_cast<std::size_t>(n));
    if (out.size() > limit_bytes) {
      return Error{ErrorCode::refused, path + ": larger than " + std::to_string(limit_bytes) + " bytes"};
    }
  }
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> sync_path(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return io_error(path, errno);
  if (::fsync(file.get()) != 0) return io_error("fsync " + path, errno);
  return {};
}

namespace {

Result<void> replace(const std::string& path, std::string_view bytes, bool sync) {
  const std::string beside = path + ".tmp";
  {
    // O_NONBLOCK: a pipe that lies there is an error, and is not waited for.
    UniqueFd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file) return io_error(beside, errno);
    if (auto written = write_all(file.get(), bytes); !written) {
      ::unlink(beside.c_str());  // on a full disk, half a file is in the way
      return Error{ErrorCode::io, beside + ": " + written.error().message};
    }
    if (sync && ::fsync(file.get()) != 0) return io_error("fsync " + beside, errno);
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) return io_error("rename to " + path, errno);
  return {};
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view bytes) { return replace(path, bytes, false); }

Result<void> write_file_durably(const std::string& path, std::string_view bytes) {
  if (auto replaced = replace(path, bytes, true); !replaced) return replaced;
  const std::size_t slash = path.rfind('/');
  return sync_path(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Result<void> make_folders(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return io_error(part, errno);
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return io_error(path, errno);
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::io, path + ": is not a folder"};
  return {};
}

}  // namespace eider
