#include "workspace/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/utf8.h"

namespace eider::workspace {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// A file that is reached without any symbolic link; none: there is a link, or the kernel is older than Linux 5.6.
UniqueFd open_without_links(const std::string& path) {
  open_how how{};
  how.flags = kOpenFlags;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

}  // namespace

std::string normal_path(std::string_view path) {
  const bool absolute = path.starts_with('/');
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    const bool leaves_a_part = part == ".." && !parts.empty() && parts.back() != "..";
    if (leaves_a_part) {
      parts.pop_back();
    } else if (part != ".." || !absolute) {
      parts.push_back(part);
    }
  }
  return fmt::format("{}{}", absolute ? "/" : "", fmt::join(parts, "/"));
}

Result<void> check_inside(std::string_view path) {
  if (path.empty()) return Error{ErrorCode::invalid, "is empty; expected a path inside the workspace"};
  if (path.starts_with('/')) {
    return Error{ErrorCode::invalid, fmt::format("\"{}\" is absolute; expected a path inside the workspace", path)};
  }
  const std::string normal = normal_path(path);
  if (normal.empty()) return Error{ErrorCode::invalid, fmt::format("\"{}\" is the workspace itself", path)};
  if (is_within(normal, "..")) return Error{ErrorCode::invalid, fmt::format("\"{}\" leaves the workspace", path)};
  return {};
}

bool is_within(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) &&
         (inner.size() == outer.size() || inner[outer.size()] == '/' || outer.ends_with('/'));
}

Result<Folder> Folder::open(const std::string& root) {
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(root.c_str(), nullptr), &std::free);
  if (!real) {
    if (errno == ENOENT || errno == ENOTDIR) return Error{ErrorCode::not_found, root + ": no such folder"};
    return io_error(root, errno);
  }
  struct stat info {};
  if (::stat(real.get(), &info) != 0) return io_error(root, errno);
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::not_found, root + ": is not a folder"};
  if (!is_utf8(real.get())) {
    return Error{ErrorCode::invalid, fmt::format("{}: the path of a workspace must be valid UTF-8; rename the folder",
                                                 made_utf8(real.get()))};
  }
  return Folder(real.get());
}

/// Asks the kernel where the opened file really is: what a link said before does not matter.
Result<void> Folder::check_opened(int fd, const std::string& path) const {
  char real[PATH_MAX];
  const ssize_t length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), real, sizeof real);
  if (length < 0) return io_error(path, errno);
  const std::string_view where(real, static_cast<std::size_t>(length));
  if (is_within(where, root_)) return {};
  return Error{ErrorCode::invalid, path + ": a symbolic link leads out of the workspace"};
}

Result<std::string> Folder::read(const std::string& path, std::size_t limit_bytes) const {
  const std::string full = root_ + "/" + path;
  // O_NONBLOCK: opening a pipe must not wait for its other end. Before that, stat: opening a device may act on it.
  struct stat info {};
  if (::stat(full.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Error{ErrorCode::not_found, path + ": no such file"};
    return io_error(path, errno);
  }
  const auto refuse_special = [&]() -> Result<void> {
    if (S_ISREG(info.st_mode)) return {};
    return Error{ErrorCode::invalid, path + ": is not a regular file"};
  };
  if (auto regular = refuse_special(); !regular) return regular.error();
  // The root is free of links: with none after it, the file is where its name says.
  UniqueFd file = path.find("..") == std::string::npos ? open_without_links(full) : UniqueFd();
  const bool surely_inside = static_cast<bool>(file);
  if (!file) file = UniqueFd(::open(full.c_str(), kOpenFlags));
  if (!file) return io_error(path, errno);
  if (::fstat(file.get(), &info) != 0) return io_error(path, errno);
  if (auto regular = refuse_special(); !regular) return regular.error();
  if (auto inside = surely_inside ? Result<void>() : check_opened(file.get(), path); !inside) return inside.error();
  const Error too_large{ErrorCode::refused,
                        fmt::format("{}: is larger than {} MiB", path, limit_bytes / (1024 * 1024))};
  if (static_cast<std::uint64_t>(info.st_size) > limit_bytes) return too_large;
  std::string out;
  out.resize(static_cast<std::size_t>(info.st_size) + 1);
  std::size_t size = 0;
  while (true) {
    const ssize_t n = ::read(file.get(), out.data() + size, out.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, errno);
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
    if (size > limit_bytes) return too_large;
    if (size == out.size()) out.resize(out.size() * 2);  // it grew since fstat
  }
  out.resize(size);
  return out;
}

Result<std::vector<std::string>> Folder::names(const std::string& folder,
                                               const std::vector<std::string_view>& endings) const {
  UniqueFd fd(::open((root_ + "/" + folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    if (errno == ENOENT) return std::vector<std::string>();
    if (errno == ENOTDIR) return Error{ErrorCode::invalid, folder + ": is not a folder"};
    return io_error(folder, errno);
  }
  if (auto inside = check_opened(fd.get(), folder); !inside) return inside.error();
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.get()), &::closedir);
  if (!entries) return io_error(folder, errno);
  fd.release();  // closedir closes it
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    const auto has = [name](std::string_view ending) { return name.ends_with(ending); };
    if (!name.starts_with('.') && std::any_of(endings.begin(), endings.end(), has)) names.emplace_back(name);
  }
  if (errno != 0) return io_error(folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace eider::workspace
