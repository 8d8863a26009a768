// The engine's memory: what is open, as the store says, indexed for deciding. It is a cache: built from load_open(),
// moved only by the same Change values that the store applied, and thrown away for a fresh load when a commit fails.
// Engine thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "decide/admission.h"
#include "decide/due.h"
#include "decide/rate.h"
#include "engine/queue.h"
#include "engine/subscriptions.h"
#include "model/change.h"
#include "store/store.h"
#include "timing/rule.h"
#include "workspace/load.h"

namespace eider::engine {

/// One schedule of the workspace in force.
struct ScheduleEntry {
  std::string key;  ///< `pipeline/id`
  std::shared_ptr<const model::Pipeline> pipeline;
  std::size_t index = 0;                          ///< of the schedule in the pipeline
  const workspace::LoadedRule* loaded = nullptr;  ///< the workspace's; its rule is there
  std::shared_ptr<const timing::Exclusions> exclusions;
  Micros delay{};                     ///< of its jitter
  std::optional<Instant> next;        ///< in due_ while set
  std::optional<Instant> held_until;  ///< a decision of it failed in the store: not tried again before

  const model::Schedule& schedule() const { return pipeline->schedules[index]; }
  const timing::Rule& rule() const { return *loaded->rule; }
};

/// The open runs of one pipeline (in the workspace or not any more).
struct PipelineRuns {
  /// Oldest first: ids sort by creation.
  std::set<std::string> open;
};

class State {
 public:
  State() = default;

  /// Builds everything from the store; the workspace stays. Cursors of schedules that are in no file are kept for
  /// the day they come back: with their pause, without their rule.
  void load(store::OpenState open, Instant now);
  /// Puts a (re)loaded workspace in force. Cursors are not touched: see cursor_changes().
  void set_workspace(std::shared_ptr<const workspace::Workspace> workspace);
  /// The cursors that the workspace in force asks for: of new schedules and of changed rules, at `now`. Of `count`
  /// schedules, from number `from` on, in the order of the pipelines' names; that is nearly the table's, so that what
  /// is written touches each of its pages about once.
  std::vector<model::Change> cursor_changes(Instant now, std::size_t from, std::size_t count) const;
  /// Those of schedules that were taken out of the files, without their rule: should one come back, it starts from
  /// then.
  std::vector<model::Change> forgotten_cursors() const;

  void apply(const model::ChangeSet& changes);

  const workspace::Workspace& workspace() const { return *workspace_; }
  std::shared_ptr<const workspace::Workspace> share_workspace() const { return workspace_; }
  const workspace::LoadedPipeline* pipeline(const std::string& name) const;
  /// True when the file that should hold the pipeline is broken and no good version is known: its runs wait.
  bool is_broken(const std::string& name) const;
  /// The same, or the file is so broken that it does not say whose it is: nothing of the pipeline is given up.
  bool may_be_broken(const std::string& name) const;

  const model::Run* run(const std::string& id) const;
  const std::unordered_map<std::string, model::Run>& runs() const { return runs_; }
  const std::map<std::string, PipelineRuns>& runs_by_pipeline() const { return by_pipeline_; }
  const std::map<std::string, model::Attempt>& live() const { return live_; }
  const std::unordered_map<std::string, model::Cursor>& cursors() const { return cursors_; }
  /// The pipeline's active runs that the schedule's rule looks at, oldest first.
  std::vector<decide::ActiveRun> active(const ScheduleEntry& entry) const;
  /// The pipeline's oldest; null: none.
  const std::string* first_active(const std::string& pipeline) const;
  int queued_count() const { return static_cast<int>(runs_.size() - live_.size()); }
  bool knows_definition(const std::string& hash) const { return definitions_.contains(hash); }
  /// Run that an idempotency key made, if it is still open.
  const std::string* run_of_key(const std::string& idempotency_key) const;

  /// Triggers, and what is pending of them.
  Subscriptions& subscriptions() { return subscriptions_; }
  const Subscriptions& subscriptions() const { return subscriptions_; }

  /// The runs that are ready to start.
  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }
  static Place place_of(const model::Run& run);
  LineKey line_of(const model::Run& run) const;
  /// What live claims and recent starts leave free, made anew at each call (I7).
  decide::Room room(Instant now) const;
  /// What a run of the line takes, its database resolved; its pipeline is in the workspace.
  model::Taken wanted(const LineKey& line) const;
  std::vector<decide::Need> needs(const LineKey& line) const;
  /// What a live attempt holds.
  std::vector<decide::Need> held(const model::Attempt& attempt) const;

