#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <map>
#include <set>
#include <tuple>

#include "base/ids.h"
#include "model/asset.h"
#include "model/change.h"
#include "model/glob.h"
#include "model/pipeline.h"
#include "model/run.h"
#include "model/transitions.h"

namespace eider::model {
namespace {

constexpr RunState all_states[] = {RunState::queued, RunState::running, RunState::succeeded, RunState::failed,
                                   RunState::cancelled};

TEST(Metadata, IsWhatEveryReaderCanRead) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  for (const std::string& bad : {std::string("{"), std::string("[]"), std::string("1"), std::string(),
                                 std::string(R"({"a":1e400})"), std::string(R"({"a":[{"b":-1e999}]})"),
                                 R"({"a":)" + deep + "}", R"({"a":")" + std::string(70'000, 'x') + "\"}"}) {
    EXPECT_FALSE(check_metadata(bad).ok()) << bad.substr(0, 40);
  }
  for (const char* good : {"{}", R"({"a":1e308,"b":[1,{"c":null}],"d":123456789012345678901234567890})"}) {
    EXPECT_TRUE(check_metadata(good).ok()) << good;
  }
}

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

TEST(Transitions, EveryPairOfADeliveryIsDecided) {
  using State = DeliveryState;
  using Event = DeliveryEvent;
  const std::map<std::pair<State, Event>, State> possible = {
      {{State::pending, Event::claim}, State::claimed},     {{State::pending, Event::skip}, State::skipped},
      {{State::claimed, Event::deliver}, State::delivered}, {{State::claimed, Event::fail}, State::failed},
      {{State::failed, Event::retry}, State::claimed},      {{State::failed, Event::skip}, State::skipped},
  };
  for (const State state : {State::pending, State::claimed, State::delivered, State::failed, State::skipped}) {
    EXPECT_EQ(delivery_state_from(to_text(state)), state);
    for (const Event event : all_delivery_events) {
      const auto row = possible.find({state, event});
      const auto to = next(state, event);
      EXPECT_EQ(to, row == possible.end() ? std::nullopt : std::optional(row->second))
          << to_text(state) << " + " << to_text(event);
    }
  }
  EXPECT_EQ(delivery_event_of(RunState::succeeded), Event::deliver);
  EXPECT_EQ(delivery_event_of(RunState::failed), Event::fail);
  EXPECT_EQ(delivery_event_of(RunState::cancelled), Event::fail);
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
  p.publishes = {{"marts.flights", "", "flights", "build"}, {"raw.x", "out/x.parquet", "", "", true}};
  Trigger plain;
  plain.id = "on_raw";
  plain.assets = {"raw.flights"};
  Trigger full;
  full.id = "on_all";
  full.assets = {"raw.*", "ext.[ab]"};
  full.match = Trigger::Match::all;
  full.from = "loader";
  full.same_partition = full.changed_only = full.batch = true;
  full.debounce = std::chrono::seconds(30);
  full.max_wait = std::chrono::minutes(5);
  full.start = Trigger::Start::earliest;
  full.order = Trigger::Order::strict;
  p.triggers = {plain, full};
  p.partitions = Partitions{{}, Partitions::Every::day, "2026-01-01", "2026-12-31"};
  p.resources = {2, 2'000'000'000, 10'000'000'000};
  p.retry.max_attempts = 3;
  p.priority = -5;
  p.queue_timeout = std::chrono::hours(1);
  p.freshness = Freshness{std::chrono::hours(26), {}};
  return p;
}

// Stored texts are compared by hash, also with those that an earlier version wrote.
TEST(Definition, IsWrittenAsItAlwaysWas) {
  Pipeline p = some_pipeline();
  p.description = "a \"b\" \\ \x01 é\t";
  p.schedules[0].exclude = {"holidays"};
  p.schedules[1].start = from_us(-5);
  p.schedules[1].paused = true;
  p.retry.factor = 1.5;
  p.retry.final_exit_codes = {2, 3};
  p.locks = {{"a", LockMode::read}, {"b", LockMode::write}};
  p.on_interrupt = OnInterrupt::fail;
  p.database.reset();
  EXPECT_EQ(definition_hash(definition_json(p)), "ff881275659d143a5cddfa4453b307c3") << definition_json(p);
  EXPECT_EQ(definition_hash(definition_json(some_pipeline())), "812384bf44b52e530e4dd0308b193179");
  EXPECT_EQ(definition_hash(definition_json(Pipeline{})), "16007d11863ac7ef3c0a6d3d51890e05");
  EXPECT_EQ(step_hash(p, p.steps[0]), "5d325d8629762f87c82c4d70cf424244");
  EXPECT_EQ(step_hash(some_pipeline(), p.steps[1]), "f0fcf38ca610dc0bc174ca01b527bc55");
}

TEST(Definition, ReadsBackWhatItWrote) {
  const Pipeline p = some_pipeline();
  const auto back = parse_definition(definition_json(p));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, p);
}

