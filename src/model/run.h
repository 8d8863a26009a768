// Runs, attempts and occurrences as the store holds them (design sections 1, 5 and 9). Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/pipeline.h"

namespace eider::model {

enum class RunState { queued = 0, running = 1, succeeded = 2, failed = 3, cancelled = 4 };
enum class Outcome {
  succeeded = 0,
  failed = 1,
  timed_out = 2,
  cancelled = 3,
  crashed = 4,
  interrupted = 5,
  released = 6
};
enum class TriggerKind { schedule = 0, data = 1, manual = 2, backfill = 3 };
enum class Decision { run = 0, skipped = 1, missed = 2, coalesced = 3, excluded = 4, paused = 5 };

bool is_terminal(RunState state);
const char* to_text(RunState value);
const char* to_text(Outcome value);
const char* to_text(TriggerKind value);
const char* to_text(Decision value);
std::optional<RunState> run_state_from(std::string_view text);

/// Machine-readable reasons, CamelCase; each has a sentence for people in reason_sentence().
namespace reason {
inline constexpr const char* due = "Due";
inline constexpr const char* late = "Late";             ///< decided later than grace, run all the same
inline constexpr const char* caught_up = "CaughtUp";    ///< misfire: all
inline constexpr const char* active_run = "ActiveRun";  ///< overlap: skip
inline constexpr const char* queue_full = "QueueFull";
inline constexpr const char* server_queue_full = "ServerQueueFull";
inline constexpr const char* misfire_skip = "MisfireSkip";
inline constexpr const char* newer_due = "NewerDue";  ///< coalesced into the newest
inline constexpr const char* catchup_limit = "CatchupLimit";
inline constexpr const char* catchup_window = "CatchupWindow";
inline constexpr const char* paused = "Paused";
inline constexpr const char* starts_paused = "StartsPaused";  ///< its file says so, and it is new
inline constexpr const char* paused_after_failures = "PausedAfterFailures";
inline constexpr const char* resumed = "Resumed";  ///< fell due in a pause; the resume asked for it
inline constexpr const char* excluded_by_calendar = "ExcludedByCalendar";
inline constexpr const char* not_in_calendar = "NotInCalendar";  ///< in none of those that `only` names
inline constexpr const char* before_start = "BeforeStart";
inline constexpr const char* after_end = "AfterEnd";
inline constexpr const char* rule_changed = "RuleChanged";
inline constexpr const char* clock_stepped_back = "ClockSteppedBack";
inline constexpr const char* requested = "Requested";  ///< by a person
inline constexpr const char* replaced = "Replaced";
inline constexpr const char* expired = "Expired";  ///< queue_timeout
inline constexpr const char* pipeline_removed = "PipelineRemoved";
inline constexpr const char* schedule_removed = "ScheduleRemoved";
inline constexpr const char* budget_spent = "BudgetSpent";  ///< no attempts left
inline constexpr const char* interruptions_spent = "InterruptionsSpent";
inline constexpr const char* cause_not_retried = "CauseNotRetried";   ///< retry.on has not what it ended of
inline constexpr const char* final_exit_code = "FinalExitCode";       ///< retry.final_exit_codes has its exit code
inline constexpr const char* interrupted_final = "InterruptedFinal";  ///< on_interrupt: fail
inline constexpr const char* file_held = "FileHeld";                  ///< from outside Eider; looked for again
inline constexpr const char* not_started = "NotStarted";              ///< the server lacked something; tried again
inline constexpr const char* server_stopped = "ServerStopped";        ///< interrupted by `eider stop`; queued again
inline constexpr const char* definition_broken = "DefinitionBroken";
inline constexpr const char* data_published = "DataPublished";  ///< a delivery's run
inline constexpr const char* run_failed = "RunFailed";          ///< a delivery whose run failed
inline constexpr const char* run_cancelled = "RunCancelled";    ///< a delivery whose run was cancelled
inline constexpr const char* trigger_removed = "TriggerRemoved";
inline constexpr const char* unknown_partition = "UnknownPartition";  ///< the consumer has no such partition
inline constexpr const char* chain_too_long = "ChainTooLong";         ///< causation depth: a loop, in all likelihood
inline constexpr const char* skipped_by_person = "SkippedByPerson";
inline constexpr const char* retried = "Retried";  ///< by a person
}  // namespace reason
/// One sentence for people; an unknown code is returned as it is.
std::string reason_sentence(std::string_view code);

/// What a claim took. Stored with the attempt; use of a pool is the sum over live claims (I7).
struct Taken {
  struct File {
    std::string path;
    bool read_only = false;
    bool operator==(const File&) const = default;
  };
  std::map<std::string, int> pools;
  std::vector<File> files;
  std::int64_t memory_bytes = 0;
  std::int64_t temp_bytes = 0;
  std::map<std::string, LockMode> locks{};
  std::string concurrency{};  ///< the value of its concurrency key, with the pipeline's name; empty: none
  bool operator==(const Taken&) const = default;
};
std::string taken_json(const Taken& taken);
Result<Taken> parse_taken(std::string_view json);

struct Run {
  std::string id;  ///< UUIDv7
  std::string pipeline;
  TriggerKind trigger = TriggerKind::manual;
  std::string trigger_id;     ///< schedule, data: `pipeline/id`; manual: who asked
  std::string occurrence_id;  ///< empty unless a schedule made it; unique
  std::string parent;         ///< data: the run that published the (newest) event it was made for; or empty
  int depth = 0;              ///< data: how many deliveries lie between it and where its chain began
  RunState state = RunState::queued;
  int attempt = 0;        ///< number of the newest claim: the fence
  int failures = 0;       ///< attempts that count against retry.max_attempts
  int interruptions = 0;  ///< attempts that ended with their server; budget of its own
  int priority = 0;
  bool catch_up = false;  ///< made by misfire `all`: outside queue_limit, oldest first
  std::optional<Instant> scheduled_for;
  std::string partition;
  std::string params;           ///< JSON object, or empty
  std::string idempotency_key;  ///< empty or unique
  Instant created_at{};
  Instant not_before{};               ///< not claimed earlier (backoff)
  std::optional<Instant> started_at;  ///< first claim
  std::optional<Instant> finished_at;
  std::optional<Instant> cancel_asked_at;
  std::string definition;  ///< hash of the newest attempt's definition
  std::string reason;      ///< code of the newest decision
  std::string error;
  /// JSON array of the results of steps that are not done again (`retry --from-failed`), or empty.
  std::string kept{};
  bool operator==(const Run&) const = default;
};

struct Attempt {
  std::string run_id;
  int number = 0;
  std::optional<Outcome> outcome;  ///< none: live
  Instant claimed_at{};
  std::optional<Instant> started_at;  ///< its first step's process or query started
  std::optional<Instant> finished_at;
  std::optional<int> worker_pid;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::int64_t> peak_memory_bytes;
  std::string definition;
  std::string error;
  std::string steps;  ///< JSON array of step results, or empty
  Taken taken;
  bool operator==(const Attempt&) const = default;
};

/// One decision about one instant, or about `count` equal neighbours [scheduled_for, scheduled_until].
struct Occurrence {
  std::string id;        ///< occurrence_id(schedule, scheduled_for)
  std::string schedule;  ///< `pipeline/id`
  std::string pipeline;
  Instant scheduled_for{};
  Instant scheduled_until{};  ///< equal to scheduled_for when count is 1
  std::int64_t count = 1;
  std::string timezone;
  int offset_s = 0;      ///< UTC offset at scheduled_for, with which `local` is rendered
  bool shifted = false;  ///< moved by a clock change (rule R5)
  Instant decided_at{};
  Decision decision = Decision::run;
  std::string reason;
  std::string run_id;      ///< of `run` and `coalesced`
  std::string calendar{};  ///< of `excluded`: the calendar (of `only`: all of them), or `start` or `end`
  bool operator==(const Occurrence&) const = default;
};
/// So many characters of an occurrence's and a delivery's id say what it belongs with (the minute, the event), the rest
/// is the hash: what is written together then lies together in an index over ids, however long history is.
inline constexpr std::size_t id_group_length = 4;
/// identity = hash(schedule, instant): what makes a second run of one occurrence impossible (I6).
std::string occurrence_id(std::string_view schedule, Instant scheduled_for);

/// How far a schedule has been decided. One row a schedule.
struct Cursor {
  std::string schedule;     ///< `pipeline/id`
  std::string rule;         ///< model::rule_hash
  Instant decided_until{};  ///< every instant up to here, inclusive, is decided
  bool paused = false;
  std::string note;
  std::optional<Instant> paused_at;
  std::string reason{};                 ///< code, while it is paused: why
  std::optional<Instant> resumed_at{};  ///< newest resume: failures before it don't count for pause_after_failures
  bool operator==(const Cursor&) const = default;
};

}  // namespace eider::model
