// DuckDB as the worker process uses it: one Session a run (an in-memory instance, opened before the run arrives), one
// Connection for each SQL step while it runs, and the run's DuckDB file attached only while a Connection uses it.
//
// What SQL may do. A pipeline is its workspace owner's trusted code, so files and ATTACH are open to it as they are to
// a program of the same user. What it does not get by accident: nothing is downloaded (INSTALL is refused, automatic
// install and load are off; LOAD of an extension that is already installed works), and secrets are neither read from
// nor written to the home folder.
//
// What a script attaches itself stays attached until it says DETACH or the run ends; only the pipeline's own file is
// released after each step.
//
// Relative paths in SQL are relative to the process's working folder: the worker works in the workspace.
// DuckDB's locks are POSIX locks: while a Connection lives, closing any other descriptor of its DuckDB file in this
// process would drop them. Let nobody else open it here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace eider::worker::duck {

struct SessionOptions {
  int threads = 0;                ///< 0: as many as cores
  std::int64_t memory_bytes = 0;  ///< DuckDB's memory_limit (the process may use up to twice that); 0: its default
  std::int64_t temp_bytes = 0;    ///< limit of what it spills; 0: its default
  std::string temp_folder;        ///< one an attempt: spilled files stay after a kill. Made when needed
  std::string workspace_folder;   ///< absolute; a relative DatabaseFile::path starts here
  std::string time_zone;          ///< of TIMESTAMPTZ in SQL; empty: UTC
};

/// The DuckDB file of a pipeline. One that does not exist is made, with its folder, when it is opened for writing.
struct DatabaseFile {
  std::string path;
  bool read_only = false;
};

/// Somebody outside of this process holds the file. The run waits for it; that costs no attempt.
struct FileHeld {
  std::string path;
  int holder_pid = 0;  ///< 0: unknown
};

/// The run's facts, `getvariable('NAME')` in SQL; nothing is NULL. `scheduled_for` and `scheduled_until` are RFC 3339
/// and become TIMESTAMPTZ, `params`, `facts` and `events` become JSON, every other one VARCHAR. Values are bound, never
/// put into SQL text.
using Facts = std::map<std::string, std::optional<std::string>>;

/// Where a script stands, for its errors.
struct Origin {
  std::string pipeline_file;  ///< as shown: `pipelines/flights.yaml`
  std::string sql_file;       ///< as shown: `sql/build.sql`; empty for a block inside of the pipeline file
  int first_line = 1;         ///< line of the script's first line in its file; 0: its lines are not those of the file
};

struct ScriptRequest {
  std::string sql;
  Origin origin;
  std::string run_id;
  std::string step_id;
  /// True: one transaction; BEGIN, COMMIT and ROLLBACK are refused. False (`transaction: none`): every statement
  /// commits by itself, and no receipt is kept.
  bool transactional = true;
  /// Keep a receipt when the step has a DuckDB file opened for writing; false for a step whose effects are not all in
  /// that file and must be repeated (a COPY to a folder that only this attempt has).
  bool receipt = true;
};

struct ScriptOutcome {
  enum class Kind {
    succeeded,
    receipt_found,  ///< an earlier attempt committed this step: nothing was run
    failed,
    interrupted,  ///< by Connection::interrupt(); nothing of a transactional step was kept
  };
  Kind kind = Kind::succeeded;
  std::string error;              ///< for failed and interrupted: where, what, the line with a caret, a hint
  std::int64_t rows_changed = 0;  ///< inserted, updated, deleted, copied
};

/// What is known of a dataset without taking its word for it.
struct Dataset {
  std::int64_t rows = 0;
  std::string columns;      ///< JSON array of {"name", "type"}
  std::string fingerprint;  ///< of a table's content
};
enum class FileFormat { parquet, csv, json };

/// Gets one line without newline; called on the thread that runs the script.
using LineSink = std::function<void(std::string_view line)>;

/// One SQL step's connection. Made by Session::connect; one thread runs scripts on it, any thread may call progress()
/// and interrupt() while it lives. Its end rolls back what is open and, with the last one, detaches the file.
class Connection {
 public:
  struct Impl;
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs the whole script. Rows of its last query go to `log` as a small table, changed row counts as a line each.
  ScriptOutcome run(const ScriptRequest& request, const LineSink& log);
  /// Reads the whole of a table or view (`name`, `schema.name`). Its fingerprint is of the columns and of the rows as
  /// a multiset: neither their order, nor how they came there, nor the number of threads counts. It holds as long as
  /// DuckDB hashes values as it does now. `not_found`: there is none; any other error: it can't be read.
  Result<Dataset> look_at_table(const std::string& table);
  /// Rows and columns of files that are one dataset (at least one; their names don't matter, the format does): Parquet
  /// by its metadata alone, the others by reading them. `compression`: gzip, zstd, or empty: as the names say.
  Result<Dataset> look_at_files(FileFormat format, const std::vector<std::string>& paths,
                                const std::string& compression);
  /// 0 to 1 for the statement that runs now; nothing when DuckDB cannot tell.
  std::optional<double> progress() const;
  /// For good: the statement that runs now and every later one ends. DuckDB may need seconds to notice.
  void interrupt();

 private:
  friend class Session;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Either a connection, or who holds the file.
struct Connected {
  std::unique_ptr<Connection> connection;
  std::optional<FileHeld> held;
};

/// The in-memory instance of one run: tables and settings made in memory are shared by the run's steps and gone with
/// it. Re-open for the next run. Any thread; a Connection may outlive its Session.
class Session {
 public:
  struct Impl;
  /// Loads libduckdb.so (cheap when this process has it already), opens an instance and warms it with a query. `usual`:
  /// facts that the first connection is likely to get; what it gets is what connect() says.
  static Result<std::unique_ptr<Session>> open(const std::string& library_path, const Facts& usual = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Applies the run's settings; once, before the first connect().
  Result<void> configure(const SessionOptions& options);
  /// A connection with the facts set and, when one is named, the file attached and in use. The catalog is named after
  /// the file: `data/warehouse.duckdb` is `warehouse`.
  Result<Connected> connect(const std::optional<DatabaseFile>& database, const Facts& facts);
  /// Those of the last connection's facts that the next run's are likely to be as well; never its parameters and
  /// events.
  Facts usual_facts() const;

 private:
  explicit Session(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace eider::worker::duck
