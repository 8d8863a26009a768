#include "store/sqlite/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/log.h"

namespace eider::store::sqlite {
namespace {

constexpr int enough_pages = 2000;
/// A checkpoint takes a while, in which more is committed.
constexpr std::int64_t reserved_bytes = enough_pages * std::int64_t{4096} * 5 / 4;

/// Page by page: the kernel's cache then holds single pages. One large write makes folios of 2 MiB of it, and ext4
/// walks through all 512 blocks of such a folio for each frame that a commit writes into it (0.2 ms for a commit of 13
/// pages).
Result<void> append_zeros(int file, std::int64_t from, std::int64_t to) {
  constexpr std::int64_t page_bytes = 4096;
  const std::string zeros(page_bytes, '\0');
  while (from < to) {
    const std::int64_t bytes = std::min(to, (from / page_bytes + 1) * page_bytes) - from;
    if (auto written = write_all(file, std::string_view(zeros).substr(0, static_cast<std::size_t>(bytes))); !written) {
      return written;
    }
    from += bytes;
  }
  return {};
}

/// Nobody else may write the log meanwhile. An Error where the disk has no room; then nothing has changed.
Result<void> write_zeros(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0) return io_error(path, errno);
  if (info.st_size >= reserved_bytes) return {};
  const bool at_end = ::lseek(file.get(), 0, SEEK_END) == info.st_size;
  auto written = at_end ? append_zeros(file.get(), info.st_size, reserved_bytes) : Result<void>(io_error(path, errno));
  if (written && ::fdatasync(file.get()) != 0) written = io_error(path, errno);
  if (!written && ::ftruncate(file.get(), info.st_size) != 0) return io_error(path, errno);
  return written;
}

}  // namespace

void reserve_wal(Connection& writer) {
  if (!writer.execute("BEGIN IMMEDIATE")) return;
  const auto made = write_zeros(writer.path() + "-wal");
  if (!made) log::info(fmt::format("no room is reserved for the log of what is committed: {}", made.error().message));
  (void)writer.execute("ROLLBACK");
}

Checkpoint::Checkpoint(Connection& writer) : writer_(writer) {
  // The hook takes the place of SQLite's automatic checkpoint.
  if (!writer_.in_memory()) sqlite3_wal_hook(writer_.handle(), &Checkpoint::on_commit, this);
}

int Checkpoint::on_commit(void* self, sqlite3*, const char*, int pages) {
  auto* checkpoint = static_cast<Checkpoint*>(self);
  // Fewer pages than before: the WAL was started anew.
  if (pages < checkpoint->wal_pages_.exchange(pages)) checkpoint->moved_pages_ = 0;
  return SQLITE_OK;
}

Result<void> Checkpoint::run_passive(Connection& connection) {
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, &moved);
  // Another checkpoint is at work: that is as good.
  if (code == SQLITE_BUSY) return {};
  if (code != SQLITE_OK) return connection.error(code);
  moved_pages_ = moved;
  return {};
}

Result<bool> Checkpoint::aside() {
  // More moved than there are: the count is still that of the WAL before.
  const int pages = wal_pages_;
  const int moved = moved_pages_;
  if (writer_.in_memory() || pages - (moved <= pages ? moved : 0) < enough_pages) return false;
  if (aside_ == nullptr) {
    auto opened = Connection::open(writer_.path(), Access::write);
    if (!opened) return opened.error();
    // The main file is synced before the WAL may be started anew.
    if (auto set = (*opened)->execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"); !set)
      return set.error();
    aside_ = std::move(*opened);
  }
  if (auto done = run_passive(*aside_); !done) return done.error();
  return true;
}

Result<void> Checkpoint::finish() {
  if (writer_.in_memory()) return {};
  return run_passive(writer_);
}

}  // namespace eider::store::sqlite
