#include "worker/duckdb/session.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/log.h"
#include "worker/duckdb/connection.h"
#include "worker/duckdb/file_held.h"
#include "worker/duckdb/instance.h"
#include "worker/duckdb/new_file.h"

namespace eider::worker::duck {
namespace {

Error database_error(const char* message) {
  return Error{ErrorCode::io, message ? std::string(message) : "DuckDB gave no reason"};
}

Error refused_connection() { return Error{ErrorCode::io, "DuckDB refused a connection"}; }

/// As open() sets it.
constexpr std::string_view kFirstTimeZone = "UTC";

/// How long a receipt is kept: longer than anybody retries a run.
constexpr std::string_view receipts_kept = "INTERVAL 400 DAYS";

}  // namespace

Result<void> run_sql(const Library& library, duckdb_connection connection, const std::string& sql) {
  Handle<duckdb_result> result(library.destroy_result);
  if (library.query(connection, sql.c_str(), result.out()) == DuckDBSuccess) return {};
  return Error{ErrorCode::io, parse_error(library.result_error(result.out()), {}).text()};
}

Result<Statement> prepare(const Library& library, duckdb_connection connection, const std::string& sql) {
  Statement statement(library.destroy_prepare);
  if (library.prepare(connection, sql.c_str(), statement.out()) == DuckDBSuccess) return statement;
  return Error{ErrorCode::io, parse_error(library.prepare_error(statement.get()), {}).text()};
}

Result<std::size_t> run_bound(const Library& library, duckdb_connection connection, const std::string& sql,
                              const std::vector<Parameter>& parameters) {
  auto statement = prepare(library, connection, sql);
  if (!statement) return statement.error();
  return run_prepared(library, *statement, parameters);
}

Result<std::size_t> run_prepared(const Library& library, Statement& statement,
                                 const std::vector<Parameter>& parameters) {
  idx_t index = 0;
  for (const Parameter& parameter : parameters) {
    ++index;
    duckdb_state bound = DuckDBError;
    if (const auto* text = std::get_if<std::string>(&parameter)) {
      bound = library.bind_varchar_length(statement.get(), index, text->data(), text->size());
    } else if (const auto* instant = std::get_if<InstantUs>(&parameter)) {
      bound = library.bind_timestamp_tz(statement.get(), index, duckdb_timestamp{instant->us});
    } else {
      bound = library.bind_null(statement.get(), index);
    }
    if (bound != DuckDBSuccess) return Error{ErrorCode::invalid, "it is no valid UTF-8"};
  }
  Handle<duckdb_pending_result> pending(library.destroy_pending);
  if (library.pending_prepared(statement.get(), pending.out()) != DuckDBSuccess) {
    return Error{ErrorCode::io, parse_error(library.pending_error(pending.get()), {}).text()};
  }
  Handle<duckdb_result> result(library.destroy_result);
  if (library.execute_pending(pending.get(), result.out()) != DuckDBSuccess) {
    return Error{ErrorCode::io, parse_error(library.result_error(result.out()), {}).text()};
  }
  std::size_t rows = 0;
  while (true) {
    Handle<duckdb_data_chunk> chunk(library.destroy_data_chunk, library.fetch_chunk(result.get()));
    if (!chunk.get()) return rows;
    rows += library.data_chunk_get_size(chunk.get());
  }
}

Result<void> Instance::open(const Facts& usual) {
  char* message = nullptr;
  if (library.open_ext(nullptr, database_.out(), nullptr, &message) != DuckDBSuccess) {
    Error error = database_error(message);
    library.free(message);
    return error;
  }
  if (library.connect(database_.get(), control_.out()) != DuckDBSuccess) return refused_connection();
  if (auto made = saved_rows.register_function(library, control_.get()); !made) return made;
  const auto set =
      run_sql(library, control_.get(),
              "SET errors_as_json = true;"
              "SET GLOBAL autoinstall_known_extensions = false; SET GLOBAL autoload_known_extensions = false;"
              "SET GLOBAL allow_persistent_secrets = false; SET GLOBAL TimeZone = 'UTC'; SELECT 42");
  if (!set) return set.error();
  auto ready = new_connection();
  if (!ready) return ready.error();
  if (auto prepared = prepare_usual_facts(library, *ready, usual); !prepared) return prepared;
  ready_.emplace(std::move(*ready));
  return {};
}

Result<ReadyConnection> Instance::new_connection() {
  ReadyConnection out(library);
  if (library.connect(database_.get(), out.handle.out()) != DuckDBSuccess) return refused_connection();
  // Progress is only computed for a progress bar; printing it is off. Errors as JSON carry a position.
  const auto set =
      run_sql(library, out.handle.get(),
              "SET errors_as_json = true; SET enable_progress_bar = true; SET enable_progress_bar_print = false;"
              "SET progress_bar_time = 1");
  if (!set) return set.error();
  return out;
}

Result<ReadyConnection> Instance::connect() {
  {
    const std::lock_guard lock(mutex_);
    if (ready_) {
      ReadyConnection out = std::move(*ready_);
      ready_.reset();
      return out;
    }
  }
  return new_connection();
}

Result<void> Instance::configure(const SessionOptions& wanted) {
  options = wanted;
  for (const std::string* text : {&options.temp_folder, &options.time_zone}) {
    if (text->find('\0') != std::string::npos) return Error{ErrorCode::invalid, "a setting of DuckDB holds a NUL"};
  }
  std::string sql;
  if (options.threads > 0) sql += fmt::format("SET GLOBAL threads = {};", options.threads);
  if (options.memory_bytes > 0) sql += fmt::format("SET GLOBAL memory_limit = '{}B';", options.memory_bytes);
  if (!options.temp_folder.empty()) {
    sql += fmt::format("SET GLOBAL temp_directory = {};", quote_literal(options.temp_folder));
  }
  if (options.temp_bytes > 0) sql += fmt::format("SET GLOBAL max_temp_directory_size = '{}B';", options.temp_bytes);
  if (!options.time_zone.empty() && options.time_zone != kFirstTimeZone)
    sql += fmt::format("SET GLOBAL TimeZone = {};", quote_literal(options.time_zone));
  if (sql.empty()) return {};
  const std::lock_guard lock(mutex_);
  return run_sql(library, control_.get(), sql);
}

std::string Instance::full_path(const std::string& path) const {
  return (std::filesystem::path(options.workspace_folder) / path).lexically_normal().string();
}

std::string Instance::free_catalog_name(const std::string& path) const {
  const std::string stem = std::filesystem::path(path).stem().string();
  std::string name = stem;
  // Names that DuckDB has taken for itself, or that would be ambiguous with a schema of every catalog.
  for (const char* taken : {"memory", "system", "temp", "main"}) {
    if (name == taken) name += "_db";
  }
  const auto is_taken = [&](const auto& entry) { return entry.second.catalog == name; };
  for (int n = 2; std::any_of(attached_.begin(), attached_.end(), is_taken); ++n) name = fmt::format("{}_{}", stem, n);
  return name;
}

Result<std::variant<Instance::Attached, FileHeld>> Instance::attach(const DatabaseFile& file) {
  using Outcome = std::variant<Attached, FileHeld>;
  const std::lock_guard lock(mutex_);
  if (const auto found = attached_.find(file.path); found != attached_.end()) {
    if (found->second.read_only != file.read_only) {
      return Error{ErrorCode::invalid, fmt::format("{} is open for {} by another step of this run", file.path,
                                                   file.read_only ? "writing" : "reading only")};
    }
    ++found->second.users;
    return Outcome(found->second);
  }
  if (file.path.find('\0') != std::string::npos) return Error{ErrorCode::invalid, "the database's path holds a NUL"};
  if (file.path.find('?') != std::string::npos) {  // DuckDB puts `.wal` before it: two files would share one log
    return Error{ErrorCode::invalid, fmt::format("cannot open {}: DuckDB takes what follows a \"?\" for no part of the "
                                                 "path; rename it",
                                                 file.path)};
  }
  if (!file.read_only) {
    if (auto made = make_file(library, control_.get(), file.path); !made) return made.error();
  }
  Attached made{free_catalog_name(file.path), file.read_only, 1};
  const std::string catalog = quote_identifier(made.catalog);
  const auto attached = run_sql(library, control_.get(),
                                fmt::format("ATTACH {} AS {} (TYPE duckdb{})", quote_literal(file.path), catalog,
                                            file.read_only ? ", READ_ONLY" : ""));
  if (!attached) {
    if (is_lock_error(attached.error().message)) {
      return Outcome(FileHeld{file.path, holder_of(file.path, attached.error().message)});
    }
    return Error{attached.error().code, fmt::format("cannot open {}: {}", file.path, attached.error().message)};
  }
  if (!file.read_only) {
    // Made here and not in a step's transaction: two steps side by side would conflict over it.
    const std::string table = fmt::format("{}.main.{}", catalog, receipts_table);
    const auto prepared =
        run_sql(library, control_.get(),
                fmt::format("CREATE TABLE IF NOT EXISTS {0} {1}; DELETE FROM {0} WHERE finished_at < now() - {2}",
                            table, receipts_columns, receipts_kept));
    if (!prepared) {
      (void)run_sql(library, control_.get(), "DETACH DATABASE IF EXISTS " + catalog);
      return Error{prepared.error().code, fmt::format("cannot prepare the table {} of {}: {}", receipts_table,
                                                      file.path, prepared.error().message)};
    }
  }
  attached_[file.path] = made;
  return Outcome(made);
}

void Instance::release(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = attached_.find(path);
  EIDER_CHECK(found != attached_.end(), "a file is released once for each time it was attached");
  if (--found->second.users > 0) return;
  const auto detached =
      run_sql(library, control_.get(), "DETACH DATABASE IF EXISTS " + quote_identifier(found->second.catalog));
  // What is committed is safe in DuckDB's log beside the file.
  if (!detached) log::warning(fmt::format("closing {}: {}", path, detached.error().message));
  attached_.erase(found);
}

void Instance::keep_usual(const Facts& facts) {
  const std::lock_guard lock(mutex_);
  usual_.clear();
  for (const char* name : {"attempt", "facts", "pipeline", "step", "trigger", "trigger_id", "workspace"}) {
    if (const auto found = facts.find(name); found != facts.end()) usual_.insert(*found);
  }
}

Facts Instance::usual() const {
  const std::lock_guard lock(mutex_);
  return usual_;
}

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::open(const std::string& library_path, const Facts& usual) {
  auto library = Library::load(library_path);
  if (!library) return library.error();
  auto impl = std::make_shared<Impl>(*library);
  if (auto opened = impl->open(usual); !opened) return opened.error();
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Facts Session::usual_facts() const { return impl_->usual(); }

Result<void> Session::configure(const SessionOptions& options) { return impl_->configure(options); }

Result<Connected> Session::connect(const std::optional<DatabaseFile>& database, const Facts& facts) {
  auto ready = impl_->connect();
  if (!ready) return ready.error();
  auto connection = std::make_unique<Connection::Impl>(impl_, std::move(*ready));
  if (database) {
    const DatabaseFile file{impl_->full_path(database->path), database->read_only};
    auto attached = impl_->attach(file);
    if (!attached) return attached.error();
    if (auto* held = std::get_if<FileHeld>(&*attached)) return Connected{nullptr, *held};
    connection->file = file;
    connection->catalog = std::get<Instance::Attached>(*attached).catalog;
    const std::string use = fmt::format("USE {}.main", quote_identifier(connection->catalog));
    if (auto used = run_sql(impl_->library, connection->handle.get(), use); !used) return used.error();
  }
  if (auto set = connection->set_facts(facts); !set) return set.error();
  impl_->keep_usual(facts);
  return Connected{std::unique_ptr<Connection>(new Connection(std::move(connection))), std::nullopt};
}

}  // namespace eider::worker::duck
