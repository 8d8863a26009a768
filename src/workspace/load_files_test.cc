// Which files are read, what each may do to the others, and what a good one becomes.
#include <sys/stat.h>
#include <unistd.h>

#include <rapidcheck/gtest.h>

#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kGood = "steps:\n  - id: a\n    run: [\"true\"]\n";

TEST(LoadFiles, NoWorkspace) {
  const TestFolder folder;
  auto loaded = load_workspace(folder.path());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::not_found);
  EXPECT_EQ(loaded.error().message,
            folder.path() + ": no eider.yaml here, so this is no workspace; `eider init` makes one");
  loaded = load_workspace(folder.path("no"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message, folder.path("no") + ": no such folder");
}

TEST(LoadFiles, TheFoldersPathMustBeUtf8) {
  const TestFolder folder;
  folder.write("caf\xE9/eider.yaml", "");
  const auto loaded = load_workspace(folder.path("caf\xE9"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::invalid);
  EXPECT_EQ(loaded.error().message,
            folder.path("caf\xEF\xBF\xBD") + ": the path of a workspace must be valid UTF-8; rename the folder");
}

TEST(LoadFiles, WhatIsPublishedReplacesNoSqlThatAStepReads) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  folder.write("sql/a.sql", "select 1");
  const auto said = [&](const std::string& path) {
    folder.write("pipelines/p.yaml",
                 "pipeline: p\nsteps: [{id: a, sql: sql/a.sql}]\npublishes: [{asset: a, path: " + path + "}]\n");
    return lines_of(load(folder).diagnostics);
  };
  for (const char* path : {"sql", "sql/a.sql"}) {
    EXPECT_EQ(said(path), Lines{"pipelines/p.yaml:3:30: error: publishes[0].path: would replace sql/a.sql, the SQL of "
                                "step \"a\""});
  }
  EXPECT_EQ(said("sql/b.sql"), Lines{});
}

TEST(LoadFiles, AnEmptySettingsFileIsFine) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  const Workspace loaded = load(folder);
  EXPECT_TRUE(loaded.usable);
  EXPECT_EQ(loaded.settings, model::Settings());
  EXPECT_EQ(loaded.root, folder.path());
}

TEST(LoadFiles, ABrokenSettingsFileRefusesTheWhole) {
  const TestFolder folder;
  folder.write(
      "eider.yaml",
      "workers: { max: 0, share: 3 }\nserver: { listen: 127.0.0.1:80 }\npools: { a: { slots: 2, rate: 1 }, b: x }\n");
  folder.write("pipelines/x.yaml", std::string("pipeline: x\n") + kGood);
  const Workspace loaded = load(folder);
  EXPECT_FALSE(loaded.usable);
  EXPECT_TRUE(loaded.pipelines.empty());
  EXPECT_EQ(lines_of(loaded.diagnostics),
            (Lines{"eider.yaml:1:17: error: workers.max: 0 is out of range; expected 1 to 1000",
                   "eider.yaml:1:27: error: workers.share: expected a map with the keys data and backfill",
                   "eider.yaml:2:11: error: server.listen: is not supported by this version of Eider",
                   std::string("eider.yaml:3:31: error: pools.a.rate: \"1\" is not a rate: it has no /; ") +
                       "expected how many starts in how long, like 100/min, 10/s or 5/10s",
                   "eider.yaml:3:39: error: pools.b: expected a whole number, found \"x\""}));
}

