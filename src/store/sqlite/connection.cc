#include "store/sqlite/connection.h"

#include <atomic>
#include <cstring>

#include <fmt/format.h>

namespace eider::store::sqlite {
namespace {

constexpr std::string_view memory_prefix = "file:/eider-memory-";

/// A path as the path part of a `file:` URI.
std::string uri_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

Error cannot_open(sqlite3* db, const std::string& path, int code) {
  const int cause = db == nullptr ? 0 : sqlite3_system_errno(db);
  const std::string why = cause != 0 ? std::strerror(cause) : sqlite3_errstr(code);
  return Error{ErrorCode::io,
               fmt::format("{}: cannot be opened: {}; the folder must be there and writable for this user", path, why)};
}

constexpr int patience_ms = 2000;

}  // namespace

std::string memory_path() {
  static std::atomic<std::uint64_t> made{0};
  return fmt::format("{}{}?vfs=memdb", memory_prefix, made.fetch_add(1));
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Access access) {
  // SQLite's count of its memory, which nobody reads, takes a lock at every allocation: 8 % of a write. This works
  // before the first connection of the process only; later it changes nothing.
  static const int settled = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)settled;
  std::unique_ptr<Connection> connection(new Connection);
  connection->path_ = path;
  connection->in_memory_ = path.starts_with(memory_prefix);
  // A database in memory has no file yet when its first connection opens it.
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = path;
  if (connection->in_memory_) {
    flags |= SQLITE_OPEN_URI | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  } else if (access == Access::immutable) {
    flags |= SQLITE_OPEN_URI | SQLITE_OPEN_READONLY;
    name = (path.starts_with('/') ? "file://" : "file:") + uri_path(path) + "?immutable=1";
  } else {
    flags |= access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  }
  const int code = sqlite3_open_v2(name.c_str(), &connection->db_, flags, nullptr);
  if (code != SQLITE_OK) return cannot_open(connection->db_, path, code);
  connection->be_patient(true);
  // Its reader's close must never write, and the server checkpoints when it wants to.
  if (access != Access::write) sqlite3_db_config(connection->db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection->db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return connection;
}

void Connection::be_patient(bool patient) { sqlite3_busy_timeout(db_, patient ? patience_ms : 0); }

Connection::~Connection() { sqlite3_close_v2(db_); }

Result<void> Connection::execute(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

Result<std::int64_t> Connection::number(const char* sql) {
  Statement statement(*this, sql);
  Rows rows(statement);
  auto more = rows.next();
  if (!more) return more.error();
  return *more ? rows.number(0) : 0;
}

Error Connection::error(int code) const {
  const int cause = sqlite3_system_errno(db_);
  const std::string system = cause == 0 ? std::string() : fmt::format(" ({})", std::strerror(cause));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::unavailable, fmt::format("{}: is locked by another process; nothing was written", path_)};
    case SQLITE_FULL:
      return {ErrorCode::unavailable, fmt::format("{}: the disk is full: make room; nothing was written", path_)};
    case SQLITE_NOMEM:
      return {ErrorCode::unavailable, fmt::format("{}: out of memory; nothing was written", path_)};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorCode::corrupt,
              fmt::format("{}: is damaged ({}); it is left as it is: put a backup in its place, or move the file and "
                          "those named like it with -wal and -shm away to start with an empty history",
                          path_, sqlite3_errmsg(db_))};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorCode::io,
              fmt::format("{}: cannot be written: make the file and its folder writable for this user", path_)};
    case SQLITE_CANTOPEN:
      return cannot_open(db_, path_, code);
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return {ErrorCode::conflict, fmt::format("{}: {}", path_, sqlite3_errmsg(db_))};
    default:
      return {ErrorCode::io, fmt::format("{}: {}{}", path_, sqlite3_errmsg(db_), system)};
  }
}

Result<void> Statement::begin() {
  if (statement_ != nullptr) {
    sqlite3_clear_bindings(statement_);
    return {};
  }
  const int code = sqlite3_prepare_v3(connection_.handle(), sql_.c_str(), static_cast<int>(sql_.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) return connection_.error(code);
  return {};
}

void Statement::bind(int index, std::string_view value, sqlite3_destructor_type life) {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(statement_, index, value.data() == nullptr ? "" : value.data(), value.size(), life, SQLITE_UTF8);
}

Result<int> Statement::finish() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_DONE) {
    // Read before the reset, which does not change it; counts rows of INSERT, UPDATE and DELETE only.
    const int changed = sqlite3_changes(connection_.handle());
    sqlite3_reset(statement_);
    return changed;
  }
  const Error failed = connection_.error(code);
  sqlite3_reset(statement_);
  return failed;
}

Result<bool> Rows::next() {
  if (failed_) return *failed_;
  const int code = sqlite3_step(statement_.statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  failed_ = statement_.connection_.error(code);
  return *failed_;
}

std::string Rows::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.statement_, column))};
}

std::optional<Instant> Rows::maybe_instant(int column) const {
  if (is_null(column)) return std::nullopt;
  return instant(column);
}

std::optional<int> Rows::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

std::optional<std::int64_t> Rows::maybe_number(int column) const {
  if (is_null(column)) return std::nullopt;
  return number(column);
}

}  // namespace eider::store::sqlite
