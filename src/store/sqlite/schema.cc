#include "store/sqlite/schema.h"

#include <array>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

namespace eider::store::sqlite {
namespace {

// Instants are microseconds since 1970, UTC. Enumerations are the numbers of model/run.h. A text that is not there
// is empty; it is NULL only where it is unique when set.
//
// The indexes are few, because each costs on the way of every run:
// - runs_queued holds queued runs only, in the order of claim: finished history never slows a claim. It carries
//   not_before so that runs which wait for their backoff are passed over without a look at the table.
// - runs_open and runs_running hold what has not ended, runs_ended_by_* what has. So a claim touches no index of the
//   history, and a run enters each of those once. All of them are in the order of the list, so that a list is a walk
//   backwards through one of them, or a merge of a few such walks (lists.cc).
// - runs_occurrence makes a second run of one occurrence impossible (I6). An id is a hash; with the instant before
//   it new entries go to the end, and not to a random page of the whole history.
// - A live attempt is the newest one of a running run, so that live attempts need no index.
constexpr const char* version_1 = R"sql(
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  state INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  pipeline TEXT NOT NULL,
  trigger_kind INTEGER NOT NULL,
  trigger_id TEXT NOT NULL,
  occurrence_id TEXT,
  parent TEXT NOT NULL,
  failures INTEGER NOT NULL,
  interruptions INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  catch_up INTEGER NOT NULL,
  scheduled_for INTEGER,
  partition TEXT NOT NULL,
  params TEXT NOT NULL,
  idempotency_key TEXT,
  created_at INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  cancel_asked_at INTEGER,
  definition TEXT NOT NULL,
  reason TEXT NOT NULL,
  error TEXT NOT NULL,
  CHECK (occurrence_id IS NULL OR scheduled_for IS NOT NULL),
  CHECK ((state >= 2) = (finished_at IS NOT NULL))
) STRICT;
CREATE INDEX runs_queued ON runs (priority DESC, seq, not_before) WHERE state = 0;
CREATE INDEX runs_open ON runs (seq, pipeline) WHERE state < 2;
CREATE INDEX runs_running ON runs (seq) WHERE state = 1;
CREATE INDEX runs_ended_by_state ON runs (state, seq) WHERE finished_at IS NOT NULL;
CREATE INDEX runs_ended_by_pipeline ON runs (pipeline, state, seq) WHERE finished_at IS NOT NULL;
CREATE UNIQUE INDEX runs_occurrence ON runs (scheduled_for, occurrence_id) WHERE occurrence_id IS NOT NULL;
CREATE UNIQUE INDEX runs_idempotency ON runs (idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE attempts (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  outcome INTEGER,
  claimed_at INTEGER NOT NULL,
  started_at INTEGER,
  finished_at INTEGER,
  worker_pid INTEGER,
  exit_code INTEGER,
  signal INTEGER,
  peak_memory_bytes INTEGER,
  definition TEXT NOT NULL,
  taken TEXT NOT NULL,
  error TEXT NOT NULL,
  steps TEXT NOT NULL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE occurrences (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  schedule TEXT NOT NULL,
  pipeline TEXT NOT NULL,
  scheduled_for INTEGER NOT NULL,
  scheduled_until INTEGER NOT NULL,
  count INTEGER NOT NULL,
  timezone TEXT NOT NULL,
  offset_s INTEGER NOT NULL,
  shifted INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  decision INTEGER NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX occurrences_instant ON occurrences (schedule, scheduled_for);
CREATE INDEX occurrences_by_schedule ON occurrences (schedule, decision, scheduled_for);
CREATE INDEX occurrences_by_pipeline ON occurrences (pipeline, decision, scheduled_for);
CREATE INDEX occurrences_by_decision ON occurrences (decision, scheduled_for);

CREATE TABLE cursors (
  schedule TEXT PRIMARY KEY NOT NULL,
  rule TEXT NOT NULL,
  decided_until INTEGER NOT NULL,
  paused INTEGER NOT NULL,
  note TEXT NOT NULL,
  paused_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE definitions (
  seq INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  pipeline TEXT NOT NULL,
  stored_at INTEGER NOT NULL,
  json TEXT NOT NULL
) STRICT;
)sql";

/// Position n makes version n + 1 of version n. What has been released is never changed, only added to.
constexpr std::array migrations = {version_1};

/// Both ends of every table: a file whose pages are gone shows it here, at a cost that does not grow.
constexpr const char* touch_tables =
    "SELECT (SELECT id FROM runs ORDER BY seq LIMIT 1), (SELECT id FROM runs ORDER BY seq DESC LIMIT 1),"
    " (SELECT claimed_at FROM attempts ORDER BY run LIMIT 1),"
    " (SELECT claimed_at FROM attempts ORDER BY run DESC LIMIT 1),"
    " (SELECT id FROM occurrences ORDER BY seq LIMIT 1), (SELECT id FROM occurrences ORDER BY seq DESC LIMIT 1),"
    " (SELECT rule FROM cursors ORDER BY schedule LIMIT 1), (SELECT rule FROM cursors ORDER BY schedule DESC LIMIT 1),"
    " (SELECT hash FROM definitions ORDER BY seq LIMIT 1),"
    " (SELECT count(*) FROM runs WHERE state = 1)";

constexpr std::uintmax_t smallest_file = 512;  // a page of SQLite's, at least

Error refused(const Connection& connection, std::string_view what) {
  return Error{ErrorCode::corrupt, fmt::format("{}: {}; it is left as it is", connection.path(), what)};
}

Result<void> run_migrations(Connection& connection, int from) {
  for (auto at = static_cast<std::size_t>(from); at < migrations.size(); ++at) {
    if (auto done = connection.execute(migrations[at]); !done) return done;
  }
  return connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id, schema_version()).c_str());
}

/// Every table and index that the migrations make is there, as they make it.
Result<void> check_schema(Connection& connection) {
  auto pattern = Connection::open(memory_path(), Access::write);
  if (!pattern) return pattern.error();
  if (auto made = run_migrations(**pattern, 0); !made) return made;
  Statement expected(**pattern, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
  Statement found(connection, "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql = ?");
  Rows names(expected);
  for (auto more = names.next(); !more || *more; more = names.next()) {
    if (!more) return more.error();
    Rows rows(found, names.text(0), names.text(1));
    auto there = rows.next();
    if (!there) return there.error();
    if (!*there) {
      return refused(connection, fmt::format("{} is missing or was changed: put a backup in its place", names.text(0)));
    }
  }
  auto touched = connection.number(touch_tables);
  if (!touched) return touched.error();
  return {};
}

}  // namespace

int schema_version() { return static_cast<int>(migrations.size()); }

Result<int> read_version(Connection& connection) {
  auto objects = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects.error();
  auto id = connection.number("PRAGMA application_id");
  if (!id) return id.error();
  auto version = connection.number("PRAGMA user_version");
  if (!version) return version.error();
  if (*objects == 0 && *id == 0 && *version == 0) return 0;
  if (*id != application_id) {
    return refused(connection, "is an SQLite database, but not one of Eider's: move it away, or use another workspace");
  }
  if (*version > schema_version()) {
    return refused(connection, fmt::format("was written by a newer eider (version {} of the tables, this program "
                                           "knows {}): use the newer program",
                                           *version, schema_version()));
  }
  if (*version < 1) return refused(connection, "has no version: put a backup in its place");
  return static_cast<int>(*version);
}

Result<int> inspect_file(const std::string& path) {
  std::error_code ignored;
  // SQLite takes a stump for an empty database, and would begin anew in it.
  if (const auto size = std::filesystem::file_size(path, ignored); size > 0 && size < smallest_file) {
    return Error{ErrorCode::corrupt, fmt::format("{}: is damaged (only {} bytes are left); it is left as it is: put a "
                                                 "backup in its place",
                                                 path, size)};
  }
  const bool written_to = std::filesystem::exists(path + "-wal", ignored);
  auto connection = Connection::open(path, written_to ? Access::read : Access::immutable);
  if (!connection) return connection.error();
  auto version = read_version(**connection);
  if (version && *version == schema_version()) {
    if (auto checked = check_schema(**connection); !checked) return checked.error();
  }
  return version;
}

Result<void> migrate(Connection& connection) {
  auto version = read_version(connection);
  if (!version) return version.error();
  // Nothing to do needs no lock: a server starts beside whoever writes.
  if (*version == schema_version()) return {};
  if (auto begun = connection.execute("BEGIN IMMEDIATE"); !begun) return begun;
  // Another process may have migrated it in between.
  version = read_version(connection);
  Result<void> done = version ? Result<void>() : Result<void>(version.error());
  if (version && *version < schema_version()) done = run_migrations(connection, *version);
  if (done) done = connection.execute("COMMIT");
  if (!done && connection.in_transaction()) (void)connection.execute("ROLLBACK");
  return done;
}

}  // namespace eider::store::sqlite
