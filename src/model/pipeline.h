// What a person writes in pipelines/*.yaml and eider.yaml, read and checked. Plain values; immutable once loaded.
// `workspace/` makes them from files, `decide/` and `engine/` read them, the worker gets a pipeline as its definition.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace eider::model {

/// What happens to an occurrence that falls due while a run of the pipeline is active (design section 6).
enum class Overlap { skip, queue, replace, allow };
/// What happens to occurrences that are decided later than `grace` (design section 6).
enum class Misfire { skip, latest, all };

/// The clock rule as it was written; `timing::Rule` is made from it. Exactly one of cron, every, at is set.
struct Timing {
  std::string cron;
  std::optional<Micros> every;
  std::optional<Instant> anchor;
  bool from_completion = false;  ///< `from: completion`: fixed delay, counted from the end of the last run
  std::optional<Instant> at;     ///< one-shot
  std::string timezone = "UTC";
  bool operator==(const Timing&) const = default;
};

struct Schedule {
  std::string id;
  Timing timing;
  Overlap overlap = Overlap::skip;
  Misfire misfire = Misfire::latest;
  Micros grace = std::chrono::seconds(10);
  int max_catchup = 100;
  Micros catchup_window = std::chrono::hours(7 * 24);
  int queue_limit = 1;
  std::vector<std::string> exclude{};  ///< calendars: an instant in any of them is excluded
  std::vector<std::string> only{};     ///< calendars: an instant in none of them is excluded; empty: no such rule
  std::optional<Instant> start{};      ///< first instant at which it may be due; none: without a bound
  std::optional<Instant> end{};        ///< instants after it are never due
  Micros jitter{};                     ///< each instant is due up to so much later; the same for a schedule always
  bool paused = false;                 ///< a new schedule starts paused, with `note`
  std::string note{};
  int pause_after_failures = 0;  ///< so many of its runs failed one after the other: it is paused; 0: never
  bool operator==(const Schedule&) const = default;
};

/// What an attempt that did not succeed ended of, as `retry.on` names it.
enum class RetryCause { error, timeout, crash };

struct RetryPolicy {
  int max_attempts = 1;
  Micros backoff = std::chrono::seconds(10);
  double factor = 2;
  Micros max_backoff = std::chrono::minutes(5);
  double jitter = 0.10;
  std::vector<RetryCause> on = {RetryCause::error, RetryCause::timeout, RetryCause::crash};  ///< what is tried again
  std::vector<int> final_exit_codes{};  ///< of a program: it would fail again, so it is not tried again
  bool operator==(const RetryPolicy&) const = default;
};

/// Where a text of a step comes from, for messages: `pipelines/x.yaml` and, for SQL, the file and its first line.
struct Origin {
  std::string file;    ///< workspace-relative
  int first_line = 1;  ///< line of `file` on which the text begins; 0: its lines are not those of `file`
  bool operator==(const Origin&) const = default;
};

struct Step {
  enum class Kind { sql, run };
  std::string id;
  Kind kind = Kind::run;
  std::string sql;  ///< the script itself, also where it was read from a file
  Origin sql_origin;
  bool transaction = true;        ///< false: `transaction: none`
  std::vector<std::string> argv;  ///< `run:`; with `shell: true` it is {/bin/sh, -c, text}
  std::map<std::string, std::string> env;
  std::vector<std::string> needs;  ///< ids of steps of this pipeline; no cycle
  std::optional<Micros> timeout;
  bool operator==(const Step&) const = default;
};

/// The DuckDB file that a pipeline's SQL steps use; without one they work in memory.
struct Database {
  std::string file;  ///< workspace-relative or absolute
  bool read_only = false;
  bool operator==(const Database&) const = default;
};

/// What a successful run publishes. At most one of path and table is set; with neither, what the data is and where it
/// lies is the steps' affair, and they may say what they made of it through $EIDER_OUTPUT.
struct Publish {
  std::string asset;
  std::string path;     ///< workspace-relative file or folder, staged and renamed
  std::string table;    ///< table of the pipeline's database
  std::string after;    ///< id of the step that completes it; empty: the end of the run
  bool shared = false;  ///< other pipelines publish it as well, and say so too
  bool operator==(const Publish&) const = default;
};

/// Which partitions a pipeline's runs can have. Without them a run may have any, or none.
struct Partitions {
  enum class Every { none, hour, day, month };
  std::vector<std::string> names;  ///< exactly these; empty: a series
  Every every = Every::none;       ///< `2026-03-29T05`, `2026-03-29`, `2026-03`
  std::string start;               ///< first of the series, as it is named; empty: unbounded
  std::string end;                 ///< last of the series, inclusive; empty: unbounded
  bool operator==(const Partitions&) const = default;
};
bool has_partition(const Partitions& partitions, std::string_view name);
/// What it takes, for messages: `one of a, b`, `a day from 2026-01-01 on, like 2026-03-29`.
std::string describe(const Partitions& partitions);

/// A standing subscription of a pipeline to assets (design sections 1 and 8).
struct Trigger {
  enum class Match { any, all };
  enum class Start { now, earliest };
  enum class Order { commit, strict };
  std::string id;
  std::vector<std::string> assets;  ///< names and patterns (model/glob.h)
  Match match = Match::any;         ///< all: runs when each asset that they match now has something pending
  std::string from;                 ///< only what this pipeline published; empty: whoever did
  bool same_partition = false;      ///< `partition: same`: the run has the event's partition
  bool changed_only = false;        ///< `on: changed`: an unchanged republication owes nothing
  bool batch = false;               ///< all that is pending in one run
  std::optional<Micros> debounce;   ///< runs when so long nothing new came; implies batch
  std::optional<Micros> max_wait;   ///< debounce waits no longer than this for quiet
  Start start = Start::now;         ///< of a new trigger: earliest owes it what was published before as well
  Order order = Order::commit;      ///< strict: what follows a failed delivery waits until it is retried or skipped
  bool operator==(const Trigger&) const = default;
};