  /// How far back starts count for a rate of the workspace in force; none: it has no rates.
  std::optional<Micros> longest_rate() const;
  /// The starts that the store knows of that time.
  void load_starts(const std::vector<store::RecordedStart>& starts, Instant now);
  const decide::RecentStarts* starts(const std::string& pool) const;
  /// Wakes who waits for a rate that is open by `now`.
  void open_rates(Instant now);
  /// When the next rate opens that somebody waits for.
  std::optional<Instant> first_rate() const;

  std::unordered_map<std::string, ScheduleEntry>& schedules() { return schedules_; }
  const std::unordered_map<std::string, ScheduleEntry>& schedules() const { return schedules_; }
  decide::DueFacts facts(const ScheduleEntry& entry, const std::vector<decide::ActiveRun>& active) const;
  /// The schedule that is due first, and when; none: no schedule will ever be.
  std::optional<std::pair<Instant, std::string>> first_due() const;
  /// Looks at the schedule again no earlier than `at`.
  void hold(const std::string& key, Instant at);

  /// Queued runs whose backoff is over by `now` become ready.
  void release_backoffs(Instant now);
  /// The queued run is not ready before `at`.
  void hold_run(const std::string& id, Instant at);
  std::optional<Instant> first_backoff() const;
  /// The wall clock was set back by `by`: waits in memory follow it.
  void shift_backoffs(Micros by);
  /// Expires no run before `at`: the store refused to.
  void hold_expiries(Instant at) { expiries_held_until_ = at; }
  /// The queued run that is the first to outlive its pipeline's queue_timeout.
  std::optional<std::pair<Instant, std::string>> first_expiry() const;
  /// Schedules whose cursor lies after `now`: the clock was set back below what was decided.
  std::vector<std::string> cursors_after(Instant now) const;

 private:
  decide::DueFacts facts(const ScheduleEntry& entry, const model::Cursor& cursor,
                         const std::vector<decide::ActiveRun>& active) const;
  void refresh(ScheduleEntry& entry);
  /// `cursor`: null where it has none.
  void refresh(ScheduleEntry& entry, const model::Cursor* cursor);
  void refresh(const std::string& key);
  void index(const model::Run& run);
  void unindex(const model::Run& run);
  std::optional<Instant> expiry(const model::Run& run) const;
  void end_run(const std::string& id);
  void end_live(const std::string& id);
  void queue_anew();
  void set_capacity();
  void count_start(const store::RecordedStart& start, Instant now);
  void take_back_start(const model::Attempt& attempt);
  bool is_in_files(const std::string& schedule) const;
  static model::Cursor first_cursor(const model::Schedule& schedule, Instant now);
  void apply_one(const model::CursorPlaced& change);
  void apply_one(const model::OccurrencesDecided& change);
  void apply_one(const model::CursorWithdrawn& change);
  void apply_one(const model::SchedulePaused& change);
  void apply_one(const model::RunQueued& change);
  void apply_one(const model::RunClaimed& change);
  void apply_one(const model::AttemptEnded& change);
  void apply_one(const model::CancelAsked& change);
  void apply_one(const model::QueuedCancelled& change);
  void apply_one(const model::DefinitionStored& change);
  void apply_one(const model::RunRestarted& change);
  // What these change is in subscriptions_.
  void apply_one(const model::AssetMaterialized&) {}
  void apply_one(const model::TriggerPlaced&) {}
  void apply_one(const model::TriggerReplayed&) {}
  void apply_one(const model::DeliveriesClaimed&) {}
  void apply_one(const model::DeliveriesSkipped&) {}

  std::shared_ptr<const workspace::Workspace> workspace_;
  std::unordered_map<std::string, ScheduleEntry> schedules_;
  std::vector<const ScheduleEntry*> in_order_;  ///< of the pipelines' names
  std::set<std::pair<Instant, std::string>> due_;
  std::unordered_set<std::string> broken_names_;
  std::map<std::string, model::Taken> wanted_;  ///< by pipeline
  decide::Capacity capacity_;
  std::unordered_map<std::string, model::Cursor> cursors_;
  /// By schedule: the row of excluded instants that ends where the cursor stands.
  std::unordered_map<std::string, model::Occurrence> excluded_;
  std::unordered_map<std::string, model::Run> runs_;
  std::map<std::string, PipelineRuns> by_pipeline_;
  Queue queue_;
  std::map<std::string, model::Attempt> live_;          ///< by run
  std::map<std::string, decide::RecentStarts> starts_;  ///< by pool with a rate
  Instant rates_opened_at_{};                           ///< up to when open_rates() has looked
  std::set<std::pair<Instant, std::string>> backing_off_;
  std::set<std::pair<Instant, std::string>> expiring_;
  Instant expiries_held_until_{};
  Subscriptions subscriptions_;
  std::unordered_map<std::string, std::string> keys_;  ///< idempotency key -> run
  std::unordered_set<std::string> definitions_;
};

}  // namespace eider::engine
