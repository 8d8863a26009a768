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
        set_fact(std::move(ready.set_fact)) {}
  ~Impl() {
    set_fact.clear();
    library.disconnect(handle.out());  // before the file is detached
    if (file) instance->release(file->path);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> set_facts(const Facts& facts);

  std::shared_ptr<Instance> instance;
  const Library& library;
  Handle<duckdb_connection> handle;
  std::map<std::string, Statement> set_fact;
  std::optional<DatabaseFile> file;  ///< attached for this connection
  std::string catalog;               ///< its name in SQL
  std::atomic<bool> interrupted{false};
};

/// Prepares the statements that set the facts which every step gets.
Result<void> prepare_usual_facts(const Library& library, ReadyConnection& connection);

}  // namespace eider::worker::duck
