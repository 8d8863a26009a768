// What a person gets to read for each thing that can be wrong with a file: file, line, column, key, expectation.
#include "workspace/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

using Lines = std::vector<std::string>;

LoadOptions with_variables(std::map<std::string, std::string> variables) {
  LoadOptions options;
  options.environment = [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return options;
}

constexpr const char* kSettings =
    "pools: {heavy: {slots: 1}, network: 8}\nresources: {memory: 1GB}\nassets: {raw.x: }\n";
constexpr const char* kSteps = "steps:\n  - id: a\n    run: [\"true\"]\n";

/// What is said about a pipeline file that begins with `pipeline: x` on line 1.
Lines said(const std::string& rest) {
  const TestFolder folder;
  folder.write("eider.yaml", kSettings);
  folder.write("sql/ok.sql", "select 1");
  folder.write("sql/empty.sql", "\n");
  folder.write("sql/bytes.sql", "select '\xFF'");
  folder.write("pipelines/x.yaml", "pipeline: x\n" + rest);
  Lines lines = lines_of(load(folder, with_variables({})).diagnostics);
  constexpr std::string_view file = "pipelines/x.yaml:";
  for (std::string& line : lines) {
    if (line.starts_with(file)) line.erase(0, file.size());
  }
  return lines;
}

Lines one(const char* line) { return {line}; }

TEST(LoadErrors, KeysAndShapes) {
  const std::string steps = kSteps;
  EXPECT_EQ(said(steps), Lines{});
  EXPECT_EQ(said(steps + "timeoutt: 1h\n"), one("5:1: error: timeoutt: unknown key; expected one of pipeline, "
                                                "description, database, pool, pools, timezone, schedules, triggers, "
                                                "steps, publishes, partitions, timeout, queue_timeout, resources, "
                                                "retry, max_active_runs, priority, locks, concurrency_key, "
                                                "on_interrupt, freshness; did you mean \"timeout\"?"));
  EXPECT_EQ(said(steps + "alerts: []\n"), one("5:1: error: alerts: is not supported by this version of Eider"));
  EXPECT_EQ(said(steps + "freshness: {warn_after: 26h, error_after: 26h}\n"), Lines{});
  EXPECT_EQ(said(steps + "freshness: {}\n"),
            one("5:12: error: freshness: says nothing; expected warn_after, error_after or both"));
  EXPECT_EQ(said(steps + "freshness: {warn_after: 26h, error_after: 1h}\n"),
            one("5:43: error: freshness.error_after: is less than warn_after (1d2h)"));
  EXPECT_EQ(said(""), one("1:1: error: steps: is missing, and required"));
  EXPECT_EQ(said("steps: []\n"), one("2:8: error: steps: is empty; a pipeline needs at least one step"));
  EXPECT_EQ(said("steps:\n"), one("2:7: error: steps: is empty; a pipeline needs at least one step"));
  EXPECT_EQ(said("steps: {a: b}\n"),
            one("2:8: error: steps: expected a list, each item on lines that begin with \"- \""));
  EXPECT_EQ(said("steps: [a]\n"), one("2:9: error: steps[0]: expected a map with the keys id, sql, run, shell, needs, "
                                      "env, timeout and transaction"));
  EXPECT_EQ(said("steps:\n  - id: a\n"), one("3:5: error: steps[0]: needs one of sql or run"));
  EXPECT_EQ(said("steps:\n  - id: a\n    sql: select 1\n    run: [x]\n"),
            one("5:5: error: steps[0]: has sql and run; keep one of them"));
  EXPECT_EQ(said("steps:\n  - run: [x]\n"), one("3:5: error: steps[0].id: is missing, and required"));
  EXPECT_EQ(said(steps + "description:\n"), one("5:1: error: description: has no value; write one, or remove the key"));
  EXPECT_EQ(said(steps + "description: [a]\n"), one("5:14: error: description: expected a text, found a list"));
  EXPECT_EQ(said(steps + "priority: \"1\"\n"),
            one("5:11: error: priority: expected a whole number, found text in quotes; remove the quotes"));
  EXPECT_EQ(said(steps + "priority: 1.5\n"), one("5:11: error: priority: expected a whole number, found \"1.5\""));
  EXPECT_EQ(said(steps + "priority: 99999999999\n"),
            one("5:11: error: priority: expected a whole number, found \"99999999999\""));
  EXPECT_EQ(said(steps + "priority: 2000\n"),
            one("5:11: error: priority: 2000 is out of range; expected -1000 to 1000"));
  EXPECT_EQ(said("steps:\n  - {id: a, run: x y, shell: yes}\n"),
            one("3:30: error: steps[0].shell: expected true or false, found \"yes\"; did you mean \"true\"?"));
  EXPECT_EQ(said("pipeline: y\n" + steps),
            one("2:1: error: the key \"pipeline\" is here twice; the first is on line 1"));
}

TEST(LoadErrors, SizesDurationsAndRatios) {
  const std::string steps = kSteps;
  EXPECT_EQ(said(steps + "timeout: 5\n"), one("5:10: error: timeout: \"5\" is not a duration: 5 has no unit; expected "
                                              "whole numbers with the units d, h, m, s, ms "
                                              "or us, largest first, like 500ms, 5s or 1h30m"));
  EXPECT_EQ(said(steps + "timeout: 0s\n"), one("5:10: error: timeout: 0s is too small; the least is 1ms"));
  EXPECT_EQ(said(steps + "resources: {memory: 2GiG}\n"),
            one("5:21: error: resources.memory: \"2GiG\" is not a size: \"GiG\" is not a unit; expected a number with "
                "a unit, like "
                "512MiB or 2GB (kB, MB, GB, TB count in 1000, KiB, MiB, GiB, TiB in 1024)"));
  EXPECT_EQ(said(steps + "resources: {memory: -1GB}\n"),
            one("5:21: error: resources.memory: \"-1GB\" is not a size: it is negative; expected a number with a unit, "
                "like 512MiB or "
                "2GB (kB, MB, GB, TB count in 1000, KiB, MiB, GiB, TiB in 1024)"));
  EXPECT_EQ(said(steps + "resources: {memory: 1kB}\n"),
            one("5:21: error: resources.memory: 1kB is too small; the least is 16MiB"));
  EXPECT_EQ(said(steps + "resources: {memory: 2GB}\n"),
            one("5:21: error: resources.memory: 2000000000 bytes are more than resources.memory of eider.yaml "
                "(1000000000 bytes): it "
                "could never start"));
  EXPECT_EQ(said(steps + "retry: {jitter: 110%}\n"),
            one("5:17: error: retry.jitter: 110% is out of range; expected 0 to 1"));
  EXPECT_EQ(said(steps + "retry: {jitter: nan}\n"),
            one("5:17: error: retry.jitter: expected a ratio like 0.1 or 10%, found \"nan\""));
  EXPECT_EQ(said(steps + "retry: {factor: 0.5}\n"),
            one("5:17: error: retry.factor: 0.5 is out of range; expected 1 to 100"));
}

/// A schedule on lines 5 and 6, beside one step.
Lines schedule(const std::string& rest) {
  return said(kSteps + std::string("schedules:\n  - {id: s, ") + rest + "}\n");
}

TEST(LoadErrors, Schedules) {
  EXPECT_EQ(schedule("every: 5s"), Lines{});
  EXPECT_EQ(schedule("every: 5s, overlap: skipp"), one("6:33: error: schedules[0].overlap: \"skipp\" is not one of "
                                                       "skip, queue, replace, allow; did you mean \"skip\"?"));
  EXPECT_EQ(schedule("every: 5s, overlap: forbid"),
            one("6:33: error: schedules[0].overlap: \"forbid\" is not one of skip, queue, replace, allow"));
  EXPECT_EQ(schedule("every: 5s, cron: \"* * * * *\""),
            one("6:24: error: schedules[0]: has cron and every; keep one of them"));
  EXPECT_EQ(schedule("overlap: skip"), one("6:5: error: schedules[0]: needs one of cron, every or at"));
  EXPECT_EQ(schedule("every: 1ms"), one("6:20: error: schedules[0].every: 1ms is too small; the least is 100ms"));
  EXPECT_EQ(schedule("at: tomorrow"), one("6:17: error: schedules[0].at: \"tomorrow\" is not a time: the date is not "
                                          "YYYY-MM-DD; expected RFC 3339 like "
                                          "2026-03-29T01:00:00Z or 2026-03-29T03:00:00+02:00"));
  EXPECT_EQ(schedule("at: 2300-01-01T00:00:00Z"),
            one("6:17: error: schedules[0].at: 2300-01-01T00:00:00Z is not in the years 1970 to 2200"));
  EXPECT_EQ(schedule("cron: \"* * * * *\", from: completion"),
            one("6:38: error: schedules[0].from: goes with every only: it says from when the interval counts"));
  EXPECT_EQ(schedule("cron: \"* * * * *\", anchor: 2026-01-01T00:00:00Z"),
            one("6:40: error: schedules[0].anchor: goes with every only: it says where the interval's series begins"));
  EXPECT_EQ(schedule("every: 5s, queue_limit: 3, max_catchup: 7"),
            (Lines{"6:37: warning: schedules[0].queue_limit: has no effect without overlap: queue",
                   "6:53: warning: schedules[0].max_catchup: has no effect without misfire: all"}));
  EXPECT_EQ(schedule("every: 5s, exclude: [holidays]"),
            one("6:34: error: schedules[0].exclude[0]: there is no calendar \"holidays\"; it would be in "
                "calendars/holidays.yaml"));
  EXPECT_EQ(said(kSteps + std::string("schedules:\n  - {id: s, every: 5s}\n  - {id: s, every: 6s}\n")),
            one("7:10: error: schedules[1].id: \"s\" is used already, on line 6; ids are unique in their pipeline"));
}

/// A trigger on lines 5 and 6, beside one step; raw.x is declared.
Lines trigger(const std::string& rest) { return said(kSteps + std::string("triggers:\n  - {id: t, ") + rest + "}\n"); }

TEST(LoadErrors, Triggers) {
  EXPECT_EQ(trigger("assets: raw.x"), Lines{});
  EXPECT_EQ(trigger("assets: [raw.x], on: changed, batch: true, order: strict"), Lines{});
  EXPECT_EQ(trigger("assets: [raw.x], match: all, partition: same, debounce: 1s"), Lines{});
  EXPECT_EQ(trigger("batch: true"), one("6:5: error: triggers[0].assets: is missing, and required"));
  EXPECT_EQ(trigger("assets: []"),
            one("6:21: error: triggers[0].assets: is empty; a trigger needs at least one asset to wait for"));
  EXPECT_EQ(trigger("assets: "),
            one("6:21: error: triggers[0].assets: is empty; a trigger needs at least one asset to wait for"));
  EXPECT_EQ(trigger("assets: {raw.x: 1}"),
            one("6:21: error: triggers[0].assets: expected a list like [a, b], found a map"));
  EXPECT_EQ(
      trigger("assets: raw..x"),
      one("6:21: error: triggers[0].assets: \"raw..x\" is not the name of an asset: expected names joined by dots, "
          "like raw.flights, of at most 200 characters"));
  EXPECT_EQ(
      trigger("assets: [raw.x, \"raw.[x\"]"),
      one("6:29: error: triggers[0].assets[1]: \"raw.[x\" has a `[` that is not closed; expected an asset's name, "
          "or a pattern like raw.* (`*` any characters, `?` one, `[ab]` one of these)"));
  EXPECT_EQ(trigger("assets: [\"raw.*\", [x]]"),
            one("6:31: error: triggers[0].assets[1]: expected a name, found a list"));
  EXPECT_EQ(trigger("assets: raw.x, match: every"),
            one("6:35: error: triggers[0].match: \"every\" is not one of any, all"));
  EXPECT_EQ(trigger("assets: raw.x, from: a b"),
            one("6:34: error: triggers[0].from: from \"a b\" is not a name: use 1 to 100 letters, digits, `_` and `-`, "
                "beginning with a letter or digit"));
  EXPECT_EQ(
      trigger("assets: raw.x, max_wait: 5s"),
      one("6:38: error: triggers[0].max_wait: goes with debounce only: it says how long debounce may wait for quiet"));
  EXPECT_EQ(
      trigger("assets: raw.x, debounce: 1m, max_wait: 5s"),
      one("6:52: error: triggers[0].max_wait: is shorter than debounce (1m): it could never have been quiet for so "
          "long"));
  EXPECT_EQ(
      trigger("assets: raw.x, debounce: 1m, batch: false"),
      one("6:49: error: triggers[0].batch: can't be false with debounce: what came while it waited for quiet goes "
          "into one run"));
  EXPECT_EQ(trigger("assets: raw.x, debounce: 1m, batch: true"),
            one("6:49: warning: triggers[0].batch: has no effect with debounce, which implies it"));
  EXPECT_EQ(trigger("assets: raw.x, match: all, batch: true"),
            one("6:47: warning: triggers[0].batch: has no effect with match: all, which takes all that is pending"));
  EXPECT_EQ(trigger("assets: raw.x, debounce: 100d"),
            one("6:38: error: triggers[0].debounce: 100d is out of range; expected 1ms to 30d"));
  EXPECT_EQ(said(kSteps + std::string("schedules: [{id: t, every: 5s}]\ntriggers:\n  - {id: t, assets: raw.x}\n"
                                      "  - {id: u, assets: raw.x}\n  - {id: u, assets: raw.x}\n")),
            (Lines{"7:10: error: triggers[0].id: \"t\" is the id of a schedule, on line 5; both would be called x/t",
                   "9:10: error: triggers[2].id: \"u\" is used already, on line 8; ids are unique in their pipeline"}));
}

TEST(LoadErrors, Partitions) {
  const auto partitions = [](const std::string& rest) {
    return said(kSteps + std::string("partitions: ") + rest + "\n");
  };
  EXPECT_EQ(partitions("{names: [eu, 2026]}"), Lines{});
  EXPECT_EQ(partitions("{every: month, start: 2026-01, end: 2026-01}"), Lines{});
  EXPECT_EQ(partitions("{}"), one("5:13: error: partitions: needs one of names or every"));
  EXPECT_EQ(partitions("{every: day, names: [a]}"),
            one("5:26: error: partitions: has names and every; keep one of them"));
  EXPECT_EQ(partitions("{every: days}"),
            one("5:21: error: partitions.every: \"days\" is not one of hour, day, month; did "
                "you mean \"day\"?"));
  EXPECT_EQ(partitions("{names: []}"), one("5:21: error: partitions.names: is empty; name at least one partition"));
  EXPECT_EQ(partitions("{names: [a, b, a]}"), one("5:28: error: partitions.names[2]: \"a\" is here twice"));
  EXPECT_EQ(
      partitions("{names: [../a]}"),
      one("5:22: error: partitions.names[0]: \"../a\" is not the name of a partition: use 1 to 200 letters, digits "
          "and _ - . : + =, beginning with a letter or digit"));
  EXPECT_EQ(partitions("{names: [a], start: a}"),
            one("5:33: error: partitions.start: goes with every only: it bounds the series"));
  EXPECT_EQ(partitions("{every: day, start: 2026-02-30}"),
            one("5:33: error: partitions.start: \"2026-02-30\" is not a day, like 2026-03-29"));
  EXPECT_EQ(partitions("{every: month, start: 2026-02, end: 2026-01}"),
            one("5:49: error: partitions.end: lies before start (2026-02)"));
}

TEST(LoadErrors, CronAndZonesPointAtTheValue) {
  for (const char* cron : {"61 * * * *", "", "0 0 30 2 *", "* * *", "5/15 * * * *", "nonsense"}) {
    const Lines lines = schedule(fmt::format("cron: \"{}\"", cron));
    ASSERT_EQ(lines.size(), 1u) << cron;
    EXPECT_EQ(lines[0].substr(0, 32), "6:19: error: schedules[0].cron: ") << cron;
  }
  EXPECT_NE(schedule("cron: \"0 0 30 2 *\"")[0].find("can never fire"), std::string::npos);
  const Lines zone = schedule("every: 5s, timezone: Europe/Brusels");
  ASSERT_EQ(zone.size(), 1u);
  EXPECT_TRUE(zone[0].starts_with("6:34: error: schedules[0].timezone: ")) << zone[0];
  EXPECT_NE(zone[0].find("Europe/Brussels"), std::string::npos);
}

TEST(LoadErrors, MisfireAllNeedsAQueue) {
  const auto expected = [](const char* example) {
    return Lines{fmt::format(
        "6:33: error: schedules[0].misfire: all needs overlap: queue. Say that a run is due at 02:30 each day "
        "and the server is down from 2026-03-02 to 2026-03-04: {}. Write overlap: queue, or misfire: latest",
        example)};
  };
  EXPECT_EQ(
      schedule("every: 5s, misfire: all"),
      expected("the run for 2026-03-02 would start, and those for 03-03 and 03-04 be skipped while it is active"));
  EXPECT_EQ(schedule("every: 5s, misfire: all, overlap: replace"),
            expected("the run for 2026-03-02 would be cancelled by that for 03-03, and that by the one for 03-04"));
  EXPECT_EQ(schedule("every: 5s, misfire: all, overlap: allow"),
            expected("the runs for 2026-03-02, 03-03 and 03-04 would all start at once, not one after the other"));
  EXPECT_EQ(schedule("every: 5s, misfire: all, overlap: queue"), Lines{});
}

TEST(LoadErrors, Steps) {
  const auto steps = [](const std::string& text) { return said("steps:\n" + text); };
  EXPECT_EQ(steps("  - {id: a, run: [x], needs: [b]}\n  - {id: build, run: [x], needs: [buil]}\n"),
            (Lines{"3:31: error: steps[0].needs[0]: there is no step \"b\"",
                   "4:35: error: steps[1].needs[0]: there is no step \"buil\"; did you mean \"build\"?"}));
  EXPECT_EQ(steps("  - {id: a, run: [x], needs: [b]}\n  - {id: b, run: [x], needs: [d, c]}\n  - {id: c, run: [x], "
                  "needs: [d, b]}\n"
                  "  - {id: d, run: [x]}\n"),
            one("4:30: error: steps[1].needs: the steps wait for each other: b needs c needs b"));
  EXPECT_EQ(steps("  - {id: a, run: [x], needs: [a]}\n"),
            one("3:30: error: steps[0].needs: the steps wait for each other: a needs a"));
  EXPECT_EQ(steps("  - {id: a, run: [x]}\n  - {id: a, run: [x]}\n"),
            one("4:10: error: steps[1].id: \"a\" is used already, on line 3; ids are unique in their pipeline"));
  EXPECT_EQ(steps("  - {id: a, run: []}\n"),
            one("3:18: error: steps[0].run: the command is empty; expected a program and its arguments"));
  EXPECT_EQ(steps("  - {id: a, run: echo hi}\n"), one("3:18: error: steps[0].run: is a text; write a list like "
                                                      "[python3, report.py], or add shell: true to have /bin/sh "
                                                      "read it"));
  EXPECT_EQ(steps("  - {id: a, run: [x], shell: true}\n"),
            one("3:30: error: steps[0].shell: needs a text in run, not a list"));
  EXPECT_EQ(steps("  - {id: a, run: [x], transaction: none}\n"),
            one("3:36: error: steps[0].transaction: is for SQL steps, not for programs"));
  EXPECT_EQ(steps("  - {id: a, sql: select 1, env: {A: b}}\n"),
            one("3:33: error: steps[0].env: is for programs; a SQL step reads run facts with getvariable()"));
  EXPECT_EQ(steps("  - {id: a, run: [\"a\\0b\"]}\n"),
            one("3:19: error: steps[0].run[0]: \"a\\x00b\" contains a NUL character"));
  EXPECT_EQ(steps("  - {id: a, run: [x], env: {\"A-B\": 1, EIDER_RUN_ID: 2}}\n"),
            (Lines{"3:29: error: steps[0].env.A-B: is not the name of an environment variable (letters, digits and _)",
                   "3:39: error: steps[0].env.EIDER_RUN_ID: names that begin with EIDER_ are set by Eider"}));
}

TEST(LoadErrors, SqlFiles) {
  const auto sql = [](const std::string& value) { return said("steps:\n  - id: a\n    sql: " + value + "\n"); };
  EXPECT_EQ(sql("sql/ok.sql"), Lines{});
  EXPECT_EQ(sql("sql/no.sql"), one("4:10: error: steps[0].sql: sql/no.sql: no such file; expected a path relative to "
                                   "the workspace, or the SQL itself"));
  EXPECT_EQ(sql("sql/emty.sql"), one("4:10: error: steps[0].sql: sql/emty.sql: no such file; expected a path relative "
                                     "to the workspace, or the SQL itself; did you mean \"sql/empty.sql\"?"));
  EXPECT_EQ(sql("sql/empty.sql"), one("4:10: error: steps[0].sql: sql/empty.sql: is empty"));
  EXPECT_EQ(sql("sql/bytes.sql"), one("4:10: error: steps[0].sql: sql/bytes.sql: is not valid UTF-8 text"));
  EXPECT_EQ(sql("../x.sql"), one("4:10: error: steps[0].sql: \"../x.sql\" leaves the workspace"));
  EXPECT_EQ(sql("/etc/x.sql"),
            one("4:10: error: steps[0].sql: \"/etc/x.sql\" is absolute; expected a path inside the workspace"));
  EXPECT_EQ(sql("\" \""), one("4:10: error: steps[0].sql: the SQL text is empty"));
}

TEST(LoadErrors, PoolsAndPublishes) {
  const std::string steps = kSteps;
  EXPECT_EQ(said(steps + "pool: heavi\n"), one("5:7: error: pool: the pool \"heavi\" is not declared in eider.yaml "
                                               "(pools: {heavi: 1}); did you mean \"heavy\"?"));
  EXPECT_EQ(said(steps + "pools: {heavy: 2, network: 8}\n"),
            one("5:16: error: pools.heavy: takes 2 slots of a pool that has 1: it could never start"));
  EXPECT_EQ(said(steps + "pools: {heavy: 0}\n"),
            one("5:16: error: pools.heavy: 0 is out of range; expected 1 to 100000"));
  EXPECT_EQ(said(steps + "pool: heavy\npools: {network: 1}\n"),
            one("5:7: error: pool: has pool and pools; keep one of them"));
  const auto publish = [&](const std::string& rest) {
    return said(steps + "publishes:\n  - {asset: m.x, " + rest + "}\n");
  };
  EXPECT_EQ(publish("path: out/x.parquet"), Lines{});
  EXPECT_EQ(publish("path: ../x"), one("6:24: error: publishes[0].path: \"../x\" leaves the workspace"));
  EXPECT_EQ(publish("path: /tmp/x"),
            one("6:24: error: publishes[0].path: \"/tmp/x\" is absolute; expected a path inside the workspace"));
  EXPECT_EQ(publish("path: ./.eider/state.db"),
            one("6:24: error: publishes[0].path: \".eider/state.db\" belongs to Eider"));
  EXPECT_EQ(publish("path: pipelines/x.yaml"),
            one("6:24: error: publishes[0].path: \"pipelines/x.yaml\" belongs to Eider"));
  EXPECT_EQ(publish("table: t"), one("6:25: error: publishes[0].table: is a table of the pipeline's database, and it "
                                     "names none; add database: FILE.duckdb"));
  EXPECT_EQ(publish("path: x, after: aa"), one("6:34: error: publishes[0].after: there is no step \"aa\""));
  EXPECT_EQ(publish("shared: true"), Lines{}) << "where the data lies is the steps' affair";
  EXPECT_EQ(publish("path: x, table: y"), one("6:27: error: publishes[0]: has path and table; keep one of them"));
  EXPECT_EQ(publish("path: out}\n  - {asset: m.y, path: out/a"),
            one("7:24: error: publishes[1].path: \"out/a\" and \"out\" (publishes[0]) would overwrite each other"));
  EXPECT_EQ(publish("path: a}\n  - {asset: m.x, path: b"),
            one("7:13: error: publishes[1].asset: \"m.x\" is published already by publishes[0]"));
  EXPECT_EQ(publish("path: a}\n  - {asset: n.x, path: b"),
            one("7:13: warning: publishes[1].asset: m.x and n.x both end in x, so out_x means neither: use out_m_x and "
                "out_n_x"));
  EXPECT_EQ(publish("path: a}\n  - {asset: x, path: b"), Lines{}) << "out_x is that of x";
  EXPECT_EQ(publish("path: a}\n  - {asset: m_x, path: b"),
            one("7:13: error: publishes[1].asset: \"m_x\" and \"m.x\" have the same name in steps, out_m_x"));
  EXPECT_EQ(said(steps + "database: {file: w.duckdb, mode: read}\npublishes: [{asset: a, table: t}]\n"),
            one("6:31: error: publishes[0].table: can't be published: the database is opened to read only"));
  EXPECT_EQ(said(steps + "database: .eider/x.duckdb\n"),
            one("5:11: error: database: \".eider/x.duckdb\" lies in Eider's own folder"));
  EXPECT_EQ(said(steps + "database: w.duckdb\npublishes: [{asset: a, path: ./w.duckdb}]\n"),
            one("6:30: error: publishes[0].path: is where the pipeline's database lies"));
  EXPECT_EQ(said(steps + "database: what?.duckdb\n"),
            one("5:11: error: database: holds a \"?\"; DuckDB takes what follows it for no part of the path"));
}

TEST(LoadErrors, SchedulesThatAreNeverDueAgain) {
  const TestFolder folder;
  folder.write("eider.yaml", "logs: { limit: 1000 }\n");
  LoadOptions options = with_variables({});
  EXPECT_EQ(lines_of(load(folder, options).diagnostics),
            one("eider.yaml:1:16: error: logs.limit: 1000 is too small; the least is 64KiB"));
  folder.write("eider.yaml", "");
  folder.write("pipelines/x.yaml", std::string("pipeline: x\nschedules:\n"
                                               "  - {id: once, at: 2020-01-01T00:00:00Z}\n"
                                               "  - {id: then, cron: \"0 0 0 1 1 * 2020\"}\n"
                                               "  - {id: soon, at: 2031-01-01T00:00:00Z}\n"
                                               "  - {id: ever, cron: \"0 0 * * *\"}\n") +
                                       kSteps);
  options.now = parse_rfc3339("2026-01-01T00:00:00Z").value();
  const Workspace loaded = load(folder, options);
  EXPECT_EQ(lines_of(loaded.diagnostics),
            (Lines{"pipelines/x.yaml:3:20: warning: schedules[0].at: lies in the past: the schedule is never due again",
                   "pipelines/x.yaml:4:22: warning: schedules[1].cron: lies in the past: the schedule is never due "
                   "again"}));
  EXPECT_TRUE(loaded.pipelines.contains("x")) << "it is a warning";
  options.now.reset();
  EXPECT_TRUE(load(folder, options).diagnostics.empty());
}

// The names of case O-25. What passes the check can be part of a path.
TEST(LoadErrors, NamesThatTryToLeaveTheFolder) {
  for (const std::string& name :
       {std::string("../../etc/pwned"), std::string("/etc/pwned"), std::string("a/b"), std::string(".."),
        std::string("."), std::string(), std::string(300, 'a'), std::string("a\\0b"), std::string("a\\nb")}) {
    const std::string quoted = "\"" + name + "\"";
    for (const std::string& text :
         {"pipeline: " + quoted + "\n" + kSteps, "pipeline: x\nsteps:\n  - {id: " + quoted + ", run: [x]}\n",
          "pipeline: x\nschedules:\n  - {id: " + quoted + ", every: 5s}\n" + kSteps,
          "pipeline: x\npool: " + quoted + "\n" + kSteps,
          "pipeline: x\npublishes:\n  - {asset: " + quoted + ", path: x}\n" + kSteps}) {
      const TestFolder folder;
      folder.write("eider.yaml", "");
      folder.write("pipelines/x.yaml", text);
      const Workspace loaded = load(folder);
      EXPECT_TRUE(loaded.pipelines.empty()) << text;
      ASSERT_EQ(loaded.diagnostics.size(), 1u) << text;
      EXPECT_GT(loaded.diagnostics[0].line, 0);
      const std::string line = format(loaded.diagnostics[0]);
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    }
    const TestFolder folder;
    folder.write("eider.yaml", "pools: {" + quoted + ": 1}\n");
    EXPECT_FALSE(load(folder).usable) << name;
  }
}

TEST(LoadErrors, Variables) {
  const TestFolder folder;
  folder.write("eider.yaml", "");
  folder.write("pipelines/x.yaml",
               "pipeline: x\ndatabase: \"${env:DB}\"\nsteps:\n  - id: a\n    run: [\"${env:TOOL}\", \"${HOME}\", "
               "\"$${env:TOOL}\"]\n"
               "    env: {LEVEL: \"<${env:LEVEL}>\"}\n");
  Workspace loaded = load(folder, with_variables({{"DB", "./w.duckdb"}, {"TOOL", "cat"}, {"LEVEL", ""}}));
  ASSERT_TRUE(loaded.diagnostics.empty()) << format(loaded.diagnostics[0]);
  const model::Pipeline& x = *loaded.pipelines.at("x").pipeline;
  EXPECT_EQ(x.database->file, "w.duckdb");
  EXPECT_EQ(x.steps[0].argv, (std::vector<std::string>{"cat", "${HOME}", "${env:TOOL}"}));
  EXPECT_EQ(x.steps[0].env.at("LEVEL"), "<>");
  EXPECT_EQ(lines_of(load(folder, with_variables({{"DB", "../w"}, {"TOOL", "cat"}})).diagnostics),
            (Lines{"pipelines/x.yaml:2:11: error: database: \"../w\" leaves the workspace",
                   "pipelines/x.yaml:6:18: error: steps[0].env.LEVEL: the environment variable LEVEL is not set"}));
  EXPECT_EQ(said("steps:\n  - {id: a, run: [\"${secret:KEY}\"]}\n"),
            one("3:19: error: steps[0].run[0]: ${secret:KEY} is not supported by this version of Eider; use "
                "${env:NAME} for what is "
                "no secret, and let programs read secrets themselves"));
  EXPECT_EQ(said("steps:\n  - {id: a, run: [\"${env:KEY\"]}\n"),
            one("3:19: error: steps[0].run[0]: ${env:KEY has no closing }"));
  EXPECT_EQ(said(kSteps + std::string("description: ${env:KEY}\n")),
            one("5:14: error: description: ${env:KEY} is not replaced here; write the value"));
}

}  // namespace
}  // namespace eider::workspace
