#include "wire/staged.h"

#include <unistd.h>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"
#include "wire/publish.h"

namespace eider::wire {
namespace {

namespace fs = std::filesystem;

/// More paths than a pipeline can publish.
constexpr std::size_t kLargestList = 16UL << 20;

std::string ending_of(const AttemptId& id) { return fmt::format(".{}.{}.tmp", id.run_id, id.attempt); }

/// DuckDB writes there when it replaces a file, until the new one is whole.
std::string temporary_of_copy(const fs::path& path) {
  return (path.parent_path() / ("tmp_" + path.filename().string())).string();
}

bool may_be_staged(const fs::path& path, const AttemptId& id) {
  const std::string name = path.filename().string();
  return path.is_absolute() && name.starts_with('.') && name.ends_with(ending_of(id));
}

}  // namespace

std::string staged_path(const std::string& target, const AttemptId& id) {
  const fs::path path = target;
  return (path.parent_path() / ("." + path.filename().string() + ending_of(id))).string();
}

Result<void> list_staged(const Layout& layout, const AttemptId& id, const std::vector<std::string>& staged) {
  if (staged.empty()) return {};
  if (auto made = make_folders(layout.staged_folder()); !made) return made;
  std::string text;
  for (const std::string& path : staged) {
    text += path;
    text += '\0';  // the one character that no path holds
  }
  return replace_file(layout.staged_list(id.run_id, id.attempt), text);
}

Result<void> remove_staged(const Layout& layout, const AttemptId& id) {
  const std::string list = layout.staged_list(id.run_id, id.attempt);
  const auto text = read_file(list, kLargestList);
  if (!text) return text.error().code == ErrorCode::not_found ? Result<void>() : text.error();
  std::string left;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\0', at), text->size());
    const std::string path = text->substr(at, end - at);
    at = end + 1;
    if (!may_be_staged(path, id)) continue;
    for (const std::string& one : {path, aside(path), temporary_of_copy(path)}) {
      std::error_code error;
      fs::remove_all(one, error);
      if (error) left += fmt::format("{}can't remove {}: {}", left.empty() ? "" : "; ", one, error.message());
    }
  }
  if (!left.empty()) return Error{ErrorCode::io, left};
  ::unlink(list.c_str());
  return {};
}

std::vector<AttemptId> staged_lists(const Layout& layout) {
  std::vector<AttemptId> out;
  std::error_code error;
  for (fs::directory_iterator at(layout.staged_folder(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) continue;
    AttemptId id{name.substr(0, dot), 0};
    const char* const last = name.data() + name.size();
    const auto [parsed, failed] = std::from_chars(name.data() + dot + 1, last, id.attempt);
    if (failed == std::errc() && parsed == last) out.push_back(std::move(id));
  }
  return out;
}

}  // namespace eider::wire
