#include "bench/hidden.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/fd.h"
#include "bench/floors.h"
#include "bench/process.h"
#include "worker/duckdb/session.h"

namespace eider::bench {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void note(const std::string& journal, const char* what) {
  // One write with O_APPEND: lines of several processes do not mix.
  const UniqueFd file(::open(journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  (void)write_all(file.get(), fmt::format("{} {} {} {} {}\n", what, environment("EIDER_RUN_ID"),
                                          environment("EIDER_ATTEMPT"), ::getpid(), to_us(now())));
}

int step(const std::string& journal) {
  const UniqueFd alive(
      ::open((journal + "." + environment("EIDER_RUN_ID")).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (::flock(alive.get(), LOCK_EX | LOCK_NB) != 0) note(journal, "twice");
  note(journal, "start");
  const std::string go = journal + ".go";
  (void)wait_for([&] { return ::access(go.c_str(), F_OK) == 0; }, std::chrono::minutes(5));
  note(journal, "end");
  return 0;
}

Result<std::string> bare_sql(const std::string& library, const std::string& script, int count) {
  auto sql = read_file(script, 1 << 20);
  if (!sql) return sql.error();
  std::string out;
  const double from = monotonic_ms();
  auto session = worker::duck::Session::open(library);
  if (!session) return session.error();
  worker::duck::SessionOptions options;
  options.temp_folder = script + ".tmp";
  options.workspace_folder = std::filesystem::path(script).parent_path();
  if (auto configured = (*session)->configure(options); !configured) return configured.error();
  auto connected = (*session)->connect(std::nullopt, {});
  if (!connected) return connected.error();
  out += fmt::format("{:.4f}\n", monotonic_ms() - from);
  for (int i = 0; i < count; ++i) {
    worker::duck::ScriptRequest request;
    request.sql = *sql;
    const double started = monotonic_ms();
    const auto outcome = connected->connection->run(request, [](std::string_view) {});
    out += fmt::format("{:.4f}\n", monotonic_ms() - started);
    if (outcome.kind != worker::duck::ScriptOutcome::Kind::succeeded) return Error{ErrorCode::invalid, outcome.error};
  }
  return out;
}

}  // namespace

std::optional<int> hidden_verb(std::span<char*> arguments) {
  const std::string verb = arguments[1];
  if (verb == "step" && arguments.size() == 3) return step(arguments[2]);
  if (verb != "bare-sql" || arguments.size() != 5) return std::nullopt;
  auto printed = bare_sql(arguments[2], arguments[3], std::atoi(arguments[4]));
  std::fputs(printed ? printed->c_str() : printed.error().message.c_str(), printed ? stdout : stderr);
  return printed ? 0 : 1;
}

std::string step_command(const Setup& setup, const std::string& journal) {
  return fmt::format("[\"{}\", step, \"{}\"]", setup.self, journal);
}

std::vector<JournalLine> read_journal(const std::string& journal) {
  std::vector<JournalLine> out;
  std::ifstream lines(journal);
  for (std::string text; std::getline(lines, text);) {
    std::istringstream words(text);
    JournalLine line;
    std::int64_t at_us = 0;
    if (words >> line.what >> line.run_id >> line.attempt >> line.pid >> at_us) {
      line.at = from_us(at_us);
      out.push_back(std::move(line));
    }
  }
  return out;
}

Result<BareSql> run_bare_sql(const Setup& setup, const std::string& sql, int count) {
  const std::string script = setup.scratch + "/bare.sql";
  std::ofstream(script, std::ios::trunc) << sql;
  auto printed = capture({setup.self, "bare-sql", setup.duckdb, script, std::to_string(count)}, setup.scratch);
  if (!printed) return printed.error();
  std::istringstream numbers(*printed);
  BareSql out;
  numbers >> out.open_ms;
  for (double value = 0; numbers >> value;) out.script_ms.push_back(value);
  return out;
}

std::string heavy_sql(int times) {
  std::string out = "CREATE OR REPLACE TEMP TABLE numbers AS SELECT i, i % 1000 AS g FROM range(5000000) AS r(i);\n";
  for (int i = 0; i < times; ++i) {
    out += fmt::format("SELECT sum(v) FROM (SELECT g, sum(hash(i + {}) % 1000) AS v FROM numbers GROUP BY g);\n", i);
  }
  return out;
}

Result<double> heavy_ms(const Setup& setup) {
  auto few = run_bare_sql(setup, heavy_sql(2), 2);
  if (!few) return few.error();
  auto many = run_bare_sql(setup, heavy_sql(12), 2);
  if (!many) return many.error();
  return std::max(1.0, (median(many->script_ms) - median(few->script_ms)) / 10);
}

}  // namespace eider::bench
