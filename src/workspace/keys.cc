#include "workspace/keys.h"

#include "timing/interval.h"
#include "workspace/reader.h"

namespace eider::workspace {
namespace {

using Kind = YamlValue::Kind;
using model::Database;
using model::ExternalAsset;
using model::Partitions;
using model::Pool;
using model::Publish;
using model::Resources;
using model::RetryPolicy;
using model::Schedule;
using model::Settings;
using model::Timing;
using model::Trigger;

// How a row's value finds its place: into<Step, &Step::timeout> reads it into that member, which may be a member of a
// member. What a section, a list or a map of sections holds is read by the section's own rows.

template <typename T>
void take_section(Value& value, T& out) {
  value.reader.read(*value.key.of, value.node, &out);
}

template <typename T>
void take_list(Value& value, std::vector<T>& out) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::list) {
    return value.complain("expected a list, each item on lines that begin with \"- \"");
  }
  out.reserve(value.node.size());
  for (YamlValue item = value.node.first(); item; item = item.next()) {
    const Reader::Inside inside(value.reader, out.size());
    T& element = out.emplace_back();
    // Empty until it is known that the file names none: then it is the pipeline's.
    if constexpr (std::is_same_v<T, Schedule>) element.timing.timezone.clear();
    value.reader.read(*value.key.of, item, &element);
  }
}

void take(Value& value, Resources& out) { take_section(value, out); }
void take(Value& value, RetryPolicy& out) { take_section(value, out); }
void take(Value& value, std::optional<Database>& out) { take_section(value, out.emplace()); }
void take(Value& value, std::optional<Partitions>& out) { take_section(value, out.emplace()); }
void take(Value& value, std::vector<Schedule>& out) { take_list(value, out); }
void take(Value& value, std::vector<Trigger>& out) { take_list(value, out); }
void take(Value& value, std::vector<StepDraft>& out) { take_list(value, out); }
void take(Value& value, std::vector<Publish>& out) { take_list(value, out); }

Result<void> check_key(const Pool& /*of*/, std::string_view name) { return model::check_name("pool", name); }
Result<void> check_key(const ExternalAsset& /*of*/, std::string_view name) { return model::check_asset_name(name); }

template <typename T>
void take_named(Value& value, std::map<std::string, T>& out, const char* expected) {
  if (value.node.kind() == Kind::null) return;
  if (value.node.kind() != Kind::map) return value.complain(expected);
  for (YamlValue member = value.node.first(); member; member = member.next()) {
    const Reader::Inside inside(value.reader, member.key());
    T item;
    item.name = member.key();
    if (const auto named = check_key(item, item.name); !named) {
      value.reader.complain(member.key_mark(), named.error().message);
      continue;
    }
    value.reader.read(*value.key.of, member, &item);
    out.emplace(member.key(), std::move(item));
  }
}

void take(Value& value, std::map<std::string, Pool>& out) {
  take_named(value, out, "expected a map of pools, like {heavy: {slots: 1}}");
}
void take(Value& value, std::map<std::string, ExternalAsset>& out) {
  take_named(value, out, "expected a map of assets, like {raw.uploads: {watch: incoming}}");
}

template <auto Member, auto... Rest, typename Object>
auto& follow(Object& object) {
  if constexpr (sizeof...(Rest) == 0) {
    return object.*Member;
  } else {
    return follow<Rest...>(object.*Member);
  }
}

template <typename Object, auto... Members>
void into(Value& value, void* object) {
  take(value, follow<Members...>(*static_cast<Object*>(object)));
}

/// A map of keys that land in the same object as the keys around it.
void into_same(Value& value, void* object) { value.reader.read(*value.key.of, value.node, object); }

using P = PipelineDraft;
using S = StepDraft;
constexpr double kMillisecond = 1'000;
constexpr double kMonth = 30.0 * 24 * 3'600 * 1'000 * kMillisecond;
constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

