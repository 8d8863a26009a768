// Inside of this folder: a step's connection.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "worker/duckdb/instance.h"

namespace eider::worker::duck {

struct Connection::Impl {
  explicit Impl(std::shared_ptr<Instance> owner)
      : instance(std::move(owner)), library(instance->library), handle(library.disconnect) {}
  ~Impl() {
    library.disconnect(handle.out());  // before the file is detached
    if (file) instance->release(file->path);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> set_facts(const Facts& facts);

  std::shared_ptr<Instance> instance;
  const Library& library;
  Handle<duckdb_connection> handle;
  std::optional<DatabaseFile> file;  ///< attached for this connection
  std::string catalog;               ///< its name in SQL
  std::atomic<bool> interrupted{false};
};

}  // namespace eider::worker::duck
