#include "api/data_shapes.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "api/test_support.h"

namespace eider::api::shapes {
namespace {

namespace json = boost::json;

json::value parsed(const char* text) { return json::parse(text); }

TEST(DataShapes, MaterializationHasEveryNameOfTheDesign) {
  model::Materialization event = an_event(kEventId, kRunId);
  event.number = 7;
  event.partition = "2026-03-29";
  event.definition = "d1";
  event.bytes = 4096;
  event.columns = R"([{"name":"carrier","type":"VARCHAR"}])";
  event.fingerprint = "f1";
  event.unchanged = true;
  event.metadata = R"({"file":"a.csv"})";
  event.depth = 2;
  EXPECT_EQ(json::value(materialization(event)), parsed(R"({
    "id":"5f0c3a9e-77d1-8e21-9b1a-000000000001","number":7,"asset":"raw.x","partition":"2026-03-29","source":"run",
    "pipeline":"flights_daily","run_id":"01890a5d-ac96-774b-bcce-b302099a8057","attempt":1,"definition":"d1",
    "said_by":null,"committed_at":"2026-03-29T01:00:02Z","rows":120,"bytes":4096,
    "columns":[{"name":"carrier","type":"VARCHAR"}],"fingerprint":"f1","unchanged":true,"metadata":{"file":"a.csv"},
    "depth":2})"));
}

TEST(DataShapes, WhatIsNotKnownOfAForeignEventIsNull) {
  model::Materialization event;
  event.id = kEventId;
  event.asset = "raw.x";
  event.source = model::Source::reported;
  event.said_by = "cli";
  event.metadata = "{broken";
  const json::object shown = materialization(event);
  for (const char* name : {"partition", "pipeline", "run_id", "attempt", "definition", "rows", "bytes", "columns",
                           "fingerprint", "metadata"}) {
    EXPECT_TRUE(shown.at(name).is_null()) << name;
  }
  EXPECT_EQ(shown.at("source"), json::value("reported"));
}

TEST(DataShapes, DeliveryHasEveryNameOfTheDesign) {
  model::Delivery delivery = a_delivery(kDeliveryId, kEventId, model::DeliveryState::failed);
  delivery.run_id = kRunId;
  delivery.attempts = 3;
  delivery.owner = "host/4711";
  delivery.claimed_at = at("2026-03-29T01:00:03Z");
  delivery.finished_at = at("2026-03-29T01:00:09Z");
  delivery.reason = "RunFailed";
  delivery.error = "step build: exit code 1";
  json::value want = parsed(R"({
    "id":"2b1e9d40-0a7c-8c55-9b1a-000000000001","trigger":"marts/on_x","pipeline":"marts",
    "event_id":"5f0c3a9e-77d1-8e21-9b1a-000000000001","asset":"raw.x","partition":null,"state":"failed",
    "run_id":"01890a5d-ac96-774b-bcce-b302099a8057","attempts":3,"owner":"host/4711",
    "created_at":"2026-03-29T01:00:02Z","claimed_at":"2026-03-29T01:00:03Z","finished_at":"2026-03-29T01:00:09Z",
    "waiting_for":null,"reason":"RunFailed","error":"step build: exit code 1"})");
  want.as_object()["reason_text"] = model::reason_sentence("RunFailed");
  EXPECT_EQ(json::value(shapes::delivery(delivery, "a run of the trigger is open")), want)
      << "only a pending one waits for its run";
  delivery.state = model::DeliveryState::pending;
  EXPECT_EQ(shapes::delivery(delivery, "a run is open").at("waiting_for"), json::value("a run is open"));
}

TEST(DataShapes, TriggerIsShownAsItIsWritten) {
  engine::TriggerView view;
  view.key = "marts/on_raw";
  view.pipeline = "marts";
  view.trigger.id = "on_raw";
  view.trigger.assets = {"raw.*"};
  view.trigger.same_partition = true;
  view.trigger.changed_only = true;
  view.trigger.debounce = std::chrono::seconds(30);
  view.matches = {"raw.x"};
  view.pending = 3;
  view.open_runs = 1;
  view.waiting_for = "quiet";
  view.looks_again_at = at("2026-03-29T01:00:32Z");
  EXPECT_EQ(json::value(trigger(view)), parsed(R"({"key":"marts/on_raw","pipeline":"marts","id":"on_raw",
    "assets":["raw.*"],"match":"any","from":null,"partition":"same","on":"changed","batch":false,"debounce":"30s",
    "max_wait":null,"start":"now","order":"commit","matches":["raw.x"],"pending":3,"open_runs":1,"waiting_for":"quiet",
    "looks_again_at":"2026-03-29T01:00:32Z"})"));
}

TEST(DataShapes, GraphLeadsFromPipelinesToAssetsAndOn) {
  workspace::Catalog catalog;
  catalog.assets["raw.x"] = {"raw.x", "", false, "", {"load"}, {"marts/on_x", "marts/on_raw"}, "", ""};
  catalog.assets["in"] = {"in", "", true, "incoming", {}, {"load/on_in"}, "", ""};
  EXPECT_EQ(json::value(graph(catalog)), parsed(R"({
    "nodes":[{"id":"asset:in","kind":"asset","name":"in","external":true},
             {"id":"asset:raw.x","kind":"asset","name":"raw.x","external":false},
             {"id":"pipeline:load","kind":"pipeline","name":"load","external":false},
             {"id":"pipeline:marts","kind":"pipeline","name":"marts","external":false}],
    "edges":[{"from":"asset:in","to":"pipeline:load","kind":"triggers","trigger":"load/on_in"},
             {"from":"pipeline:load","to":"asset:raw.x","kind":"publishes","trigger":null},
             {"from":"asset:raw.x","to":"pipeline:marts","kind":"triggers","trigger":"marts/on_x"},
             {"from":"asset:raw.x","to":"pipeline:marts","kind":"triggers","trigger":"marts/on_raw"}]})"));
}

}  // namespace
}  // namespace eider::api::shapes
