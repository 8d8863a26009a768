// The handlers about assets, materializations, deliveries and triggers.
#include "api/service_fixture.h"

namespace eider::api {
namespace {

class DataServiceTest : public ServiceTest {
 protected:
  DataServiceTest() {
    auto load = std::make_shared<model::Pipeline>();
    load->name = "flights_daily";
    load->publishes.emplace_back();
    load->publishes[0].asset = "raw.x";
    auto marts = std::make_shared<model::Pipeline>();
    marts->name = "marts";
    marts->triggers.emplace_back();
    marts->triggers[0].id = "on_x";
    marts->triggers[0].assets = {"raw.*"};
    loop_.files->usable = true;
    loop_.files->settings.assets["raw.uploads"].name = "raw.uploads";
    loop_.files->pipelines["flights_daily"] = {load, nullptr, "h1", {}};
    loop_.files->pipelines["marts"] = {marts, nullptr, "h2", {}};
    loop_.pipelines.push_back({"marts", "pipelines/marts.yaml", "", "h2", false, "", 0, 0});
    engine::TriggerView view;
    view.key = "marts/on_x";
    view.pipeline = "marts";
    view.trigger = marts->triggers[0];
    view.pending = 1;
    view.waiting_for = "a run of it is open";
    loop_.triggers = {view};
  }
  static std::string of(const json::value& value, const char* name) {
    const json::value& found = value.at(name);
    return found.is_string() ? std::string(found.as_string()) : json::serialize(found);
  }
};

TEST_F(DataServiceTest, AssetsAreThoseOfFilesAndThoseOfHistory) {
  reader_.put(an_event(kEventId, kRunId));
  model::Materialization old = an_event(kOtherRunId, "");
  old.asset = "gone";
  reader_.put(old);
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::pending));
  const json::value page = body(get("/api/v1/assets"));
  ASSERT_EQ(page.at("items").as_array().size(), 3u);
  const json::value& gone = page.at("items").at(0);
  EXPECT_EQ(of(gone, "name") + of(gone, "declared"), "gonefalse");
  const json::value& made = page.at("items").at(1);
  EXPECT_EQ(of(made, "name"), "raw.uploads");
  EXPECT_EQ(of(made, "external") + of(made, "last_materialization"), "truenull");
  const json::value& raw = page.at("items").at(2);
  EXPECT_EQ(raw.at("producers"), json::parse(R"(["flights_daily"])"));
  EXPECT_EQ(raw.at("consumers"), json::parse(R"(["marts/on_x"])"));
  EXPECT_EQ(raw.at("pending_deliveries"), json::value(1));
  EXPECT_EQ(raw.at("last_materialization").at("id"), json::value(kEventId));
  const json::value first = body(get("/api/v1/assets?limit=1"));
  EXPECT_EQ(first.at("next"), json::value("gone"));
  EXPECT_EQ(body(get("/api/v1/assets?limit=1&cursor=gone")).at("items").at(0).at("name"), json::value("raw.uploads"));
}

TEST_F(DataServiceTest, AnAssetHasItsHistoryInPages) {
  for (const char* id : {kEventId, kRunId, kOtherRunId}) reader_.put(an_event(id, ""));
  const json::value asset = body(get("/api/v1/assets/raw.x?limit=2"));
  EXPECT_EQ(asset.at("history").at("items").as_array().size(), 2u);
  EXPECT_EQ(asset.at("history").at("items").at(0).at("id"), json::value(kOtherRunId)) << "newest first";
  EXPECT_EQ(asset.at("history").at("next"), json::value("2"));
  EXPECT_EQ(body(get("/api/v1/assets/raw.x?limit=2&cursor=2")).at("history").at("items").at(0).at("id"),
            json::value(kEventId));
  const Response wrong = get("/api/v1/assets/raw.y");
  EXPECT_EQ(wrong.status, 404);
  EXPECT_EQ(text(wrong, "suggestion"), "raw.x");
  EXPECT_EQ(get("/api/v1/assets/raw..y").status, 400);
  EXPECT_EQ(text(get("/api/v1/assets/raw..y"), "parameter"), "asset");
}

TEST_F(DataServiceTest, TheGraphIsOfWhatIsInForce) {
  const json::value graph = body(get("/api/v1/assets/graph"));
  EXPECT_EQ(graph.at("nodes").as_array().size(), 4u);
  EXPECT_EQ(graph.at("edges").as_array().size(), 3u);
  EXPECT_EQ(post("/api/v1/assets/graph", "").headers.at("Allow"), "GET, HEAD");
}

