#include "api/service_fixture.h"

namespace eider::api {
namespace {

TEST_F(ServiceTest, UnknownAddressesAndMethods) {
  EXPECT_EQ(get("/").status, 404);
  EXPECT_EQ(get("/api/v1/nothing").status, 404);
  EXPECT_EQ(get("/api/v1/runs/x/y/z").status, 404);
  EXPECT_EQ(get("/api/v1/%2e%2e/status").status, 400);
  EXPECT_EQ(get("/api/v1/runs/../status").status, 400);
  EXPECT_EQ(get("/api/v1/runs/a%00b").status, 400);
  const Response wrong = call({"DELETE", "/api/v1/runs", {}, {}, ""});
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("Allow"), "GET, HEAD, POST");
  EXPECT_EQ(post("/api/v1/status", "").headers.at("Allow"), "GET, HEAD");
  EXPECT_EQ(call({"HEAD", "/api/v1/status", {}, {}, ""}).status, 200);
}

TEST_F(ServiceTest, WrongParametersAreNamedWithWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"/api/v1/runs?limit=0", "limit"},
      {"/api/v1/runs?limit=1001", "limit"},
      {"/api/v1/runs?limit=1x", "limit"},
      {"/api/v1/runs?limit=99999999999999999999", "limit"},
      {"/api/v1/runs?state=runing", "state"},
      {"/api/v1/runs?pipeline=..", "pipeline"},
      {"/api/v1/runs?pipeline=", "pipeline"},
      {"/api/v1/runs?cursor=", "cursor"},
      {"/api/v1/runs?sate=failed", "sate"},
      {"/api/v1/occurrences?decision=ran", "decision"},
      {"/api/v1/occurrences?decision=exclude", "decision"},
      {"/api/v1/occurrences?schedule=a/b/c", "schedule"},
      {"/api/v1/occurrences?schedule=a/b&pipeline=c", "schedule"},
      {"/api/v1/schedules/flights_daily/nightly/preview?from=yesterday", "from"},
      {"/api/v1/schedules/flights_daily/nightly/preview?to=2020-01-01T00:00:00Z", "to"},
      {"/api/v1/schedules/flights_daily/nightly/preview?count=0", "count"},
      {"/api/v1/schedules//nightly", "pipeline"},
      {"/api/v1/schedules/a%2Fb/nightly", "pipeline"},
      {"/api/v1/status?verbose=1", "verbose"},
      {"/api/v1/runs/abc", "id"},
      {"/api/v1/runs/", "id"},
      {"/api/v1/runs/ABCDEF", "id"},
      {"/api/v1/runs/01890a5d/logs?attempt=0", "attempt"},
  };
  for (const auto& [target, parameter] : cases) {
    const Response response = get(target);
    EXPECT_EQ(response.status, 400) << target;
    EXPECT_EQ(text(response, "parameter"), parameter) << target << " " << response.body;
    EXPECT_NE(text(response, "expected"), "<no expected>") << target;
  }
  EXPECT_EQ(text(get("/api/v1/runs?state=runing"), "suggestion"), "running");
  EXPECT_EQ(text(get("/api/v1/runs?sate=failed"), "suggestion"), "state");
  EXPECT_EQ(get("/api/v1/schedules/" + std::string(300, 'a') + "/nightly").status, 400);
  EXPECT_EQ(
      text(get("/api/v1/runs?state=runing"), "detail"),
      "the parameter `state`: `runing` is wrong: expected one of queued, running, succeeded, failed or cancelled; "
      "did you mean `running`?");
  EXPECT_EQ(text(get("/api/v1/schedules/flights_daily/nightly/preview?from=yesterday"), "detail")
                .find("the parameter `from`: \"yesterday\" is not a time"),
            0u);
  EXPECT_EQ(text(get("/api/v1/runs/zzzz"), "detail").find("the parameter `id`: `zzzz` is no run's id"), 0u);
}