TEST(LoadFiles, AssetsOfTheSettings) {
  const TestFolder folder;
  const auto said = [&](const std::string& assets) {
    folder.write("eider.yaml", "assets: {" + assets + "}\n");
    return lines_of(load(folder).diagnostics);
  };
  EXPECT_EQ(said("raw.x: {watch: \"/var/in/../spool\"}, raw.y: {watch: in}"), Lines{});
  EXPECT_EQ(said("raw.x: {files: a*, settle: 1s}"),
            (Lines{"eider.yaml:1:25: warning: assets.\"raw.x\".files: has no effect without watch",
                   "eider.yaml:1:37: warning: assets.\"raw.x\".settle: has no effect without watch"}));
  EXPECT_EQ(said("raw.x: {watch: .eider/runs}"),
            Lines{"eider.yaml:1:25: error: assets.\"raw.x\".watch: \".eider/runs\" belongs to Eider"});
  EXPECT_EQ(said("raw.x: {watch: ../in}"), Lines{"eider.yaml:1:25: error: assets.\"raw.x\".watch: \"../in\" leaves the "
                                                 "workspace"});
  EXPECT_EQ(said("raw.x: {watch: in, files: a/*}"),
            Lines{"eider.yaml:1:36: error: assets.\"raw.x\".files: \"a/*\" has a /; expected a pattern over names of "
                  "files, like *.csv"});
  EXPECT_EQ(said("raw.x: {watch: in, settle: 2d}"),
            Lines{"eider.yaml:1:37: error: assets.\"raw.x\".settle: 2d is too large; the most is 1d"});
  EXPECT_EQ(said("raw x: {}"), Lines{"eider.yaml:1:10: error: assets.\"raw x\": \"raw x\" is not the name of an asset: "
                                     "expected names joined by dots, like raw.flights, of at most 200 characters"});
  EXPECT_EQ(said("raw.x: in"),
            Lines{"eider.yaml:1:17: error: assets.\"raw.x\": expected a map with the keys description, "
                  "watch, files and settle"});
}

TEST(LoadFiles, EverySettingLands) {
  const TestFolder folder;
  folder.write(
      "eider.yaml",
      "workers: { max: 4 }\npools: { heavy: { slots: 2 }, net: 8 }\nresources: { memory: 8GiB }\nlogs: { "
      "limit: 1MiB }\n"
      "server: { drain_timeout: 5s }\nassets:\n  raw.events:\n  raw.up: { description: 5, watch: ./in/, files: "
      "\"*.csv\", settle: 0s }\ndefaults:\n  timezone: Europe/Brussels\n  retry: { max_attempts: 3, "
      "jitter: 0 }\n");
  folder.write("pipelines/x.yaml",
               std::string("pipeline: x\nretry: { backoff: 1s }\nschedules: [{id: s, every: 5s}]\n") + kGood);
  const Workspace loaded = load(folder);
  ASSERT_TRUE(loaded.diagnostics.empty()) << format(loaded.diagnostics[0]);
  EXPECT_EQ(loaded.settings.max_workers, 4);
  EXPECT_EQ(loaded.settings.pools.at("heavy"), (model::Pool{"heavy", 2}));
  EXPECT_EQ(loaded.settings.pools.at("net"), (model::Pool{"net", 8}));
  EXPECT_EQ(loaded.settings.memory_bytes, 8LL << 30);
  EXPECT_EQ(loaded.settings.log_limit_bytes, 1 << 20);
  EXPECT_EQ(loaded.settings.drain_timeout, std::chrono::seconds(5));
  EXPECT_EQ(loaded.settings.assets.size(), 2u);
  EXPECT_EQ(loaded.settings.assets.at("raw.events"), (model::ExternalAsset{"raw.events", "", ""}));
  EXPECT_EQ(loaded.settings.assets.at("raw.up"), (model::ExternalAsset{"raw.up", "5", "in", "*.csv", Micros(0)}));
  const model::Pipeline& x = *loaded.pipelines.at("x").pipeline;
  EXPECT_EQ(x.retry.max_attempts, 3) << "key by key from the defaults";
  EXPECT_EQ(x.retry.backoff, std::chrono::seconds(1));
  EXPECT_EQ(x.timezone, "Europe/Brussels");
  EXPECT_EQ(x.schedules[0].timing.timezone, "Europe/Brussels");
}

