#include "worker/content.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/ids.h"

namespace eider::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = 1024 * 1024;

struct Hashed {
  std::string hash;
  std::int64_t bytes = 0;
};

Result<Hashed> hash_file(const std::string& path, const std::function<bool()>& stopped) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return io_error(path, errno);
  std::string buffer(kReadBytes, '\0');
  ContentHash hash;
  Hashed out;
  while (true) {
    if (stopped()) return Error{ErrorCode::unavailable, "ended while " + path + " was read"};
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path, errno);
    if (n == 0) break;
    hash.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)));
    out.bytes += n;
  }
  out.hash = hash.finish();
  return out;
}

/// The regular files of a folder, relative and sorted. `only_files`: there is nothing else but folders.
Result<std::vector<std::string>> files_in(const fs::path& folder, bool& only_files) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::file_status status = at->symlink_status(error);
    if (error) break;
    if (fs::is_regular_file(status)) {
      out.push_back(at->path().lexically_relative(folder).string());
    } else if (!fs::is_directory(status)) {
      only_files = false;
    }
  }
  if (error) return Error{ErrorCode::io, folder.string() + ": " + error.message()};
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<Content> read_content(const std::string& path, const std::function<bool()>& stopped) {
  Content out;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error) return Error{ErrorCode::io, path + ": " + error.message()};
  if (fs::is_regular_file(status)) {
    auto hashed = hash_file(path, stopped);
    if (!hashed) return hashed.error();
    return Content{hashed->bytes, std::move(hashed->hash), {path}};
  }
  if (!fs::is_directory(status)) return out;
  bool only_files = true;
  auto files = files_in(path, only_files);
  if (!files) return files.error();
  out.files = std::move(*files);
  ContentHash all;
  for (const std::string& file : out.files) {
    const auto hashed = hash_file((fs::path(path) / file).string(), stopped);
    if (!hashed) return hashed.error();
    out.bytes += hashed->bytes;
    all.add(fmt::format("{}:{}{}", file.size(), file, hashed->hash));
  }
  if (only_files) out.fingerprint = all.finish();
  return out;
}

}  // namespace eider::worker