TEST_F(ServiceTest, UnknownNamesGetASuggestion) {
  const Response runs = get("/api/v1/runs?pipeline=flight_daily");
  EXPECT_EQ(runs.status, 400);
  EXPECT_EQ(text(runs, "suggestion"), "flights_daily");
  const Response schedule = get("/api/v1/schedules/flights_daily/nigthly");
  EXPECT_EQ(schedule.status, 404);
  EXPECT_EQ(text(schedule, "suggestion"), "flights_daily/nightly");
  EXPECT_EQ(text(get("/api/v1/pipelines/flights_dayly"), "suggestion"), "flights_daily");
  EXPECT_EQ(text(get("/api/v1/occurrences?schedule=flights_daily/nihgtly"), "suggestion"), "flights_daily/nightly");
  EXPECT_EQ(get("/api/v1/occurrences?schedule=flights_daily/nightly").status, 200);
  EXPECT_EQ(get("/api/v1/occurrences?schedule=flights_daily").status, 200);
  EXPECT_EQ(text(get("/api/v1/schedules?pipeline=flights_dail"), "suggestion"), "flights_daily");
  EXPECT_EQ(
      text(get("/api/v1/schedules?pipeline=nope"), "detail"),
      "the parameter `pipeline`: there is no pipeline `nope` in this workspace; `eider pipelines list` shows them");
  loop_.schedules.clear();
  EXPECT_EQ(get("/api/v1/schedules?pipeline=flights_daily").status, 200) << "one without schedules";
  EXPECT_EQ(get("/api/v1/occurrences?schedule=flights_daily").status, 200);
}

TEST_F(ServiceTest, PipelinesSayWhatComesNext) {
  loop_.schedules.push_back(loop_.schedules[0]);
  loop_.schedules[0].next = at("2026-03-30T00:00:00Z");
  loop_.schedules[1].key = "flights_daily/hourly";
  loop_.schedules[1].next = at("2026-03-29T00:00:00Z");
  loop_.pipelines.push_back({"hello", "pipelines/hello.yaml", "Says hello", "hash", false, "", 2, 1});
  const json::value page = body(get("/api/v1/pipelines"));
  EXPECT_TRUE(page.at("next").is_null());
  const json::value& first = page.at("items").at(0);
  EXPECT_EQ(first.at("next"), json::value("2026-03-29T00:00:00Z"));
  EXPECT_EQ(first.at("active_schedules"), json::value(2));
  const json::value& second = page.at("items").at(1);
  EXPECT_EQ(second.at("description"), json::value("Says hello"));
  EXPECT_TRUE(second.at("next").is_null());
  EXPECT_EQ(second.at("active_schedules"), json::value(0));
  EXPECT_EQ(second.at("queued"), json::value(2));
  loop_.schedules[1].paused = true;
  loop_.schedules[1].next.reset();
  const json::value alone = body(get("/api/v1/pipelines/flights_daily"));
  EXPECT_EQ(alone.at("paused_schedules"), json::value(1));
  EXPECT_EQ(alone.at("next"), json::value("2026-03-30T00:00:00Z"));
}

TEST_F(ServiceTest, HistoryOfARemovedPipelineIsReadable) {
  model::Run old = a_run(kRunId, model::RunState::failed, 1);
  old.pipeline = "gone";
  reader_.put(old);
  EXPECT_EQ(get("/api/v1/runs?pipeline=gone&state=queued").status, 200);
  EXPECT_EQ(body(get("/api/v1/runs?pipeline=gone")).at("items").as_array().size(), 1u);
}

TEST_F(ServiceTest, RunsAreListedWithWhatTheyWaitFor) {
  reader_.put(a_run(kRunId, model::RunState::queued, 0));
  reader_.put(a_run(kOtherRunId, model::RunState::succeeded, 1));
  loop_.live.emplace_back();
  loop_.live[0].run_id = kRunId;
  loop_.live[0].waiting_for = {{"worker", "", "all 16 are busy", at("2026-03-29T01:00:00Z")}};
  const json::value page = body(get("/api/v1/runs?limit=1"));
  EXPECT_EQ(page.at("next"), json::value("page2"));
  EXPECT_EQ(page.at("items").at(0).at("waiting_for").at(0).at("kind"), json::value("worker"));
  EXPECT_EQ(get("/api/v1/runs?cursor=forged").status, 400);
}

