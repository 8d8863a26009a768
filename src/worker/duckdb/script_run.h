// Inside of this folder: one execution of one step's script.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/duckdb/connection.h"

namespace eider::worker::duck {

/// Extract, refuse what does not belong in a step, run statement by statement, commit. One thread, used once.
class ScriptRun {
 public:
  ScriptRun(Connection::Impl& connection, const ScriptRequest& request, const LineSink& log);
  ScriptOutcome go();

 private:
  // Each of these is false when the run is over and outcome_ says how.
  bool extract();
  bool check_statements();
  bool begin();
  bool run_statement(idx_t index);
  bool read_rows(idx_t index, duckdb_result& result);
  bool read_count(idx_t index, duckdb_statement_type type, duckdb_result& result);
  bool end();

  void find_pieces();
  void show_last_rows();
  bool keeps_receipt() const;
  bool simple(const char* what, const std::string& sql);
  bool fail(const SqlError& error, std::optional<idx_t> index);
  bool fail_at(std::string message, std::optional<std::size_t> byte, bool exact);
  /// `sql/build.sql:12`; inside of the pipeline file `pipelines/x.yaml:31`, or `pipelines/x.yaml: line 2 of the step's
  /// SQL` where its lines are not those of the file.
  std::string file_and_line(std::size_t byte, bool with_column) const;
  std::string hint(const SqlError& error) const;

  Connection::Impl& connection_;
  const Library& library_;
  const ScriptRequest& request_;
  const LineSink& log_;
  const std::string sql_;
  Handle<duckdb_extracted_statements> statements_;
  idx_t count_ = 0;
  std::vector<Piece> pieces_;  ///< of each statement, or empty when they are not known
  std::optional<RowSample> last_rows_;
  ScriptOutcome outcome_;
};

}  // namespace eider::worker::duck