TEST_F(DataServiceTest, MaterializingFromOutside) {
  reader_.put(a_run(kRunId, model::RunState::running, 1));
  loop_.materialized = engine::Materialize::Answer{kEventId, false, 3};
  const Response made = post("/api/v1/assets/raw.uploads/materializations",
                             R"({"partition":"2026-03-29","metadata":{"file":"a.csv"},"rows":120,"bytes":0,
                                 "fingerprint":"f","cause_run_id":")" +
                                 std::string(kRunId) + "\"}",
                             {{"idempotency-key", "upload-17"}});
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(body(made), json::parse(R"({"id":"5f0c3a9e-77d1-8e21-9b1a-000000000001","owed":3,"repeated":false})"));
  EXPECT_EQ(made.headers.at("Location"), std::string("/api/v1/materializations/") + kEventId);
  ASSERT_TRUE(loop_.materialize_asked);
  EXPECT_EQ(loop_.materialize_asked->asset, "raw.uploads");
  EXPECT_EQ(loop_.materialize_asked->partition, "2026-03-29");
  EXPECT_EQ(loop_.materialize_asked->metadata, R"({"file":"a.csv"})");
  EXPECT_EQ(loop_.materialize_asked->rows, 120);
  EXPECT_EQ(loop_.materialize_asked->bytes, 0);
  EXPECT_EQ(loop_.materialize_asked->fingerprint, "f");
  EXPECT_EQ(loop_.materialize_asked->idempotency_key, "upload-17");
  EXPECT_EQ(loop_.materialize_asked->cause_run_id, kRunId);
  EXPECT_EQ(loop_.materialize_asked->asked_by, "api");
  loop_.materialized = engine::Materialize::Answer{kEventId, true, 0};
  EXPECT_EQ(post("/api/v1/assets/raw.uploads/materializations", "").status, 200) << "it was there already";
  EXPECT_FALSE(loop_.materialize_asked->rows);
}

TEST_F(DataServiceTest, WhatCannotBeMaterializedIsSaid) {
  const std::string path = "/api/v1/assets/raw.uploads/materializations";
  const std::string big = R"({"metadata":{"a":")" + std::string(64 * 1024, 'x') + "\"}}";
  const std::pair<std::string, const char*> cases[] = {{R"({"metadata":[1]})", "metadata"},
                                                       {R"({"metadata":"{}"})", "metadata"},
                                                       {big, "metadata"},
                                                       {R"({"partition":"../x"})", "partition"},
                                                       {R"({"rows":-1})", "rows"},
                                                       {R"({"rows":1.5})", "rows"},
                                                       {R"({"bytes":"1"})", "bytes"},
                                                       {R"({"cause_run_id":"0189"})", "cause_run_id"},
                                                       {R"({"metdata":{}})", "metdata"}};
  for (const auto& [sent, parameter] : cases) {
    const Response response = post(path, sent);
    EXPECT_EQ(response.status, 400) << sent.substr(0, 80);
    EXPECT_EQ(text(response, "parameter"), parameter) << sent.substr(0, 80);
  }
  EXPECT_NE(text(post(path, big), "detail").find("expected a JSON object of at most 65536 bytes"), std::string::npos);
  EXPECT_NE(text(post(path, R"({"cause_run_id":")" + std::string(kRunId) + "\"}"), "detail").find("there is no run"),
            std::string::npos);
  EXPECT_FALSE(loop_.materialize_asked);
  loop_.materialized = Error{ErrorCode::not_found, "there is no such asset"};
  const Response unknown = post("/api/v1/assets/raw.upload/materializations", "{}");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(text(unknown, "suggestion"), "raw.uploads");
  EXPECT_NE(text(post("/api/v1/assets/other/materializations", "{}"), "detail").find("eider.yaml declares"),
            std::string::npos);
  EXPECT_EQ(text(post(path, "{}"), "detail"), "there is no such asset") << "the loop knows better";
}