constexpr const char* kFull = R"(pipeline: full
description: 2026
database: { file: ./data/../w.duckdb, mode: read }
pools: { heavy: 1, net: 2 }
timezone: Asia/Tokyo
schedules:
  - { id: a, cron: "30 2 * * *", timezone: Europe/Brussels, overlap: queue, misfire: all, grace: 1m, max_catchup: 5,
      catchup_window: 2d, queue_limit: 3 }
  - { id: b, every: 5s, anchor: "2026-01-01T00:00:00+01:00", overlap: allow, misfire: skip }
  - { id: c, every: 1m30s, from: completion, overlap: replace }
  - { id: d, at: 2026-03-29T01:00:00Z }
triggers:
  - { id: on_raw, assets: raw.x }
  - { id: on_all, assets: ["raw.*", ext.y], match: all, from: other, partition: same, on: changed, batch: false,
      start: earliest, order: strict }
  - { id: quiet, assets: [raw.y], debounce: 30s }
  - { id: quick, assets: [raw.y], debounce: 30s, max_wait: 1m }
steps:
  - id: load
    sql: |
      select 1;
      select 2;
    transaction: none
    timeout: 1m
  - { id: file, sql: ./sql/x.sql, needs: [load] }
  - { id: run, run: [echo, 5, true, "1"], needs: [load, file], env: { PORT: 8080, EMPTY: "" } }
  - { id: line, run: "echo $HOME | cat", shell: true }
publishes:
  - { asset: marts.x, path: ./out//x.parquet, after: run }
  - { asset: marts.y, shared: true }
partitions: { every: day, start: 2026-01-01 }
timeout: 2h
queue_timeout: 1h
resources: { threads: 2, memory: 2GB, temp: 1048576 }
retry: { max_attempts: 3, backoff: 1s, factor: 1.5, max_backoff: 1m, jitter: 25% }
priority: -5
)";

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::vector<model::Schedule> full_schedules() {
  std::vector<model::Schedule> all(4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].id = std::string(1, static_cast<char>('a' + i));
    all[i].timing.timezone = i == 0 ? "Europe/Brussels" : "Asia/Tokyo";
  }
  all[0].timing.cron = "30 2 * * *";
  all[0].overlap = model::Overlap::queue;
  all[0].misfire = model::Misfire::all;
  all[0].grace = minutes(1);
  all[0].max_catchup = 5;
  all[0].catchup_window = hours(48);
  all[0].queue_limit = 3;
  all[1].timing.every = seconds(5);
  all[1].timing.anchor = *parse_rfc3339("2025-12-31T23:00:00Z");
  all[1].overlap = model::Overlap::allow;
  all[1].misfire = model::Misfire::skip;
  all[2].timing.every = seconds(90);
  all[2].timing.from_completion = true;
  all[2].overlap = model::Overlap::replace;
  all[3].timing.at = *parse_rfc3339("2026-03-29T01:00:00Z");
  return all;
}

std::vector<model::Step> full_steps() {
  std::vector<model::Step> all(4);
  all[0].id = "load";
  all[0].kind = model::Step::Kind::sql;
  all[0].sql = "select 1;\nselect 2;\n";
  all[0].sql_origin = {"pipelines/full.yml", 21};
  all[0].transaction = false;
  all[0].timeout = minutes(1);
  all[1].id = "file";
  all[1].kind = model::Step::Kind::sql;
  all[1].sql = "select 3";
  all[1].sql_origin = {"sql/x.sql", 1};
  all[1].needs = {"load"};
  all[2].id = "run";
  all[2].argv = {"echo", "5", "true", "1"};
  all[2].env = {{"PORT", "8080"}, {"EMPTY", ""}};
  all[2].needs = {"load", "file"};
  all[3].id = "line";
  all[3].argv = {"/bin/sh", "-c", "echo $HOME | cat"};
  return all;
}