TEST(Definition, ReadsBackNamedPartitionsAndWhatAnEarlierVersionWrote) {
  Pipeline p = some_pipeline();
  p.partitions = Partitions{{"eu", "us"}, Partitions::Every::none, "", ""};
  EXPECT_EQ(parse_definition(definition_json(p)).value(), p);
  p.triggers.clear();
  p.partitions.reset();
  for (Publish& publish : p.publishes) publish.shared = false;
  std::string text = definition_json(p);
  for (const std::string_view since : {R"("triggers":[],)", R"("partitions":null,)", R"(,"shared":false)"}) {
    for (std::size_t at = text.find(since); at != std::string::npos; at = text.find(since))
      text.erase(at, since.size());
  }
  const auto back = parse_definition(text);
  ASSERT_TRUE(back.ok()) << back.error().message << text;
  EXPECT_EQ(*back, p);
  EXPECT_EQ(text.find("shared"), std::string::npos);
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
                           reason::definition_broken,
                           reason::data_published,
                           reason::run_failed,
                           reason::run_cancelled,
                           reason::trigger_removed,
                           reason::unknown_partition,
                           reason::chain_too_long,
                           reason::skipped_by_person,
                           reason::retried}) {
    EXPECT_NE(reason_sentence(code), code);
  }
  EXPECT_EQ(reason_sentence("Unheard"), "Unheard");
}

TEST(Assets, NamesAreNamesJoinedByDots) {
  for (const std::string& good : {std::string("raw"), std::string("raw.flights_daily"), std::string("a.b.c-d"),
                                  std::string(100, 'a') + "." + std::string(99, 'b')}) {
    EXPECT_TRUE(check_asset_name(good).ok()) << good;
  }
  for (const std::string& bad : {std::string(), std::string("."), std::string("a."), std::string(".a"),
                                 std::string("a..b"), std::string("a/b"), std::string("raw.*"), std::string("../a"),
                                 std::string(101, 'a'), std::string(100, 'a') + "." + std::string(100, 'b')}) {
    EXPECT_FALSE(check_asset_name(bad).ok()) << bad;
  }
  EXPECT_EQ(check_asset_name("a\nb").error().message,
            "\"a\\nb\" is not the name of an asset: expected names joined by dots, like raw.flights, of at most 200 "
            "characters");
}

TEST(Glob, EachMistakeIsNamed) {
  const std::string expected =
      "; expected an asset's name, or a pattern like raw.* (`*` any characters, `?` one, `[ab]` one of these)";
  const std::pair<std::string, std::string> cases[] = {
      {"", "\"\" is empty"},
      {"raw.[ab", "\"raw.[ab\" has a `[` that is not closed"},
      {"raw.[]", "\"raw.[]\" has brackets with nothing in them"},
      {"raw.[!]", "\"raw.[!]\" has brackets with nothing in them"},
      {"raw/*", "\"raw/*\" has a `/`, which no asset's name can match"},
      {"raw.{a,b}", "\"raw.{a,b}\" has a `{`, which no asset's name can match"},
      {"a]b*", "\"a]b*\" has a `]`, which no asset's name can match"},
      {"raw.[[a]]", "\"raw.[[a]]\" has a `[`, which no asset's name can match"},
      {"*\\a", "\"*\\a\" has a `\\`, which no asset's name can match"},
      {"\xC3\xA9*", "\"\xC3\xA9*\" has a character that no asset's name can match"},
      {"a*b*c*d*e*f*g*h*i*", "\"a*b*c*d*e*f*g*h*i*\" has more than 8 stars"},
  };
  for (const auto& [pattern, message] : cases) {
    const auto checked = check_glob(pattern);
    ASSERT_FALSE(checked.ok()) << pattern;
    EXPECT_EQ(checked.error().message, message + expected);
  }
  EXPECT_FALSE(check_glob(std::string(301, 'a')).ok());
  for (const char* good : {"raw.*", "*", "?", "[a-c].x", "[!a]*", "raw.flights", "********"}) {
    EXPECT_TRUE(check_glob(good).ok()) << good;
  }
}

TEST(Glob, MatchesLikeAShell) {
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"raw.*", "raw.flights", true}, {"raw.*", "raw.a.b", true},   {"raw.*", "raw", false},
      {"*", "anything.at-all", true}, {"r?w", "raw", true},         {"r?w", "rw", false},
      {"raw.[ab]", "raw.b", true},    {"raw.[ab]", "raw.c", false}, {"raw.[!ab]", "raw.c", true},
      {"raw.[a-c]x", "raw.bx", true}, {"raw", "raw", true},         {"raw", "raw.x", false},
      {"*.daily", "m.daily", true},   {"*.daily", "daily", false},  {"R*", "raw", false},
  };
  for (const auto& [pattern, name, matches] : cases) EXPECT_EQ(glob_matches(pattern, name), matches) << pattern << name;
  EXPECT_TRUE(is_glob("a*") && is_glob("?") && is_glob("[a]"));
  EXPECT_FALSE(is_glob("raw.flights"));
}