struct Resources {
  std::optional<int> threads;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> temp_bytes;
  bool operator==(const Resources&) const = default;
};

/// How old what a pipeline makes may be: the time since its newest successful run ended. At least one is there.
struct Freshness {
  std::optional<Micros> warn_after;
  std::optional<Micros> error_after;  ///< not before the warning
  bool operator==(const Freshness&) const = default;
};

/// What becomes of a run whose server or machine went away while it ran.
enum class OnInterrupt { retry, fail };
/// How a run holds a named lock: any number of readers, or one writer.
enum class LockMode { read, write };

struct Pipeline {
  std::string name;
  std::string file;  ///< workspace-relative path of the YAML file
  std::string description;
  std::optional<Database> database;
  std::map<std::string, int> pools;  ///< slots taken of each pool by one run
  std::vector<Schedule> schedules;
  std::vector<Trigger> triggers;
  std::vector<Step> steps;
  std::vector<Publish> publishes;
  std::optional<Partitions> partitions;
  std::string timezone = "UTC";
  Micros timeout = std::chrono::hours(24);
  std::optional<Micros> queue_timeout;
  Resources resources;
  RetryPolicy retry;
  int max_active_runs = 1;  ///< 0: unbounded (a schedule says `overlap: allow`)
  int priority = 0;         ///< higher first
  OnInterrupt on_interrupt = OnInterrupt::retry;
  std::map<std::string, LockMode> locks{};  ///< held while it runs
  std::string concurrency_key{};  ///< `partition` or `params.NAME`: one run at once for each value; empty: no such rule
  std::optional<Freshness> freshness{};
  bool operator==(const Pipeline&) const = default;
};

/// So many starts in any stretch of time of that length.
struct Rate {
  int starts = 1;
  Micros per = std::chrono::minutes(1);
  bool operator==(const Rate&) const = default;
};

struct Pool {
  std::string name;
  int slots = 1;  ///< 0: without a bound (it has a rate only)
  std::optional<Rate> rate{};
  bool operator==(const Pool&) const = default;
};

/// An asset whose data something outside Eider makes, as eider.yaml declares it.
struct ExternalAsset {
  std::string name;
  std::string description;
  std::string watch;  ///< workspace-relative or absolute folder: each file that lands there is new data; empty: none
  std::string files = "*";                  ///< which of them, as a shell pattern
  Micros settle = std::chrono::seconds(1);  ///< a file is whole when it was closed and so long did not change
  bool operator==(const ExternalAsset&) const = default;
};

/// eider.yaml.
struct Settings {
  int max_workers = 16;
  std::map<std::string, Pool> pools;
  std::map<std::string, ExternalAsset> assets;
  std::string timezone = "UTC";                       ///< default of pipelines
  RetryPolicy retry;                                  ///< default of pipelines
  std::optional<std::int64_t> memory_bytes;           ///< ceiling of the sum over running runs
  std::int64_t log_limit_bytes = 64LL * 1024 * 1024;  ///< log of one attempt
  Micros drain_timeout = std::chrono::seconds(30);    ///< `eider stop`: then running runs are interrupted
  double data_share = 0.75;                           ///< of max_workers: runs that data caused
  double backfill_share = 0.50;                       ///< of max_workers: runs of backfills
  std::optional<std::int64_t> temp_bytes{};           ///< ceiling of the sum over running runs
  bool operator==(const Settings&) const = default;
};

const char* to_text(Overlap value);
const char* to_text(Misfire value);
const char* to_text(RetryCause value);
const char* to_text(OnInterrupt value);
const char* to_text(LockMode value);

/// The canonical JSON of a pipeline, SQL text included: what is stored by hash and handed to a worker.
std::string definition_json(const Pipeline& pipeline);
/// Reads it back; an Error `corrupt` names the key.
Result<Pipeline> parse_definition(std::string_view json);
/// base::content_hash of definition_json.
std::string definition_hash(std::string_view definition_json_text);
/// The hash of what a step does and of what it works on: the same step of two definitions has the same. Where its text
/// stands and how long it may take don't count.
std::string step_hash(const Pipeline& pipeline, const Step& step);
/// The hash by which a schedule's cursor knows its rule: of the timing only, so that a changed policy keeps it.
std::string rule_hash(const Timing& timing);

const char* to_text(Trigger::Match value);
const char* to_text(Trigger::Start value);
const char* to_text(Trigger::Order value);
const char* to_text(Partitions::Every value);

/// `pipeline/id`, as schedules and triggers are named everywhere.
std::string schedule_key(std::string_view pipeline, std::string_view schedule);

/// `a.b-c` -> `a_b_c`: what may be the name of a variable.
std::string identifier(std::string_view name);
/// The names by which steps know where a published file is staged (`out_NAME`), each with its asset's index in
/// `assets`: of the whole asset, `marts_flights`, and of its last part, `flights`, where that means one only.
std::map<std::string, std::size_t> output_names(const std::vector<std::string>& assets);

/// Names of pipelines, schedules, steps, pools and assets' parts: letters, digits, `_` and `-`, first a letter or
/// digit, 1 to 100 characters. The one check at the border: what passes can be part of a path (O-25).
Result<void> check_name(std::string_view what, std::string_view name);
/// An asset's: such names joined by dots, at most 200 characters.
Result<void> check_asset_name(std::string_view name);
/// A partition's: 1 to 200 letters, digits and `_ - . : + =`, beginning with a letter or digit: it can be part of a
/// path and never leads out of one.
Result<void> check_partition(std::string_view name);

}  // namespace eider::model