std::vector<model::Trigger> full_triggers() {
  std::vector<model::Trigger> all(4);
  all[0].id = "on_raw";
  all[0].assets = {"raw.x"};
  all[1].id = "on_all";
  all[1].assets = {"raw.*", "ext.y"};
  all[1].match = model::Trigger::Match::all;
  all[1].from = "other";
  all[1].same_partition = all[1].changed_only = true;
  all[1].start = model::Trigger::Start::earliest;
  all[1].order = model::Trigger::Order::strict;
  all[2].id = "quiet";
  all[2].assets = {"raw.y"};
  all[2].batch = true;
  all[2].debounce = seconds(30);
  all[2].max_wait = seconds(300);
  all[3] = all[2];
  all[3].id = "quick";
  all[3].max_wait = minutes(1);
  return all;
}

model::Pipeline full_pipeline() {
  model::Pipeline full;
  full.name = "full";
  full.file = "pipelines/full.yml";
  full.description = "2026";
  full.database = model::Database{"w.duckdb", true};
  full.pools = {{"heavy", 1}, {"net", 2}};
  full.timezone = "Asia/Tokyo";
  full.schedules = full_schedules();
  full.triggers = full_triggers();
  full.steps = full_steps();
  full.publishes = {{"marts.x", "out/x.parquet", "", "run"}, {"marts.y", "", "", "", true}};
  full.partitions = model::Partitions{{}, model::Partitions::Every::day, "2026-01-01", ""};
  full.timeout = hours(2);
  full.queue_timeout = hours(1);
  full.resources = {2, 2'000'000'000, 1'048'576};
  full.retry = {3, seconds(1), 1.5, minutes(1), 0.25};
  full.max_active_runs = 0;
  full.priority = -5;
  return full;
}

/// What the triggers of `full` wait for.
constexpr const char* kOther =
    "pipeline: other\nsteps: [{id: a, run: [x]}]\npublishes: [{asset: raw.x}, {asset: raw.y}, "
    "{asset: ext.y}]\n";

TEST(LoadFiles, EveryKeyLands) {
  const TestFolder folder;
  folder.write("eider.yaml", "pools: { heavy: 1, net: 2 }\n");
  folder.write("pipelines/other.yaml", kOther);
  folder.write("sql/x.sql", "select 3");
  folder.write("pipelines/full.yml", kFull);
  const Workspace loaded = load(folder);
  EXPECT_EQ(lines_of(loaded.diagnostics),
            Lines{"pipelines/full.yml:8:40: warning: schedules[0].queue_limit: has no effect with max_active_runs: 0, "
                  "which lets every instant wait"});
  const LoadedPipeline& full = loaded.pipelines.at("full");
  EXPECT_EQ(*full.pipeline, full_pipeline()) << *full.definition;
  const auto back = model::parse_definition(*full.definition);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, full_pipeline());
  EXPECT_EQ(full.hash, model::definition_hash(model::definition_json(*back)));
}

TEST(LoadFiles, MaxActiveRunsFollowsOverlap) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  const auto bound = [&](const std::string& text) {
    folder.write("pipelines/x.yaml", "pipeline: x\n" + text + kGood);
    return load(folder).pipelines.at("x").pipeline->max_active_runs;
  };
  EXPECT_EQ(bound(""), 1);
  EXPECT_EQ(bound("schedules: [{id: a, every: 5s, overlap: queue}]\n"), 1);
  EXPECT_EQ(bound("schedules: [{id: a, every: 5s, overlap: allow}]\n"), 0);
  EXPECT_EQ(bound("max_active_runs: 3\nschedules: [{id: a, every: 5s, overlap: allow}]\n"), 3);
}

