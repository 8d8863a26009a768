// START HERE. The loop: wait, decide, commit, hand off, record, recover.
//
// One turn takes what has arrived (results of workers, commands, due instants), decides all of it, commits it as one
// transaction, and only then tells anybody: workers get their claims, clients their answers. Nothing in a turn waits
// for a worker, a pool, a lock, a client or a network. The loop can be cranked by hand: tests, the simulator and the
// bench call turn() with a clock, a store and workers of their own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/random.h"
#include "decide/delivery.h"
#include "engine/inbox.h"
#include "engine/state.h"
#include "store/store.h"
#include "supervise/workers.h"

namespace eider::engine {

struct LoopOptions {
  bool schedules = true;        ///< false: no schedule fires and no delivery makes a run (`eider run` without a server)
  bool requested_only = false;  ///< true: only runs asked for in this process, and those before them in the queue of
                                ///< their pipeline, are claimed
  std::string version;
  std::string owner;  ///< of the deliveries that it claims: `HOST/PID`
};

/// What the loop is built from; all of it outlives the loop.
struct LoopParts {
  Clock& clock;
  Random& random;
  store::Store& store;
  supervise::Workers& workers;
  Inbox& inbox;
  /// Reads the files again, merged with what is in force (workspace/reload.h); may take a moment.
  std::function<Result<std::shared_ptr<const workspace::Workspace>>(const workspace::Workspace* in_force)>
      read_workspace;
  /// Sees every committed set, after its commit (the lines that `eider serve` prints). May be empty.
  std::function<void(const model::ChangeSet&, Instant committed_at)> observe;
  /// Set only with a test clock.
  FakeClock* test_clock = nullptr;
};

class Turn;

class Loop {
 public:
  Loop(LoopParts parts, LoopOptions options);
  ~Loop();

  /// Loads what is open, puts the workspace in force, decides for each claimed run whether it is finished, adopted or
  /// ended. Once, before the first turn.
  Result<void> boot(std::shared_ptr<const workspace::Workspace> workspace);

  struct Next {
    bool ended = false;              ///< drained: nothing more will happen
    std::optional<Instant> wake_at;  ///< on the wall clock; none: nothing is due
    std::optional<Micros> retry_in;  ///< the store was locked or full
  };
  /// One turn; see above.
  Next turn();

  const State& state() const { return state_; }
  /// What it was told of its end.
  struct Stopping {
    bool leave_running = false;
    bool at_once = false;
    bool operator==(const Stopping&) const = default;
  };
  std::optional<Stopping> stopping() const {
    return draining_ ? std::optional(Stopping{leave_running_, at_once_}) : std::nullopt;
  }

 private:
  friend class Turn;

  void take_inputs();
  bool nothing_to_do(Instant now) const;
  bool is_due(Instant now) const;
  void decide_and_commit(Instant now);
  void decide_all(Turn& turn);
  void settle(Turn& turn);
  void settle_questions();
  void put_in_order(Turn& turn);
  void note_trouble(const std::string& why);
  void reload_memory(const std::string& why);
  Next next_wake(Instant now) const;
  bool clock_stepped_back() const;
  void notice_clock(Turn& turn);
  void recover();

  // uncertain.cc: when the store does not simply say yes.
  bool holds_all_the_same(const Turn& turn);
  void note_refusals(Turn& turn);
  void take_refused();

  // results.cc: what workers say.
  void watch_step(const supervise::WorkerEvent& event);
  void decide_results(Turn& turn);
  void decide_result(Turn& turn, const supervise::AttemptOver& over);
  std::optional<model::Change> delay_from(const model::Run& run, model::RunEvent event, Instant now) const;
  void note_start(const supervise::AttemptOver& over);

  // commands.cc: what people ask for.
  void decide_commands(Turn& turn);
  std::string active_run_text(const model::Run& active) const;
  void request_line(const std::string& pipeline);
  void start_run(Turn& turn, const StartRun& command);
  void cancel_run(Turn& turn, const CancelRun& command);
  void reload(Turn& turn, const Reload& command);
  void stop(const Stop& command);
  void turn_clock(const TurnClock& command);
  void answer_clock(Turn& turn, const TurnClock& command);
  void drain();

  // retry.cc: what has ended, once more.
  void retry_run(Turn& turn, const RetryRun& command);
  Result<RetryRun::Answer> restart_run(Turn& turn, const std::string& run_id, bool from_failed);
  Result<std::vector<wire::StepResult>> done_steps(const model::Run& run);
  std::vector<wire::StepResult> kept_for(const model::Run& run, const model::Pipeline& pipeline) const;

  // pauses.cc: schedules that stand still.
  void pause_schedule(Turn& turn, const PauseSchedule& command);
  void resume_schedule(Turn& turn, const PauseSchedule& command, const ScheduleEntry& entry);
  /// The pause that pause_after_failures asks for when this run fails now; none when it does not. False: the turn
  /// failed.
  bool pause_after_failures(Turn& turn, const model::Run& failing, model::ChangeSet& changes);

