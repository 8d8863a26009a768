// What the bench is to itself: a step that keeps a journal (row E), and the bare process beside a SQL step (row G).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "bench/rows.h"

namespace eider::bench {

/// The exit code, when the arguments name a hidden verb.
std::optional<int> hidden_verb(std::span<char*> arguments);

/// `step JOURNAL`: notes its start, waits until JOURNAL.go exists, notes its end. A second process of the same run
/// that starts while one lives notes `twice`: the kernel's lock on a file of the run tells.
std::string step_command(const Setup& setup, const std::string& journal);
struct JournalLine {
  std::string what;  ///< start | end | twice
  std::string run_id;
  int attempt = 0;
  int pid = 0;
  Instant at{};
};
std::vector<JournalLine> read_journal(const std::string& journal);

/// `bare-sql LIBRARY SCRIPT COUNT`: the script in a process that does nothing else, this many times.
struct BareSql {
  double open_ms = 0;             ///< load the library, open an instance, connect
  std::vector<double> script_ms;  ///< each time
};
Result<BareSql> run_bare_sql(const Setup& setup, const std::string& sql, int count);

/// An aggregate over five million rows made by range(), on all of DuckDB's threads, this many times.
std::string heavy_sql(int times);
/// How long one of these times takes here, in milliseconds.
Result<double> heavy_ms(const Setup& setup);

}  // namespace eider::bench