// Case O-36: one bad file among good ones.
TEST(LoadFiles, ABrokenFileDisablesItsPipelineOnly) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  for (int i = 0; i < 50; ++i)
    folder.write(fmt::format("pipelines/p{}.yaml", i), fmt::format("pipeline: p{}\n{}", i, kGood));
  folder.write("pipelines/bad.yaml",
               std::string("pipeline: bad\nschedules: [{id: s, cron: \"61 * * * *\"}]\n") + kGood);
  folder.write("pipelines/half.yaml", "pipeline: half\nsteps:\n  - id: a\n    run: [\"tr");
  folder.write("pipelines/notes.txt", "not read");
  folder.write("pipelines/.hidden.yaml", "not: read");
  folder.write("pipelines/deeper/x.yaml", "not: read");
  const Workspace loaded = load(folder);
  EXPECT_TRUE(loaded.usable);
  EXPECT_EQ(loaded.pipelines.size(), 50u);
  ASSERT_EQ(loaded.broken.size(), 2u);
  EXPECT_EQ(loaded.broken.at("pipelines/bad.yaml").pipeline, "bad");
  EXPECT_EQ(lines_of(loaded.diagnostics),
            (Lines{"pipelines/bad.yaml:2:27: error: schedules[0].cron: cron field \"minute\": 61 is outside 0-59",
                   "pipelines/half.yaml:4:14: error: the file ends inside the quoted text that begins on line 4"}));
}

// Enough of them for several threads.
TEST(LoadFiles, ManyFilesSayWhatFewWouldInTheSameOrder) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  for (int i = 1000; i < 2000; ++i) {
    folder.write(fmt::format("pipelines/p{}.yaml", i),
                 fmt::format("pipeline: p{}\n{}", i, i % 7 == 0 ? "step: []\n" : kGood));
  }
  const Workspace loaded = load(folder);
  EXPECT_EQ(loaded.pipelines.size(), 857u);
  EXPECT_EQ(loaded.broken.size(), 143u);
  for (const auto& [name, one] : loaded.pipelines)
    EXPECT_EQ(one.pipeline->file, fmt::format("pipelines/{}.yaml", name));
  for (const auto& [file, one] : loaded.broken) EXPECT_EQ(file, fmt::format("pipelines/{}.yaml", one.pipeline));
  EXPECT_TRUE(std::is_sorted(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                             [](const Diagnostic& a, const Diagnostic& b) { return a.file < b.file; }));
}

TEST(LoadFiles, ANameTwiceRefusesBoth) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  folder.write("pipelines/a.yaml", std::string("pipeline: x\n") + kGood);
  folder.write("pipelines/b.yaml", std::string("# second\npipeline: x\n") + kGood);
  folder.write("pipelines/c.yaml", std::string("pipeline: c\n") + kGood);
  const Workspace loaded = load(folder);
  EXPECT_EQ(loaded.pipelines.size(), 1u);
  EXPECT_EQ(loaded.broken.size(), 2u);
  EXPECT_EQ(lines_of(loaded.diagnostics), (Lines{"pipelines/a.yaml:1:11: error: pipeline: \"x\" is also the name of "
                                                 "the pipeline in pipelines/b.yaml:2:11; neither is loaded",
                                                 "pipelines/b.yaml:2:11: error: pipeline: \"x\" is also the name of "
                                                 "the pipeline in pipelines/a.yaml:1:11; neither is loaded"}));
}

TEST(LoadFiles, ASharedPathIsAWarning) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  for (const char* name : {"a", "b"}) {
    folder.write(fmt::format("pipelines/{}.yaml", name),
                 fmt::format("pipeline: {}\npublishes: [{{asset: {}.x, path: out}}, {{asset: y, path: y, shared: "
                             "true}}]\n{}",
                             name, name, kGood));
  }
  const Workspace loaded = load(folder);
  EXPECT_EQ(loaded.pipelines.size(), 2u);
  EXPECT_EQ(lines_of(loaded.diagnostics),
            Lines{"pipelines/b.yaml: warning: publishes: \"out\" is published by the pipeline a as well"});
}

