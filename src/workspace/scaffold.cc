#include "workspace/scaffold.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"

namespace eider::workspace {
namespace {

constexpr const char* kSettings =
    R"(# Settings of this workspace; every key is optional. `eider schema workspace` prints the JSON Schema for editors.

# How many runs execute at once, in all.
workers: { max: 4 }

# Named limits across pipelines: a pipeline that says `pool: heavy` takes one slot while it runs.
pools:
  heavy: { slots: 1 }

# What pipelines use unless they say otherwise.
defaults:
  timezone: UTC
  retry: { max_attempts: 1 }

# How long `eider stop` lets running runs finish.
server: { drain_timeout: 30s }
)";

constexpr const char* kPipelineFile = R"(# yaml-language-server: $schema=../pipeline.schema.json
# (make that file with: eider schema pipeline > pipeline.schema.json)
pipeline: hello
description: Counts something every ten seconds, and shows it

# The DuckDB file of the SQL steps. Without it they work in memory.
database: hello.duckdb

# What starts it: clock rules, each with an id. `overlap` says what happens while a run is still active.
schedules:
  - id: often
    every: 10s
    overlap: skip              # skip | queue | replace | allow
  - id: nightly
    cron: "30 2 * * *"         # quote cron expressions
    timezone: Europe/Brussels
    misfire: latest            # skip | latest | all: after the server was down

# What it does. A step begins when those that it needs have succeeded.
steps:
  - id: count
    sql: sql/hello.sql         # a file, or the SQL itself
  - id: show
    run: [sh, -c, 'echo "run $EIDER_RUN_ID (due ${EIDER_SCHEDULED_FOR:-by hand}) is done"']
    needs: [count]
    timeout: 1m

# What a successful run has renewed.
publishes:
  - asset: demo.hello
    table: hello

# Limits of a run, and when a failed one is tried again.
timeout: 10m
resources: { threads: 1, memory: 256MiB }
retry: { max_attempts: 2, backoff: 5s }
)";

constexpr const char* kSql = R"(-- One transaction: it happens once a run, even when an attempt has to be repeated.
create table if not exists hello (run_id text, counted_at timestamptz, numbers bigint, total hugeint);

insert into hello
select getvariable('run_id'), now(), count(*), sum(range)
from range(1000000);
)";

constexpr const char* kIgnored = R"(# Eider's own state, and the data that pipelines make
.eider/
*.duckdb
*.duckdb.wal
)";

/// mkdir -p with the permissions that the person's umask says.
Result<void> make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return Error{ErrorCode::io, fmt::format("{}: {}", path, failed.message())};
  return {};
}

/// Made only if nothing is there: an init must never overwrite.
Result<void> write_new(const std::string& path, const std::string& content) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return io_error(path, errno);
  return write_all(file.get(), content);
}

}  // namespace

std::vector<ScaffoldFile> scaffold_files() {
  return {{"eider.yaml", kSettings, false},
          {"pipelines/hello.yaml", kPipelineFile, false},
          {"sql/hello.sql", kSql, false},
          {".gitignore", kIgnored, true}};
}

Result<std::vector<std::string>> write_scaffold(const std::string& root) {
  const std::vector<ScaffoldFile> files = scaffold_files();
  const auto path_of = [&](const ScaffoldFile& file) { return (std::filesystem::path(root) / file.path).string(); };
  const auto is_there = [&](const ScaffoldFile& file) {
    struct stat info {};
    return ::lstat(path_of(file).c_str(), &info) == 0;
  };
  for (const ScaffoldFile& file : files) {
    if (file.optional || !is_there(file)) continue;
    return Error{ErrorCode::conflict, path_of(file) + ": exists already; nothing was written"};
  }
  std::vector<std::string> written;
  for (const ScaffoldFile& file : files) {
    if (file.optional && is_there(file)) continue;
    const std::string path = path_of(file);
    if (auto made = make_folder(path.substr(0, path.rfind('/'))); !made) return made.error();
    if (auto wrote = write_new(path, file.content); !wrote) return wrote.error();
    written.push_back(file.path);
  }
  return written;
}

}  // namespace eider::workspace
