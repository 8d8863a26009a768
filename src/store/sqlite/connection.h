// SQLite behind two small owners: a connection, and a statement that is prepared once and used many times. With
// schema.h the only place that knows how SQLite says things; errors leave it as Error, in words.
//
// Thread: a connection and its statements belong to one thread at a time (they are opened without SQLite's own
// mutex). Owner: whoever made it; statements must go before their connection.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "base/result.h"
#include "base/time.h"

namespace eider::store::sqlite {

enum class Access {
  write,      ///< reads and writes; the file must be there
  read,       ///< never writes the file; sees what other connections commit
  immutable,  ///< for a look at a file that nobody has open: takes no lock, makes no file beside it
};

/// A text that is NULL in the table when it is empty (columns that are unique where they are set).
struct OrNull {
  std::string_view text;
};

class Connection {
 public:
  /// `path` is a file, or a name made by memory_path().
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Access access);
  ~Connection();
  /// Whether a lock of another connection is waited for, 2 s at most: where another process puts a killed server's WAL
  /// in order, or is the last to leave. A connection is patient until it is told not to be.
  void be_patient(bool patient);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs statements that return no rows.
  Result<void> execute(const char* sql);
  /// The first column of the first row; 0 when there is none.
  Result<std::int64_t> number(const char* sql);
  /// False when SQLite has rolled the transaction back by itself, as it may after a write error.
  bool in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }
  bool in_memory() const { return in_memory_; }
  /// The number of the row that was inserted last.
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(db_); }
  /// The newest failure of this connection: what it was (`sqlite` code), where, and what to do.
  Error error(int code) const;
  sqlite3* handle() const { return db_; }
  const std::string& path() const { return path_; }

 private:
  Connection() = default;
  sqlite3* db_ = nullptr;
  std::string path_;
  bool in_memory_ = false;
};

/// The name of a new database in memory that several connections of this process can open; it goes with the last.
std::string memory_path();

/// A cached statement. Prepared at its first use; each use binds all of its parameters in order.
class Statement {
 public:
  Statement(Connection& connection, std::string sql) : connection_(connection), sql_(std::move(sql)) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Runs it to its end and says how many rows it changed. Texts need to live for the call only.
  template <typename... Args>
  Result<int> execute(const Args&... args) {
    if (auto ready = begin(); !ready) return ready.error();
    int index = 0;
    (bind(++index, args, SQLITE_STATIC), ...);
    return finish();
  }

 private:
  friend class Rows;
  Result<void> begin();
  Result<int> finish();
  void bind(int index, std::integral auto value, sqlite3_destructor_type) {
    sqlite3_bind_int64(statement_, index, value);
  }
  void bind(int index, Instant value, sqlite3_destructor_type) { sqlite3_bind_int64(statement_, index, to_us(value)); }
  void bind(int index, std::string_view value, sqlite3_destructor_type life);
  void bind(int index, OrNull value, sqlite3_destructor_type life) {
    if (!value.text.empty()) bind(index, value.text, life);
  }
  template <typename T>
  void bind(int index, const std::optional<T>& value, sqlite3_destructor_type life) {
    if (value) bind(index, *value, life);
  }

  Connection& connection_;
  std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
};

/// One use of a statement that returns rows; resets it at the end of its scope.
class Rows {
 public:
  template <typename... Args>
  explicit Rows(Statement& statement, const Args&... args) : statement_(statement) {
    if (auto begun = statement_.begin(); !begun) {
      failed_ = begun.error();
      return;
    }
    int index = 0;
    (statement_.bind(++index, args, SQLITE_TRANSIENT), ...);
  }
  ~Rows() {
    if (statement_.statement_ != nullptr) sqlite3_reset(statement_.statement_);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// True: a row is there to be read. False: that was all.
  Result<bool> next();
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.statement_, column); }
  int integer(int column) const { return sqlite3_column_int(statement_.statement_, column); }
  bool is_null(int column) const { return sqlite3_column_type(statement_.statement_, column) == SQLITE_NULL; }
  std::string text(int column) const;
  Instant instant(int column) const { return from_us(number(column)); }
  std::optional<Instant> maybe_instant(int column) const;
  std::optional<int> maybe_integer(int column) const;
  std::optional<std::int64_t> maybe_number(int column) const;

 private:
  Statement& statement_;
  std::optional<Error> failed_;
};

}  // namespace eider::store::sqlite
