#include "store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"
#include "store/sqlite/changes.h"
#include "store/sqlite/checkpoint.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/data_queries.h"
#include "store/sqlite/queries.h"
#include "store/sqlite/schema.h"

namespace eider::store {
namespace sqlite {
namespace {

/// Device and inode; zeros where there is no file.
using FileIdentity = std::pair<dev_t, ino_t>;
FileIdentity file_at(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? FileIdentity{info.st_dev, info.st_ino} : FileIdentity{};
}

class SqliteStore final : public DataStore {
 public:
  explicit SqliteStore(std::unique_ptr<Connection> opened)
      : DataStore(std::move(opened)),
        file_(file_at(connection().path())),
        changes_(connection()),
        queries_(connection()),
        checkpoint_(connection()) {}

  Result<void> begin() override {
    EIDER_CHECK(!connection().in_transaction(), "a turn begins after the one before has ended");
    lost_.reset();
    // SQLite goes on writing a file that has been removed; what it commits then is nobody's.
    if (file_at(connection().path()) != file_) {
      return Error{
          ErrorCode::unavailable,
          connection().path() + " was removed or replaced while the server runs; put it back, or restart the server"};
    }
    return plain(begin_);
  }

  Result<bool> apply(const model::ChangeSet& changes) override {
    if (lost_) return *lost_;
    EIDER_CHECK(connection().in_transaction(), "a change is applied within a turn");
    const bool marked = careful_ || !guard_comes_first(changes);
    if (marked) {
      if (auto set = plain(savepoint_); !set) return give_up(set.error());
    }
    auto applied = write(changes);
    if (!marked) {
      if (applied) return applied;
      careful_ = true;
      return give_up(applied.error());
    }
    if (applied && *applied) {
      auto kept = plain(release_);
      if (kept) return true;
      applied = kept.error();
    }
    // Takes back what the set has written. SQLite may have rolled everything back by itself after a write error.
    changes_.forget();
    if (connection().in_transaction() && plain(undo_) && plain(release_)) return applied;
    return give_up(
        applied ? Error{ErrorCode::io, fmt::format("{}: a decision could not be taken back", connection().path())}
                : applied.error());
  }

  Result<void> commit() override {
    if (lost_) return *lost_;
    auto done = plain(commit_);
    if (!done) rollback();
    return done;
  }

  void rollback() override {
    // Where SQLite has rolled back by itself there is nothing left to do. A rollback in a WAL writes nothing.
    if (connection().in_transaction()) (void)plain(rollback_);
    changes_.forget();
    lost_.reset();
  }

  Result<OpenState> load_open() override {
    auto open = queries_.load_open();
    if (!open) return open;
    auto data = load_data();
    if (!data) return data.error();
    open->data = std::move(*data);
    return open;
  }
  Result<std::vector<RecordedStart>> starts_after(Instant after) override { return queries_.starts_after(after); }
  Result<std::vector<model::Occurrence>> decided_after(const std::string& schedule, Instant after) override {
    return queries_.decided_after(schedule, after);
  }
  Result<std::vector<model::Run>> runs_of_schedule(const std::string& schedule, int limit) override {
    return queries_.runs_of_schedule(schedule, limit);
  }
  Result<std::optional<std::string>> run_of_key(const std::string& idempotency_key) override {
    return queries_.run_of_key(idempotency_key);
  }
  Result<std::unique_ptr<Reader>> reader() override { return open_reader(connection().path()); }
  Result<bool> checkpoint_aside() override { return checkpoint_.aside(); }
  Result<void> finish_checkpoint() override { return checkpoint_.finish(); }

 private:
  static Result<void> plain(Statement& statement) {
    if (auto done = statement.execute(); !done) return done.error();
    return {};
  }

  Result<bool> write(const model::ChangeSet& changes) {
    for (const model::Change& change : changes) {
      auto applied = changes_.apply(change);
      if (!applied || !*applied) return applied;
    }
    return true;
  }

