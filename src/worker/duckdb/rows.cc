#include "worker/duckdb/rows.h"

#include <fmt/format.h>

namespace eider::worker::duck {
namespace {

constexpr std::size_t cell_characters = 60;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// One line, at most cell_characters long.
std::string cell_text(std::string_view raw) {
  std::string text;
  std::size_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto c = static_cast<unsigned char>(raw[i]);
    if ((c & 0xC0) != 0x80 && ++length > cell_characters) return text + "…";
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c < 0x20 || c == 0x7F) {
      text += fmt::format("\\x{:02x}", c);
    } else {
      text += raw[i];
    }
  }
  return text;
}

std::optional<std::string> text_at(const Library& library, duckdb_vector vector, idx_t row) {
  std::uint64_t* validity = library.vector_get_validity(vector);
  if (validity && !library.validity_row_is_valid(validity, row)) return std::nullopt;
  duckdb_string_t text = static_cast<duckdb_string_t*>(library.vector_get_data(vector))[row];
  return std::string(library.string_t_data(&text), library.string_t_length(text));
}

// DuckDB's callbacks bring no way to reach the function table; there is one library a process.
const Library* callback_library = nullptr;
std::once_flag callback_library_set;

std::string select_text(std::int64_t id, std::size_t columns) {
  std::string sql = "SELECT ";
  for (std::size_t i = 0; i < columns; ++i) {
    // One character more than is shown tells that it was cut, without a copy of a huge value.
    sql += fmt::format("{}left(c{}::VARCHAR, {})", i ? ", " : "", i, cell_characters + 1);
  }
  return sql + fmt::format(" FROM system.main._eider_rows({}) LIMIT {}", id, shown_rows);
}

}  // namespace

Result<void> SavedRows::register_function(const Library& library, duckdb_connection connection) {
  std::call_once(callback_library_set, [&] { callback_library = new Library(library); });
  Handle<duckdb_table_function> function(library.destroy_table_function, library.create_table_function());
  Handle<duckdb_logical_type> id(library.destroy_logical_type, library.create_logical_type(DUCKDB_TYPE_BIGINT));
  library.table_function_set_name(function.get(), "_eider_rows");
  library.table_function_add_parameter(function.get(), id.get());
  library.table_function_set_extra_info(function.get(), this, nullptr);
  library.table_function_set_bind(function.get(), &SavedRows::bind);
  library.table_function_set_init(function.get(), &SavedRows::init);
  library.table_function_set_function(function.get(), &SavedRows::read);
  if (library.register_table_function(connection, function.get()) != DuckDBSuccess) {
    return Error{ErrorCode::io, "DuckDB refused Eider's table function"};
  }
  return {};
}

std::int64_t SavedRows::lend(const RowSample& sample) {
  const std::lock_guard lock(mutex_);
  lent_[next_id_] = &sample;
  return next_id_++;
}

void SavedRows::take_back(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  lent_.erase(id);
}

void SavedRows::bind(duckdb_bind_info info) {
  const Library& library = *callback_library;
  auto* self = static_cast<SavedRows*>(library.bind_get_extra_info(info));
  Handle<duckdb_value> id(library.destroy_value, library.bind_get_parameter(info, 0));
  const RowSample* sample = nullptr;
  {
    const std::lock_guard lock(self->mutex_);
    const auto found = self->lent_.find(library.get_int64(id.get()));
    if (found != self->lent_.end()) sample = found->second;
  }
  if (!sample) return library.bind_set_error(info, "_eider_rows is for Eider's own use");
  duckdb_data_chunk first = sample->chunks.front().peek();
  for (idx_t i = 0; i < library.data_chunk_get_column_count(first); ++i) {
    Handle<duckdb_logical_type> type(library.destroy_logical_type,
                                     library.vector_get_column_type(library.data_chunk_get_vector(first, i)));
    library.bind_add_result_column(info, fmt::format("c{}", i).c_str(), type.get());
  }
  library.bind_set_bind_data(info, const_cast<RowSample*>(sample), nullptr);
}

void SavedRows::init(duckdb_init_info info) {
  callback_library->init_set_max_threads(info, 1);  // keeps the order
  callback_library->init_set_init_data(info, new std::size_t(0),
                                       [](void* next) { delete static_cast<std::size_t*>(next); });
}