TEST_F(ServiceTest, WhoHoldsWhatARunWaitsForIsNamed) {
  model::Run holder = a_run(kOtherRunId, model::RunState::running, 1);
  holder.pipeline = "slow";
  reader_.put(holder);
  model::Attempt attempt;
  attempt.run_id = kOtherRunId;
  attempt.number = 1;
  attempt.taken.pools["db"] = 1;
  attempt.taken.files.push_back({"/w/warehouse.duckdb", false});
  reader_.put(attempt);
  reader_.put(a_run(kRunId, model::RunState::queued, 0));
  loop_.live.emplace_back();
  loop_.live[0].run_id = kRunId;
  const Instant since = at("2026-03-29T01:00:00Z");
  loop_.live[0].waiting_for = {{"pool", "db", "1 of 1 slots in use, 1 wanted", since},
                               {"pool", "other", "", since},
                               {"database", "/w/warehouse.duckdb", "", since},
                               {"pipeline", "slow", "", since},
                               {"memory", "memory", "", since}};
  const json::value held = json::parse(R"([{"run_id":"01890a5d-ac96-774b-bcce-b302099a8058","pipeline":"slow"}])");
  const json::value listed = body(get("/api/v1/runs?state=queued"));
  const json::value shown = body(get(std::string("/api/v1/runs/") + kRunId));
  for (const json::value* waiting : {&listed.at("items").at(0).at("waiting_for"), &shown.at("waiting_for")}) {
    EXPECT_EQ(waiting->at(0).at("held_by"), held);
    EXPECT_EQ(waiting->at(1).at("held_by"), json::array());
    EXPECT_EQ(waiting->at(2).at("held_by"), held);
    EXPECT_EQ(waiting->at(3).at("held_by"), held);
    EXPECT_EQ(waiting->at(4).at("held_by"), json::array()) << "it took no memory";
  }
  EXPECT_EQ(body(get("/api/v1/pools")).at("items").at(0).at("held_by").at(0),
            json::parse(R"({"run_id":"01890a5d-ac96-774b-bcce-b302099a8057","pipeline":"flights_daily"})"));
}

TEST_F(ServiceTest, WhatHasEndedCannotBeCancelled) {
  reader_.put(a_run(kRunId, model::RunState::cancelled, 1));
  reader_.put(a_run(kOtherRunId, model::RunState::succeeded, 1));
  const Response cancelled = post(std::string("/api/v1/runs/") + kRunId + "/cancel", "");
  EXPECT_EQ(cancelled.status, 409);
  EXPECT_EQ(text(cancelled, "detail"), "the run " + std::string(kRunId) + " is cancelled already");
  EXPECT_EQ(text(post(std::string("/api/v1/runs/") + kOtherRunId + "/cancel", ""), "detail"),
            "the run " + std::string(kOtherRunId) + " has succeeded already");
}

TEST_F(ServiceTest, ARunIsFoundByAUniquePrefix) {
  reader_.put(a_run(kRunId, model::RunState::failed, 1));
  EXPECT_EQ(text(get("/api/v1/runs/01890a5d"), "id"), kRunId);
  EXPECT_EQ(get("/api/v1/runs/ffff0000").status, 404);
  reader_.put(a_run(kOtherRunId, model::RunState::failed, 1));
  const Response both = get("/api/v1/runs/0189");
  EXPECT_EQ(both.status, 409);
  EXPECT_NE(both.body.find(kRunId), std::string::npos);
  EXPECT_NE(both.body.find(kOtherRunId), std::string::npos);
  EXPECT_EQ(text(get(std::string("/api/v1/runs/") + kOtherRunId), "id"), kOtherRunId);
}

TEST_F(ServiceTest, StartingARun) {
  reader_.put(a_run(kRunId, model::RunState::queued, 0));
  loop_.started = std::string(kRunId);
  const Response made = post("/api/v1/runs", R"({"pipeline":"flights_daily","params":{"day":3},"queue":true})",
                             {{"idempotency-key", "abc"}});
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.headers.at("Location"), std::string("/api/v1/runs/") + kRunId);
  ASSERT_TRUE(loop_.start_asked);
  EXPECT_EQ(loop_.start_asked->params, R"({"day":3})");
  EXPECT_EQ(loop_.start_asked->idempotency_key, "abc");
  EXPECT_TRUE(loop_.start_asked->queue);
  EXPECT_EQ(loop_.start_asked->asked_by, "api");
  loop_.started = Error{ErrorCode::conflict, std::string("a run is active: ") + kOtherRunId + "; wait"};
  const Response busy = post("/api/v1/runs", R"({"pipeline":"flights_daily"})");
  EXPECT_EQ(busy.status, 409);
  EXPECT_EQ(text(busy, "active_run"), kOtherRunId);
  loop_.started = Error{ErrorCode::not_found, "there is no such pipeline"};
  EXPECT_EQ(text(post("/api/v1/runs", R"({"pipeline":"flights_dail"})"), "suggestion"), "flights_daily");
}

