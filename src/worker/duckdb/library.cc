#include "worker/duckdb/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <fmt/format.h>

namespace eider::worker::duck {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Result<Library> Library::load(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return Error{ErrorCode::not_found,
                 path.empty() ? std::string("DuckDB's library libduckdb.so is not beside the program: `./run build` "
                                            "fetches it")
                              : fmt::format("DuckDB's library {} cannot be read: `./run build` fetches it", path)};
  }
  void* opened = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!opened) return Error{ErrorCode::invalid, fmt::format("cannot load DuckDB's library: {}", dlerror())};
  Library library;
#define EIDER_DUCKDB_FIND(name)                                                                                     \
  if (!find(opened, "duckdb_" #name, library.name)) {                                                               \
    return Error{ErrorCode::invalid, fmt::format("{} lacks the function duckdb_" #name ": it is no DuckDB library " \
                                                 "of a version that Eider knows (expected 1.5)",                    \
                                                 path)};                                                            \
  }
  EIDER_DUCKDB_FUNCTIONS(EIDER_DUCKDB_FIND)
#undef EIDER_DUCKDB_FIND
  if (!find(opened, "duckdb_pending_prepared_streaming", library.pending_prepared_streaming)) {
    library.pending_prepared_streaming = library.pending_prepared;
  }
  return library;
}

}  // namespace eider::worker::duck