TEST_F(DataServiceTest, MaterializationsAreFoundByWhatTheyAreOf) {
  reader_.put(a_run(kRunId, model::RunState::succeeded, 1));
  reader_.put(an_event(kEventId, kRunId));
  for (const char* query : {"", "?asset=raw.x", "?pipeline=flights_daily", "?run=01890a5d"}) {
    EXPECT_EQ(body(get(std::string("/api/v1/materializations") + query)).at("items").as_array().size(), 1u) << query;
  }
  EXPECT_EQ(text(get("/api/v1/materializations/5f0c3a9e"), "id"), kEventId);
  EXPECT_EQ(get("/api/v1/materializations/ffff0000").status, 404);
  EXPECT_EQ(text(get("/api/v1/materializations/xyz"), "parameter"), "id");
  EXPECT_EQ(text(get("/api/v1/materializations?asset=raw.uploads"), "detail"), "<no detail>") << "declared, and empty";
  EXPECT_EQ(text(get("/api/v1/materializations?asset=raw.upload"), "suggestion"), "raw.uploads");
  EXPECT_EQ(text(get("/api/v1/materializations?pipeline=mart"), "suggestion"), "marts");
  EXPECT_EQ(get("/api/v1/materializations?pipeline=marts").status, 200);
  EXPECT_EQ(text(get("/api/v1/materializations?asset=raw.x&run=01890a5d"), "parameter"), "run");
  EXPECT_EQ(text(get("/api/v1/materializations?run=xyz"), "parameter"), "run");
}

TEST_F(DataServiceTest, DeliveriesAreFoundByWhatTheyAreOf) {
  reader_.put(an_event(kEventId, kRunId));
  model::Run run = a_run(kOtherRunId, model::RunState::running, 1);
  reader_.put(run);
  model::Delivery delivery = a_delivery(kDeliveryId, kEventId, model::DeliveryState::claimed);
  delivery.run_id = kOtherRunId;
  reader_.put(delivery);
  for (const char* query : {"", "?trigger=marts/on_x", "?pipeline=marts", "?event=5f0c3a9e", "?run=01890a5d",
                            "?state=claimed", "?trigger=marts/on_x&state=claimed"}) {
    EXPECT_EQ(body(get(std::string("/api/v1/deliveries") + query)).at("items").as_array().size(), 1u) << query;
  }
  EXPECT_EQ(body(get("/api/v1/deliveries?state=failed")).at("items").as_array().size(), 0u);
  EXPECT_EQ(text(get("/api/v1/deliveries/2b1e"), "id"), kDeliveryId);
  EXPECT_EQ(text(get("/api/v1/deliveries?state=done"), "parameter"), "state");
  EXPECT_EQ(text(get("/api/v1/deliveries?state=pendin"), "suggestion"), "pending");
  EXPECT_EQ(text(get("/api/v1/deliveries?trigger=marts"), "parameter"), "trigger");
  EXPECT_EQ(text(get("/api/v1/deliveries?trigger=marts/on_y"), "suggestion"), "marts/on_x");
  EXPECT_EQ(text(get("/api/v1/deliveries?pipeline=mart"), "suggestion"), "marts");
  EXPECT_EQ(text(get("/api/v1/deliveries?trigger=marts/on_x&pipeline=marts"), "parameter"), "pipeline");
}

TEST_F(DataServiceTest, APendingDeliverySaysWhatItWaitsFor) {
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::pending));
  EXPECT_EQ(text(get("/api/v1/deliveries/2b1e9d40"), "waiting_for"), "a run of it is open");
  EXPECT_EQ(body(get("/api/v1/deliveries")).at("items").at(0).at("waiting_for"), json::value("a run of it is open"));
  const json::value trigger = body(get("/api/v1/triggers?pipeline=marts")).at("items").at(0);
  EXPECT_EQ(of(trigger, "key") + of(trigger, "pending"), "marts/on_x1");
  EXPECT_EQ(text(get("/api/v1/triggers?pipeline=mart"), "suggestion"), "marts");
  EXPECT_EQ(get("/api/v1/triggers?pipeline=flights_daily").status, 200) << "one without triggers";
}

