// The books of the simulator: what was committed, kept by somebody else than the engine, and held against what must
// always hold (design section 4) and against what the world really did. It never looks into the engine's memory.
// One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/change.h"
#include "sim/oracle.h"
#include "sim/world.h"
#include "store/store.h"
#include "workspace/load.h"

namespace eider::sim {

/// A law that did not hold.
struct Finding {
  std::string law;  ///< I1 to I8
  std::string what;
  Instant at{};
};

class Book final : public Ledger {
 public:
  Book(const Clock& clock, const World& world) : clock_(clock), world_(world) {}

  /// The files as the engine has read them.
  void in_force(std::shared_ptr<const workspace::Workspace> workspace);
  void committed(const model::ChangeSet& set);
  void server_died() { unanswered_ = 0; }

  // The world reports.
  void handed_off(const std::string& run_id, int attempt) override;
  void forgotten(const std::string& run_id, int attempt) override;
  const model::Pipeline* pipeline(const std::string& name) const override;
  const std::string& definition_of(const std::string& name) const override {
    return workspace_->pipelines.at(name).hash;
  }
  std::string pipeline_of(const std::string& run_id) const override;
  std::vector<std::string> assets_of(const std::string& pipeline) const override;
  int live_attempt(const std::string& run_id) const override;
  void violated(const char* law, const std::string& what) override;

  // The life reports.
  void clock_was_set(Micros by) { ahead_ += std::max(by, Micros(0)); }
  void asked() { ++unanswered_; }
  /// A command was answered; with a run's id where it made one.
  void answered(const std::string& run_id = {});

  /// Nothing is due, by what the loop says, and the store has been well for a while: was everything done?
  struct Health {
    bool starts = true;  ///< nothing keeps attempts from starting
    bool draining = false;
  };
  void check_settled(const Health& health);
  /// All has been calm for long: nothing is open any more.
  void check_quiet();
  /// The store says the same as the book.
  void check_store(const store::OpenState& open);

  const std::optional<Finding>& finding() const { return finding_; }
  std::int64_t decisions() const { return decisions_; }
  std::int64_t runs() const { return static_cast<std::int64_t>(states_.size()); }
  std::vector<std::string> open_ids() const;
  bool is_paused(const std::string& schedule) const;
  /// Of the newest ended ones; those that have not succeeded, if there are any.
  std::vector<std::string> ended_ids() const;
  std::map<std::string, int> slots_in_use() const { return use().pools; }
  const workspace::Workspace& workspace() const { return *workspace_; }

  /// Every line of what happens, for the trace of a failing seed. May be empty.
  std::function<void(const std::string&)> trace;

 private:
  /// What a run has while it runs, as the files say.
  struct Taken {
    std::map<std::string, int> pools{};
    std::map<std::string, model::LockMode> locks{};  ///< a DuckDB file is held like one
    std::int64_t memory = 0;
    std::string key{};  ///< value of the pipeline's concurrency_key, with its name
  };
  struct OpenRun {
    std::string pipeline;
    model::TriggerKind trigger = model::TriggerKind::manual;
    std::string trigger_id;
    std::string partition;
    std::string params;
    std::optional<Instant> scheduled_for;
    bool running = false;
    int attempt = 0;
    bool cancel_asked = false;
    std::string cancel_reason;
    int failures = 0;  ///< since a person has asked for it last
    int interruptions = 0;
    bool catch_up = false;
    Instant not_before{};
    Micros ready_at{};   ///< the same, as time_passed()
    Micros queued_at{};  ///< as time_passed()
    Instant turn{};      ///< among those that wait: age, with ten minutes for a step of priority
    Taken taken{};       ///< while it runs: what it took when it was claimed, by the files of then
  };
  OpenRun open_run(const model::Run& run) const;
  struct OfSchedule {
    Instant until{};
    std::string rule;
    bool paused = false;
    Instant paused_at{};  ///< or resumed
    std::string note{};
    std::set<Instant> ran;
    std::optional<Micros> delay{};  ///< the least that was seen between an instant and its decision, of its jitter
    std::optional<Instant> excluded_from{};  ///< where the row of excluded instants begins that ends at `until`
    /// Its runs by their instants; of a resume on only what ends after it, or is still open.
    struct OfInstant {
      std::string run_id;
      model::RunState state = model::RunState::queued;
      Instant finished_at{};
      bool before_resume = false;
    };
    std::map<Instant, OfInstant> runs;
  };
  struct Use {
    int workers = 0;
    int data_workers = 0;
    std::int64_t memory = 0;
    std::map<std::string, int> pipelines;
    std::map<std::string, int> keys;
    std::map<std::string, int> pools;
    std::map<std::string, int> readers;  ///< by lock
    std::map<std::string, int> writers;
  };
  /// A limit that is exceeded.
  struct Excess {
    const char* law;
    std::string what;
  };