// One row a key, in a form that can be read as a table.
// clang-format off
constexpr Key kRetryKeys[] = {
    {.name = "max_attempts", .type = Type::integer, .read = into<RetryPolicy, &RetryPolicy::max_attempts>,
     .about = "How often a run is tried in all; 1 is no retry.", .fallback = "1", .least = 1, .most = 1000},
    {.name = "backoff", .type = Type::duration, .read = into<RetryPolicy, &RetryPolicy::backoff>,
     .about = "Wait before the second attempt.", .fallback = "10s"},
    {.name = "factor", .type = Type::number, .read = into<RetryPolicy, &RetryPolicy::factor>,
     .about = "Each further wait is this many times the one before.", .fallback = "2", .least = 1, .most = 100},
    {.name = "max_backoff", .type = Type::duration, .read = into<RetryPolicy, &RetryPolicy::max_backoff>,
     .about = "No wait is longer.", .fallback = "5m"},
    {.name = "jitter", .type = Type::ratio, .read = into<RetryPolicy, &RetryPolicy::jitter>,
     .about = "Each wait is changed at random by up to this part of it.", .fallback = "10%", .least = 0, .most = 1},
};
constexpr Section kRetry = {
    .name = "retry", .title = "retry", .about = "When a failed, timed-out or crashed attempt is tried again.",
    .keys = kRetryKeys};

