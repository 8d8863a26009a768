// What the engine's memory knows of triggers: which are in force, what they ask for, how much is pending of each, and
// when each must be looked at. A part of State, under its rules: moved only by changes that the store applied. The
// deliveries themselves stay in the store; memory does not grow with what is pending. Engine thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/change.h"
#include "store/store.h"
#include "workspace/catalog.h"
#include "workspace/load.h"

namespace eider::engine {

/// One trigger of the workspace in force.
struct TriggerEntry {
  std::string key;  ///< `pipeline/id`
  std::shared_ptr<const model::Pipeline> pipeline;
  std::size_t index = 0;             ///< of the trigger in the pipeline
  std::vector<std::string> matches;  ///< declared assets that it asks for now

  const model::Trigger& trigger() const { return pipeline->triggers[index]; }
};

class Subscriptions {
 public:
  /// Open runs are counted anew, one by one, through run_opened().
  void load(store::OpenData open);
  void set_workspace(const workspace::Workspace& workspace);
  /// Other kinds of change are ignored.
  void apply(const model::Change& change);
  /// A run made for that trigger has entered or left the open ones.
  void run_opened(const std::string& trigger) { ++open_runs_[trigger]; }
  void run_ended(const std::string& trigger);

  const std::map<std::string, TriggerEntry>& triggers() const { return triggers_; }
  const TriggerEntry* find(const std::string& key) const;
  const workspace::Catalog& catalog() const { return catalog_; }
  /// Those that ask for the asset when that producer (empty: somebody outside) has published it.
  std::vector<const TriggerEntry*> asking_for(const std::string& asset, const std::string& producer) const;
  std::int64_t pending(const std::string& trigger) const;
  const std::map<std::string, std::int64_t>& pending() const { return pending_; }
  int open_runs(const std::string& trigger) const;

  /// Every trigger that has ever been in force.
  const std::map<std::string, model::TriggerCursor>& cursors() const { return cursors_; }
  /// The rows of triggers that are in force for the first time, that are back, or that have gone away
  /// (TriggerCursor::away). Events up to `newest_event` are the past. `may_be_broken` says it of a pipeline.
  std::vector<model::Change> placements(std::int64_t newest_event,
                                        const std::function<bool(const std::string&)>& may_be_broken) const;
  /// A trigger in force to which events of the past are still to be owed; none: there is none. Until it has them it
  /// makes no runs, so that deliveries are claimed in commit order.
  std::optional<model::TriggerCursor> replaying() const;
  bool is_replaying(const std::string& trigger) const { return replaying_.contains(trigger); }

  /// The trigger that must be looked at first, and when (the past: at once).
  std::optional<std::pair<Instant, std::string>> first_look() const;
  /// When it must be looked at, if anything is pending of it; none: when something changes.
  void look_at(const std::string& trigger, std::optional<Instant> at);
  /// What comes of other assets changes nothing (TriggerVerdict::lacking); until the next look_at().
  void wait_for(const std::string& trigger, std::set<std::string> lacking);
  std::optional<Instant> look_of(const std::string& trigger) const;
  /// The clock was set back: all that waits for an instant is looked at anew.
  void look_at_all();

 private:
  void classify(const std::string& key);
  void owed(const std::vector<model::Delivery>& deliveries);
  void taken(const std::string& trigger, std::size_t count);

  workspace::Catalog catalog_;
  std::map<std::string, TriggerEntry> triggers_;
  std::unordered_map<std::string, std::vector<const TriggerEntry*>> by_asset_;  ///< of triggers without patterns
  std::vector<const TriggerEntry*> with_patterns_;
  std::set<std::string> unplaced_;   ///< in force, without a row
  std::set<std::string> replaying_;  ///< in force, with events of the past to look at
  std::map<std::string, model::TriggerCursor> cursors_;
  std::map<std::string, std::int64_t> pending_;  ///< by trigger, in force or not; no zeros
  std::map<std::string, int> open_runs_;         ///< by trigger; no zeros
  std::unordered_map<std::string, Instant> looks_;
  std::unordered_map<std::string, std::set<std::string>> lacking_;  ///< of triggers without a look
  std::set<std::pair<Instant, std::string>> looks_in_order_;
};

}  // namespace eider::engine