TEST(LoadFiles, WhatIsNoPlainFileInTheWorkspaceIsRefusedWithoutWaiting) {
  const TestFolder folder;
  const TestFolder elsewhere;
  elsewhere.write("x.yaml", std::string("pipeline: x\n") + kGood);
  folder.write("eider.yaml", "");
  folder.write("inside.txt", std::string("pipeline: linked\n") + kGood);
  folder.write("pipelines/large.yaml", "# " + std::string(2000, 'x'));
  ASSERT_EQ(::mkfifo(folder.path("pipelines/fifo.yaml").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/zero", folder.path("pipelines/device.yaml").c_str()), 0);
  ASSERT_EQ(::symlink(elsewhere.path("x.yaml").c_str(), folder.path("pipelines/escape.yaml").c_str()), 0);
  ASSERT_EQ(::symlink("../inside.txt", folder.path("pipelines/linked.yaml").c_str()), 0);
  ASSERT_EQ(::symlink("gone", folder.path("pipelines/gone.yaml").c_str()), 0);
  ASSERT_EQ(::symlink("loop.yaml", folder.path("pipelines/loop.yaml").c_str()), 0);
  std::filesystem::create_directory(folder.path("pipelines/folder.yaml"));
  LoadOptions options;
  options.file_limit_bytes = 1024;
  const Workspace loaded = load(folder, options);
  EXPECT_TRUE(loaded.pipelines.contains("linked")) << "a link that stays inside is fine";
  EXPECT_EQ(
      lines_of(loaded.diagnostics),
      (Lines{"pipelines/device.yaml: error: is not a regular file",
             "pipelines/escape.yaml: error: a symbolic link leads out of the workspace",
             "pipelines/fifo.yaml: error: is not a regular file", "pipelines/folder.yaml: error: is not a regular file",
             "pipelines/gone.yaml: error: no such file", "pipelines/large.yaml: error: is larger than 0 MiB",
             "pipelines/loop.yaml: error: Too many levels of symbolic links"}));
}

TEST(LoadFiles, ThePipelinesFolderMustBeOne) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  folder.write("pipelines", "");
  const Workspace loaded = load(folder);
  EXPECT_FALSE(loaded.usable);
  EXPECT_EQ(lines_of(loaded.diagnostics), Lines{"pipelines: error: is not a folder"});
}

RC_GTEST_PROP(LoadProperty, AnyChangeOfAGoodFileEndsInAPipelineOrAnError, ()) {
  static const TestFolder folder;
  folder.write("eider.yaml", "pools: { heavy: 1, net: 2 }\n");
  folder.write("sql/x.sql", "select 3");
  folder.write("pipelines/other.yaml", kOther);
  std::string text = kFull;
  const auto changes = *rc::gen::container<std::vector<std::pair<std::size_t, std::string>>>(rc::gen::pair(
      rc::gen::inRange<std::size_t>(0, text.size()),
      rc::gen::oneOf(
          rc::gen::elementOf(std::vector<std::string>{"", "\n", "[", "]", "{", "}", ": ", "- ", "\"", "~", "0", "-1",
                                                      "${env:X}", "../", "all", "1e999", "{a: {a: "}),
          rc::gen::container<std::string>(rc::gen::arbitrary<char>()))));
  for (const auto& [at, piece] : changes) text.replace(std::min(at, text.size()), piece.size(), piece);
  folder.write("pipelines/x.yaml", text);
  const auto loaded = load_workspace(folder.path());
  RC_ASSERT(loaded.ok());
  const bool said = std::any_of(loaded->diagnostics.begin(), loaded->diagnostics.end(),
                                [](const Diagnostic& d) { return d.severity == Severity::error; });
  // A broken file may hold `full` under a name that `other` has too, or publish what it publishes.
  RC_ASSERT(said == (loaded->pipelines.size() < 2));
  for (const auto& [name, pipeline] : loaded->pipelines) {
    const auto back = model::parse_definition(*pipeline.definition);
    RC_ASSERT(back.ok());
    RC_ASSERT(*back == *pipeline.pipeline);
  }
}

}  // namespace
}  // namespace eider::workspace
