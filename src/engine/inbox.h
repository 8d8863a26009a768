// What other threads ask of the loop. A command is answered once, after the commit of the turn that decided it; the
// answer is given on the engine thread, so `reply` must only post it onwards.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "decide/failure.h"
#include "model/asset.h"
#include "model/pipeline.h"
#include "model/run.h"
#include "wire/messages.h"
#include "workspace/diagnostic.h"
#include "workspace/load.h"

namespace eider::engine {

/// Why a queued run does not run yet, and since when.
struct Waiting {
  /// worker | share | pool | rate | lock | concurrency | pipeline | database | memory | temp | reserved | backoff |
  /// definition | start | draining | server
  std::string kind;
  std::string name;    ///< the pool, the file, the pipeline …
  std::string detail;  ///< for people: "1 of 1 slots in use by 2 runs", "held by process 4711"
  Instant since{};
};

/// What memory knows of an open run beyond its row.
struct LiveRun {
  std::string run_id;
  std::vector<Waiting> waiting_for;        ///< of a queued run
  int worker_pid = 0;                      ///< of a running one; 0: not known yet
  bool adopted = false;                    ///< found alive by this server
  std::vector<wire::StepResult> steps;     ///< ended
  std::vector<wire::StepStarted> running;  ///< now
  std::map<std::string, double> progress;  ///< step -> 0 to 1
};

struct PoolUse {
  std::string name;
  int slots = 0;  ///< 0: without a bound
  int used = 0;
  int waiting = 0;                   ///< queued runs that lack slots of it
  std::vector<std::string> holders;  ///< run ids
  struct Rate {
    model::Rate limit;
    int started = 0;              ///< in the time that ends now
    int waiting = 0;              ///< queued runs that lack a start
    std::optional<Instant> next;  ///< when one more may start; none: now
  };
  std::optional<Rate> rate{};
};

/// A named lock or a DuckDB file that is held, or that queued runs lack.
struct LockUse {
  std::string name;
  bool alone = false;  ///< one run holds it to write
  int waiting = 0;
  std::vector<std::string> holders;
};

/// Workers, a share of them, memory or temporary space.
struct SumUse {
  std::optional<std::int64_t> limit;  ///< none: unbounded
  std::int64_t used = 0;
  int waiting = 0;
};

/// All that admission counts.
struct LimitsView {
  std::vector<PoolUse> pools;
  std::vector<LockUse> locks{};
  std::vector<LockUse> files{};
  SumUse workers{};
  SumUse data_workers{};
  SumUse backfill_workers{};
  SumUse memory{};
  SumUse temp{};
};

struct ScheduleView {
  std::string key;  ///< `pipeline/id`
  std::string pipeline;
  model::Schedule schedule;
  bool paused = false;
  std::optional<Instant> paused_at;
  std::string note;
  std::optional<Instant> next;   ///< when it will run; none: never again, or see next_unknown
  std::string description;       ///< the rule in words
  std::string reason{};          ///< code, while it is paused: why
  bool next_unknown = false;     ///< what its calendars leave of its instants lies further ahead than is looked
  Micros delay{};                ///< of its jitter
  std::string blocked_reason{};  ///< code: what overlap says of an instant that is due now; empty: it would run
  std::string blocked_by{};      ///< the active run that it would yield to
  std::shared_ptr<const timing::Exclusions> exclusions{};
};

struct TriggerView {
  std::string key;  ///< `pipeline/id`
  std::string pipeline;
  model::Trigger trigger;
  std::vector<std::string> matches;  ///< declared assets that it matches now
  std::int64_t pending = 0;
  int open_runs = 0;        ///< made for it and not ended
  std::string waiting_for;  ///< why what is pending makes no run yet, for people; empty: nothing pending
  std::map<std::string, std::string> waiting_by_partition;  ///< with `partition: same`
  std::optional<Instant> looks_again_at;                    ///< debounce

