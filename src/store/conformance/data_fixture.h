// Short ways to make events, what is owed for them, and the runs that consume it.
#pragma once

#include <string>
#include <vector>

#include "store/conformance/fixture.h"

namespace eider::store::conformance {

/// Reported from outside, so that it needs no run.
inline model::Materialization event(int n, const std::string& asset = "raw.flights",
                                    const std::string& partition = "") {
  model::Materialization m;
  m.id = model::materialization_id(fmt::format("key{}", n), asset, partition, "");
  m.asset = asset;
  m.partition = partition;
  m.source = model::Source::reported;
  m.said_by = "cli";
  m.committed_at = at(n);
  return m;
}

/// Published by attempt `number` of run n.
inline model::Materialization published(int n, int number, const std::string& asset = "raw.flights",
                                        const std::string& partition = "") {
  model::Materialization m = event(n, asset, partition);
  m.id = model::materialization_id(run_id(n), asset, partition, "abc");
  m.source = model::Source::run;
  m.pipeline = "flights";
  m.run_id = run_id(n);
  m.attempt = number;
  m.definition = "definition";
  m.said_by = "";
  m.fingerprint = "abc";
  return m;
}

inline model::Delivery owed(const model::Materialization& event, const std::string& trigger) {
  model::Delivery d;
  d.id = model::delivery_id(trigger, event.id);
  d.trigger = trigger;
  d.pipeline = trigger.substr(0, trigger.find('/'));
  d.event = event.number;
  d.event_id = event.id;
  d.asset = event.asset;
  d.partition = event.partition;
  d.created_at = event.committed_at;
  return d;
}

inline model::AssetMaterialized materialized(const model::Materialization& event,
                                             const std::vector<std::string>& triggers = {}) {
  model::AssetMaterialized change{event, {}};
  for (const auto& trigger : triggers) change.owed.push_back(owed(event, trigger));
  return change;
}

/// The run of a trigger's deliveries.
inline model::Run data_run(int n, const std::string& trigger) {
  model::Run run = queued_run(n, trigger.substr(0, trigger.find('/')));
  run.trigger = model::TriggerKind::data;
  run.trigger_id = trigger;
  run.reason = model::reason::data_published;
  run.depth = 1;
  return run;
}

/// The claim of the trigger's deliveries of these events, with its run n.
inline model::ChangeSet claimed(int n, const std::string& trigger, const std::vector<model::Materialization>& events) {
  model::DeliveriesClaimed claim{trigger, {}, run_id(n), "host/1", at(100 + n)};
  for (const auto& one : events) claim.ids.push_back(model::delivery_id(trigger, one.id));
  return {claim, model::RunQueued{data_run(n, trigger)}};
}

}  // namespace eider::store::conformance
