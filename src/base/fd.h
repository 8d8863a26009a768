// An owned file descriptor, and the few file operations that the durability rules of the design rest on.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace eider {

/// Owns one descriptor; closes it once. Move only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// The whole of a regular file. `limit_bytes` bounds memory: a larger file is an Error `refused`; a missing one
/// `not_found`; a pipe, device or folder `invalid`, and is not waited for.
Result<std::string> read_file(const std::string& path, std::size_t limit_bytes);
/// Writes every byte, through short writes and EINTR.
Result<void> write_all(int fd, std::string_view bytes);
/// Writes beside `path` and renames over it: whoever reads, also after a crash of this process, finds the old content
/// or the new one. After a power cut the file may be the old, the new, empty or missing.
Result<void> replace_file(const std::string& path, std::string_view bytes);
/// The same with syncs of the file and its folder: after it returns, a power cut leaves the new content; before, the
/// old.
Result<void> write_file_durably(const std::string& path, std::string_view bytes);
/// fsync of a file or folder by path.
Result<void> sync_path(const std::string& path);
/// mkdir -p with mode 0700 for what it makes.
Result<void> make_folders(const std::string& path);

}  // namespace eider
