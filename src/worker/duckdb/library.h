// libduckdb.so, opened at run time: only a worker process pays for it (about 20 ms and 14–25 MB). Nothing else in
// Eider loads DuckDB, and only this folder includes its header.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <duckdb.h>

#include "base/result.h"

namespace eider::worker::duck {

// Every function of DuckDB's C API that Eider calls, without its prefix.
// clang-format off
#define EIDER_DUCKDB_FUNCTIONS(X) \
  X(open_ext) X(close) X(connect) X(disconnect) X(free) X(interrupt) X(query_progress) X(query) X(destroy_result) \
  X(result_error) X(result_error_type) X(result_return_type) X(column_count) X(column_name) X(column_type) \
  X(fetch_chunk) X(data_chunk_get_size) X(data_chunk_get_column_count) X(data_chunk_get_vector) \
  X(data_chunk_set_size) X(destroy_data_chunk) X(vector_get_data) X(vector_get_validity) X(vector_get_column_type) \
  X(vector_reference_vector) X(validity_row_is_valid) X(string_t_length) X(string_t_data) X(destroy_logical_type) \
  X(create_logical_type) X(prepare) X(prepare_error) X(destroy_prepare) X(bind_varchar_length) X(bind_timestamp_tz) \
  X(bind_null) X(prepared_statement_type) X(extract_statements) X(extract_statements_error) \
  X(prepare_extracted_statement) X(destroy_extracted) X(pending_prepared) X(pending_error) X(execute_pending) \
  X(destroy_pending) X(create_table_function) X(destroy_table_function) X(table_function_set_name) \
  X(table_function_add_parameter) X(table_function_set_extra_info) X(table_function_set_bind) \
  X(table_function_set_init) X(table_function_set_function) X(register_table_function) X(bind_get_extra_info) \
  X(bind_get_parameter) X(bind_add_result_column) X(bind_set_bind_data) X(bind_set_error) X(init_set_init_data) \
  X(init_set_max_threads) X(function_get_bind_data) X(function_get_init_data) X(get_int64) X(destroy_value)
// clang-format on

/// The table of functions. Loaded once a process: a second load of the same path is cheap, and DuckDB is never
/// unloaded (dlclose frees nothing). Any thread.
struct Library {
  /// RTLD_LAZY | RTLD_LOCAL. Error `not_found` when there is no such file, `invalid` when it is no DuckDB library or
  /// lacks a function.
  static Result<Library> load(const std::string& path);

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name can't stand in parentheses where it is declared.
#define EIDER_DUCKDB_MEMBER(name) decltype(&::duckdb_##name) name = nullptr;
  EIDER_DUCKDB_FUNCTIONS(EIDER_DUCKDB_MEMBER)
#undef EIDER_DUCKDB_MEMBER
  /// Like pending_prepared, but rows are fetched while the query runs, so that a large SELECT needs no memory.
  /// Deprecated by DuckDB without a successor: where it is missing this is pending_prepared.
  decltype(&::duckdb_pending_prepared) pending_prepared_streaming = nullptr;
};

/// Owns one object of DuckDB's API. DuckDB's destroy functions accept an empty one.
template <typename T>
class Handle {
 public:
  explicit Handle(void (*destroy)(T*), T value = T{}) : destroy_(destroy), value_(value) {}
  Handle(Handle&& other) noexcept : destroy_(other.destroy_), value_(std::exchange(other.value_, T{})) {}
  Handle& operator=(Handle&&) = delete;
  Handle(const Handle&) = delete;
  ~Handle() { destroy_(&value_); }
  T* out() { return &value_; }
  T& get() { return value_; }
  T peek() const { return value_; }

 private:
  void (*destroy_)(T*);
  T value_;
};

}  // namespace eider::worker::duck
