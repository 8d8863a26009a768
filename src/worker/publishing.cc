#include "worker/publishing.h"

#include <sys/stat.h>
#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

namespace fs = std::filesystem;

Result<void> sync_tree(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) return {};  // it has no content of its own
  if (fs::is_directory(path, error)) {
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      if (auto synced = sync_tree(entry->path()); !synced) return synced;
    }
    if (error) return Error{ErrorCode::io, path.string() + ": " + error.message()};
  }
  if (!fs::is_regular_file(path, error)) return {};  // opening a pipe would wait for its other end
  return sync_path(path.string());
}

}  // namespace

Publishing::Publishing(const model::Pipeline& pipeline, const std::string& workspace, const std::string& run_id,
                       int attempt)
    : run_id_(run_id), attempt_(attempt) {
  for (const model::Publish& publish : pipeline.publishes) {
    if (publish.path.empty()) continue;
    fs::path target = (fs::path(workspace) / publish.path).lexically_normal();
    if (!target.has_filename()) target = target.parent_path();  // `out/folder/`
    const std::string name = fmt::format(".{}.{}.{}.tmp", target.filename().string(), run_id, attempt);
    all_.push_back({publish.asset, target.string(), (target.parent_path() / name).string()});
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
    const fs::path target = one.target;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) {
      return Error{ErrorCode::io, fmt::format("can't make the folder of {} (published as {}): {}", one.target,
                                              one.asset, error.message())};
    }
    if (attempt_ == 1) continue;
    const std::string prefix = fmt::format(".{}.{}.", target.filename().string(), run_id_);
    std::vector<fs::path> left;
    for (auto entry = fs::directory_iterator(target.parent_path(), error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with(prefix) && name.find(".tmp", prefix.size()) != std::string::npos)
        left.push_back(entry->path());
    }
    for (const fs::path& path : left) fs::remove_all(path, error);
  }
  return {};
}

Result<std::vector<wire::Rename>> Publishing::collect() const {
  std::vector<wire::Rename> renames;
  for (const Staged& one : all_) {
    struct stat info {};
    if (::lstat(one.staged.c_str(), &info) != 0) {
      if (errno != ENOENT) return io_error(one.staged, errno);
      const std::string name = shortest_name(one.staged);
      return Error{
          ErrorCode::invalid,
          fmt::format("no step wrote {}, which the pipeline publishes as {}; write it to the path in the variable "
                      "out_{} (SQL) or $EIDER_OUT_{} (programs), not to its final place",
                      one.target, one.asset, name, upper(name))};
    }
    if (auto synced = sync_tree(one.staged); !synced) {
      return Error{ErrorCode::io,
                   fmt::format("can't save {} (published as {}): {}", one.target, one.asset, synced.error().message)};
    }
    renames.push_back({one.staged, one.target, info.st_ino, S_ISDIR(info.st_mode)});
  }
  // The names themselves must survive too, or a result could name what a power cut took away.
  for (const wire::Rename& rename : renames) {
    if (auto synced = sync_path(fs::path(rename.staged).parent_path().string()); !synced) return synced.error();
  }
  return renames;
}

void Publishing::discard() const {
  for (const Staged& one : all_) {
    std::error_code ignored;
    fs::remove_all(one.staged, ignored);
  }
}

}  // namespace eider::worker
