// Shows the first rows of a query as text. DuckDB itself renders the values (every type, its own formats and time
// zone): the rows are handed back to it through a table function and cast to VARCHAR.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "worker/duckdb/library.h"
#include "worker/duckdb/session.h"

namespace eider::worker::duck {

/// The first chunks of one query's result.
struct RowSample {
  std::vector<std::string> columns;
  std::vector<Handle<duckdb_data_chunk>> chunks;
  std::int64_t kept_rows = 0;
  std::int64_t total_rows = 0;
};

/// Lends samples to the table function `_eider_rows(id)` of one instance. Thread-safe.
class SavedRows {
 public:
  /// Registers the function; `this` must outlive the instance.
  Result<void> register_function(const Library& library, duckdb_connection connection);
  std::int64_t lend(const RowSample& sample);
  void take_back(std::int64_t id);

 private:
  static void bind(duckdb_bind_info info);
  static void init(duckdb_init_info info);
  static void read(duckdb_function_info info, duckdb_data_chunk output);

  std::mutex mutex_;
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, const RowSample*> lent_;
};

inline constexpr std::int64_t shown_rows = 40;
inline constexpr std::size_t shown_columns = 20;

/// At most `shown_rows` rows and `shown_columns` columns as an aligned table, a line each, with a count below. What
/// is cut carries a mark.
Result<void> show_rows(const Library& library, duckdb_connection connection, SavedRows& saved, const RowSample& sample,
                       const std::atomic<bool>& interrupted, const LineSink& log);

/// One row of cells; nothing is NULL.
using Cells = std::vector<std::optional<std::string>>;
/// All rows of a query of Eider's own, whose columns are VARCHAR. An Error carries DuckDB's message. `interrupted`:
/// also an interrupt that came before the query began ends it.
Result<std::vector<Cells>> query_texts(const Library& library, duckdb_connection connection, const std::string& sql,
                                       const std::atomic<bool>& interrupted);
/// Aligns the cells below their headings, one line a row; control characters are escaped, long cells cut. Pure.
std::vector<std::string> table_lines(const std::vector<std::string>& headings, const std::vector<Cells>& rows);

}  // namespace eider::worker::duck
