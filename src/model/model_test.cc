#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

#include "base/ids.h"
#include "model/change.h"
#include "model/pipeline.h"
#include "model/run.h"
#include "model/transitions.h"

namespace eider::model {
namespace {

constexpr RunState all_states[] = {RunState::queued, RunState::running, RunState::succeeded, RunState::failed,
                                   RunState::cancelled};

TEST(Transitions, EveryPairIsDecided) {
  const std::set<std::pair<RunState, RunEvent>> possible = {
      {RunState::queued, RunEvent::claim},    {RunState::queued, RunEvent::cancel},
      {RunState::running, RunEvent::succeed}, {RunState::running, RunEvent::fail},
      {RunState::running, RunEvent::retry},   {RunState::running, RunEvent::interrupt},
      {RunState::running, RunEvent::release}, {RunState::running, RunEvent::cancel},
      {RunState::failed, RunEvent::restart},  {RunState::cancelled, RunEvent::restart},
  };
  for (const RunState state : all_states) {
    for (const RunEvent event : all_run_events) {
      const auto transition = next(state, event);
      EXPECT_EQ(transition.has_value(), possible.contains({state, event})) << to_text(state) << " + " << to_text(event);
      if (!transition) continue;
      // What every row must hold: a live attempt is opened on the way into running and closed on the way out of it.
      EXPECT_EQ(transition->opens_attempt, transition->to == RunState::running);
      EXPECT_EQ(transition->closes_attempt, state == RunState::running);
      EXPECT_EQ(transition->sets_finished, is_terminal(transition->to));
      EXPECT_FALSE(transition->counts_failure && transition->counts_interruption);
    }
  }
}

TEST(Transitions, AnEndedRunIsNeverClaimed) {
  for (const RunState state : all_states) {
    if (!is_terminal(state)) continue;
    EXPECT_FALSE(next(state, RunEvent::claim));
  }
}

TEST(Names, WhatCouldLeaveTheFolderIsRefused) {
  for (const std::string& bad :
       {std::string("../../etc/pwned"), std::string("/etc/pwned"), std::string("a/b"), std::string(".."),
        std::string("."), std::string(), std::string(300, 'a'), std::string("a\0b", 3), std::string("a\nb"),
        std::string("-rf"), std::string("a b"), std::string("é")}) {
    EXPECT_FALSE(check_name("pipeline", bad).ok()) << bad;
  }
  for (const char* good : {"a", "flights_daily", "CON", "2024-load"})
    EXPECT_TRUE(check_name("pipeline", good).ok()) << good;
}

TEST(Names, TheMessageShowsControlCharactersSafely) {
  const auto result = check_name("step", std::string("a\nb"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("step \"a\\x0ab\""), std::string::npos) << result.error().message;
}

Pipeline some_pipeline() {
  Pipeline p;
  p.name = "flights_daily";
  p.file = "pipelines/flights_daily.yaml";
  p.database = Database{"warehouse.duckdb", false};
  p.pools = {{"heavy", 1}, {"network", 2}};
  Schedule nightly;
  nightly.id = "nightly";
  nightly.timing.cron = "30 2 * * *";
  nightly.timing.timezone = "Europe/Brussels";
  nightly.overlap = Overlap::queue;
  nightly.misfire = Misfire::all;
  Schedule often;
  often.id = "often";
  often.timing.every = std::chrono::seconds(5);
  often.timing.anchor = from_us(12345);
  p.schedules = {nightly, often};
  Step build;
  build.id = "build";
  build.kind = Step::Kind::sql;
  build.sql = "select 'é\n';";
  build.sql_origin = {"sql/build.sql", 1};
  Step report;
  report.id = "report";
  report.argv = {"python3", "report.py"};
  report.env = {{"A", "b=c"}};
  report.needs = {"build"};
  report.timeout = std::chrono::minutes(1);
  p.steps = {build, report};
  p.publishes = {{"marts.flights", "", "flights", "build"}, {"raw.x", "out/x.parquet", "", ""}};
  p.resources = {2, 2'000'000'000, 10'000'000'000};
  p.retry.max_attempts = 3;
  p.priority = -5;
  p.queue_timeout = std::chrono::hours(1);
  return p;
}

TEST(Definition, ReadsBackWhatItWrote) {
  const Pipeline p = some_pipeline();
  const auto back = parse_definition(definition_json(p));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
}

TEST(Definition, TheHashFollowsEveryPart) {
  const Pipeline p = some_pipeline();
  Pipeline q = p;
  q.steps[0].sql += " ";
  EXPECT_NE(definition_hash(definition_json(p)), definition_hash(definition_json(q)));
  EXPECT_EQ(definition_hash(definition_json(p)), definition_hash(definition_json(some_pipeline())));
}

TEST(Definition, WhatIsBrokenIsNamed) {
  EXPECT_FALSE(parse_definition("{").ok());
  const auto missing = parse_definition(R"({"version":1})");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("pipeline"), std::string::npos) << missing.error().message;
  EXPECT_FALSE(parse_definition(R"({"version":2,"pipeline":"x"})").ok());
}

TEST(RuleHash, FollowsTheTimingAndNotThePolicies) {
  Timing a;
  a.cron = "* * * * *";
  Timing b = a;
  EXPECT_EQ(rule_hash(a), rule_hash(b));
  b.timezone = "Europe/Brussels";
  EXPECT_NE(rule_hash(a), rule_hash(b));
}

TEST(Taken, ReadsBackWhatItWrote) {
  Taken taken;
  taken.pools = {{"heavy", 2}};
  taken.files = {{"/w/a.duckdb", true}, {"/w/b \"q\".duckdb", false}};
  taken.memory_bytes = 5;
  const auto back = parse_taken(taken_json(taken));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, taken);
  EXPECT_FALSE(parse_taken("[]").ok());
  EXPECT_FALSE(parse_taken(R"({"pools":{"a":"b"}})").ok());
}

TEST(Reasons, EveryCodeHasASentence) {
  for (const char* code : {reason::due,
                           reason::late,
                           reason::caught_up,
                           reason::active_run,
                           reason::queue_full,
                           reason::server_queue_full,
                           reason::misfire_skip,
                           reason::newer_due,
                           reason::catchup_limit,
                           reason::catchup_window,
                           reason::paused,
                           reason::rule_changed,
                           reason::clock_stepped_back,
                           reason::requested,
                           reason::replaced,
                           reason::expired,
                           reason::pipeline_removed,
                           reason::schedule_removed,
                           reason::budget_spent,
                           reason::interruptions_spent,
                           reason::file_held,
                           reason::not_started,
                           reason::server_stopped,
                           reason::definition_broken}) {
    EXPECT_NE(reason_sentence(code), code);
  }
  EXPECT_EQ(reason_sentence("Unheard"), "Unheard");
}

RC_GTEST_PROP(OccurrenceId, DiffersByScheduleAndInstant, (const std::string& schedule, std::int64_t at)) {
  RC_ASSERT(occurrence_id(schedule, from_us(at)) == occurrence_id(schedule, from_us(at)));
  RC_ASSERT(occurrence_id(schedule, from_us(at)) != occurrence_id(schedule, from_us(at ^ 1)));
  RC_ASSERT(occurrence_id(schedule + "x", from_us(at)) != occurrence_id(schedule, from_us(at)));
}

TEST(OccurrenceId, OfOneMinuteBeginAlike) {
  const Instant noon = from_us(1'800'000'000'000'000);
  const std::string id = occurrence_id("p/a", noon);
  EXPECT_TRUE(is_uuid(id)) << id;
  EXPECT_EQ(id.substr(0, id_group_length), occurrence_id("q/b", noon + std::chrono::seconds(59)).substr(0, 4));
  EXPECT_NE(id.substr(0, id_group_length), occurrence_id("p/a", noon + std::chrono::seconds(60)).substr(0, 4));
  EXPECT_TRUE(is_uuid(occurrence_id("p/a", from_us(-1)))) << "before 1970 too";
}

TEST(DeliveryId, OfOneEventBeginsAlikeAndDiffersByTrigger) {
  const std::string event = materialization_id("run", "raw.flights", "", "abc");
  const std::string id = delivery_id("p/a", event);
  EXPECT_TRUE(is_uuid(id)) << id;
  EXPECT_EQ(id.substr(0, id_group_length), event.substr(0, id_group_length));
  EXPECT_EQ(id, delivery_id("p/a", event));
  EXPECT_NE(id, delivery_id("p/b", event));
  EXPECT_NE(id.substr(18), delivery_id("p/a", materialization_id("run", "raw.flights", "", "abd")).substr(18));
}

}  // namespace
}  // namespace eider::model