void SavedRows::read(duckdb_function_info info, duckdb_data_chunk output) {
  const Library& library = *callback_library;
  const auto& sample = *static_cast<const RowSample*>(library.function_get_bind_data(info));
  auto& next = *static_cast<std::size_t*>(library.function_get_init_data(info));
  if (next == sample.chunks.size()) return library.data_chunk_set_size(output, 0);
  duckdb_data_chunk chunk = sample.chunks[next++].peek();
  for (idx_t i = 0; i < library.data_chunk_get_column_count(output); ++i) {
    library.vector_reference_vector(library.data_chunk_get_vector(output, i), library.data_chunk_get_vector(chunk, i));
  }
  library.data_chunk_set_size(output, library.data_chunk_get_size(chunk));
}

Result<std::vector<Cells>> query_texts(const Library& library, duckdb_connection connection, const std::string& sql,
                                       const std::atomic<bool>& interrupted) {
  Handle<duckdb_prepared_statement> statement(library.destroy_prepare);
  if (library.prepare(connection, sql.c_str(), statement.out()) != DuckDBSuccess) {
    return Error{ErrorCode::io, library.prepare_error(statement.get())};
  }
  Handle<duckdb_pending_result> pending(library.destroy_pending);
  if (library.pending_prepared(statement.get(), pending.out()) != DuckDBSuccess) {
    return Error{ErrorCode::io, library.pending_error(pending.get())};
  }
  // DuckDB forgets an interrupt when a statement begins; from here on it remembers.
  if (interrupted.load()) return Error{ErrorCode::unavailable, "interrupted"};
  Handle<duckdb_result> result(library.destroy_result);
  if (library.execute_pending(pending.get(), result.out()) != DuckDBSuccess) {
    return Error{ErrorCode::io, library.result_error(result.out())};
  }
  std::vector<Cells> rows;
  while (true) {
    Handle<duckdb_data_chunk> chunk(library.destroy_data_chunk, library.fetch_chunk(result.get()));
    if (!chunk.get()) return rows;
    for (idx_t row = 0; row < library.data_chunk_get_size(chunk.get()); ++row) {
      Cells& cells = rows.emplace_back();
      for (idx_t i = 0; i < library.data_chunk_get_column_count(chunk.get()); ++i) {
        cells.push_back(text_at(library, library.data_chunk_get_vector(chunk.get(), i), row));
      }
    }
  }
}

Result<void> show_rows(const Library& library, duckdb_connection connection, SavedRows& saved, const RowSample& sample,
                       const std::atomic<bool>& interrupted, const LineSink& log) {
  const std::size_t columns = std::min(sample.columns.size(), shown_columns);
  std::vector<Cells> rows;
  if (!sample.chunks.empty()) {
    const std::int64_t id = saved.lend(sample);
    auto texts = query_texts(library, connection, select_text(id, columns), interrupted);
    saved.take_back(id);
    if (!texts) return texts.error();
    rows = std::move(*texts);
  }
  const std::vector<std::string> headings(sample.columns.begin(), sample.columns.begin() + std::ptrdiff_t(columns));
  for (const std::string& line : table_lines(headings, rows)) log(line);
  std::string count = sample.total_rows == 1 ? "(1 row" : fmt::format("({} rows", sample.total_rows);
  if (sample.total_rows > shown_rows) count += fmt::format(", the first {} shown", shown_rows);
  if (sample.columns.size() > columns) count += fmt::format("; {} more columns", sample.columns.size() - columns);
  log(count + ")");
  return {};
}

std::vector<std::string> table_lines(const std::vector<std::string>& headings, const std::vector<Cells>& rows) {
  std::vector<std::vector<std::string>> texts(1);
  for (const std::string& heading : headings) texts.front().push_back(cell_text(heading));
  for (const Cells& row : rows) {
    texts.emplace_back();
    for (const auto& cell : row) texts.back().push_back(cell ? cell_text(*cell) : "NULL");
  }
  std::vector<std::size_t> widths(headings.size());
  for (const auto& row : texts) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : texts) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += (i ? " | " : "") + row[i];
      if (i + 1 < row.size()) line.append(widths[i] - characters(row[i]), ' ');
    }
    lines.push_back(std::move(line));
    if (lines.size() > 1) continue;
    std::string rule;
    for (std::size_t i = 0; i < widths.size(); ++i) rule += (i ? "-+-" : "") + std::string(widths[i], '-');
    lines.push_back(std::move(rule));
  }
  return lines;
}

}  // namespace eider::worker::duck