  /// Why a pending delivery of that partition makes no run yet.
  const std::string& waiting_of(const std::string& partition) const {
    const auto found = waiting_by_partition.find(partition);
    return found == waiting_by_partition.end() ? waiting_for : found->second;
  }
};

struct PipelineView {
  std::string name;
  std::string file;
  std::string description;
  std::string definition;  ///< hash
  bool broken = false;     ///< the file is wrong; the last good version (if any) is in force
  std::string error;
  int queued = 0;
  int running = 0;
  std::optional<model::Freshness> freshness{};
};

struct StatusView {
  Instant now{};
  Instant started_at{};
  std::string version;
  std::string workspace;
  int pid = 0;
  std::string health;         ///< ok | degraded | draining | stopped
  std::string health_detail;  ///< "the store is locked since …"
  int pipelines = 0;
  int schedules = 0;
  int triggers = 0;
  std::int64_t pending_deliveries = 0;
  int broken_files = 0;
  int queued = 0;
  int running = 0;
  int max_workers = 0;
  std::optional<Instant> next_due;
  std::int64_t stale_results = 0;  ///< results that the fence refused (I4)
  std::map<std::string, std::int64_t> counters;
  std::vector<workspace::Diagnostic> diagnostics;
  /// Without a server: the run in the foreground (`eider run`) that has the workspace.
  struct Foreground {
    int pid = 0;
    std::string pipeline;
  };
  std::optional<Foreground> foreground;
};

// ---- questions: answered from memory at the end of a turn ---------------------------------------------------------

struct AskLive {
  std::vector<std::string> run_ids;
  std::function<void(std::vector<LiveRun>)> reply;
};
struct AskPools {
  std::function<void(LimitsView)> reply;
};
struct AskSchedules {
  std::optional<std::string> key;  ///< one, or all
  std::function<void(std::vector<ScheduleView>)> reply;
};
struct AskPipelines {
  std::function<void(std::vector<PipelineView>)> reply;
};
/// What is in force, for whoever shows assets, triggers and schedules.
struct AskWorkspace {
  std::function<void(std::shared_ptr<const workspace::Workspace>)> reply;
};
/// Triggers with what is pending of them.
struct AskTriggers {
  std::optional<std::string> key;  ///< one, or all
  std::function<void(std::vector<TriggerView>)> reply;
};
struct AskStatus {
  std::function<void(StatusView)> reply;
};

// ---- commands: decided, committed, then answered -------------------------------------------------------------------

struct StartRun {
  std::string pipeline;
  std::string params;  ///< JSON object, or empty
  std::string partition;
  std::string idempotency_key;  ///< the same key again gives the same run's id
  std::string asked_by;         ///< `cli`, `api` …
  bool queue = false;           ///< wait behind an active run instead of `conflict`
  /// The run's id; `conflict` names the active run's.
  std::function<void(Result<std::string>)> reply;
};
struct CancelRun {
  std::string run_id;
  std::string asked_by;
  /// The state after the commit: `cancelled` (it was queued) or `running` (asked to end).
  std::function<void(Result<model::RunState>)> reply;
};
/// A failed or cancelled run is tried again, with a fresh budget.
struct RetryRun {
  std::string run_id;
  bool from_failed = false;  ///< steps that succeeded are kept, and not done again
  std::string asked_by;
  struct Answer {
    std::vector<decide::StepVerdict> steps;  ///< with from_failed: which are kept, and why others are not
  };
  /// `conflict` names the state that it is in.
  std::function<void(Result<Answer>)> reply;
};
struct PauseSchedule {
  std::string key;
  bool paused = true;
  std::optional<std::string> note;  ///< none: what is said of a pause already stays
  std::function<void(Result<void>)> reply;
  /// Of a resume: what becomes of the instants that fell due while it was paused.
  model::Misfire catch_up = model::Misfire::skip;
};
/// Something outside has made data (`eider assets materialize`, a watched folder).
struct Materialize {
  std::string asset;
  std::string partition;
  std::string metadata;     ///< JSON object, or empty
  std::string fingerprint;  ///< of the content, or empty
  std::optional<std::int64_t> rows;
  std::optional<std::int64_t> bytes;
  std::string idempotency_key;  ///< the same key again gives the same event
  std::string cause_run_id;     ///< the run whose step says so, or empty
  model::Source source = model::Source::reported;
  std::string asked_by;  ///< `cli`, `api`, the watched folder
  struct Answer {
    std::string id;
    bool repeated = false;  ///< it was there already
    int owed = 0;           ///< deliveries
  };
  std::function<void(Result<Answer>)> reply;
};
/// Which deliveries a person means: one by id, or those of a trigger, a pipeline or all in a state.
struct DeliverySelection {
  std::string id;
  std::string trigger;  ///< `pipeline/id`
  std::string pipeline;
  std::optional<model::DeliveryState> state;
};
/// Failed deliveries are tried again: their runs are queued again. One command changes at most
/// limits::deliveries_per_command: whoever means more asks again until the answer is empty.
struct RetryDeliveries {
  DeliverySelection which;
  std::string asked_by;
  std::function<void(Result<std::vector<std::string>>)> reply;  ///< ids of what was changed
};
/// Pending or failed deliveries are given up, as many at once as with a retry.
struct SkipDeliveries {
  DeliverySelection which;
  std::string note;
  std::string asked_by;
  std::function<void(Result<std::vector<std::string>>)> reply;
};
/// Reads the workspace's files again.
struct Reload {
  /// Empty: everything is good.
  std::function<void(Result<std::vector<workspace::Diagnostic>>)> reply;
};
struct Stop {
  bool leave_running = false;               ///< hand over: runs go on without the server
  bool now = false;                         ///< interrupt running runs at once
  std::function<void(Result<void>)> reply;  ///< answered when the drain begins
};
/// Only with a test clock (hidden option): time passes, or somebody sets the clock. Answered when all that is due has
/// been decided and committed.
struct TurnClock {
  std::optional<Micros> advance;
  std::optional<Instant> step_to;
  std::function<void(Result<Instant>)> reply;
};

using Command = std::variant<AskLive, AskPools, AskSchedules, AskPipelines, AskWorkspace, AskTriggers, AskStatus,
                             StartRun, CancelRun, RetryRun, PauseSchedule, Materialize, RetryDeliveries, SkipDeliveries,
                             Reload, Stop, TurnClock>;

/// A question changes nothing and is answered from memory, also while the store cannot be written.
bool is_question(const Command& command);

/// Many writers, one reader. A full inbox (10,000) refuses: I9.
class Inbox {
 public:
  /// `wake` makes the engine thread look; called on the poster's thread.
  explicit Inbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// False: full, or closed because the loop has ended; the command's reply will not be called. Any thread.
  bool post(Command command);
  /// Engine thread.
  std::vector<Command> take();
  /// What is posted from now on is refused.
  void close();

 private:
  static constexpr std::size_t limit = 10'000;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<Command> commands_;
  bool closed_ = false;
};

}  // namespace eider::engine