  // due.cc: what the clock says.
  void decide_due(Turn& turn);
  bool decide_schedule(Turn& turn, const ScheduleEntry& entry);
  bool know_what_ran(Turn& turn, decide::DueFacts& facts);
  model::ChangeSet changes_of(const ScheduleEntry& entry, const decide::DueDecision& decision, Instant stands_at,
                              Instant now) const;
  void follow_decision(Turn& turn, const decide::DueDecision& decision);
  bool decide_instant(Turn& turn, const ScheduleEntry& entry, const decide::DueDecision& decision);
  void decide_expired(Turn& turn);
  void place_cursors(Turn& turn);
  void sweep_removed(Turn& turn);
  void withdraw_future(Turn& turn);

  // data.cc: what was published, and what is owed for it.
  void decide_published(Turn& turn);
  /// The materializations of an attempt that are not events yet, with what they owe. None: the turn has failed.
  std::optional<model::ChangeSet> materializations(Turn& turn, const model::Run& run, const std::string& definition,
                                                   const std::vector<wire::Publication>& publications);
  Result<std::string> new_event_id(const model::Run& run, const wire::Publication& publication,
                                   const std::optional<model::Materialization>& newest);
  model::AssetMaterialized owe(model::Materialization event) const;
  void place_triggers(Turn& turn);
  bool replay_is_due() const;
  void replay_events(Turn& turn);
  void decide_triggers(Turn& turn);
  void look_at_trigger(Turn& turn, const std::string& key);
  decide::TriggerVerdict judge_trigger(const TriggerEntry& entry, int limit, Result<void>& asked);
  bool take_deliveries(Turn& turn, const TriggerEntry& entry, const decide::Take& take);
  void skip_removed(Turn& turn, const std::string& key);
  bool event_facts(Turn& turn, const model::Run& run, std::map<std::string, std::string>& facts);

  // deliveries.cc: what people ask for about them.
  void materialize(Turn& turn, const Materialize& command);
  void retry_deliveries(Turn& turn, const RetryDeliveries& command);
  void skip_deliveries(Turn& turn, const SkipDeliveries& command);
  Result<std::vector<std::string>> selected_triggers(const DeliverySelection& which) const;

  // admission.cc: what may start.
  void admit(Turn& turn);
  bool starts_are_held() const;
  bool claim(Turn& turn, const model::Run& run, const workspace::LoadedPipeline& loaded);
  Result<void> load_starts();
  std::vector<Waiting> waiting_for(const model::Run& run) const;
  std::vector<Waiting> shortages(const model::Run& run) const;
  Instant short_since(const model::Run& run, const decide::Need& need, const decide::Room& room) const;
  std::vector<std::string> holders(const decide::Thing& thing) const;

  // views.cc: answers to questions, from memory.
  void answer(Command& question);
  LiveRun live_view(const std::string& run_id) const;
  LimitsView limits_view() const;
  std::vector<ScheduleView> schedule_views(const std::optional<std::string>& key) const;
  std::vector<PipelineView> pipeline_views() const;
  std::vector<TriggerView> trigger_views(const std::optional<std::string>& key);
  StatusView status_view() const;

  LoopParts parts_;
  LoopOptions options_;
  IdMaker ids_;
  State state_;
  std::map<std::string, LiveRun> live_;          ///< what workers said of running runs
  std::vector<supervise::AttemptOver> results_;  ///< not committed yet
  std::vector<wire::Published> published_;       ///< not committed yet
  std::vector<Command> commands_;                ///< not committed yet
  std::vector<Command> postponed_;               ///< of commands_: for the next turn, this one is full
  std::vector<Command> questions_;               ///< answered at the end of the turn
  std::set<std::string> requested_;  ///< runs asked for in this process, and those before them (requested_only)
  std::map<std::string, Instant> released_since_;  ///< runs that something outside of them keeps from starting
  std::string start_trouble_;                      ///< why attempts can't be started; empty: they can
  Instant start_trouble_since_{};
  Micros starts_held_until_{};  ///< on the boot clock: nothing is claimed before
  /// Memory was read anew or something was refused, and no turn has held since: see put_in_order().
  bool out_of_order_ = false;
  bool draining_ = false;
  bool leave_running_ = false;
  bool at_once_ = false;      ///< asked to interrupt what runs
  bool interrupted_ = false;  ///< the drain's limit has passed
  Instant started_at_{};
  std::optional<Micros> drain_until_;  ///< on the boot clock
  std::string trouble_;                ///< why the store is not written; empty: it is
  Instant trouble_since_{};
  /// What the store refused by itself, and when it is decided again.
  struct Refused {
    std::vector<supervise::AttemptOver> results;
    std::vector<wire::Published> published;
    std::string why;  ///< empty: everything was taken
    Instant since{};
    std::optional<Micros> again_at;  ///< on the boot clock
  };
  Refused refused_;
  std::int64_t stale_results_ = 0;  ///< results that the fence refused (I4)
  std::int64_t wall_minus_boot_us_ = 0;
};

}  // namespace eider::engine
