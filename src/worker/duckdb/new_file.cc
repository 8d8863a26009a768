#include "worker/duckdb/new_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"
#include "worker/duckdb/instance.h"

namespace eider::worker::duck {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCatalog = "_eider_new_file";

/// The process that makes `.<name>.<pid>.new` (or DuckDB's log beside that); 0: the file is of another kind.
int maker_of(const std::string& file, const std::string& name) {
  const std::string prefix = "." + name + ".";
  if (!file.starts_with(prefix)) return 0;
  int pid = 0;
  const char* const last = file.data() + file.size();
  const auto [end, failed] = std::from_chars(file.data() + prefix.size(), last, pid);
  const std::string_view rest(end, static_cast<std::size_t>(last - end));
  return failed == std::errc() && (rest == ".new" || rest == ".new.wal") ? pid : 0;
}

void remove_those_of_dead_makers(const fs::path& target) {
  std::error_code error;
  for (fs::directory_iterator at(target.parent_path(), error), end; !error && at != end; at.increment(error)) {
    const int pid = maker_of(at->path().filename().string(), target.filename().string());
    // Of this number: of a process that had it before this one.
    if (pid > 0 && (pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH))) ::unlink(at->path().c_str());
  }
}

/// False: something lies there by now.
Result<bool> rename_without_replacing(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS) {  // not on this file system
    if (::link(from.c_str(), to.c_str()) == 0) {
      ::unlink(from.c_str());
      return true;
    }
  }
  if (errno == EEXIST) return false;
  return io_error("rename to " + to, errno);
}

Result<void> make(const Library& library, duckdb_connection connection, const std::string& file) {
  const auto made =
      run_sql(library, connection,
              fmt::format("ATTACH {0} AS {1} (TYPE duckdb); CREATE TABLE {1}.main.{2} {3}; CHECKPOINT {1}",
                          quote_literal(file), kCatalog, receipts_table, receipts_columns));
  const auto detached = run_sql(library, connection, fmt::format("DETACH DATABASE IF EXISTS {}", kCatalog));
  for (const auto* done : {&made, &detached}) {
    if (!*done) return done->error();
  }
  ::unlink((file + ".wal").c_str());  // all of it is in the file
  return sync_path(file);
}

}  // namespace

Result<void> make_file(const Library& library, duckdb_connection connection, const std::string& path) {
  std::error_code error;
  fs::path target = path;
  for (int links = 0; links < 40 && fs::is_symlink(target, error); ++links) {
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  if (::access(target.c_str(), F_OK) == 0 || errno != ENOENT) return {};
  const auto cannot = [&](const std::string& why) {
    return Error{ErrorCode::io, fmt::format("cannot make {}: {}", path, why)};
  };
  fs::create_directories(target.parent_path(), error);
  if (error) {
    return Error{ErrorCode::io, fmt::format("cannot make the folder of {}: {}", path, error.message())};
  }
  remove_those_of_dead_makers(target);
  const std::string file =
      (target.parent_path() / fmt::format(".{}.{}.new", target.filename().string(), ::getpid())).string();
  auto done = make(library, connection, file);
  if (done) {
    ::unlink((target.string() + ".wal").c_str());  // of a file that was removed; DuckDB would replay it
    const auto renamed = rename_without_replacing(file, target.string());
    if (renamed && *renamed) return sync_path(target.parent_path().string());
    if (!renamed) done = renamed.error();
  }
  for (const char* end : {"", ".wal"}) ::unlink((file + end).c_str());
  return done ? done : cannot(done.error().message);
}

}  // namespace eider::worker::duck