TEST_F(DataServiceTest, RetryAndSkipTakeWhatIsSelected) {
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::failed));
  loop_.changed = std::vector<std::string>{kDeliveryId};
  const Response retried = post("/api/v1/deliveries/retry", R"({"id":"2b1e9d40"})");
  EXPECT_EQ(retried.status, 200) << retried.body;
  EXPECT_EQ(body(retried), json::parse(R"({"ids":["2b1e9d40-0a7c-8c55-9b1a-000000000001"],"more":false})"));
  EXPECT_EQ(loop_.retry_asked->which.id, kDeliveryId) << "the whole id of a prefix";
  EXPECT_EQ(post("/api/v1/deliveries/skip", R"({"trigger":"marts/on_x","state":"pending","note":"by hand"})").status,
            200);
  EXPECT_EQ(loop_.skip_asked->which.trigger, "marts/on_x");
  EXPECT_EQ(loop_.skip_asked->which.state, model::DeliveryState::pending);
  EXPECT_EQ(loop_.skip_asked->note, "by hand");
  EXPECT_EQ(loop_.skip_asked->asked_by, "api");
  EXPECT_EQ(post("/api/v1/deliveries/retry", R"({"state":"failed"})").status, 200);
  EXPECT_EQ(loop_.retry_asked->which.state, model::DeliveryState::failed);
  loop_.changed = std::vector<std::string>(500, kDeliveryId);
  EXPECT_EQ(body(post("/api/v1/deliveries/retry", R"({"state":"failed"})")).at("more"), json::value(true));
}

TEST_F(DataServiceTest, ASelectionThatMeansNothingOrTooMuchIsRefused) {
  for (const char* sent :
       {"", "{}", R"({"trigger":""})", R"({"id":"2b1e9d40","trigger":"marts/on_x"})",
        R"({"id":"2b1e9d40","state":"failed"})", R"({"trigger":"marts/on_x","pipeline":"marts"})",
        R"({"trigger":"marts"})", R"({"pipeline":"../x"})", R"({"state":"done"})", R"({"state":"pending"})",
        R"({"state":"delivered"})", R"({"ids":["2b1e9d40"]})", R"({"note":"x"})"}) {
    EXPECT_EQ(post("/api/v1/deliveries/retry", sent).status, 400) << sent;
  }
  EXPECT_NE(text(post("/api/v1/deliveries/skip", "{}"), "detail").find("which deliveries?"), std::string::npos);
  EXPECT_FALSE(loop_.retry_asked || loop_.skip_asked);
}

TEST_F(DataServiceTest, WhatCannotBeRetriedOrSkippedIsSaid) {
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::delivered));
  const Response late = post("/api/v1/deliveries/retry", R"({"id":"2b1e9d40"})");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(text(late, "detail"),
            "the delivery " + std::string(kDeliveryId) + " is delivered: only a failed one can be tried again");
  EXPECT_EQ(post("/api/v1/deliveries/skip", R"({"id":"2b1e9d40"})").status, 409);
  EXPECT_EQ(post("/api/v1/deliveries/skip", R"({"id":"ffff0000"})").status, 404);
  loop_.changed = Error{ErrorCode::not_found, "there is no trigger"};
  EXPECT_EQ(text(post("/api/v1/deliveries/retry", R"({"trigger":"marts/on_y"})"), "suggestion"), "marts/on_x");
  EXPECT_EQ(post("/api/v1/deliveries/retry", R"({"trigger":"marts/on_x"})").status, 404) << "what the loop says";
  loop_.changed = std::vector<std::string>();
  EXPECT_EQ(body(post("/api/v1/deliveries/retry", R"({"trigger":"marts/on_x"})")).at("ids"), json::array());
  EXPECT_EQ(text(post("/api/v1/deliveries/retry", R"({"pipeline":"mart"})"), "suggestion"), "marts");
}

TEST_F(DataServiceTest, ADataRunShowsWhatItWasMadeFor) {
  reader_.put(an_event(kEventId, kRunId));
  model::Delivery delivery = a_delivery(kDeliveryId, kEventId, model::DeliveryState::claimed);
  delivery.run_id = kOtherRunId;
  reader_.put(delivery);
  model::Run run = a_run(kOtherRunId, model::RunState::succeeded, 1);
  run.trigger = model::TriggerKind::data;
  run.trigger_id = "marts/on_x";
  run.depth = 1;
  reader_.put(run);
  const json::value shown = body(get(std::string("/api/v1/runs/") + kOtherRunId));
  EXPECT_EQ(shown.at("depth"), json::value(1));
  ASSERT_EQ(shown.at("events").as_array().size(), 1u);
  EXPECT_EQ(shown.at("events").at(0).at("asset"), json::value("raw.x"));
  EXPECT_EQ(shown.at("events").at(0).at("delivery_id"), json::value(kDeliveryId));
  EXPECT_EQ(shown.at("more_events"), json::value(false));
  reader_.put(a_run(kRunId, model::RunState::succeeded, 1));
  EXPECT_EQ(body(get(std::string("/api/v1/runs/") + kRunId)).at("events"), json::array());
}

