#include "store/sqlite/queries.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "store/sqlite/data_queries.h"
#include "store/sqlite/data_reader.h"
#include "store/sqlite/pages.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/schema.h"

namespace eider::store::sqlite {

const char* const starts_after_sql =
    "SELECT claimed_at, taken FROM attempts INDEXED BY attempts_of_pools"
    " WHERE substr(taken, 1, 11) = '{\"pools\":{\"' AND claimed_at > ? ORDER BY claimed_at";

namespace {

std::string cursors_sql() { return fmt::format("SELECT {} FROM cursors ORDER BY schedule", cursor_columns); }

std::string open_runs_sql() {
  const auto of_state = [](model::RunState state) {
    return fmt::format("SELECT {} FROM runs INDEXED BY runs_open WHERE finished_at IS NULL AND state = {}", run_columns,
                       static_cast<int>(state));
  };
  return fmt::format("{} UNION ALL {} ORDER BY seq", of_state(model::RunState::queued),
                     of_state(model::RunState::running));
}

std::string live_attempts_sql() {
  return fmt::format(
      "SELECT {} FROM runs AS r INDEXED BY runs_open"
      " JOIN attempts AS a ON a.run = r.seq AND a.number = r.attempt"
      " WHERE r.finished_at IS NULL AND r.state = 1 ORDER BY r.seq",
      attempt_columns);
}

constexpr const char* definitions_sql = "SELECT hash FROM definitions ORDER BY hash";

Result<RecordedStart> read_start(const Rows& row) {
  auto taken = model::parse_taken(row.text(1));
  if (!taken) return taken.error();
  return RecordedStart{row.instant(0), std::move(taken->pools)};
}

}  // namespace

std::string decided_across_sql() {
  return fmt::format(
      "SELECT {} FROM occurrences INDEXED BY occurrences_instant"
      " WHERE schedule = ? AND scheduled_for <= ? ORDER BY scheduled_for DESC LIMIT 1",
      occurrence_columns);
}

std::string decided_later_sql() {
  return fmt::format(
      "SELECT {} FROM occurrences INDEXED BY occurrences_instant"
      " WHERE schedule = ? AND scheduled_for > ? ORDER BY scheduled_for",
      occurrence_columns);
}

std::string runs_of_schedule_sql() {
  return fmt::format(
      "SELECT {} FROM runs WHERE id IN (SELECT run_id FROM occurrences"
      " INDEXED BY occurrences_by_schedule WHERE schedule = ? AND decision = 0"
      " ORDER BY scheduled_for DESC LIMIT ?)",
      run_columns);
}

std::vector<std::string> boot_queries() {
  return {cursors_sql(), open_runs_sql(), live_attempts_sql(), definitions_sql, data_sql::pending_counts()};
}

WriterQueries::WriterQueries(Connection& c)
    : cursors_(c, cursors_sql()),
      open_runs_(c, open_runs_sql()),
      live_attempts_(c, live_attempts_sql()),
      definitions_(c, definitions_sql),
      starts_after_(c, starts_after_sql),
      decided_across_(c, decided_across_sql()),
      decided_later_(c, decided_later_sql()),
      runs_of_schedule_(c, runs_of_schedule_sql()),
      run_of_key_(c, "SELECT id FROM runs WHERE idempotency_key = ?") {}

Result<OpenState> WriterQueries::load_open() {
  OpenState open;
  const auto load = [](Statement& statement, auto read, auto& into) -> Result<void> {
    Rows rows(statement);
    auto all = read_all(rows, read);
    if (!all) return all.error();
    into = std::move(*all);
    return {};
  };
  if (auto done = load(cursors_, read_cursor, open.cursors); !done) return done.error();
  if (auto done = load(open_runs_, read_run, open.runs); !done) return done.error();
  if (auto done = load(live_attempts_, read_attempt, open.live_attempts); !done) return done.error();
  if (auto done = load(definitions_, read_text, open.definitions); !done) return done.error();
  return open;
}

Result<std::vector<RecordedStart>> WriterQueries::starts_after(Instant after) {
  Rows rows(starts_after_, after);
  return read_all(rows, read_start);
}

Result<std::vector<model::Occurrence>> WriterQueries::decided_after(const std::string& schedule, Instant after) {
  // The newest row at or before `after` may reach past it; older ones can't, they would overlap with it.
  Rows across(decided_across_, schedule, after);
  auto out = read_all(across, read_occurrence);
  if (!out) return out;
  std::erase_if(*out, [after](const model::Occurrence& row) { return row.scheduled_until <= after; });
  Rows later(decided_later_, schedule, after);
  auto rest = read_all(later, read_occurrence);
  if (!rest) return rest;
  out->insert(out->end(), std::make_move_iterator(rest->begin()), std::make_move_iterator(rest->end()));
  return out;
}

Result<std::vector<model::Run>> WriterQueries::runs_of_schedule(const std::string& schedule, int limit) {
  Rows rows(runs_of_schedule_, schedule, limit);
  auto runs = read_all(rows, read_run);
  if (!runs) return runs;
  std::sort(runs->begin(), runs->end(),
            [](const model::Run& a, const model::Run& b) { return a.scheduled_for > b.scheduled_for; });
  return runs;
}

Result<std::optional<std::string>> WriterQueries::run_of_key(const std::string& idempotency_key) {
  if (idempotency_key.empty()) return std::optional<std::string>();
  Rows rows(run_of_key_, idempotency_key);
  auto ids = read_all(rows, read_text);
  if (!ids) return ids.error();
  return ids->empty() ? std::optional<std::string>() : std::optional(ids->front());
}

namespace {

class SqliteReader final : public DataReaderPart {
 public:
  explicit SqliteReader(std::unique_ptr<Connection> connection) : DataReaderPart(std::move(connection)) {}