constexpr Key kScheduleKeys[] = {
    {.name = "id", .type = Type::name, .read = into<Schedule, &Schedule::id>,
     .about = "Names the schedule within its pipeline.", .required = true},
    {.name = "cron", .type = Type::cron, .read = into<Schedule, &Schedule::timing, &Timing::cron>,
     .about = "When it is due, as a cron expression of 5 fields (6 with leading seconds, 7 with a year), or a nickname "
              "like \"@hourly\". Quote it."},
    {.name = "every", .type = Type::duration, .read = into<Schedule, &Schedule::timing, &Timing::every>,
     .about = "When it is due, as an interval.", .least = static_cast<double>(timing::kShortestInterval.count())},
    {.name = "at", .type = Type::time, .read = into<Schedule, &Schedule::timing, &Timing::at>,
     .about = "When it is due, once."},
    {.name = "anchor", .type = Type::time, .read = into<Schedule, &Schedule::timing, &Timing::anchor>,
     .about = "An instant of the series that `every` makes. Default: midnight of 1970-01-01 in the zone, so that a "
              "restart does not move the series."},
    {.name = "from", .type = Type::choice, .read = into<Schedule, &Schedule::timing, &Timing::from_completion>,
     .about = "`completion`: `every` counts from the end of the last run (fixed delay) instead of from the anchor.",
     .fallback = "anchor", .choices = "anchor completion"},
    {.name = "timezone", .type = Type::timezone, .read = into<Schedule, &Schedule::timing, &Timing::timezone>,
     .about = "Zone in which `cron` is read, like Europe/Brussels. Default: the pipeline's."},
    {.name = "overlap", .type = Type::choice, .read = into<Schedule, &Schedule::overlap>,
     .about = "What an occurrence does while a run of the pipeline is active: it is skipped, waits, cancels and "
              "replaces that run, or runs beside it.",
     .fallback = "skip", .choices = "skip queue replace allow"},
    {.name = "misfire", .type = Type::choice, .read = into<Schedule, &Schedule::misfire>,
     .about = "What happens to occurrences that could not be decided in time (the server was down): none runs, only "
              "the latest runs, or all run one after the other.",
     .fallback = "latest", .choices = "skip latest all"},
    {.name = "grace", .type = Type::duration, .read = into<Schedule, &Schedule::grace>,
     .about = "An occurrence that is decided later than this has misfired.", .fallback = "10s"},
    {.name = "max_catchup", .type = Type::integer, .read = into<Schedule, &Schedule::max_catchup>,
     .about = "`misfire: all` keeps this many, the newest.", .fallback = "100", .least = 1, .most = 100'000},
    {.name = "catchup_window", .type = Type::duration, .read = into<Schedule, &Schedule::catchup_window>,
     .about = "`misfire: all` keeps what is not older than this.", .fallback = "7d", .least = kMillisecond},
    {.name = "queue_limit", .type = Type::integer, .read = into<Schedule, &Schedule::queue_limit>,
     .about = "`overlap: queue` lets this many wait; more are skipped.", .fallback = "1", .least = 1, .most = 100'000},
};
constexpr Section kSchedule = {
    .name = "schedule", .title = "schedules[]", .about = "A clock rule that starts the pipeline, with its policies.",
    .keys = kScheduleKeys, .exactly_one = "cron every at",
    .later = "exclude only start end jitter paused note pause_after_failures"};

constexpr Key kTriggerKeys[] = {
    {.name = "id", .type = Type::name, .read = into<Trigger, &Trigger::id>,
     .about = "Names the trigger within its pipeline; not the id of a schedule.", .required = true},
    {.name = "assets", .type = Type::patterns, .read = into<Trigger, &Trigger::assets>,
     .about = "What it waits for: names of assets, and patterns (`*` any characters, dots too; `?` one; `[ab]` one of "
              "these). Quote what begins with `*`.",
     .required = true},
    {.name = "match", .type = Type::choice, .read = into<Trigger, &Trigger::match>,
     .about = "`any`: each publication counts. `all`: it runs when every asset that is matched now has something "
              "pending, and takes all of it.",
     .fallback = "any", .choices = "any all"},
    {.name = "from", .type = Type::name, .read = into<Trigger, &Trigger::from>,
     .about = "Only what this pipeline published. Default: whoever did."},
    {.name = "partition", .type = Type::choice, .read = into<Trigger, &Trigger::same_partition>,
     .about = "`same`: the run has the partition that was published, and `all`, `batch` and `debounce` count each "
              "partition by itself.",
     .fallback = "none", .choices = "none same"},
    {.name = "on", .type = Type::choice, .read = into<Trigger, &Trigger::changed_only>,
     .about = "`changed`: what was published again with the same content counts for nothing.", .fallback = "any",
     .choices = "any changed"},
    {.name = "batch", .type = Type::boolean, .read = into<Trigger, &Trigger::batch>,
     .about = "One run takes all that is pending, up to 10,000, instead of one run for each.", .fallback = "false"},
    {.name = "debounce", .type = Type::duration, .read = into<Trigger, &Trigger::debounce>,
     .about = "It runs when nothing new came for so long, and takes all that is pending: `batch` is implied.",
     .least = kMillisecond, .most = kMonth},
    {.name = "max_wait", .type = Type::duration, .read = into<Trigger, &Trigger::max_wait>,
     .about = "`debounce` waits no longer than this for quiet. Default: ten times `debounce`.", .least = kMillisecond,
     .most = 12 * kMonth},
    {.name = "start", .type = Type::choice, .read = into<Trigger, &Trigger::start>,
     .about = "Of a new trigger: `now`: what is published from now on counts; `earliest`: what was published before "
              "does too.",
     .fallback = "now", .choices = "now earliest"},
    {.name = "order", .type = Type::choice, .read = into<Trigger, &Trigger::order>,
     .about = "`strict`: one run at a time, and what follows a failed delivery waits until that is retried or skipped.",
     .fallback = "commit", .choices = "commit strict"},
};
constexpr Section kTrigger = {
    .name = "trigger", .title = "triggers[]",
    .about = "A standing subscription: the pipeline runs when others have published data.", .keys = kTriggerKeys};

constexpr Key kPartitionsKeys[] = {
    {.name = "names", .type = Type::partitions, .read = into<Partitions, &Partitions::names>,
     .about = "Exactly these."},
    {.name = "every", .type = Type::choice, .read = into<Partitions, &Partitions::every>,
     .about = "A series by the calendar: `2026-03-29T05`, `2026-03-29`, `2026-03`.", .choices = "hour day month"},
    {.name = "start", .type = Type::partition, .read = into<Partitions, &Partitions::start>,
     .about = "First of the series. Default: without a bound."},
    {.name = "end", .type = Type::partition, .read = into<Partitions, &Partitions::end>,
     .about = "Last of the series. Default: without a bound."},
};
constexpr Section kPartitions = {
    .name = "partitions", .title = "partitions", .about = "Which partitions its runs can have.",
    .keys = kPartitionsKeys, .exactly_one = "names every"};

constexpr Key kStepKeys[] = {
    {.name = "id", .type = Type::name, .read = into<S, &S::step, &model::Step::id>,
     .about = "Names the step within its pipeline.", .required = true},
    {.name = "sql", .type = Type::sql, .read = into<S, &S::sql>,
     .about = "A DuckDB script: the path of a file that ends in .sql, or the script itself."},
    {.name = "run", .type = Type::command, .read = into<S, &S::command>,
     .about = "A program and its arguments, as a list; no shell is involved. It runs in the workspace's folder. With "
              "`shell: true`, a text for /bin/sh.",
     .expands = true},
    {.name = "shell", .type = Type::boolean, .read = into<S, &S::shell>,
     .about = "`run` is a text that /bin/sh reads.", .fallback = "false"},
    {.name = "needs", .type = Type::names, .read = into<S, &S::step, &model::Step::needs>,
     .about = "Ids of the steps that must have succeeded before. Steps that need nothing of each other run at once."},
    {.name = "env", .type = Type::variables, .read = into<S, &S::step, &model::Step::env>,
     .about = "Environment variables of the program. They are stored with each run: not for secrets.", .expands = true},
    {.name = "timeout", .type = Type::duration, .read = into<S, &S::step, &model::Step::timeout>,
     .about = "The step is ended, and has failed, when it takes longer. Default: only the pipeline's limit.",
     .least = kMillisecond},
    {.name = "transaction", .type = Type::choice, .read = into<S, &S::step, &model::Step::transaction>,
     .about = "A SQL step is one transaction, so that it happens exactly once. `none`: the script begins and commits "
              "itself, or uses statements that can't be in a transaction.",
     .fallback = "auto", .choices = "none auto"},
};
constexpr Section kStep = {
    .name = "step", .title = "steps[]", .about = "One piece of work: a DuckDB script or a program.",
    .keys = kStepKeys, .exactly_one = "sql run", .later = "cwd retry if when outputs"};

constexpr Key kPublishKeys[] = {
    {.name = "asset", .type = Type::asset, .read = into<Publish, &Publish::asset>,
     .about = "Name of the dataset: names joined by dots, like marts.flights_daily.", .required = true},
    {.name = "path", .type = Type::path, .read = into<Publish, &Publish::path>,
     .about = "The file or folder that holds it. It is written beside, then renamed: readers see the old or the new.",
     .expands = true},
    {.name = "table", .type = Type::text, .read = into<Publish, &Publish::table>,
     .about = "The table of the pipeline's database that holds it."},
    {.name = "after", .type = Type::name, .read = into<Publish, &Publish::after>,
     .about = "Id of the step that completes it. Default: the end of the run."},
    {.name = "shared", .type = Type::boolean, .read = into<Publish, &Publish::shared>,
     .about = "Other pipelines publish it as well, and say so too.", .fallback = "false"},
};
constexpr Section kPublish = {
    .name = "publish", .title = "publishes[]",
    .about = "An asset that a successful run has renewed. With neither `path` nor `table`, where the data lies is the "
             "steps' affair.",
    .keys = kPublishKeys, .at_most_one = "path table", .later = "partition partitions checks"};

constexpr Key kDatabaseKeys[] = {
    {.name = "file", .type = Type::any_path, .read = into<Database, &Database::file>,
     .about = "The DuckDB file; in the workspace, or an absolute path.", .required = true, .expands = true},
    {.name = "mode", .type = Type::choice, .read = into<Database, &Database::read_only>,
     .about = "`read`: several pipelines may read the file at once. `write`: one at a time.",
     .fallback = "write", .choices = "write read"},
};
constexpr Section kDatabase = {
    .name = "database", .title = "database",
    .about = "The DuckDB file that the SQL steps work in. Without it they work in memory.",
    .keys = kDatabaseKeys, .short_key = "file"};

constexpr Key kResourcesKeys[] = {
    {.name = "threads", .type = Type::integer, .read = into<Resources, &Resources::threads>,
     .about = "DuckDB's threads. Default: one for each processor.", .least = 1, .most = 1024},
    {.name = "memory", .type = Type::size, .read = into<Resources, &Resources::memory_bytes>,
     .about = "DuckDB's memory limit. A run waits until the sum over running runs leaves room for it.",
     .least = 16 * kMiB},
    {.name = "temp", .type = Type::size, .read = into<Resources, &Resources::temp_bytes>,
     .about = "What DuckDB may spill to disk.", .least = 0},
};
constexpr Section kResources = {
    .name = "resources", .title = "resources", .about = "What one run may use.", .keys = kResourcesKeys};

constexpr Key kPipelineKeys[] = {
    {.name = "pipeline", .type = Type::name, .read = into<P, &P::pipeline, &model::Pipeline::name>,
     .about = "Its name, unique in the workspace.", .required = true},
    {.name = "description", .type = Type::text, .read = into<P, &P::pipeline, &model::Pipeline::description>,
     .about = "What it is for, shown beside its name."},
    {.name = "database", .type = Type::section, .read = into<P, &P::pipeline, &model::Pipeline::database>,
     .about = "The DuckDB file of its SQL steps; a path, or a map.", .of = &kDatabase},
    {.name = "pool", .type = Type::name, .read = into<P, &P::pool>,
     .about = "The pool of which a run takes one slot. Pools are declared in eider.yaml."},
    {.name = "pools", .type = Type::weights, .read = into<P, &P::pipeline, &model::Pipeline::pools>,
     .about = "Several pools, and how many slots of each a run takes: {heavy: 1, network: 2}.", .least = 1,
     .most = 100'000},
    {.name = "timezone", .type = Type::timezone, .read = into<P, &P::pipeline, &model::Pipeline::timezone>,
     .about = "Zone of its schedules. Default: defaults.timezone of eider.yaml."},
    {.name = "schedules", .type = Type::list, .read = into<P, &P::pipeline, &model::Pipeline::schedules>,
     .about = "The clock rules that start it.", .of = &kSchedule},
    {.name = "triggers", .type = Type::list, .read = into<P, &P::pipeline, &model::Pipeline::triggers>,
     .about = "The published data that starts it.", .of = &kTrigger},
    {.name = "steps", .type = Type::list, .read = into<P, &P::steps>, .about = "What it does; at least one.",
     .required = true, .of = &kStep},
    {.name = "publishes", .type = Type::list, .read = into<P, &P::pipeline, &model::Pipeline::publishes>,
     .about = "The assets that it renews.", .of = &kPublish},
    {.name = "partitions", .type = Type::section, .read = into<P, &P::pipeline, &model::Pipeline::partitions>,
     .about = "Which partitions its runs can have. Default: any, or none.", .of = &kPartitions},
    {.name = "timeout", .type = Type::duration, .read = into<P, &P::pipeline, &model::Pipeline::timeout>,
     .about = "An attempt is ended, and has failed, when it takes longer.", .fallback = "24h", .least = kMillisecond},
    {.name = "queue_timeout", .type = Type::duration, .read = into<P, &P::pipeline, &model::Pipeline::queue_timeout>,
     .about = "A run that waited longer is cancelled. Default: it waits for as long as it takes.",
     .least = kMillisecond},
    {.name = "resources", .type = Type::section, .read = into<P, &P::pipeline, &model::Pipeline::resources>,
     .about = "What one run may use.", .of = &kResources},
    {.name = "retry", .type = Type::section, .read = into<P, &P::pipeline, &model::Pipeline::retry>,
     .about = "When it is tried again. Default: defaults.retry of eider.yaml, key by key.", .of = &kRetry},
    {.name = "max_active_runs", .type = Type::integer, .read = into<P, &P::max_active_runs>,
     .about = "How many of its runs may be running at once. Default: 1, or without a bound (0) when a schedule says "
              "`overlap: allow`.",
     .least = 0, .most = 100'000},
    {.name = "priority", .type = Type::integer, .read = into<P, &P::pipeline, &model::Pipeline::priority>,
     .about = "Of the runs that wait, those with a higher number start first.", .fallback = "0", .least = -1000,
     .most = 1000},
};
constexpr Section kPipeline = {
    .name = "pipeline", .title = "pipelines/*.yaml",
    .about = "One pipeline a file. A file with an error disables its pipeline only.", .keys = kPipelineKeys,
    .later = "freshness locks rate rates calendars params alerts notify paused tags owner"};

constexpr Key kWorkersKeys[] = {
    {.name = "max", .type = Type::integer, .read = into<Settings, &Settings::max_workers>,
     .about = "How many runs execute at once, in all.", .fallback = "16", .least = 1, .most = 1000},
};
constexpr Section kWorkers = {.name = "workers", .title = "workers", .about = "The processes that execute runs.",
                              .keys = kWorkersKeys, .later = "share recycle_after"};

constexpr Key kPoolKeys[] = {
    {.name = "slots", .type = Type::integer, .read = into<Pool, &Pool::slots>,
     .about = "How many may be taken at once.", .fallback = "1", .least = 1, .most = 100'000},
};
constexpr Section kPool = {
    .name = "pool", .title = "pools.NAME",
    .about = "A named limit on what runs at once, across pipelines.",
    .keys = kPoolKeys, .short_key = "slots", .later = "rate"};

constexpr Key kAssetKeys[] = {
    {.name = "description", .type = Type::text, .read = into<ExternalAsset, &ExternalAsset::description>,
     .about = "What it is, shown beside its name."},
    {.name = "watch", .type = Type::any_path, .read = into<ExternalAsset, &ExternalAsset::watch>,
     .about = "A folder, in the workspace or absolute: each file that lands in it is new data of the asset.",
     .expands = true},
    {.name = "files", .type = Type::file_pattern, .read = into<ExternalAsset, &ExternalAsset::files>,
     .about = "Which files of the folder, as a shell pattern like \"*.csv\". Default: all but hidden ones, *.tmp and "
              "*.part."},
    {.name = "settle", .type = Type::duration, .read = into<ExternalAsset, &ExternalAsset::settle>,
     .about = "A file is whole when it was closed and did not change for so long.", .fallback = "1s",
     .most = kMonth / 30},
};
constexpr Section kAsset = {
    .name = "asset", .title = "assets.NAME",
    .about = "An asset whose data something outside Eider makes. Its name alone is enough to declare it: `raw.events:`.",
    .keys = kAssetKeys};

constexpr Key kDefaultsKeys[] = {
    {.name = "timezone", .type = Type::timezone, .read = into<Settings, &Settings::timezone>,
     .about = "Zone of pipelines that name none.", .fallback = "UTC"},
    {.name = "retry", .type = Type::section, .read = into<Settings, &Settings::retry>,
     .about = "Retry policy of pipelines, key by key.", .of = &kRetry},
};
constexpr Section kDefaults = {.name = "defaults", .title = "defaults",
                               .about = "What pipelines use unless they say otherwise.", .keys = kDefaultsKeys,
                               .later = "timeout overlap misfire"};

constexpr Key kCeilingKeys[] = {
    {.name = "memory", .type = Type::size, .read = into<Settings, &Settings::memory_bytes>,
     .about = "The sum of resources.memory over running runs stays within this. Default: no bound.",
     .least = 16 * kMiB},
};
constexpr Section kCeiling = {.name = "ceiling", .title = "resources",
                              .about = "What all running runs together may use.", .keys = kCeilingKeys,
                              .later = "temp threads"};

constexpr Key kLogsKeys[] = {
    {.name = "limit", .type = Type::size, .read = into<Settings, &Settings::log_limit_bytes>,
     .about = "How long the log of one attempt may get; then it is cut, and its end kept.", .fallback = "64MiB",
     .least = 64 * kKiB},
};
constexpr Section kLogs = {.name = "logs", .title = "logs", .about = "Logs of attempts.", .keys = kLogsKeys};

constexpr Key kServerKeys[] = {
    {.name = "drain_timeout", .type = Type::duration, .read = into<Settings, &Settings::drain_timeout>,
     .about = "How long `eider stop` lets running runs finish before it interrupts them.", .fallback = "30s"},
};
constexpr Section kServer = {.name = "server", .title = "server", .about = "The server itself.", .keys = kServerKeys,
                             .later = "listen tokens"};

constexpr Key kWorkspaceKeys[] = {
    {.name = "server", .type = Type::section, .read = into_same, .about = "The server itself.", .of = &kServer},
    {.name = "workers", .type = Type::section, .read = into_same, .about = "The processes that execute runs.",
     .of = &kWorkers},
    {.name = "pools", .type = Type::named, .read = into<Settings, &Settings::pools>,
     .about = "Pools by name; {heavy: 1} is short for {heavy: {slots: 1}}.", .of = &kPool},
    {.name = "assets", .type = Type::assets, .read = into<Settings, &Settings::assets>,
     .about = "Assets that are made outside Eider, by name.", .of = &kAsset},
    {.name = "defaults", .type = Type::section, .read = into_same,
     .about = "What pipelines use unless they say otherwise.", .of = &kDefaults},
    {.name = "resources", .type = Type::section, .read = into_same, .about = "What all running runs together may use.",
     .of = &kCeiling},
    {.name = "logs", .type = Type::section, .read = into_same, .about = "Logs of attempts.", .of = &kLogs},
};
constexpr Section kWorkspace = {
    .name = "workspace", .title = "eider.yaml",
    .about = "Settings of the server. An empty file is fine; an error in it refuses the whole workspace.",
    .keys = kWorkspaceKeys, .later = "retention locks alerts notify secrets calendars"};

// clang-format on

}  // namespace

const Section& pipeline_section() { return kPipeline; }
const Section& workspace_section() { return kWorkspace; }

std::vector<const Section*> all_sections() {
  return {&kWorkspace, &kServer,  &kWorkers, &kPool,    &kAsset,      &kDefaults, &kCeiling,   &kLogs, &kPipeline,
          &kSchedule,  &kTrigger, &kStep,    &kPublish, &kPartitions, &kDatabase, &kResources, &kRetry};
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    out.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

}  // namespace eider::workspace
