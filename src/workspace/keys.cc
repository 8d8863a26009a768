// The rows of pipelines/*.yaml, and what both files share.
#include "workspace/keys.h"

#include "timing/interval.h"
#include "workspace/key_rows.h"

namespace eider::workspace {
namespace {

using model::Database;
using model::Freshness;
using model::Partitions;
using model::Publish;
using model::Resources;
using model::RetryPolicy;
using model::Schedule;
using model::Timing;
using model::Trigger;

using P = PipelineDraft;
using S = StepDraft;

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
     .about = "No wait is longer, but for its jitter.", .fallback = "5m"},
    {.name = "jitter", .type = Type::ratio, .read = into<RetryPolicy, &RetryPolicy::jitter>,
     .about = "Each wait is changed at random by up to this part of it.", .fallback = "10%", .least = 0, .most = 1},
    {.name = "on", .type = Type::choices, .read = into<RetryPolicy, &RetryPolicy::on>,
     .about = "What is tried again: `error` (a step failed), `timeout` (it took too long), `crash` (a signal or the loss "
              "of its worker ended it).",
     .fallback = "[error, timeout, crash]", .choices = "error timeout crash"},
    {.name = "final_exit_codes", .type = Type::integers, .read = into<RetryPolicy, &RetryPolicy::final_exit_codes>,
     .about = "Exit codes of programs that mean that it would fail again: such a failure is not tried again.",
     .least = 1, .most = 255},
};
}  // namespace

constinit const Section kRetry = {
    .name = "retry", .title = "retry", .about = "When a failed, timed-out or crashed attempt is tried again.",
    .keys = kRetryKeys};

namespace {

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
    {.name = "exclude", .type = Type::names, .read = into<Schedule, &Schedule::exclude>,
     .about = "Calendars (calendars/NAME.yaml): instants that lie in any of them are excluded."},
    {.name = "only", .type = Type::names, .read = into<Schedule, &Schedule::only>,
     .about = "Calendars: instants that lie in none of them are excluded."},
    {.name = "start", .type = Type::time, .read = into<Schedule, &Schedule::start>,
     .about = "It is not due before. Default: without a bound."},
    {.name = "end", .type = Type::time, .read = into<Schedule, &Schedule::end>,
     .about = "It is not due after. Default: without a bound."},
    {.name = "jitter", .type = Type::duration, .read = into<Schedule, &Schedule::jitter>,
     .about = "It is due by up to this much later (at most 1d), always by the same amount: many schedules with one rule "
              "are spread.",
     .fallback = "0s", .most = kMonth / 30},
    {.name = "paused", .type = Type::boolean, .read = into<Schedule, &Schedule::paused>,
     .about = "A schedule that is new starts paused. What `schedule pause` and `schedule resume` said stays.",
     .fallback = "false"},
    {.name = "note", .type = Type::text, .read = into<Schedule, &Schedule::note>,
     .about = "Why it starts paused, shown beside it."},
    {.name = "pause_after_failures", .type = Type::integer, .read = into<Schedule, &Schedule::pause_after_failures>,
     .about = "When so many of its runs have failed one after the other, it is paused. 0: never.", .fallback = "0",
     .least = 0, .most = 1000},
};
constexpr Section kSchedule = {
    .name = "schedule", .title = "schedules[]", .about = "A clock rule that starts the pipeline, with its policies.",
    .keys = kScheduleKeys, .exactly_one = "cron every at"};

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
     .about = "What DuckDB may spill to disk.", .least = 1},
};
constexpr Section kResources = {
    .name = "resources", .title = "resources", .about = "What one run may use.", .keys = kResourcesKeys};

constexpr Key kFreshnessKeys[] = {
    {.name = "warn_after", .type = Type::duration, .read = into<Freshness, &Freshness::warn_after>,
     .about = "Older than this is worth a look.", .least = kMillisecond},
    {.name = "error_after", .type = Type::duration, .read = into<Freshness, &Freshness::error_after>,
     .about = "Older than this is wrong; not less than `warn_after`.", .least = kMillisecond},
};
constexpr Section kFreshness = {
    .name = "freshness", .title = "freshness",
    .about = "How old what the pipeline makes may be: the time since its newest successful run ended. `eider doctor` "
             "names what is older, `eider simulate` says when it will be.",
    .keys = kFreshnessKeys};

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
    {.name = "locks", .type = Type::lock_modes, .read = into<P, &P::pipeline, &model::Pipeline::locks>,
     .about = "Named locks that a run holds: {warehouse: write} alone, {warehouse: read} beside other readers. Any name "
              "will do, in all pipelines the same.",
     .choices = "read write"},
    {.name = "concurrency_key", .type = Type::text, .read = into<P, &P::pipeline, &model::Pipeline::concurrency_key>,
     .about = "`partition`, or `params.NAME`: of the runs for which that is the same, one runs at once."},
    {.name = "on_interrupt", .type = Type::choice, .read = into<P, &P::pipeline, &model::Pipeline::on_interrupt>,
     .about = "What becomes of a run that its machine or server interrupted: it is tried again, at most three times, "
              "or has failed.",
     .fallback = "retry", .choices = "retry fail"},
    {.name = "freshness", .type = Type::section, .read = into<P, &P::pipeline, &model::Pipeline::freshness>,
     .about = "How old what it makes may be.", .of = &kFreshness},
};
constexpr Section kPipeline = {
    .name = "pipeline", .title = "pipelines/*.yaml",
    .about = "One pipeline a file. A file with an error disables its pipeline only.", .keys = kPipelineKeys,
    .later = "rate rates calendars params alerts notify paused tags owner"};

// clang-format on

}  // namespace

const Section& pipeline_section() { return kPipeline; }

std::vector<const Section*> all_sections() {
  std::vector<const Section*> all = settings_sections();
  for (const Section* section : {&kPipeline, &kSchedule, &kTrigger, &kStep, &kPublish, &kPartitions, &kDatabase,
                                 &kResources, &kRetry, &kFreshness}) {
    all.push_back(section);
  }
  for (const Section* section : calendar_sections()) all.push_back(section);
  for (const Section* section : ceiling_sections()) all.push_back(section);
  return all;
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
