// What a table or file holds, in one or two queries.
#include <charconv>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/ids.h"
#include "worker/duckdb/connection.h"
#include "worker/duckdb/rows.h"

namespace eider::worker::duck {
namespace {

namespace json = boost::json;

/// DuckDB's message without the place in a statement that no person wrote.
Error without_place(const Error& error) {
  const std::string text = parse_error(error.message, {}).text();
  return Error{error.code, text.substr(0, text.find('\n'))};
}

/// `schema.name` -> `"schema"."name"`.
std::string quoted_table(std::string_view table) {
  std::string out;
  for (std::size_t begin = 0; begin <= table.size();) {
    const std::size_t end = std::min(table.find('.', begin), table.size());
    out += (out.empty() ? "" : ".") + quote_identifier(table.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

struct Columns {
  std::string json;
  std::string quoted;  ///< their names, for SELECT
};

Result<Columns> columns_of(const Connection::Impl& connection, const std::string& source) {
  const auto described = query_texts(connection.library, connection.handle.peek(),
                                     "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM " + source + ")",
                                     connection.interrupted);
  if (!described) return without_place(described.error());
  Columns out;
  json::array columns;
  for (const Cells& row : *described) {
    columns.push_back(json::object{{"name", row[0].value_or("")}, {"type", row[1].value_or("")}});
    out.quoted += (out.quoted.empty() ? "" : ", ") + quote_identifier(row[0].value_or(""));
  }
  out.json = json::serialize(columns);
  return out;
}

std::int64_t number(const std::optional<std::string>& text) {
  std::int64_t out = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

/// The path itself, also where it holds what would be a pattern.
std::string literal_path(std::string_view path) {
  std::string escaped;
  for (const char c : path) escaped += c == '*' || c == '?' || c == '[' ? std::string{'[', c, ']'} : std::string(1, c);
  return quote_literal(escaped);
}

std::string list_of(const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) out += (out.empty() ? "[" : ", ") + literal_path(path);
  return out + "]";
}

}  // namespace

Result<Dataset> Connection::look_at_table(const std::string& table) {
  const std::string name = quoted_table(table);
  if (auto found = prepare(impl_->library, impl_->handle.get(), "SELECT 1 FROM " + name); !found) {
    return Error{ErrorCode::not_found, without_place(found.error()).message};
  }
  const auto columns = columns_of(*impl_, name);
  if (!columns) return columns.error();
  // A sum counts equal rows as often as they are there. DuckDB combines the hashes of a row's values with few
  // operations; hashing that once more keeps rows that share values from cancelling each other out.
  const auto hashed = query_texts(
      impl_->library, impl_->handle.get(),
      fmt::format("SELECT count(*)::VARCHAR, coalesce(sum(h), 0)::VARCHAR, coalesce(bit_xor(h), 0)::VARCHAR "
                  "FROM (SELECT hash(hash({})) AS h FROM {})",
                  columns->quoted, name),
      impl_->interrupted);
  if (!hashed) return without_place(hashed.error());
  const Cells& row = hashed->front();
  return Dataset{number(row[0]), columns->json,
                 content_hash(fmt::format("{}\n{} {} {}", columns->json, *row[0], *row[1], *row[2]))};
}

Result<Dataset> Connection::look_at_files(FileFormat format, const std::vector<std::string>& paths,
                                          const std::string& compression) {
  const std::string files = list_of(paths);
  std::string source = fmt::format("read_parquet({})", files);
  std::string count = fmt::format("SELECT coalesce(sum(num_rows), 0)::VARCHAR FROM parquet_file_metadata({})", files);
  if (format != FileFormat::parquet) {
    const std::string how = compression.empty() ? "" : ", compression = " + quote_literal(compression);
    source = fmt::format("{}({}{})", format == FileFormat::csv ? "read_csv" : "read_json", files, how);
    count = "SELECT count(*)::VARCHAR FROM " + source;
  }
  const auto columns = columns_of(*impl_, source);
  if (!columns) return columns.error();
  const auto counted = query_texts(impl_->library, impl_->handle.get(), count, impl_->interrupted);
  if (!counted) return without_place(counted.error());
  return Dataset{number(counted->front().front()), columns->json, ""};
}

}  // namespace eider::worker::duck
