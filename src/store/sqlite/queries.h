// What is read: by the engine on the writer's connection, and by everybody else through a Reader.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace eider::store::sqlite {

/// The engine's queries. Engine thread; inside a transaction they see what it has written.
class WriterQueries {
 public:
  explicit WriterQueries(Connection& connection);

  Result<OpenState> load_open();
  Result<std::vector<RecordedStart>> starts_after(Instant after);
  Result<std::vector<model::Occurrence>> decided_after(const std::string& schedule, Instant after);
  Result<std::vector<model::Run>> runs_of_schedule(const std::string& schedule, int limit);
  Result<std::optional<std::string>> run_of_key(const std::string& idempotency_key);

 private:
  Statement cursors_;
  Statement open_runs_;
  Statement live_attempts_;
  Statement definitions_;
  Statement starts_after_;
  Statement decided_across_;
  Statement decided_later_;
  Statement runs_of_schedule_;
  Statement run_of_key_;
};

/// A Reader of its own connection; the file is inspected, never made or migrated.
Result<std::unique_ptr<Reader>> open_reader(const std::string& path);

/// The text of a list query, for the test that reads its plan. Parameters in order: the cursor (one number for
/// runs, two for occurrences), the limit, then the pipeline or schedule if the filter names one.
std::string runs_sql(const RunFilter& filter);
std::string occurrences_sql(const OccurrenceFilter& filter);
/// What load_open() runs.
std::vector<std::string> boot_queries();
/// What decided_after() runs: schedule, instant; and runs_of_schedule(): schedule, limit.
std::string decided_across_sql();
std::string decided_later_sql();
std::string runs_of_schedule_sql();
/// What starts_after() runs: after.
extern const char* const starts_after_sql;

}  // namespace eider::store::sqlite
