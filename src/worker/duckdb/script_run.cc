#include "worker/duckdb/script_run.h"

#include <fmt/format.h>

#include "base/ids.h"

namespace eider::worker::duck {
namespace {

using Kind = ScriptOutcome::Kind;

std::string without_byte_order_mark(const std::string& sql) {
  return sql.starts_with("\xEF\xBB\xBF") ? sql.substr(3) : sql;
}

/// Words that begin a statement which ends or begins a transaction, or (IMPORT DATABASE) stands for several that do.
bool may_be_transaction(std::string_view word) {
  constexpr std::string_view words[] = {"begin", "start", "commit", "end", "rollback", "abort", "import"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

const char* name_of(duckdb_statement_type type) {
  switch (type) {
    case DUCKDB_STATEMENT_TYPE_INSERT:
      return "INSERT";
    case DUCKDB_STATEMENT_TYPE_UPDATE:
      return "UPDATE";
    case DUCKDB_STATEMENT_TYPE_DELETE:
      return "DELETE";
    case DUCKDB_STATEMENT_TYPE_CREATE:
      return "CREATE";
    case DUCKDB_STATEMENT_TYPE_COPY:
      return "COPY";
    default:
      return "changed";
  }
}

std::string human_bytes(std::int64_t bytes) { return fmt::format("{:.0f} MiB", double(bytes) / (1 << 20)); }

bool has(const SqlError& error, std::string_view words) { return error.message.find(words) != std::string::npos; }

}  // namespace

ScriptRun::ScriptRun(Connection::Impl& connection, const ScriptRequest& request, const LineSink& log)
    : connection_(connection),
      library_(connection.library),
      request_(request),
      log_(log),
      sql_(without_byte_order_mark(request.sql)),
      statements_(library_.destroy_extracted) {}

ScriptOutcome ScriptRun::go() {
  if (!extract() || !check_statements()) return outcome_;
  if (request_.transactional && !begin()) return outcome_;
  for (idx_t i = 0; i < count_; ++i) {
    if (run_statement(i)) continue;
    // Closes an open transaction; without one it is refused, which changes nothing.
    (void)run_sql(library_, connection_.handle.get(), "ROLLBACK");
    return outcome_;
  }
  if (end()) show_last_rows();
  return outcome_;
}

bool ScriptRun::extract() {
  if (const std::size_t nul = sql_.find('\0'); nul != std::string::npos) {
    return fail_at("the script holds a NUL character: is it a text file?", nul, true);
  }
  count_ = library_.extract_statements(connection_.handle.get(), sql_.c_str(), statements_.out());
  if (count_ > 0) {
    find_pieces();
    return true;
  }
  const char* message = library_.extract_statements_error(statements_.get());
  if (message && *message) return fail(parse_error(message, sql_), std::nullopt);
  log_("the script holds no statement");
  return true;
}

/// One piece of text may be several statements (PIVOT makes its ENUM first), so where the counts differ, DuckDB is
/// asked for each piece; where they still differ, no piece is known.
void ScriptRun::find_pieces() {
  const std::vector<Piece> pieces = split_script(sql_);
  if (pieces.size() == count_) {
    pieces_ = pieces;
    return;
  }
  for (const Piece& piece : pieces) {
    const std::string text = sql_.substr(piece.begin, piece.end - piece.begin);
    Handle<duckdb_extracted_statements> parts(library_.destroy_extracted);
    const idx_t count = library_.extract_statements(connection_.handle.get(), text.c_str(), parts.out());
    pieces_.insert(pieces_.end(), count, piece);
  }
  if (pieces_.size() != count_) pieces_.clear();
}

bool ScriptRun::check_statements() {
  for (idx_t i = 0; i < count_; ++i) {
    const std::string word = pieces_.empty() ? std::string() : first_word(sql_, pieces_[i]);
    if (word == "install" || (word == "force" && second_word(sql_, pieces_[i]) == "install")) {
      return fail_at(
          "INSTALL is refused: a run downloads nothing. Install the extension once, outside of Eider; LOAD "
          "then works",
          pieces_[i].begin, false);
    }
    if (!request_.transactional || (!pieces_.empty() && !may_be_transaction(word))) continue;
    // Only a statement that needs no table can be told before the others ran; one that controls a transaction needs
    // none, so what cannot be prepared here is something else.
    Handle<duckdb_prepared_statement> statement(library_.destroy_prepare);
    (void)library_.prepare_extracted_statement(connection_.handle.get(), statements_.get(), i, statement.out());
    if (library_.prepared_statement_type(statement.get()) != DUCKDB_STATEMENT_TYPE_TRANSACTION) continue;
    return fail({"",
                 "BEGIN, COMMIT and ROLLBACK are refused: a SQL step is one transaction with its receipt. Put "
                 "`transaction: none` on the step to control transactions yourself",
                 std::nullopt},
                i);
  }
  return true;
}

bool ScriptRun::keeps_receipt() const { return request_.receipt && connection_.file && !connection_.file->read_only; }

bool ScriptRun::begin() {
  if (!simple("beginning the transaction", "BEGIN TRANSACTION")) return false;
  if (!keeps_receipt()) return true;
  const std::string table = fmt::format("{}.main.{}", quote_identifier(connection_.catalog), receipts_table);
  // A step that was given another script since is another one: what it has committed stays, and it runs.
  const std::string step = request_.step_id + "@" + content_hash(request_.sql).substr(0, 16);
  // An earlier eider kept the step's name alone.
  auto rows = run_bound(library_, connection_.handle.get(),
                        fmt::format("SELECT 1 FROM {} WHERE run_id = $1 AND step IN ($2, $3)", table),
                        {request_.run_id, step, request_.step_id});
  if (rows && *rows == 0) {
    // First of all writes, so that one to a second DuckDB file is refused at its own line.
    rows = run_bound(library_, connection_.handle.get(), fmt::format("INSERT INTO {} VALUES ($1, $2, now())", table),
                     {request_.run_id, step});
    if (rows) return true;
  }
  (void)run_sql(library_, connection_.handle.get(), "ROLLBACK");
  if (!rows) return fail_at("keeping the receipt: " + rows.error().message, std::nullopt, false);
  outcome_.kind = Kind::receipt_found;
  log_("skipped: an earlier attempt of this run has committed this step (its receipt is in " + connection_.file->path +
       ")");
  return false;
}

bool ScriptRun::run_statement(idx_t index) {
  Handle<duckdb_prepared_statement> statement(library_.destroy_prepare);
  if (library_.prepare_extracted_statement(connection_.handle.get(), statements_.get(), index, statement.out()) !=
      DuckDBSuccess) {
    return fail(parse_error(library_.prepare_error(statement.get()), sql_), index);
  }
  const duckdb_statement_type type = library_.prepared_statement_type(statement.get());
  if (type == DUCKDB_STATEMENT_TYPE_TRANSACTION && request_.transactional) {
    return fail({"", "the statement would control the step's transaction: put `transaction: none` on the step", {}},
                index);
  }
  Handle<duckdb_pending_result> pending(library_.destroy_pending);
  if (library_.pending_prepared_streaming(statement.get(), pending.out()) != DuckDBSuccess) {
    return fail(parse_error(library_.pending_error(pending.get()), sql_), index);
  }
  // DuckDB forgets an interrupt when a statement begins; from here on it remembers.
  if (connection_.interrupted.load()) library_.interrupt(connection_.handle.get());
  Handle<duckdb_result> result(library_.destroy_result);
  if (library_.execute_pending(pending.get(), result.out()) != DuckDBSuccess) {
    return fail(parse_error(library_.result_error(result.out()), sql_), index);
  }
  return library_.result_return_type(result.get()) == DUCKDB_RESULT_TYPE_QUERY_RESULT
             ? read_rows(index, result.get())
             : read_count(index, type, result.get());
}

bool ScriptRun::read_rows(idx_t index, duckdb_result& result) {
  RowSample sample;
  for (idx_t i = 0; i < library_.column_count(&result); ++i) sample.columns.push_back(library_.column_name(&result, i));
  // To the last row, though few are shown: an error in a later one fails the step.
  while (true) {
    Handle<duckdb_data_chunk> chunk(library_.destroy_data_chunk, library_.fetch_chunk(result));
    if (!chunk.get()) break;
    const auto rows = static_cast<std::int64_t>(library_.data_chunk_get_size(chunk.get()));
    if (rows == 0) continue;
    if (sample.kept_rows < shown_rows) {
      sample.kept_rows += rows;
      sample.chunks.push_back(std::move(chunk));
    }
    sample.total_rows += rows;
  }
  const char* message = library_.result_error(&result);
  if (message && *message) return fail(parse_error(message, sql_), index);
  last_rows_.emplace(std::move(sample));
  return true;
}

bool ScriptRun::read_count(idx_t index, duckdb_statement_type type, duckdb_result& result) {
  if (library_.column_count(&result) != 1 || library_.column_type(&result, 0) != DUCKDB_TYPE_BIGINT) return true;
  Handle<duckdb_data_chunk> chunk(library_.destroy_data_chunk, library_.fetch_chunk(result));
  if (!chunk.get() || library_.data_chunk_get_size(chunk.get()) != 1) return true;
  const std::int64_t rows =
      *static_cast<std::int64_t*>(library_.vector_get_data(library_.data_chunk_get_vector(chunk.get(), 0)));
  outcome_.rows_changed += rows;
  const std::string where = pieces_.empty() ? std::string() : file_and_line(pieces_[index].begin, false) + ": ";
  log_(fmt::format("{}{} {} row{}", where, name_of(type), rows, rows == 1 ? "" : "s"));
  return true;
}

bool ScriptRun::end() {
  if (connection_.interrupted.load()) {
    (void)run_sql(library_, connection_.handle.get(), "ROLLBACK");
    return fail_at("interrupted", std::nullopt, false);
  }
  if (request_.transactional) {
    if (simple("committing", "COMMIT")) return true;
    (void)run_sql(library_, connection_.handle.get(), "ROLLBACK");
    return false;
  }
  // Refused unless the script left a transaction open.
  if (!run_sql(library_, connection_.handle.get(), "ROLLBACK")) return true;
  return fail_at("the script began a transaction and did not COMMIT it; it was rolled back", std::nullopt, false);
}

void ScriptRun::show_last_rows() {
  if (!last_rows_) return;
  // After the commit: what fails here fails no step.
  const auto shown = show_rows(library_, connection_.handle.get(), connection_.instance->saved_rows, *last_rows_,
                               connection_.interrupted, log_);
  if (!shown) log_(fmt::format("({} rows; they cannot be shown: {})", last_rows_->total_rows, shown.error().message));
}

bool ScriptRun::simple(const char* what, const std::string& sql) {
  Handle<duckdb_result> result(library_.destroy_result);
  if (library_.query(connection_.handle.get(), sql.c_str(), result.out()) == DuckDBSuccess) return true;
  SqlError error = parse_error(library_.result_error(result.out()), {});
  error.position.reset();
  error.message = fmt::format("{} (while {})", error.message, what);
  return fail(error, std::nullopt);
}

bool ScriptRun::fail(const SqlError& error, std::optional<idx_t> index) {
  std::string message = error.text() + hint(error);
  if (error.position) return fail_at(std::move(message), error.position, true);
  std::optional<std::size_t> begin;
  if (index && !pieces_.empty()) begin = pieces_[*index].begin;
  return fail_at(std::move(message), begin, false);
}

bool ScriptRun::fail_at(std::string message, std::optional<std::size_t> byte, bool exact) {
  outcome_.kind = connection_.interrupted.load() ? Kind::interrupted : Kind::failed;
  const Origin& origin = request_.origin;
  std::string place = origin.sql_file.empty() ? origin.pipeline_file : origin.sql_file;
  if (byte) place = file_and_line(*byte, exact);
  outcome_.error = origin.sql_file.empty() ? fmt::format("{}: {}", place, message)
                                           : fmt::format("{}: {}: {}", origin.pipeline_file, place, message);
  if (byte) outcome_.error += "\n" + excerpt(sql_, *byte);
  while (outcome_.error.ends_with('\n')) outcome_.error.pop_back();
  return false;
}

std::string ScriptRun::file_and_line(std::size_t byte, bool with_column) const {
  const Origin& origin = request_.origin;
  const std::string& file = origin.sql_file.empty() ? origin.pipeline_file : origin.sql_file;
  const auto [line, column] = place_of(sql_, byte);
  if (origin.first_line == 0) {
    return fmt::format("{}: line {} of the step's SQL{}", file, line,
                       with_column ? fmt::format(", column {}", column) : "");
  }
  return fmt::format("{}:{}{}", file, origin.first_line + line - 1, with_column ? fmt::format(":{}", column) : "");
}

std::string ScriptRun::hint(const SqlError& error) const {
  const SessionOptions& options = connection_.instance->options;
  if (error.type == "Out of Memory") {
    std::string limits;
    if (options.memory_bytes > 0) limits += " resources.memory is " + human_bytes(options.memory_bytes) + ";";
    if (options.temp_bytes > 0) limits += " resources.temp is " + human_bytes(options.temp_bytes) + ";";
    return "\nDuckDB ran out of the memory, or of the temporary space, that the run may use:" + limits +
           " raise it, or make the query smaller";
  }
  if (has(error, "single transaction can only write to a single attached database")) {
    return "\nWrite to another DuckDB file in a step of its own that says `transaction: none`";
  }
  if (has(error, "Cannot CHECKPOINT")) return "\nPut it into a step of its own that says `transaction: none`";
  if (has(error, "onflict") && error.type == "TransactionContext") {
    return "\nAnother step of this run changed the same rows or table side by side: order the two with `needs`";
  }
  if (error.type == "INTERRUPT" && !connection_.interrupted.load()) {
    return "\nNobody stopped it: one of DuckDB's threads met an error, and another one told of its own end first. Run "
           "it "
           "again, with `resources: {threads: 1}` if it hides the error each time";
  }
  if (has(error, "prepared statement parameters")) {
    return "\nA script gets no parameters: read the run's facts with getvariable('scheduled_for')";
  }
  return "";
}

}  // namespace eider::worker::duck
