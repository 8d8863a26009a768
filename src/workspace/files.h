// Reading files of a workspace without leaving it, hanging or filling memory. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace eider::workspace {

/// `./a//b/../c` becomes `a/c`; purely of the text. `..` at the front stays, an absolute path stays absolute.
std::string normal_path(std::string_view path);
/// An Error `invalid` unless the path is relative, stays inside the folder it is relative to, and is not that folder.
Result<void> check_inside(std::string_view path);
/// `inner` is `outer` or below it. Both normal.
bool is_within(std::string_view inner, std::string_view outer);

class Folder {
 public:
  /// An Error `not_found` unless `root` is a folder, `invalid` when its path is no UTF-8 (JSON could not name it).
  static Result<Folder> open(const std::string& root);

  const std::string& root() const { return root_; }  ///< absolute, without symbolic links

  /// The content of a regular file; `path` is workspace-relative. Devices, pipes and folders are refused without
  /// being waited for; a symbolic link that leads out of the workspace is refused.
  /// Errors: not_found, invalid (not a plain file, leads outside), refused (larger than the limit), io.
  Result<std::string> read(const std::string& path, std::size_t limit_bytes) const;
  /// Names in a sub-folder that have one of the endings and do not begin with a dot, sorted. None when there is no
  /// such folder. Errors: invalid (not a folder, leads outside), io.
  Result<std::vector<std::string>> names(const std::string& folder, const std::vector<std::string_view>& endings) const;

 private:
  explicit Folder(std::string root) : root_(std::move(root)) {}
  Result<void> check_opened(int fd, const std::string& path) const;

  std::string root_;
};

}  // namespace eider::workspace
