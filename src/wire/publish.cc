#include "wire/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "base/fault.h"
#include "base/fd.h"

namespace eider::wire {
namespace {

Error not_published(const Rename& rename, const std::string& why) {
  return Error{ErrorCode::io, "can't publish " + rename.target + ": " + why};
}
Error not_published(const Rename& rename, int errno_value) {
  return not_published(rename, io_error("rename", errno_value).message);
}

/// The inode of what lies at the path itself (links are not followed); 0: nothing there.
Result<std::uint64_t> inode_at(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return std::uint64_t{info.st_ino};
  if (errno == ENOENT) return std::uint64_t{0};
  return io_error(path, errno);
}

Result<void> swap_in_folder(const Rename& rename, bool target_there) {
  const char* staged = rename.staged.c_str();
  const char* target = rename.target.c_str();
  if (target_there) {
    if (::renameat2(AT_FDCWD, staged, AT_FDCWD, target, RENAME_EXCHANGE) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return not_published(rename, errno);
    if (::rename(target, aside(rename.staged).c_str()) != 0) return not_published(rename, errno);
  }
  if (::rename(staged, target) != 0) return not_published(rename, errno);
  return {};
}

Result<void> apply(const Rename& rename) {
  const Result<std::uint64_t> staged = inode_at(rename.staged);
  if (!staged) return not_published(rename, staged.error().message);
  const Result<std::uint64_t> target = inode_at(rename.target);
  if (!target) return not_published(rename, target.error().message);
  if (*target != rename.inode) {
    if (*staged == 0) return {};  // done, and since then replaced by somebody
    if (*staged != rename.inode) {
      return not_published(rename, "neither what lies there nor " + rename.staged + " is what the run made");
    }
    if (rename.folder) {
      if (auto swapped = swap_in_folder(rename, *target != 0); !swapped) return swapped;
    } else if (::rename(rename.staged.c_str(), rename.target.c_str()) != 0) {
      return not_published(rename, errno == EISDIR ? "a folder lies there; remove it or publish elsewhere"
                                                   : io_error("rename", errno).message);
    }
  }
  // At the target lies what the run made. What still lies at the staged path is the old folder.
  std::error_code left_to_clean_up;
  std::filesystem::remove_all(rename.staged, left_to_clean_up);
  if (rename.folder) std::filesystem::remove_all(aside(rename.staged), left_to_clean_up);
  return {};
}

}  // namespace

std::string aside(const std::string& staged) { return staged + ".old"; }

Result<void> apply_renames(const std::vector<Rename>& renames) {
  std::set<std::string> folders;
  for (const Rename& rename : renames) {
    if (auto applied = apply(rename); !applied) return applied;
    fault::point("rename.after_one");
    folders.insert(rename.target.substr(0, rename.target.rfind('/') + 1));
  }
  for (const std::string& folder : folders) {
    if (const auto there = inode_at(folder); there && *there == 0) continue;  // somebody removed it since
    if (auto synced = sync_path(folder); !synced) return synced;
  }
  return {};
}

}  // namespace eider::wire