TEST_F(DataServiceTest, ExplainTellsTheChainWithWhatIsWaitedFor) {
  reader_.put(a_run(kRunId, model::RunState::queued, 0));
  reader_.put(an_event(kEventId, ""));
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::pending));
  const json::value event = body(get("/api/v1/explain/5f0c3a9e"));
  EXPECT_EQ(of(event, "kind") + of(event, "id"), "materialization" + std::string(kEventId));
  const json::array& links = event.at("links").as_array();
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(of(links[0], "part") + of(links[1], "part"), "askedeffect");
  EXPECT_NE(of(links[1], "text").find("is pending: a run of it is open"), std::string::npos) << of(links[1], "text");
  EXPECT_EQ(of(links[1], "at"), "2026-03-29T01:00:02Z");
  loop_.live.emplace_back();
  loop_.live[0].run_id = kRunId;
  loop_.live[0].waiting_for = {{"worker", "", "all 16 are busy", at("2026-03-29T01:00:00Z")}};
  const json::value run = body(get("/api/v1/explain/0189"));
  EXPECT_NE(of(run.at("links").at(0), "text").find("waits for a worker (all 16 are busy) since 2026-03-29T01:00:00Z"),
            std::string::npos);
  EXPECT_EQ(get("/api/v1/explain/ffff0000").status, 404);
  EXPECT_EQ(get("/api/v1/explain/xyz").status, 400);
  model::Materialization like_the_run = an_event("01890a5d-ffff-8000-8000-000000000000", "");
  reader_.put(like_the_run);
  const Response both = get("/api/v1/explain/01890a5d");
  EXPECT_EQ(both.status, 409);
  EXPECT_NE(both.body.find(like_the_run.id), std::string::npos);
}

TEST_F(DataServiceTest, PipelinesAndStatusCountTriggersAndWhatIsPending) {
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::pending));
  const json::value pipelines = body(get("/api/v1/pipelines"));
  EXPECT_EQ(of(pipelines.at("items").at(1), "active_triggers"), "1");
  EXPECT_EQ(of(pipelines.at("items").at(1), "pending_deliveries"), "1");
  EXPECT_EQ(of(pipelines.at("items").at(0), "pending_deliveries"), "0");
  EXPECT_EQ(body(get("/api/v1/pipelines/marts")).at("triggers").at(0).at("key"), json::value("marts/on_x"));
  const json::value status = body(get("/api/v1/status"));
  EXPECT_EQ(of(status, "triggers") + of(status, "pending_deliveries"), "11");
}

TEST_F(DataServiceTest, WithoutAServerFilesAndTheStoreAnswer) {
  options_.inbox = nullptr;
  options_.workspace = loop_.files.get();
  reader_.put(an_event(kEventId, kRunId));
  reader_.put(a_delivery(kDeliveryId, kEventId, model::DeliveryState::pending));
  EXPECT_EQ(body(get("/api/v1/assets")).at("items").as_array().size(), 2u);
  EXPECT_EQ(body(get("/api/v1/assets/graph")).at("nodes").as_array().size(), 4u);
  const json::value trigger = body(get("/api/v1/triggers")).at("items").at(0);
  EXPECT_EQ(trigger.at("matches"), json::parse(R"(["raw.uploads","raw.x"])"));
  EXPECT_EQ(of(trigger, "waiting_for"), "no server claims it: none is running; `eider serve` starts one");
  EXPECT_EQ(text(get("/api/v1/deliveries/2b1e9d40"), "waiting_for"),
            "no server claims it: none is running; `eider serve` starts one");
  EXPECT_EQ(of(body(get("/api/v1/status")), "pending_deliveries"), "1");
  EXPECT_EQ(text(post("/api/v1/assets/raw.x/materializations", "{}"), "type"), "urn:eider:problem:no-server");
  EXPECT_EQ(text(post("/api/v1/deliveries/retry", R"({"state":"failed"})"), "type"), "urn:eider:problem:no-server");
  options_.files_error = "eider.yaml:1:1: error: …";
  EXPECT_EQ(get("/api/v1/assets").status, 400);
  EXPECT_EQ(get("/api/v1/deliveries").status, 200);
  EXPECT_EQ(get("/api/v1/explain/5f0c3a9e").status, 200);
  EXPECT_EQ(get("/api/v1/status").status, 200);
}

}  // namespace
}  // namespace eider::api