TEST(Glob, MeansFilesAsAShellDoes) {
  const std::tuple<const char*, const char*, bool> cases[] = {
      {"*", "a.csv", true},         {"*.csv", "a.csv", true},
      {"*.csv", "a.csv.gz", false}, {"*", ".hidden", false},
      {".*", ".hidden", true},      {"*", "a.tmp", false},
      {"*", "a.csv.part", false},   {"*.tmp", "a.tmp", true},
      {"a.part", "a.part", true},   {"*.csv", "A.CSV", false},
      {"[!a]*", ".b", false},       {"b*", "b c.csv", true},
      {"*", ".x.tmp", false},       {"caf\xC3\xA9*", "caf\xC3\xA9.csv", true},
  };
  for (const auto& [pattern, name, meant] : cases)
    EXPECT_EQ(file_matches(pattern, name), meant) << pattern << " " << name;
}

/// As the definition says it: a star takes each number of characters.
bool slow_match(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    for (std::size_t i = 0; i <= name.size(); ++i) {
      if (slow_match(pattern.substr(1), name.substr(i))) return true;
    }
    return false;
  }
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) && slow_match(pattern.substr(1), name.substr(1));
}

RC_GTEST_PROP(GlobProperty, AgreesWithItsDefinition, ()) {
  // Longer ones would take the slow one for ever.
  const auto pattern = *rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::element('a', 'b', '.', '*', '?')));
  const auto name = *rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::element('a', 'b', '.')));
  RC_ASSERT(glob_matches(pattern, name) == slow_match(pattern, name));
}

TEST(Glob, TheCostliestPatternIsNoTrouble) {
  const std::string name(200, 'a');
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(glob_matches("*a*a*a*a*a*a*a*b", name));
}

using Every = Partitions::Every;

TEST(PartitionNames, BelongOrDoNot) {
  const Partitions named{{"eu", "us"}, Every::none, "", ""};
  const Partitions hours{{}, Every::hour, "2026-03-29T05", "2026-03-29T07"};
  const Partitions days{{}, Every::day, "2026-01-31", ""};
  const Partitions months{{}, Every::month, "", "2026-03"};
  const std::tuple<const Partitions*, const char*, bool> cases[] = {
      {&named, "eu", true},
      {&named, "EU", false},
      {&named, "", false},
      {&hours, "2026-03-29T05", true},
      {&hours, "2026-03-29T07", true},
      {&hours, "2026-03-29T08", false},
      {&hours, "2026-03-29T04", false},
      {&hours, "2026-03-29", false},
      {&days, "2026-01-31", true},
      {&days, "2026-01-30", false},
      {&days, "2026-02-29", false},
      {&days, "2028-02-29", true},
      {&days, "2026-2-3", false},
      {&days, "2026-02-031", false},
      {&days, "9999-12-31", true},
      {&months, "2026-03", true},
      {&months, "2026-04", false},
      {&months, "2025-13", false},
      {&months, "2025-00", false},
      {&months, "0001-01", true},
      {&months, "2026_03", false},
  };
  for (const auto& [partitions, name, has] : cases) EXPECT_EQ(has_partition(*partitions, name), has) << name;
  EXPECT_FALSE(has_partition({{}, Every::hour, "", ""}, "2026-03-29T24"));
  EXPECT_EQ(describe(named), "one of eu, us");
  EXPECT_EQ(describe(hours), "an hour from 2026-03-29T05 up to 2026-03-29T07, like 2026-03-29T05");
  EXPECT_EQ(describe(months), "a month up to 2026-03, like 2026-03");
}

TEST(PartitionNames, CanBePartOfAPath) {
  for (const std::string& good :
       {std::string("2026-03-29T05"), std::string("eu"), std::string("a=b+1:2.x"), std::string(200, 'a')}) {
    EXPECT_TRUE(check_partition(good).ok()) << good;
  }
  for (const std::string& bad : {std::string(), std::string(".."), std::string("a/b"), std::string("-a"),
                                 std::string("a b"), std::string("a\0b", 3), std::string(201, 'a')}) {
    EXPECT_FALSE(check_partition(bad).ok()) << bad;
  }
  EXPECT_EQ(check_partition("a\nb").error().message.find('\n'), std::string::npos);
}

RC_GTEST_PROP(MaterializationId, DiffersByEveryPart, (const std::string& a, const std::string& b)) {
  RC_PRE(a != b);
  const std::string id = materialization_id(a, a, a, a);
  RC_ASSERT(id == materialization_id(a, a, a, a));
  for (const std::string& other : {materialization_id(b, a, a, a), materialization_id(a, b, a, a),
                                   materialization_id(a, a, b, a), materialization_id(a, a, a, b)}) {
    RC_ASSERT(id != other);
  }
  RC_ASSERT(delivery_id(a, b) != delivery_id(b, a));
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