  Result<Page<model::Run>> runs(const RunFilter& filter, int limit, const std::string& cursor) override;
  Result<Page<model::Occurrence>> occurrences(const OccurrenceFilter& filter, int limit,
                                              const std::string& cursor) override;

  Result<std::optional<model::Run>> run(const std::string& id) override {
    Rows rows(statement(fmt::format("SELECT {} FROM runs WHERE id = ?", run_columns)), id);
    return read_first(rows, read_run);
  }

  Result<std::vector<std::string>> run_ids(const std::string& prefix) override { return ids_in("runs", prefix, "run"); }

  Result<std::vector<model::Attempt>> attempts(const std::string& run_id) override {
    Rows rows(statement(fmt::format("SELECT {} FROM runs AS r JOIN attempts AS a ON a.run = r.seq WHERE r.id = ?"
                                    " ORDER BY a.number",
                                    attempt_columns)),
              run_id);
    return read_all(rows, read_attempt);
  }

  Result<std::vector<model::Cursor>> cursors() override {
    Rows rows(statement(cursors_sql()));
    return read_all(rows, read_cursor);
  }

  Result<std::optional<model::Cursor>> cursor(const std::string& schedule) override {
    Rows rows(statement(fmt::format("SELECT {} FROM cursors WHERE schedule = ?", cursor_columns)), schedule);
    return read_first(rows, read_cursor);
  }

  Result<std::optional<std::string>> definition(const std::string& hash) override {
    Rows rows(statement("SELECT json FROM definitions WHERE hash = ?"), hash);
    return read_first(rows, read_text);
  }

  Result<std::vector<model::Attempt>> live_attempts() override {
    Rows rows(statement(live_attempts_sql()));
    return read_all(rows, read_attempt);
  }
};

Result<Page<model::Run>> SqliteReader::runs(const RunFilter& filter, int limit, const std::string& cursor) {
  if (auto fits = check_limit(limit); !fits) return fits.error();
  const auto position = read_position<1>(cursor, 'r');
  if (!position) return bad_cursor(cursor);
  Statement& list = statement(runs_sql(filter));
  const auto page = [limit](Rows& rows) {
    return read_page<model::Run>(rows, limit, read_run,
                                 [](const Rows& row) { return fmt::format("r{}", row.number(0)); });
  };
  if (filter.pipeline) {
    Rows rows(list, (*position)[0], limit + 1, *filter.pipeline);
    return page(rows);
  }
  Rows rows(list, (*position)[0], limit + 1);
  return page(rows);
}

Result<Page<model::Occurrence>> SqliteReader::occurrences(const OccurrenceFilter& filter, int limit,
                                                          const std::string& cursor) {
  if (auto fits = check_limit(limit); !fits) return fits.error();
  const auto position = read_position<2>(cursor, 'o');
  if (!position) return bad_cursor(cursor);
  Statement& list = statement(occurrences_sql(filter));
  const auto page = [limit](Rows& rows) {
    return read_page<model::Occurrence>(rows, limit, read_occurrence, [](const Rows& row) {
      return fmt::format("o{}.{}", row.number(4), row.number(0));
    });
  };
  if (filter.schedule) {
    Rows rows(list, (*position)[0], (*position)[1], limit + 1, *filter.schedule);
    return page(rows);
  }
  Rows rows(list, (*position)[0], (*position)[1], limit + 1);
  return page(rows);
}

}  // namespace

Result<std::unique_ptr<Reader>> open_reader(const std::string& path) {
  const bool in_memory = path.starts_with("file:/");
  if (std::error_code failed; !in_memory && !std::filesystem::exists(path, failed)) {
    return Error{ErrorCode::not_found, fmt::format("{}: is not there; `eider serve` makes it", path)};
  }
  auto connection = Connection::open(path, Access::read);
  if (!connection) return connection.error();
  auto version = read_version(**connection);
  if (!version) return version.error();
  if (*version < schema_version()) {
    return Error{ErrorCode::conflict, fmt::format("{}: was written by an older eider: start this one's server once, "
                                                  "which brings it up to date",
                                                  path)};
  }
  return std::unique_ptr<Reader>(new SqliteReader(std::move(*connection)));
}

}  // namespace eider::store::sqlite
