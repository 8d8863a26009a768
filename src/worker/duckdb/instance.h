// Inside of this folder: what Session and Connection share.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "worker/duckdb/library.h"
#include "worker/duckdb/rows.h"
#include "worker/duckdb/script_text.h"
#include "worker/duckdb/session.h"

namespace eider::worker::duck {

/// Runs one statement of Eider's own and drops its rows; an Error carries DuckDB's message.
Result<void> run_sql(const Library& library, duckdb_connection connection, const std::string& sql);

/// A parameter of a prepared statement: NULL, text or microseconds of a TIMESTAMPTZ.
struct InstantUs {
  std::int64_t us = 0;
};
using Parameter = std::variant<std::monostate, std::string, InstantUs>;
using Statement = Handle<duckdb_prepared_statement>;
Result<Statement> prepare(const Library& library, duckdb_connection connection, const std::string& sql);
/// Runs a statement with its parameters; the value is the number of rows it returned.
Result<std::size_t> run_prepared(const Library& library, Statement& statement,
                                 const std::vector<Parameter>& parameters);
/// Both at once.
Result<std::size_t> run_bound(const Library& library, duckdb_connection connection, const std::string& sql,
                              const std::vector<Parameter>& parameters);

/// One of the facts that every step gets, as a connection knows it.
struct KnownFact {
  Statement set;
  std::optional<std::string> value;  ///< which it has
};

/// A connection before it is a step's. Preparing takes DuckDB longer than running (0.25 ms a fact), and that 0.2 ms, so
/// the usual facts may be known already: then only those are set that are others.
struct ReadyConnection {
  explicit ReadyConnection(const Library& library) : handle(library.disconnect) {}
  Handle<duckdb_connection> handle;
  std::map<std::string, KnownFact> known;  ///< by name; gone before the connection is
};

/// The DuckDB instance of a run and the files attached to it. Thread-safe.
class Instance {
 public:
  explicit Instance(const Library& functions)
      : library(functions), database_(functions.close), control_(functions.disconnect) {}

  /// `usual`: what the facts of the next step are likely to be.
  Result<void> open(const Facts& usual);
  Result<void> configure(const SessionOptions& options);
  /// The one that was made ready beforehand, or a new one.
  Result<ReadyConnection> connect();

  struct Attached {
    std::string catalog;
    bool read_only = false;
    int users = 0;
  };
  /// Attaches the file unless it is, and counts one more user.
  Result<std::variant<Attached, FileHeld>> attach(const DatabaseFile& file);
  /// Counts one less; the last one detaches, which writes DuckDB's log into the file and releases its lock.
  void release(const std::string& path);
  /// Absolute, from the workspace.
  std::string full_path(const std::string& path) const;
  void keep_usual(const Facts& facts);
  Facts usual() const;

  const Library library;
  SavedRows saved_rows;  ///< outlives the database, whose table function reads it
  SessionOptions options;

 private:
  std::string free_catalog_name(const std::string& path) const;
  Result<ReadyConnection> new_connection();

  Handle<duckdb_database> database_;
  Handle<duckdb_connection> control_;
  mutable std::mutex mutex_;  // attached_, control_, ready_ and usual_
  std::optional<ReadyConnection> ready_;
  std::map<std::string, Attached> attached_;
  Facts usual_;
};

struct Session::Impl : Instance {
  using Instance::Instance;
};

/// The table of one row a committed step, in the run's DuckDB file.
inline constexpr std::string_view receipts_table = "_eider_receipts";
inline constexpr std::string_view receipts_columns = "(run_id VARCHAR, step VARCHAR, finished_at TIMESTAMPTZ)";

}  // namespace eider::worker::duck
