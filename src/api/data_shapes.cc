#include "api/data_shapes.h"

#include <set>

#include "api/json_parts.h"

namespace eider::api::shapes {

namespace json = boost::json;

json::object materialization(const model::Materialization& event) {
  json::object out;
  out["id"] = event.id;
  out["number"] = event.number;
  out["asset"] = event.asset;
  out["partition"] = text_or_null(event.partition);
  out["source"] = model::to_text(event.source);
  out["pipeline"] = text_or_null(event.pipeline);
  out["run_id"] = text_or_null(event.run_id);
  out["attempt"] = event.attempt > 0 ? json::value(event.attempt) : json::value(nullptr);
  out["definition"] = text_or_null(event.definition);
  out["said_by"] = text_or_null(event.said_by);
  out["committed_at"] = time_text(event.committed_at);
  out["rows"] = number_or_null(event.rows);
  out["bytes"] = number_or_null(event.bytes);
  out["columns"] = stored_json(event.columns);
  out["fingerprint"] = text_or_null(event.fingerprint);
  out["unchanged"] = event.unchanged;
  out["metadata"] = stored_json(event.metadata);
  out["depth"] = event.depth;
  return out;
}

json::object delivery(const model::Delivery& delivery, const std::string& waiting_for) {
  json::object out;
  out["id"] = delivery.id;
  out["trigger"] = delivery.trigger;
  out["pipeline"] = delivery.pipeline;
  out["event_id"] = delivery.event_id;
  out["asset"] = delivery.asset;
  out["partition"] = text_or_null(delivery.partition);
  out["state"] = model::to_text(delivery.state);
  out["run_id"] = text_or_null(delivery.run_id);
  out["attempts"] = delivery.attempts;
  out["owner"] = text_or_null(delivery.owner);
  out["created_at"] = time_text(delivery.created_at);
  out["claimed_at"] = time_or_null(delivery.claimed_at);
  out["finished_at"] = time_or_null(delivery.finished_at);
  out["waiting_for"] =
      delivery.state == model::DeliveryState::pending ? text_or_null(waiting_for) : json::value(nullptr);
  out["reason"] = text_or_null(delivery.reason);
  out["reason_text"] = reason_text(delivery.reason);
  out["error"] = text_or_null(delivery.error);
  return out;
}

json::object trigger(const engine::TriggerView& view) {
  const model::Trigger& trigger = view.trigger;
  json::object out;
  out["key"] = view.key;
  out["pipeline"] = view.pipeline;
  out["id"] = trigger.id;
  out["assets"] = texts(trigger.assets);
  out["match"] = model::to_text(trigger.match);
  out["from"] = text_or_null(trigger.from);
  out["partition"] = trigger.same_partition ? json::value("same") : json::value(nullptr);
  out["on"] = trigger.changed_only ? json::value("changed") : json::value(nullptr);
  out["batch"] = trigger.batch;
  out["debounce"] = duration_or_null(trigger.debounce);
  out["max_wait"] = duration_or_null(trigger.max_wait);
  out["start"] = model::to_text(trigger.start);
  out["order"] = model::to_text(trigger.order);
  out["matches"] = texts(view.matches);
  out["pending"] = view.pending;
  out["open_runs"] = view.open_runs;
  out["waiting_for"] = text_or_null(view.waiting_for);
  out["looks_again_at"] = time_or_null(view.looks_again_at);
  return out;
}

json::object asset(const workspace::AssetEntry& entry, bool declared, const std::optional<model::Materialization>& last,
                   std::int64_t pending) {
  json::object out;
  out["name"] = entry.name;
  out["description"] = text_or_null(entry.description);
  out["declared"] = declared;
  out["external"] = entry.external;
  out["watch"] = text_or_null(entry.watch);
  out["producers"] = texts(entry.producers);
  out["consumers"] = texts(entry.consumers);
  out["path"] = text_or_null(entry.path);
  out["table"] = text_or_null(entry.table);
  out["pending_deliveries"] = pending;
  out["last_materialization"] = last ? json::value(materialization(*last)) : json::value(nullptr);
  return out;
}

json::object graph(const workspace::Catalog& catalog) {
  json::array nodes;
  json::array edges;
  std::set<std::string> pipelines;
  const auto edge = [&edges](const std::string& from, const std::string& to, const char* kind, json::value trigger) {
    edges.push_back({{"from", from}, {"to", to}, {"kind", kind}, {"trigger", std::move(trigger)}});
  };
  for (const auto& [name, entry] : catalog.assets) {
    const std::string id = "asset:" + name;
    nodes.push_back({{"id", id}, {"kind", "asset"}, {"name", name}, {"external", entry.external}});
    for (const std::string& producer : entry.producers) {
      pipelines.insert(producer);
      edge("pipeline:" + producer, id, "publishes", nullptr);
    }
    for (const std::string& trigger : entry.consumers) {
      const std::string consumer = trigger.substr(0, trigger.find('/'));
      pipelines.insert(consumer);
      edge(id, "pipeline:" + consumer, "triggers", json::value(trigger));
    }
  }
  for (const std::string& name : pipelines) {
    nodes.push_back({{"id", "pipeline:" + name}, {"kind", "pipeline"}, {"name", name}, {"external", false}});
  }
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

}  // namespace eider::api::shapes