TEST_F(ServiceTest, BodiesAreReadStrictly) {
  std::string deep = R"({"pipeline":"p","params":)";
  for (int i = 0; i < 40; ++i) deep += R"({"a":)";
  deep += "1" + std::string(41, '}');
  const std::pair<std::string, int> cases[] = {
      {"", 400},
      {"[]", 400},
      {"{", 400},
      {R"({"pipeline":"p"} x)", 400},
      {R"({"pipeline":"p","pipeline":"q"})", 400},
      {R"({"pipeline":"p","params":{"a":1,"a":2}})", 400},
      {R"({"pipelines":"p"})", 400},
      {R"({"pipeline":7})", 400},
      {R"({"pipeline":"../etc"})", 400},
      {R"({"pipeline":"a\u0000b"})", 400},
      {R"({"pipeline":")" + std::string(300, 'a') + "\"}", 400},
      {R"({"pipeline":"p","params":[1]})", 400},
      {R"({"pipeline":"p","queue":"yes"})", 400},
      {R"({"pipeline":"p","partition":"a\nb"})", 400},
      {"{\"pipeline\":\"\xff\"}", 400},
      {deep, 400},
      {std::string(kBodyLimitBytes + 1, ' '), 413},
  };
  for (const auto& [sent, status] : cases) {
    const Response response = post("/api/v1/runs", sent);
    EXPECT_EQ(response.status, status) << sent.substr(0, 80) << response.body;
    EXPECT_EQ(response.content_type, "application/problem+json");
  }
  EXPECT_FALSE(loop_.start_asked);
  EXPECT_NE(post("/api/v1/runs", R"({"pipeline":"p","pipeline":"q"})").body.find("twice"), std::string::npos);
  EXPECT_EQ(text(post("/api/v1/runs", R"({"pipelin":"p"})"), "suggestion"), "pipeline");
  EXPECT_EQ(post("/api/v1/runs", R"({"pipeline":"p"})", {{"idempotency-key", "a b"}}).status, 400);
  EXPECT_EQ(post("/api/v1/runs", R"({"pipeline":"p"})", {{"idempotency-key", std::string(201, 'a')}}).status, 400);
}

TEST_F(ServiceTest, CancelPauseResumeReloadStop) {
  reader_.put(a_run(kRunId, model::RunState::running, 1));
  const Response cancelled = post("/api/v1/runs/01890a5d/cancel", "");
  EXPECT_EQ(cancelled.status, 202);
  EXPECT_EQ(body(cancelled), json::parse(R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","state":"running"})"));
  EXPECT_EQ(post("/api/v1/runs/01890a5d/cancel", R"({"why":"x"})").status, 400);
  const Response paused = post("/api/v1/schedules/flights_daily/nightly/pause", R"({"note":"holidays"})");
  EXPECT_EQ(paused.status, 200);
  EXPECT_EQ(body(paused).at("paused"), json::value(true));
  EXPECT_EQ(loop_.pause_asked->note, "holidays");
  EXPECT_EQ(body(post("/api/v1/schedules/flights_daily/nightly/resume", "")).at("paused"), json::value(false));
  EXPECT_EQ(loop_.pause_asked->catch_up, model::Misfire::skip);
  EXPECT_EQ(post("/api/v1/schedules/flights_daily/nightly/resume", R"({"catch_up":"all"})").status, 200);
  EXPECT_EQ(loop_.pause_asked->catch_up, model::Misfire::all);
  EXPECT_EQ(post("/api/v1/schedules/flights_daily/nightly/resume", R"({"catch_up":"some"})").status, 400);
  EXPECT_EQ(post("/api/v1/schedules/flights_daily/nope/pause", "").status, 404);
  EXPECT_EQ(body(post("/api/v1/reload", "")).at("diagnostics").at(0).at("line"), json::value(3));
  EXPECT_EQ(post("/api/v1/stop", R"({"leave_running":true,"now":true})").status, 400);
  EXPECT_EQ(post("/api/v1/stop", R"({"now":true})").status, 202);
  EXPECT_TRUE(loop_.stop_asked && loop_.stop_asked->now && !loop_.stop_asked->leave_running);
}

