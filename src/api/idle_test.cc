// What keeps a pipeline from running, what is not well, and what was decided about a run: in words and codes.
#include "api/idle.h"

#include "api/doctor.h"
#include "api/history.h"
#include "api/service_fixture.h"

namespace eider::api {
namespace {

using model::RunState;

std::string field_of(const json::value& object, const char* key) {
  const json::value& value = object.at(key);
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

std::vector<std::string> codes(const json::value& list) {
  std::vector<std::string> out;
  for (const json::value& each : list.as_array()) out.push_back(field_of(each, "code"));
  return out;
}
using Codes = std::vector<std::string>;

/// flights_daily with a schedule, as the fixture has it; the clock stands at 2026-03-28T12:00:00Z.
class IdleTest : public ServiceTest {
 protected:
  IdleTest() {
    loop_.schedules[0].next = at("2026-03-29T00:30:00Z");
    loop_.status.workspace = "/w";
  }
  json::value explained() { return body(get("/api/v1/pipelines/flights_daily/explain")); }
  json::value examined() { return body(get("/api/v1/doctor")); }

  /// `count` runs that took that long each.
  void learn(Micros took, int count = 5) {
    for (int i = 0; i < count; ++i) {
      model::Run run = a_run(fmt::format("01890a00-0000-7000-8000-{:012}", i), RunState::succeeded, 1);
      run.started_at = run.created_at;
      run.finished_at = run.created_at + took;
      reader_.put(run);
    }
  }
  void put_running(const char* since) {
    model::Run run = a_run(kRunId, RunState::running, 1);
    run.started_at = at(since);
    run.created_at = at(since);
    reader_.put(run);
    model::Attempt attempt;
    attempt.run_id = kRunId;
    attempt.number = 1;
    attempt.claimed_at = at(since);
    attempt.taken.pools["heavy"] = 1;
    reader_.put(attempt);
  }
};

TEST_F(IdleTest, NothingKeepsItButItsTime) {
  const json::value told = explained();
  EXPECT_EQ(field_of(told, "kind") + field_of(told, "id"), "pipelineflights_daily");
  EXPECT_EQ(field_of(told, "text"), "nothing keeps flights_daily from running: it is due next at 2026-03-29T00:30:00Z");
  EXPECT_EQ(codes(told.at("reasons")), Codes{"Due"});
  EXPECT_EQ(body(get("/api/v1/explain/flights_daily")), told) << "its name is enough";
  for (const char* near : {"/api/v1/pipelines/flights_dayly/explain", "/api/v1/explain/flights_dayly"}) {
    EXPECT_EQ(text(get(near), "suggestion"), "flights_daily") << near;
  }
}

TEST_F(IdleTest, APauseIsNamedWithItsNote) {
  loop_.schedules[0].paused = true;
  loop_.schedules[0].note = "source is down";
  loop_.schedules[0].paused_at = at("2026-03-28T11:00:00Z");
  const json::value told = explained();
  EXPECT_EQ(field_of(told, "text"),
            "flights_daily does not run: schedule flights_daily/nightly is paused: source is down");
  EXPECT_EQ(codes(told.at("reasons")), Codes{"Paused"});
  EXPECT_EQ(field_of(told.at("reasons").at(0), "since"), "2026-03-28T11:00:00Z");
  EXPECT_EQ(field_of(told.at("reasons").at(0), "remedy"), "eider schedule resume flights_daily/nightly");
  EXPECT_EQ(codes(examined().at("findings")), Codes{"SchedulePaused"});
}

TEST_F(IdleTest, AWaitingRunSaysForWhat) {
  reader_.put(a_run(kRunId, RunState::queued, 0));
  loop_.live.emplace_back();
  loop_.live[0].run_id = kRunId;
  loop_.live[0].waiting_for = {{"pool", "heavy", "1 of 1 slots in use", at("2026-03-28T11:40:00Z")}};
  const json::value told = explained();
  EXPECT_EQ(field_of(told, "text"),
            fmt::format("flights_daily does not run: run {} is queued, and waits for pool heavy "
                        "(1 of 1 slots in use)",
                        kRunId));
  EXPECT_EQ(codes(told.at("reasons")), (Codes{"WaitsForPool", "Due"}));
  const json::value found = examined().at("findings");
  ASSERT_EQ(codes(found), Codes{"WaitsLong"}) << "for twenty minutes";
  loop_.live[0].waiting_for[0].since = at("2026-03-28T11:55:00Z");
  EXPECT_EQ(codes(examined().at("findings")), Codes{});
  loop_.live[0].waiting_for = {{"backoff", "flights_daily", "", at("2026-03-28T10:00:00Z")}};
  EXPECT_EQ(codes(examined().at("findings")), Codes{}) << "a backoff is meant";
}

TEST_F(IdleTest, ARunThatTakesLongerThanUsual) {
  learn(std::chrono::minutes(4));
  put_running("2026-03-28T11:50:00Z");
  EXPECT_EQ(field_of(explained(), "text"), "flights_daily is running");
  EXPECT_EQ(codes(explained().at("reasons")), (Codes{"ActiveRun", "Due"}));
  EXPECT_EQ(codes(examined().at("findings")), Codes{});
  EXPECT_EQ(body(get(std::string("/api/v1/runs/") + kRunId)).at("longer_than_usual"), json::value(false))
      << "ten minutes of twelve";
  clock_.advance(std::chrono::minutes(5));
  const json::value run = body(get(std::string("/api/v1/runs/") + kRunId));
  EXPECT_EQ(run.at("longer_than_usual"), json::value(true));
  EXPECT_EQ(run.at("usual"), json::parse(R"({"median":"4m","limit":"12m","runs":5})"));
  EXPECT_EQ(codes(explained().at("reasons")), (Codes{"LongerThanUsual", "Due"}));
  EXPECT_EQ(field_of(body(get("/api/v1/status")).at("longer_than_usual").at(0), "run_id"), kRunId);
  const json::value found = examined().at("findings");
  ASSERT_EQ(codes(found), Codes{"NoProgress"}) << "no step and no line of a log in all the time";
  EXPECT_EQ(field_of(found.at(0), "text"),
            fmt::format("run {} of flights_daily runs for 15m, usually 4m; no sign of progress for 15m; it holds 1 of "
                        "pool heavy",
                        kRunId));
  loop_.live.emplace_back();
  loop_.live[0].run_id = kRunId;
  loop_.live[0].running.push_back({kRunId, 1, "report", 0, at("2026-03-28T12:04:00Z")});
  EXPECT_EQ(codes(examined().at("findings")), Codes{"LongerThanUsual"});
}

TEST_F(IdleTest, AnUnknownUsualIsNoComplaint) {
  learn(std::chrono::minutes(4), 4);
  put_running("2026-03-28T11:30:00Z");
  EXPECT_EQ(body(get(std::string("/api/v1/runs/") + kRunId)).at("usual"), json::value(nullptr));
  EXPECT_EQ(codes(examined().at("findings")), Codes{});
  clock_.advance(std::chrono::minutes(31));
  EXPECT_EQ(codes(examined().at("findings")), Codes{"NoProgress"}) << "an hour without a word";
}

TEST_F(IdleTest, ABrokenFileWithAndWithoutAGoodVersion) {
  loop_.pipelines[0].broken = true;
  loop_.pipelines[0].error = "pipelines/flights_daily.yaml:3:1: error: no\nmore";
  json::value told = explained();
  EXPECT_EQ(codes(told.at("reasons")), (Codes{"FileBroken", "Due"}));
  EXPECT_NE(field_of(told.at("reasons").at(0), "text").find("the last good version is in force"), std::string::npos);
  EXPECT_EQ(told.at("reasons").at(0).at("keeps"), json::value(false));
  EXPECT_EQ(codes(examined().at("findings")), Codes{"BrokenFile"});
  loop_.pipelines[0].definition.clear();
  loop_.schedules.clear();
  told = explained();
  EXPECT_EQ(told.at("reasons").at(0).at("keeps"), json::value(true));
  EXPECT_EQ(codes(told.at("reasons")), Codes{"FileBroken"});
}

TEST_F(IdleTest, WhatNothingStarts) {
  loop_.schedules.clear();
  EXPECT_EQ(codes(explained().at("reasons")), Codes{"NothingStartsIt"});
  engine::TriggerView trigger;
  trigger.key = "flights_daily/on_raw";
  trigger.pipeline = "flights_daily";
  trigger.trigger.assets = {"raw.*"};
  loop_.triggers = {trigger};
  EXPECT_EQ(codes(explained().at("reasons")), Codes{"NothingPublishes"});
  loop_.triggers[0].matches = {"raw.x", "raw.y"};
  EXPECT_EQ(field_of(explained(), "text"),
            "nothing keeps flights_daily from running: it runs when raw.x, raw.y is published");
  loop_.triggers[0].pending = 2;
  loop_.triggers[0].waiting_for = "a run of it is open";
  EXPECT_EQ(field_of(explained(), "text"),
            "flights_daily does not run: 2 pending deliveries of trigger flights_daily/on_raw: a run of it is open");
}

TEST_F(IdleTest, TheLastDecisionThatRanNothing) {
  model::Occurrence due;
  due.id = "0cc00000-0000-8000-8000-000000000001";
  due.schedule = "flights_daily/nightly";
  due.pipeline = "flights_daily";
  due.scheduled_for = due.scheduled_until = at("2026-03-28T01:30:00Z");
  due.decision = model::Decision::excluded;
  due.calendar = "holidays";
  reader_.put(due);
  const json::value told = explained();
  EXPECT_EQ(codes(told.at("reasons")), (Codes{"Due", "Excluded"}));
  EXPECT_EQ(field_of(told.at("reasons").at(1), "text"),
            "its last instant 2026-03-28T01:30:00Z of flights_daily/nightly was excluded by holidays");
}

TEST_F(IdleTest, WithoutAServer) {
  workspace::Workspace files;
  options_.inbox = nullptr;
  options_.workspace = &files;
  put_running("2026-03-28T11:50:00Z");
  const json::value found = examined();
  EXPECT_EQ(found.at("server"), json::value(false));
  EXPECT_EQ(codes(found.at("findings")), (Codes{"NoServer", "RunWithoutServer"}));
  options_.files_error = "eider.yaml:1:1: error: no";
  EXPECT_EQ(codes(examined().at("findings")), (Codes{"NoServer", "BrokenFile", "RunWithoutServer"}));
}

TEST_F(IdleTest, TroubleOfTheServer) {
  loop_.status.health = "degraded";
  loop_.status.health_detail = "the store cannot be written since …";
  EXPECT_EQ(codes(examined().at("findings")), Codes{"ServerDegraded"});
  EXPECT_EQ(codes(explained().at("reasons")), (Codes{"ServerDegraded", "Due"}));
  loop_.status.health = "draining";
  EXPECT_EQ(codes(examined().at("findings")), Codes{"ServerStopping"});
}

// ---- rules that need no service ----------------------------------------------------------------------------------

Codes found_in(const Examined& examined) {
  Codes out;
  for (const Finding& each : findings(examined)) {
    EXPECT_FALSE(each.text.empty() || each.remedy.empty() || each.about.empty()) << each.code;
    out.push_back(each.code);
  }
  return out;
}

TEST(Doctor, EachRuleAtItsBorder) {
  Examined well;
  well.now = at("2026-03-28T12:00:00Z");
  well.snapshot.status.health = "ok";
  EXPECT_EQ(found_in(well), Codes{});
  const auto with = [&](const std::function<void(Examined&)>& change) {
    Examined changed = well;
    change(changed);
    return found_in(changed);
  };
  EXPECT_EQ(with([](auto& e) { e.disk = Disk{"/w", little_disk_bytes, few_files}; }), Codes{});
  EXPECT_EQ(with([](auto& e) { e.disk = Disk{"/w", little_disk_bytes - 1, {}}; }), Codes{"DiskLow"});
  EXPECT_EQ(with([](auto& e) { e.disk = Disk{"/w", little_disk_bytes, few_files - 1}; }), Codes{"FewFilesLeft"});
  EXPECT_EQ(with([](auto& e) { e.zone_data = "2025c"; }), Codes{});
  EXPECT_EQ(with([](auto& e) { e.zone_data = "2024a"; }), Codes{"ZoneDataOld"});
  EXPECT_EQ(with([](auto& e) { e.zone_data = "unknown"; }), Codes{});
  EXPECT_EQ(with([](auto& e) { e.left_over = {"/w/.eider/workers/7"}; }), Codes{"LeftOvers"});
  const model::Freshness day_or_two{std::chrono::hours(24), std::chrono::hours(48)};
  const auto renewed = [&](const char* when, const model::Freshness& wanted) {
    return with([&](auto& e) { e.data = {{"marts", wanted, at(when)}}; });
  };
  EXPECT_EQ(renewed("2026-03-27T12:00:00Z", day_or_two), Codes{});
  EXPECT_EQ(renewed("2026-03-27T11:59:59Z", day_or_two), Codes{"AgeingData"});
  EXPECT_EQ(renewed("2026-03-26T12:00:00Z", day_or_two), Codes{"AgeingData"});
  EXPECT_EQ(renewed("2026-03-26T11:59:59Z", day_or_two), Codes{"StaleData"});
  EXPECT_EQ(renewed("2026-03-26T11:59:59Z", {{}, std::chrono::hours(72)}), Codes{});
  RunSigns signs;
  signs.run.id = kRunId;
  signs.claimed_at = well.now;
  signs.worker_pid = 7;
  signs.worker_state = 'S';
  EXPECT_EQ(with([&](auto& e) { e.running = {signs}; }), Codes{});
  signs.worker_state = 'T';
  EXPECT_EQ(with([&](auto& e) { e.running = {signs}; }), Codes{"WorkerStopped"});
}

TEST(History, TellsEachDecisionWithItsCode) {
  model::Run run = a_run(kRunId, RunState::failed, 3);
  run.trigger = model::TriggerKind::schedule;
  run.trigger_id = "flights_daily/nightly";
  run.reason = model::reason::final_exit_code;
  run.finished_at = at("2026-03-29T01:05:00Z");
  const auto attempt = [](int number, const char* from, const char* to, model::Outcome outcome, const char* error) {
    model::Attempt out;
    out.number = number;
    out.claimed_at = at(from);
    out.finished_at = at(to);
    out.outcome = outcome;
    out.error = error;
    return out;
  };
  std::vector<model::Attempt> attempts = {
      attempt(1, "2026-03-29T01:00:00Z", "2026-03-29T01:01:00Z", model::Outcome::timed_out, "timed out after 1m"),
      attempt(2, "2026-03-29T01:01:10Z", "2026-03-29T01:02:00Z", model::Outcome::interrupted, ""),
      attempt(3, "2026-03-29T01:02:00Z", "2026-03-29T01:05:00Z", model::Outcome::failed, "step x: exit code 64")};
  attempts[2].steps = R"([{"step":"load","outcome":"succeeded","kept_from":1},{"step":"x","outcome":"failed"}])";
  std::vector<std::string> told;
  for (const Moment& each : history(run, attempts, nullptr, "", at("2026-03-29T02:00:00Z"))) {
    told.push_back(format_rfc3339(each.at).substr(11, 8) + " " + each.code + ": " + each.text);
  }
  EXPECT_EQ(told, (std::vector<std::string>{
                      "01:00:00 Due: queued for schedule flights_daily/nightly", "01:00:00 Claimed: attempt 1 began",
                      "01:01:00 TimedOut: attempt 1 timed out: timed out after 1m",
                      "01:01:10 Claimed: attempt 2 began, 10s later", "01:02:00 Interrupted: attempt 2 was interrupted",
                      "01:02:00 Claimed: attempt 3 began", "01:02:00 StepsKept: kept what was done before: load",
                      "01:05:00 Failed: attempt 3 failed: step x: exit code 64",
                      std::string("01:05:00 FinalExitCode: failed: its exit code is one of retry.final_exit_codes: ") +
                          "it would fail again"}));
}

TEST(History, ACancelStandsBeforeTheEndThatItBroughtAbout) {
  model::Run run = a_run(kRunId, RunState::cancelled, 1);
  run.cancel_asked_at = at("2026-03-29T01:00:05Z");
  run.finished_at = at("2026-03-29T01:00:10Z");
  model::Attempt attempt;
  attempt.number = 1;
  attempt.claimed_at = at("2026-03-29T01:00:00Z");
  attempt.finished_at = run.finished_at;
  attempt.outcome = model::Outcome::cancelled;
  std::vector<std::string> told;
  for (const Moment& each : history(run, {attempt}, nullptr, "", at("2026-03-29T02:00:00Z"))) told.push_back(each.text);
  const auto place = [&](const char* text) {
    return std::find_if(told.begin(), told.end(), [&](const auto& one) { return one.starts_with(text); });
  };
  ASSERT_NE(place("a cancel was asked for"), told.end());
  ASSERT_NE(place("attempt 1 was cancelled"), told.end());
  EXPECT_LT(place("attempt 1 began"), place("a cancel was asked for"));
  EXPECT_LT(place("a cancel was asked for"), place("attempt 1 was cancelled"));
}

TEST(History, EndsWithWhatItWaitsForNow) {
  model::Run run = a_run(kRunId, RunState::queued, 0);
  run.trigger_id = "cli";
  engine::LiveRun live;
  live.waiting_for = {{"pool", "heavy", "1 of 1 slots in use", at("2026-03-29T01:00:01Z")}};
  const auto told = history(run, {}, &live, "", at("2026-03-29T02:00:00Z"));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].text, "queued, asked for by cli");
  EXPECT_EQ(told[1].code + ": " + told[1].text, "WaitsForPool: waits for pool heavy (1 of 1 slots in use)");
}

// ---- retry ---------------------------------------------------------------------------------------------------------

TEST_F(IdleTest, RetrySaysWhatIsKept) {
  reader_.put(a_run(kRunId, RunState::failed, 1));
  engine::RetryRun::Answer answer;
  answer.steps = {{"load", true, ""}, {"build", false, "it did not succeed"}};
  loop_.retried = answer;
  const Response response = post("/api/v1/runs/0189/retry", R"({"from_failed":true})");
  EXPECT_EQ(response.status, 202);
  EXPECT_TRUE(loop_.retry_run_asked->from_failed);
  EXPECT_EQ(loop_.retry_run_asked->run_id, kRunId);
  EXPECT_EQ(body(response), json::parse(R"({"id":")" + std::string(kRunId) +
                                        R"(","state":"queued","kept":["load"],)"
                                        R"("again":[{"step":"build","why":"it did not succeed"}]})"));
  loop_.retried = Error{ErrorCode::conflict, "run x is running; a failed or cancelled one can be tried again"};
  EXPECT_EQ(post("/api/v1/runs/0189/retry", "").status, 409);
  EXPECT_FALSE(loop_.retry_run_asked->from_failed);
  EXPECT_EQ(post("/api/v1/runs/0189/retry", R"({"from":true})").status, 400);
  EXPECT_EQ(post("/api/v1/runs/ffff0000/retry", "").status, 404);
}

}  // namespace
}  // namespace eider::api
