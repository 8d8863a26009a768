#include "api/shapes.h"

#include <boost/json.hpp>

#include "api/test_support.h"

namespace eider::api::shapes {
namespace {

json::value literal(const char* text) { return json::parse(text); }

TEST(Shapes, OccurrenceIsRenderedInItsZone) {
  model::Occurrence o;
  o.id = "o1";
  o.schedule = "flights_daily/nightly";
  o.pipeline = "flights_daily";
  o.scheduled_for = o.scheduled_until = at("2026-03-29T01:00:00Z");
  o.timezone = "Europe/Brussels";
  o.offset_s = 7200;
  o.shifted = true;
  o.decided_at = at("2026-03-29T01:00:00.004Z");
  o.reason = "Due";
  o.run_id = kRunId;
  json::value want = literal(R"({"id":"o1","schedule":"flights_daily/nightly","pipeline":"flights_daily",
    "scheduled_for":"2026-03-29T01:00:00Z","scheduled_until":"2026-03-29T01:00:00Z","count":1,"timezone":"Europe/Brussels",
    "local":"2026-03-29T03:00:00+02:00","offset":"+02:00","shifted":true,"decided_at":"2026-03-29T01:00:00.004Z",
    "decision":"run","reason":"Due","run_id":"01890a5d-ac96-774b-bcce-b302099a8057","calendar":null})");
  want.as_object()["reason_text"] = model::reason_sentence("Due");
  EXPECT_EQ(json::value(occurrence(o)), want);
}

TEST(Shapes, OffsetText) {
  using std::chrono::seconds;
  EXPECT_EQ(offset_text(seconds(0)), "+00:00");
  EXPECT_EQ(offset_text(seconds(-12600)), "-03:30");
  EXPECT_EQ(offset_text(seconds(-59)), "+00:00");
  EXPECT_EQ(offset_text(seconds(45 * 60 + 14 * 3600)), "+14:45");
}

TEST(Shapes, RunHasEveryNameOfTheDesign) {
  model::Run run = a_run(kRunId, model::RunState::queued, 1);
  run.trigger = model::TriggerKind::schedule;
  run.trigger_id = "flights_daily/nightly";
  run.params = R"({"day": 3})";
  run.scheduled_for = at("2026-03-29T01:00:00Z");
  run.started_at = at("2026-03-29T01:00:01Z");
  run.not_before = at("2026-03-29T01:00:20Z");
  run.failures = 1;
  model::Attempt first;
  first.run_id = run.id;
  first.number = 1;
  first.outcome = model::Outcome::crashed;
  first.claimed_at = at("2026-03-29T01:00:01Z");
  first.finished_at = at("2026-03-29T01:00:10Z");
  first.worker_pid = 4711;
  first.signal = 9;
  first.peak_memory_bytes = 1 << 20;
  first.error = "killed";
  engine::LiveRun live;
  live.run_id = run.id;
  live.waiting_for = {{"pool", "heavy", "1 of 1 slots in use", at("2026-03-29T01:00:11Z")}};
  EXPECT_EQ(json::value(shapes::run(run, {first}, &live)), literal(R"({
    "id":"01890a5d-ac96-774b-bcce-b302099a8057","pipeline":"flights_daily",
    "trigger":{"kind":"schedule","id":"flights_daily/nightly"},"parent":null,"depth":0,"state":"queued","attempt":1,
    "scheduled_for":"2026-03-29T01:00:00Z","partition":null,"params":{"day":3},"priority":0,
    "created_at":"2026-03-29T01:00:00Z","started_at":"2026-03-29T01:00:01Z","finished_at":null,"definition":null,
    "waiting_for":[{"kind":"pool","name":"heavy","detail":"1 of 1 slots in use","since":"2026-03-29T01:00:11Z",
      "held_by":[]}],
    "reason":null,"reason_text":null,"error":null,"occurrence_id":null,"failures":1,"interruptions":0,
    "not_before":"2026-03-29T01:00:20Z","cancel_asked_at":null,"kept":[],
    "attempts":[{"number":1,"outcome":"crashed","claimed_at":"2026-03-29T01:00:01Z","started_at":null,
      "finished_at":"2026-03-29T01:00:10Z","worker_pid":4711,"exit_code":null,"signal":9,"peak_memory_bytes":1048576,
      "definition":null,"error":"killed"}]})"));
}

TEST(Shapes, RunningRunShowsItsStepsAndProgress) {
  const model::Run run = a_run(kRunId, model::RunState::running, 1);
  model::Attempt live_attempt;
  live_attempt.run_id = run.id;
  live_attempt.number = 1;
  engine::LiveRun live;
  live.worker_pid = 99;
  live.steps.emplace_back();
  live.steps[0].step = "build";
  live.running.push_back({run.id, 1, "report", 4712, at("2026-03-29T01:00:05Z")});
  live.progress["report"] = 0.5;
  model::Pipeline definition;
  definition.steps.resize(2);
  definition.retry.max_attempts = 3;
  const json::object shown = run_in_full(run, {live_attempt}, &live, &definition);
  EXPECT_EQ(shown.at("max_attempts"), json::value(3));
  EXPECT_EQ(shown.at("progress"), json::value(0.75));
  EXPECT_EQ(shown.at("attempts").at(0).at("worker_pid"), json::value(99));
  const json::array& steps = shown.at("steps").as_array();
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].at("step"), json::value("build"));
  EXPECT_EQ(steps[0].at("outcome"), json::value("succeeded"));
  EXPECT_EQ(steps[0].at("progress"), json::value(1.0));
  EXPECT_EQ(steps[1],
            literal(R"({"step":"report","started_at":"2026-03-29T01:00:05Z","progress":0.5,"pid":4712,"outcome":null,
    "finished_at":null,"exit_code":null,"signal":null,"peak_memory_bytes":null,"rows":null,"error":null})"));
}

