// One watched folder: what is known of its files. Its watcher tells it what the kernel said. One thread.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/inbox.h"
#include "model/pipeline.h"
#include "watch/settling.h"

namespace eider::watch {

class Place {
 public:
  /// A file with the same path and identity holds what it held, as far as anybody can tell without reading it.
  struct Identity {
    std::uint64_t inode = 0;
    std::int64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Whole {
    std::string file;
    Identity identity;
  };

  Place(model::ExternalAsset asset, const std::string& root);

  const model::ExternalAsset& asset() const { return asset_; }
  const std::string& path() const { return path_; }  ///< absolute

  // What the kernel said of one file in it. Names that `files` does not mean are left out here.
  void created(const std::string& file, Micros now);
  void landed(const std::string& file, Micros now);
  void written(const std::string& file);
  void gone(const std::string& file);
  /// Looks at everything in it: for the first time, or because the kernel has lost count. An Error: it can't be read.
  Result<void> scan(Micros now);
  /// The folder itself is gone.
  void forget();

  /// At most `limit` files that are whole and were not told yet; from now on they are.
  std::vector<Whole> take(Micros now, std::size_t limit);
  /// It was not told after all: it is looked at again at `at`.
  void put_back(const Whole& whole, Micros at);
  std::optional<Micros> next() const { return settling_.next(); }

  /// The command that tells of a file, without its reply.
  engine::Materialize command_for(const Whole& whole) const;

 private:
  enum class Writer { no, yes, unknown };
  bool is_meant(const std::string& file);
  std::optional<Identity> identity_of(const std::string& file) const;
  Writer writer_of(const std::string& file) const;

  const model::ExternalAsset asset_;
  const std::string path_;
  Settling settling_;
  std::unordered_map<std::string, Identity> told_;
  bool said_not_utf8_ = false;
};

}  // namespace eider::watch