TEST_F(ServiceTest, SchedulesPreviewTheSpringGap) {
  const json::value shown = body(get("/api/v1/schedules/flights_daily/nightly"));
  EXPECT_EQ(shown.at("upcoming").as_array().size(), 5u);
  const json::value preview = body(get("/api/v1/schedules/flights_daily/nightly/preview?count=2"));
  EXPECT_EQ(preview.at("items").at(0),
            json::parse(R"({"scheduled_for":"2026-03-29T01:00:00Z","timezone":"Europe/Brussels",
    "local":"2026-03-29T03:00:00+02:00","offset":"+02:00","shifted":true,"due_at":"2026-03-29T01:00:00Z",
    "decision":"run","reason":"Due","reason_text":"it was due","calendar":null,"run_id":null})"));
  EXPECT_EQ(preview.at("next_run"), json::value("2026-03-29T01:00:00Z"));
  EXPECT_EQ(preview.at("next_run_unknown"), json::value(false));
  EXPECT_EQ(preview.at("items").at(1).at("scheduled_for"), json::value("2026-03-30T00:30:00Z"));
  const json::value to =
      body(get("/api/v1/schedules/flights_daily/nightly/preview?from=2026-03-28T12:00:00Z&to=2026-04-07T00:30:00Z"));
  EXPECT_EQ(to.at("items").as_array().size(), 10u);
}

TEST_F(ServiceTest, AFixedDelayHasOneNextInstantAndNoGrid) {
  engine::ScheduleView& view = loop_.schedules[0];
  view.schedule.timing = {};
  view.schedule.timing.every = std::chrono::seconds(3);
  view.schedule.timing.from_completion = true;
  view.description = "3 seconds after each run ends";
  view.next = at("2026-03-28T12:00:02.5Z");
  const json::value shown = body(get("/api/v1/schedules/flights_daily/nightly"));
  ASSERT_EQ(shown.at("upcoming").as_array().size(), 1u);
  EXPECT_EQ(shown.at("upcoming").at(0).at("scheduled_for"), json::value("2026-03-28T12:00:02.500Z"));
  EXPECT_EQ(shown.at("then"), json::value("3 seconds after each run ends"));
  const auto preview = [&](const std::string& more) {
    const json::value page = body(get("/api/v1/schedules/flights_daily/nightly/preview" + more));
    EXPECT_EQ(page.at("then"), json::value("3 seconds after each run ends"));
    return page.at("items").as_array().size();
  };
  EXPECT_EQ(preview("?count=5"), 1u);
  EXPECT_EQ(preview("?to=2026-03-28T12:00:01Z"), 0u);
  EXPECT_EQ(preview("?from=2026-03-28T13:00:00Z"), 0u);
  view.next.reset();  // its run goes on
  EXPECT_EQ(preview(""), 0u);
  view.schedule.timing.from_completion = false;
  EXPECT_TRUE(body(get("/api/v1/schedules/flights_daily/nightly")).at("then").is_null());
}

TEST_F(ServiceTest, SchedulesComeInPages) {
  loop_.schedules.insert(loop_.schedules.begin(), loop_.schedules[0]);
  loop_.schedules[0].key = "flights_daily/hourly";
  const json::value first = body(get("/api/v1/schedules?limit=1"));
  EXPECT_EQ(first.at("items").at(0).at("key"), json::value("flights_daily/hourly"));
  EXPECT_EQ(first.at("next"), json::value("flights_daily/hourly"));
  const json::value second = body(get("/api/v1/schedules?limit=1&cursor=flights_daily/hourly"));
  EXPECT_EQ(second.at("items").at(0).at("key"), json::value("flights_daily/nightly"));
  EXPECT_TRUE(second.at("next").is_null());
}