TEST(Shapes, StoredJsonThatIsBrokenIsNullNotAnException) {
  model::Run run = a_run(kRunId, model::RunState::failed, 1);
  run.params = "{broken";
  model::Attempt attempt;
  attempt.steps = "[1, {\"step\":";
  EXPECT_TRUE(shapes::run(run, {}, nullptr).at("params").is_null());
  EXPECT_TRUE(run_in_full(run, {attempt}, nullptr, nullptr).at("steps").as_array().empty());
}

TEST(Shapes, ScheduleSaysRuleAndNewestDecision) {
  engine::ScheduleView view;
  view.key = "p/s";
  view.pipeline = "p";
  view.schedule.id = "s";
  view.schedule.timing.every = std::chrono::seconds(5);
  view.next = at("2026-03-29T01:00:05Z");
  view.description = "every 5 seconds";
  model::Occurrence last;
  last.scheduled_until = at("2026-03-29T01:00:00Z");
  last.decision = model::Decision::skipped;
  EXPECT_EQ(json::value(schedule(view, last)), literal(R"({"key":"p/s","pipeline":"p","id":"s","rule":"every 5s",
    "description":"every 5 seconds","timezone":"UTC","overlap":"skip","misfire":"latest","grace":"10s","max_catchup":100,
    "catchup_window":"7d","queue_limit":1,"exclude":[],"only":[],"start":null,"end":null,"jitter":"0s","delay":"0s",
    "pause_after_failures":0,"paused":false,"paused_at":null,"paused_reason":null,"paused_reason_text":null,"note":null,
    "next":"2026-03-29T01:00:05Z","next_unknown":false,
    "last":"2026-03-29T01:00:00Z","last_decision":"skipped","last_run_id":null})"));
}

TEST(Shapes, PoolPipelineStatusAndList) {
  EXPECT_EQ(json::value(pool({"heavy", 2, 1, 3, {"r"}})),
            literal(R"({"name":"heavy","slots":2,"used":1,"waiting":3,"holders":["r"],"rate":null})"));
  const engine::PoolUse::Rate rate{{5, std::chrono::minutes(1)}, 5, 2, at("2026-03-29T01:00:05Z")};
  EXPECT_EQ(json::value(pool({"slow", 0, 1, 0, {}, rate})).at("rate"),
            literal(R"({"starts":5,"per":"1m","started":5,"waiting":2,"next":"2026-03-29T01:00:05Z"})"));
  EXPECT_EQ(
      json::value(pipeline({"p", "pipelines/p.yaml", "", "hash", true, "line 3", 1, 2})),
      literal(
          R"({"name":"p","file":"pipelines/p.yaml","description":null,"definition":"hash","broken":true,"error":"line 3","queued":1,"running":2})"));
  engine::StatusView view;
  view.health = "ok";
  view.diagnostics = {
      {"a.yaml", 3, 7, workspace::Severity::error, "overlap", "\"skipp\" is not one of …", "skip", "overlap: skipp"}};
  const json::object shown = status(view);
  EXPECT_TRUE(shown.at("started_at").is_null());
  EXPECT_EQ(shown.at("diagnostics"), literal(R"([{"file":"a.yaml","line":3,"column":7,"severity":"error",
    "key":"overlap","message":"\"skipp\" is not one of …","suggestion":"skip","source":"overlap: skipp",
    "text":"a.yaml:3:7: error: overlap: \"skipp\" is not one of …; did you mean \"skip\"?"}])"));
  EXPECT_EQ(json::value(list({}, std::nullopt)), literal(R"({"items":[],"next":null})"));
  EXPECT_EQ(json::value(list({1}, "c")), literal(R"({"items":[1],"next":"c"})"));
}

TEST(LogLine, RawBytesAreWhatTheStepWrote) {
  EXPECT_EQ(raw_log_bytes(R"({"at":"x","step":"a","stream":"stdout","text":"hi é"})", ""), "hi é\n");
  EXPECT_EQ(raw_log_bytes(R"({"step":"a","stream":"stderr","text":"a???b","raw":"Yf/+gGI="})", "a"),
            "a\xff\xfe\x80"
            "b\n");
  EXPECT_EQ(raw_log_bytes(R"({"step":"a","stream":"stdout","text":"end","eol":""})", ""), "end");
  EXPECT_EQ(raw_log_bytes(R"({"step":"a","stream":"eider","text":"note"})", ""), "");
  EXPECT_EQ(raw_log_bytes(R"({"step":"b","stream":"stdout","text":"x"})", "a"), "");
  EXPECT_EQ(raw_log_bytes("no json", ""), "");
  EXPECT_TRUE(log_line_is_of(R"({"step":"a"})", "a"));
  EXPECT_FALSE(log_line_is_of(R"({"step":"b"})", "a"));
  EXPECT_FALSE(log_line_is_of("no json", "a"));
}

}  // namespace
}  // namespace eider::api::shapes