  /// A savepoint costs a quarter of a run's life, because SQLite copies every page that is touched under it. A set
  /// of one change needs none for its guard: that is the change's first write, so when it does not hold there is
  /// nothing to take back. A change that brings several guarded rows is the exception.
  static bool guard_comes_first(const model::ChangeSet& changes) {
    if (changes.size() != 1) return changes.empty();
    return std::visit([](const auto& change) { return guard_comes_first(change); }, changes.front());
  }
  static bool guard_comes_first(const model::OccurrencesDecided& change) {
    return std::none_of(change.occurrences.begin(), change.occurrences.end(),
                        [](const auto& o) { return o.decision == model::Decision::run; });
  }
  static bool guard_comes_first(const model::AssetMaterialized& change) { return change.owed.empty(); }
  static bool guard_comes_first(const model::TriggerReplayed& change) { return change.owed.empty(); }
  static bool guard_comes_first(const model::DeliveriesClaimed& change) { return change.ids.size() <= 1; }
  static bool guard_comes_first(const model::DeliveriesSkipped& change) { return change.ids.size() <= 1; }
  template <typename Other>
  static bool guard_comes_first(const Other&) {
    return true;
  }

  /// The transaction can't go on.
  Error give_up(const Error& why) {
    if (connection().in_transaction()) (void)plain(rollback_);
    changes_.forget();
    lost_ = why;
    return why;
  }

  const FileIdentity file_;
  Changes changes_;
  WriterQueries queries_;
  Checkpoint checkpoint_;
  // Why the transaction is gone although nobody ended it.
  std::optional<Error> lost_;
  // A set without a savepoint has failed, and its turn with it: from now on each has one, so that a set which fails
  // again when the turn is repeated spoils itself only.
  bool careful_ = false;
  // Immediate: a transaction that begins as a reader and upgrades fails at once when another has written (O-28).
  Statement begin_{connection(), "BEGIN IMMEDIATE"};
  Statement commit_{connection(), "COMMIT"};
  Statement rollback_{connection(), "ROLLBACK"};
  Statement savepoint_{connection(), "SAVEPOINT decision"};
  Statement release_{connection(), "RELEASE decision"};
  Statement undo_{connection(), "ROLLBACK TO decision"};
};

/// An empty file that only this user can read, as a first start leaves it.
Result<void> make_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file && errno != EEXIST) {
    return io_error(fmt::format("{}: cannot be made; the folder must be there and writable for this user", path),
                    errno);
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return sync_path(folder.empty() ? "." : folder);
}

Result<void> prepare_file(const StoreOptions& options) {
  std::error_code failed;
  const auto kind = std::filesystem::status(options.path, failed).type();
  if (kind == std::filesystem::file_type::not_found) {
    if (options.create) return make_file(options.path);
    return Error{ErrorCode::not_found, fmt::format("{}: is not there; `eider serve` makes it", options.path)};
  }
  if (kind != std::filesystem::file_type::regular) {
    return Error{ErrorCode::io, fmt::format("{}: is not a file that can be read{}", options.path,
                                            failed ? ": " + failed.message() : std::string())};
  }
  auto version = inspect_file(options.path);
  if (!version) return version.error();
  return {};
}

/// How the writer's connection works. Pages are cached up to 8 MiB; a WAL that a long reader made long is cut to
/// 16 MiB when it is started anew; temporary pages (savepoints) stay in memory.
constexpr const char* settings =
    "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 16777216;"
    "PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF; PRAGMA cell_size_check = ON";

Result<std::unique_ptr<Connection>> open_writer(const std::string& path) {
  auto connection = Connection::open(path, Access::write);
  if (!connection) return connection;
  if (sqlite3_db_readonly((*connection)->handle(), "main") == 1) return (*connection)->error(SQLITE_READONLY);
  const char* journal = (*connection)->in_memory() ? "PRAGMA journal_mode = MEMORY" : "PRAGMA journal_mode = WAL";
  if (auto set = (*connection)->execute(journal); !set) return set.error();
  if (auto set = (*connection)->execute(settings); !set) return set.error();
  if (auto migrated = migrate(**connection); !migrated) return migrated.error();
  // From here on the loop is at work, and it never waits.
  (*connection)->be_patient(false);
  return connection;
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Store>> open_sqlite_store(const StoreOptions& options) {
  const bool in_memory = options.path == ":memory:";
  if (!in_memory) {
    if (auto ready = sqlite::prepare_file(options); !ready) return ready.error();
  }
  auto connection = sqlite::open_writer(in_memory ? sqlite::memory_path() : options.path);
  if (!connection) return connection.error();
  if (options.reserve_log && !in_memory) sqlite::reserve_wal(**connection);
  return std::unique_ptr<Store>(new sqlite::SqliteStore(std::move(*connection)));
}

Result<std::unique_ptr<Reader>> open_sqlite_reader(const std::string& path) { return sqlite::open_reader(path); }

}  // namespace eider::store