TEST_F(ServiceTest, HealthAndReadiness) {
  EXPECT_EQ(body(get("/healthz")), json::parse(R"({"status":"ok"})"));
  EXPECT_EQ(body(get("/readyz")), json::parse(R"({"status":"ready"})"));
  loop_.status.health = "draining";
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 503);
  loop_.status.health = "degraded";
  loop_.status.health_detail = "the store is locked";
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(body(get("/healthz")), json::parse(R"({"status":"degraded","detail":"the store is locked"})"));
}

TEST_F(ServiceTest, TheClockIsTurnedOnlyWhereThereIsATestClock) {
  EXPECT_EQ(post("/api/v1/test/clock", R"({"advance":"30s"})").status, 404);
  options_.test_clock = true;
  EXPECT_EQ(body(post("/api/v1/test/clock", R"({"advance":"30s"})")), json::parse(R"({"now":"2026-03-29T01:00:30Z"})"));
  EXPECT_EQ(loop_.clock_asked->advance, Micros(30'000'000));
  EXPECT_EQ(post("/api/v1/test/clock", "{}").status, 400);
  EXPECT_EQ(post("/api/v1/test/clock", R"({"advance":"-3s"})").status, 400);
  EXPECT_EQ(post("/api/v1/test/clock", R"({"step_to":"2026-03-29T01:00:00Z","advance":"1s"})").status, 400);
}

TEST_F(ServiceTest, ALoopThatEndedIsSaidNotWaitedFor) {
  loop_.inbox().close();
  EXPECT_EQ(get("/api/v1/status").status, 503);
  EXPECT_EQ(post("/api/v1/reload", "").status, 503);
}

TEST_F(ServiceTest, WithoutAServerReadingWorksAndWritingSaysNoServer) {
  options_.inbox = nullptr;
  options_.reader = nullptr;
  workspace::Workspace files;
  auto pipeline = std::make_shared<model::Pipeline>();
  pipeline->name = "flights_daily";
  pipeline->schedules.push_back(loop_.schedules[0].schedule);
  files.usable = true;
  files.pipelines["flights_daily"] = {pipeline, nullptr, "hash", {}};
  files.settings.pools["heavy"] = {"heavy", 2};
  options_.workspace = &files;
  EXPECT_EQ(body(get("/api/v1/runs")), json::parse(R"({"items":[],"next":null})"));
  const json::value schedule = body(get("/api/v1/schedules")).at("items").at(0);
  EXPECT_EQ(schedule.at("key"), json::value("flights_daily/nightly"));
  EXPECT_EQ(schedule.at("next"), json::value("2026-03-29T01:00:00Z"));
  EXPECT_EQ(body(get("/api/v1/pools")).at("items").at(0).at("slots"), json::value(2));
  EXPECT_EQ(body(get("/api/v1/status")).at("health"), json::value("stopped"));
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(text(get("/api/v1/runs?pipeline=flight_daily"), "suggestion"), "flights_daily");
  const Response refused = post("/api/v1/runs", R"({"pipeline":"flights_daily"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(text(refused, "type"), "urn:eider:problem:no-server");
}

TEST_F(ServiceTest, LogsOfARun) {
  reader_.put(a_run(kRunId, model::RunState::failed, 1));
  const Response log = get("/api/v1/runs/01890a5d/logs");
  EXPECT_EQ(log.content_type, "application/x-ndjson");
  ASSERT_TRUE(log.stream);
  EXPECT_TRUE(log.stream->read()->done);
  EXPECT_EQ(get("/api/v1/runs/01890a5d/logs?raw=true").content_type, "application/octet-stream");
  EXPECT_EQ(text(get("/api/v1/runs/01890a5d/logs?attempt=2"), "detail"),
            "the parameter `attempt`: there is no attempt 2: the run has had 1");
  EXPECT_EQ(get("/api/v1/runs/01890a5d/logs?after=-1").status, 400);
  EXPECT_EQ(get("/api/v1/runs/01890a5d/logs?follow=maybe").status, 400);
}

}  // namespace
}  // namespace eider::api
