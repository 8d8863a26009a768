#include "store/sqlite/schema.h"

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "store/sqlite/schema_versions.h"

namespace eider::store::sqlite {
namespace {

/// Both ends of every table: a file whose pages are gone shows it here, at a cost that does not grow.
constexpr const char* touch_tables =
    "SELECT (SELECT id FROM runs ORDER BY seq LIMIT 1), (SELECT id FROM runs ORDER BY seq DESC LIMIT 1),"
    " (SELECT claimed_at FROM attempts ORDER BY run LIMIT 1),"
    " (SELECT claimed_at FROM attempts ORDER BY run DESC LIMIT 1),"
    " (SELECT id FROM occurrences ORDER BY seq LIMIT 1), (SELECT id FROM occurrences ORDER BY seq DESC LIMIT 1),"
    " (SELECT rule FROM cursors ORDER BY schedule LIMIT 1), (SELECT rule FROM cursors ORDER BY schedule DESC LIMIT 1),"
    " (SELECT hash FROM definitions ORDER BY seq LIMIT 1),"
    " (SELECT id FROM materializations ORDER BY number LIMIT 1),"
    " (SELECT id FROM materializations ORDER BY number DESC LIMIT 1),"
    " (SELECT id FROM deliveries ORDER BY seq LIMIT 1), (SELECT id FROM deliveries ORDER BY seq DESC LIMIT 1),"
    " (SELECT replayed_to FROM triggers ORDER BY trigger LIMIT 1),"
    " (SELECT count(*) FROM runs WHERE finished_at IS NULL AND state = 1)";

constexpr std::uintmax_t smallest_file = 512;  // a page of SQLite's, at least

Error refused(const Connection& connection, std::string_view what) {
  return Error{ErrorCode::corrupt, fmt::format("{}: {}; it is left as it is", connection.path(), what)};
}

Result<void> run_migrations(Connection& connection, int from) {
  for (auto at = static_cast<std::size_t>(from); at < migrations().size(); ++at) {
    if (auto done = connection.execute(migrations()[at]); !done) return done;
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

int schema_version() { return static_cast<int>(migrations().size()); }

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
