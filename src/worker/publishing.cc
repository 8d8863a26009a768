#include "worker/publishing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/fd.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

namespace fs = std::filesystem;

Result<void> add_to_sync(const fs::path& path, std::vector<std::string>& out) {
  std::error_code error;
  if (fs::is_symlink(path, error)) return {};
  if (fs::is_directory(path, error)) {
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      if (auto added = add_to_sync(entry->path(), out); !added) return added;
    }
    if (error) return Error{ErrorCode::io, path.string() + ": " + error.message()};
  } else if (!fs::is_regular_file(path, error)) {
    return {};
  }
  out.push_back(path.string());
  return {};
}

Result<void> sync_all(const std::string& path) {
  const auto all = all_to_sync(path);
  if (!all) return all.error();
  for (const std::string& one : *all) {
    if (auto synced = sync_path(one); !synced) return synced;
  }
  return {};
}

/// With what is missing above it. A new name is synced into its folder, or a power cut could take away the way to a
/// published file.
Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = folder; at.has_relative_path() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
  }
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::io, error.message()};
  for (const fs::path& made : missing) {
    if (auto synced = sync_path(made.parent_path().string()); !synced) return synced;
  }
  return {};
}

Error not_published(const Staged& one, const std::string& why) {
  return Error{ErrorCode::io, fmt::format("can't publish {} as {}: {}", one.asset, one.target, why)};
}

/// What is known of the target without renaming. `folder`: what is to take its place; none while that is not known.
Result<void> check_target(const Staged& one, std::optional<bool> folder) {
  struct statx info {};
  if (::statx(AT_FDCWD, one.target.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &info) != 0) {
    if (errno != ENOENT) return not_published(one, io_error("stat", errno).message);
  } else if ((info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
    return not_published(one, "it is a mount point, which can't be replaced; publish to a path below it");
  } else if (S_ISDIR(info.stx_mode) && folder == false) {
    return not_published(one, "a folder lies there, and what was made is a file; remove it or publish elsewhere");
  }
  const std::string parent = fs::path(one.target).parent_path().string();
  if (::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return not_published(one, io_error("its folder can't be written", errno).message);
  }
  return {};
}

bool is_within(const fs::path& inner, const fs::path& outer) {
  return (inner.string() + "/").starts_with(outer.string() + "/");
}

}  // namespace

Result<std::vector<std::string>> all_to_sync(const std::string& path) {
  std::vector<std::string> out;
  if (auto added = add_to_sync(path, out); !added) return added.error();
  return out;
}

Publishing::Publishing(const model::Pipeline& pipeline, const std::string& workspace, const std::string& run_id,
                       int attempt)
    : layout_{workspace}, id_{run_id, attempt} {
  for (const model::Publish& publish : pipeline.publishes) {
    if (publish.path.empty()) continue;
    fs::path target = (fs::path(workspace) / publish.path).lexically_normal();
    if (!target.has_filename()) target = target.parent_path();  // `out/folder/`
    all_.push_back({publish.asset, target.string(), wire::staged_path(target.string(), id_), publish.after});
  }
}

std::vector<std::string> Publishing::assets() const {
  std::vector<std::string> out;
  for (const Staged& one : all_) out.push_back(one.asset);
  return out;
}

std::map<std::string, std::string> Publishing::names() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, index] : model::output_names(assets())) out.emplace(name, all_[index].staged);
  return out;
}

std::string Publishing::shortest_name(const std::string& staged) const {
  std::string shortest;
  for (const auto& [name, path] : names()) {
    if (path == staged && (shortest.empty() || name.size() < shortest.size())) shortest = name;
  }
  return shortest;
}

Result<void> Publishing::prepare() const {
  for (const Staged& one : all_) {
    if (auto prepared = prepare(one); !prepared) return prepared;
  }
  std::vector<std::string> paths;
  for (const Staged& one : all_) paths.push_back(one.staged);
  return wire::list_staged(layout_, id_, paths);
}

Result<void> Publishing::prepare(const Staged& one) const {
  const fs::path target = one.target;
  std::error_code error;
  // A link that leads out of the workspace is its owner's wish.
  const fs::path real = fs::weakly_canonical(target.parent_path(), error) / target.filename();
  const fs::path own = error ? fs::path() : fs::weakly_canonical(layout_.state_folder(), error);
  if (error) return not_published(one, error.message());
  if (is_within(real, own)) return not_published(one, real.string() + " lies in Eider's own folder; publish elsewhere");
  if (auto made = make_folder(target.parent_path()); !made) {
    return not_published(one, "can't make its folder: " + made.error().message);
  }
  return check_target(one, std::nullopt);
}

Result<std::vector<wire::Rename>> Publishing::collect(const std::string& after) const {
  std::vector<wire::Rename> renames;
  for (const Staged& one : all_) {
    if (one.after != after) continue;
    struct stat info {};
    if (::lstat(one.staged.c_str(), &info) != 0) {
      if (errno != ENOENT) return io_error(one.staged, errno);
      const std::string name = shortest_name(one.staged);
      return Error{
          ErrorCode::invalid,
          fmt::format("no step{} wrote {}, which the pipeline publishes as {}; write it to the path in the variable "
                      "out_{} (SQL) or $EIDER_OUT_{} (programs), not to its final place",
                      after.empty() ? "" : " up to " + after, one.target, one.asset, name, upper(name))};
    }
    if (auto fits = check_target(one, S_ISDIR(info.st_mode)); !fits) return fits.error();
    if (auto synced = sync_all(one.staged); !synced) {
      return Error{ErrorCode::io,
                   fmt::format("can't save {} (published as {}): {}", one.target, one.asset, synced.error().message)};
    }
    renames.push_back({one.staged, one.target, info.st_ino, S_ISDIR(info.st_mode), one.asset});
  }
  // The names themselves must survive too, or a result could name what a power cut took away.
  for (const wire::Rename& rename : renames) {
    if (auto synced = sync_path(fs::path(rename.staged).parent_path().string()); !synced) return synced.error();
  }
  return renames;
}

std::map<std::string, std::string> Publishing::staged() const {
  std::map<std::string, std::string> out;
  for (const Staged& one : all_) {
    struct stat info {};
    if (::lstat(one.staged.c_str(), &info) != 0) continue;
    out[one.asset] = fmt::format("{} {} {}.{}", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  }
  return out;
}

void Publishing::clean_up() const {
  // What can't be removed stays on the list; the server says so when it tries again.
  [[maybe_unused]] const auto removed = wire::remove_staged(layout_, id_);
}

}  // namespace eider::worker