  void apply(const model::CursorPlaced& change);
  void apply(const model::OccurrencesDecided& change);
  void apply(const model::CursorWithdrawn& change);
  void apply(const model::SchedulePaused& change);
  void apply(const model::RunQueued& change);
  void apply(const model::RunClaimed& change);
  void apply(const model::AttemptEnded& change);
  void apply(const model::CancelAsked& change);
  void apply(const model::QueuedCancelled& change);
  void apply(const model::AssetMaterialized& change);
  void apply(const model::DeliveriesClaimed& change);
  void apply(const model::DeliveriesSkipped& change);
  void apply(const model::RunRestarted& change);
  void apply(const model::TriggerReplayed& change);
  void apply(const model::DefinitionStored&) {}
  void apply(const model::TriggerPlaced&) {}

  // book_schedules.cc: what was due.
  const model::SchedulePaused* pause_in_set(const std::string& schedule) const;
  void check_pause(const model::OccurrencesDecided& change, const OfSchedule& schedule);
  void check_resume(const std::string& schedule);
  static int failures_in_a_row(const OfSchedule& schedule, bool surely);
  void check_failures(const OpenRun& run);
  void note_state(const OpenRun& run, const std::string& id, model::RunState state, Instant at);
  void check_rows(const model::OccurrencesDecided& change, const OfSchedule& schedule, const Oracle& oracle);
  void check_row(const std::string& key, const model::Occurrence& row);
  void check_delay(const model::OccurrencesDecided& change, OfSchedule& schedule);
  Instant next_uncovered(const OfSchedule& schedule, const Oracle& oracle, Instant after) const;
  void check_schedules();
  bool is_in_files(const std::string& key) const;
  // book_endings.cc: what became of an attempt, and what becomes of its run.
  struct Ending {
    model::RunEvent event = model::RunEvent::succeed;
    std::string reason{};
  };
  Ending due_ending(const OpenRun& run, const Execution& execution) const;
  void check_truth(const model::AttemptEnded& change, const OpenRun& run);
  void check_wait(const model::AttemptEnded& change, const OpenRun& run);
  void check_claims();
  void check_queue();
  // book_limits.cc: what runs take, and who may start.
  static Taken taken(const model::Pipeline& definition, const OpenRun& run);
  static void take(Use& use, const OpenRun& run);
  Use use() const;
  void claim(const std::string& id, OpenRun& run);
  /// Time as whoever looks at the clock sees it pass: what it was set back by has not passed.
  Micros time_passed() const { return clock_.boottime() + ahead_; }
  void check_rates(const OpenRun& run);
  bool rate_is_open(const std::string& pool) const;
  std::optional<Excess> excess(const OpenRun& run, const Use& use) const;
  bool fits(const OpenRun& run, const Use& use) const;
  /// An earlier turn that has waited for five minutes, by whatever clock, may keep something from it that it needs too.
  bool may_be_kept_from(const OpenRun& run) const;
  static bool share(const OpenRun& one, const Taken& of_one, const OpenRun& other, const Taken& of_other);
  void end(const std::string& run_id, model::RunState state, Instant at);
  void owe(const std::vector<model::Delivery>& owed);
  void say(const std::string& line) const {
    if (trace) trace(line);
  }

  const Clock& clock_;
  const World& world_;
  std::shared_ptr<const workspace::Workspace> workspace_;
  struct InForce {
    model::Schedule schedule;
    std::string pipeline;
    Oracle oracle;
  };
  const model::ChangeSet* set_ = nullptr;  ///< that is committed now
  std::map<std::string, InForce> schedules_in_force_;
  std::map<std::string, OfSchedule> schedules_;
  std::map<std::string, OpenRun> open_;
  struct Start {
    std::string run_id;
    int attempt = 0;
    Instant at{};     ///< as it is recorded
    Micros passed{};  ///< time_passed() then
    std::map<std::string, int> pools;
  };
  std::deque<Start> starts_;                                 ///< of the last while, of pools
  Micros ahead_{};                                           ///< all that the clock was set forth by
  std::unordered_map<std::string, model::RunState> states_;  ///< of every run there was
  std::unordered_map<std::string, std::string> pipelines_;   ///< of every run
  std::map<std::string, std::string> keys_;                  ///< idempotency key -> run
  std::set<std::string> asked_by_;                           ///< one run for each command
  std::set<std::pair<std::string, int>> handed_off_;         ///< of live claims
  std::map<std::string, std::set<std::string>> events_;      ///< run -> assets that it has published
  std::set<std::string> event_ids_;
  struct Owed {
    std::string trigger;
    std::string run_id;
    bool pending = true;
  };
  std::map<std::string, Owed> owed_;  ///< deliveries that are not over
  std::map<std::string, std::string> delivery_runs_;
  std::vector<std::string> ended_;
  std::int64_t decisions_ = 0;
  int unanswered_ = 0;
  std::optional<Finding> finding_;
};

}  // namespace eider::sim
