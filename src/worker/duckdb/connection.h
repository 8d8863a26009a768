// Inside of this folder: a step's connection.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "worker/duckdb/instance.h"

namespace eider::worker::duck {

struct Connection::Impl {
  Impl(std::shared_ptr<Instance> owner, ReadyConnection ready)
      : instance(std::move(owner)),
        library(instance->library),
        handle(std::move(ready.handle)),
        known(std::move(ready.known)) {}
  ~Impl() {
    known.clear();
    library.disconnect(handle.out());  // before the file is detached
    if (file) instance->release(file->path);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Whatever was known of the usual facts, they are as in `facts` afterwards.
  Result<void> set_facts(const Facts& facts);
  Result<void> set_fact(const std::string& name, const std::optional<std::string>& value);

  std::shared_ptr<Instance> instance;
  const Library& library;
  Handle<duckdb_connection> handle;
  std::map<std::string, KnownFact> known;
  std::optional<DatabaseFile> file;  ///< attached for this connection
  std::string catalog;               ///< its name in SQL
  std::atomic<bool> interrupted{false};
};

/// Prepares the statements that set the facts which every step gets, and sets them as `usual` has them, else to NULL.
Result<void> prepare_usual_facts(const Library& library, ReadyConnection& connection, const Facts& usual);

}  // namespace eider::worker::duck
