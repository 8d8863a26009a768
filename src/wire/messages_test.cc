#include "wire/messages.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <boost/json.hpp>

namespace eider::wire {
namespace {

namespace gen = rc::gen;
namespace json = boost::json;

template <typename T>
T any() {
  return *gen::arbitrary<T>();
}
template <typename T>
std::optional<T> maybe() {
  return any<bool>() ? std::optional<T>(any<T>()) : std::nullopt;
}
std::optional<Instant> maybe_instant() {
  return any<bool>() ? std::optional<Instant>(from_us(any<std::int64_t>())) : std::nullopt;
}

StepStarted any_step_started() {
  return {any<std::string>(), any<int>(), any<std::string>(), any<int>(), from_us(any<std::int64_t>())};
}
StepResult any_step_result() {
  StepResult out;
  out.step = any<std::string>();
  out.outcome = static_cast<StepOutcome>(*gen::inRange(0, 6));
  out.started_at = maybe_instant();
  out.finished_at = maybe_instant();
  out.exit_code = maybe<int>();
  out.signal = maybe<int>();
  out.peak_memory_bytes = maybe<std::int64_t>();
  out.rows = maybe<std::int64_t>();
  out.error = any<std::string>();
  out.facts = any<std::string>();
  out.left_over_processes = any<int>();
  out.said = any<std::string>();
  out.content = any<std::string>();
  if (any<bool>()) out.unpublished = any<std::vector<std::string>>();
  out.kept_from = any<int>();
  return out;
}
Rename any_rename() {
  return {any<std::string>(), any<std::string>(), any<std::uint64_t>(), any<bool>(), any<std::string>()};
}
Publication any_publication() {
  return {any<std::string>(),    any<std::string>(), any<std::string>(), maybe<std::int64_t>(),
          maybe<std::int64_t>(), any<std::string>(), any<std::string>(), any<std::string>()};
}
template <typename T>
std::vector<T> some(T (*make)()) {
  std::vector<T> out;
  for (int i = *gen::inRange(0, 3); i > 0; --i) out.push_back(make());
  return out;
}
AttemptResult any_result() {
  AttemptResult out;
  out.run_id = any<std::string>();
  out.attempt = any<int>();
  out.outcome = static_cast<model::Outcome>(*gen::inRange(0, 7));
  out.error = any<std::string>();
  out.started_at = maybe_instant();
  out.finished_at = from_us(any<std::int64_t>());
  out.worker_pid = any<int>();
  out.exit_code = maybe<int>();
  out.signal = maybe<int>();
  out.peak_memory_bytes = maybe<std::int64_t>();
  out.steps = some(any_step_result);
  out.renames = some(any_rename);
  out.publications = some(any_publication);
  if (any<bool>()) out.file_held = FileHeld{any<std::string>(), any<int>()};
  return out;
}
ToWorker any_to_worker() {
  switch (*gen::inRange(0, 4)) {
    case 0:
      return Welcome{any<std::string>(), any<bool>(), any<std::string>()};
    case 1:
      return Job{any<std::string>(),          any<int>(),
                 any<std::string>(),          any<std::map<std::string, std::string>>(),
                 any<std::string>(),          any<std::int64_t>(),
                 Micros(any<std::int64_t>()), some(any_step_result)};
    case 2:
      return Cancel{any<std::string>(), any<int>(), any<std::string>()};
    default:
      return Quit{};
  }
}
ToServer any_to_server() {
  switch (*gen::inRange(0, 7)) {
    case 0:
      return Ready{any<int>()};
    case 1:
      return any_step_started();
    case 2:
      return StepProgress{any<std::string>(), any<int>(), any<std::string>(), *gen::inRange(0, 9) / 8.0};
    case 3:
      return StepEnded{any<std::string>(), any<int>(), any_step_result()};
    case 4:
      return Finished{any_result()};
    case 5:
      return Published{any<std::string>(), any<int>(), any_publication()};
    default:
      return Adopted{any<std::string>(),     any<int>(),           any<int>(), some(any_step_result),
                     some(any_step_started), some(any_publication)};
  }
}

// Text may be any bytes: paths are.
RC_GTEST_PROP(Messages, ToWorkerComesBackAsItWas, ()) {
  const ToWorker message = any_to_worker();
  const auto back = decode_to_worker(encode(message));
  RC_ASSERT(back.ok());
  RC_ASSERT(back->index() == message.index());
  RC_ASSERT(encode(*back) == encode(message));
}

RC_GTEST_PROP(Messages, ToServerComesBackAsItWas, ()) {
  const ToServer message = any_to_server();
  const auto back = decode_to_server(encode(message));
  RC_ASSERT(back.ok());
  RC_ASSERT(back->index() == message.index());
  RC_ASSERT(encode(*back) == encode(message));
}

RC_GTEST_PROP(Messages, ResultComesBackAsItWas, ()) {
  const AttemptResult result = any_result();
  const auto back = decode_result(encode_result(result));
  RC_ASSERT(back.ok());
  RC_ASSERT(encode_result(*back) == encode_result(result));
  RC_ASSERT(back->renames.size() == result.renames.size());
  for (std::size_t i = 0; i < result.renames.size(); ++i) {
    RC_ASSERT(back->renames[i].staged == result.renames[i].staged);
    RC_ASSERT(back->renames[i].target == result.renames[i].target);
    RC_ASSERT(back->renames[i].inode == result.renames[i].inode);
    RC_ASSERT(back->renames[i].folder == result.renames[i].folder);
    RC_ASSERT(back->renames[i].asset == result.renames[i].asset);
  }
}

RC_GTEST_PROP(Messages, WhatIsPublishedComesBackAsItWas, ()) {
  const PublishedSoFar published{some(any_publication), some(any_rename)};
  const auto back = decode_published(encode_published(published));
  RC_ASSERT(back.ok());
  RC_ASSERT(encode_published(*back) == encode_published(published));
  RC_ASSERT(back->publications.size() == published.publications.size());
  RC_ASSERT(back->renames.size() == published.renames.size());
}

TEST(Messages, EveryFieldOfAPublicationArrives) {
  const Published sent{"run", 3, {"raw.x", "2026-03", "load", 7, 1LL << 40, "[]", "abc", R"({"a":1})"}};
  const auto got = decode_to_server(encode(ToServer(sent)));
  ASSERT_TRUE(got.ok()) << got.error().message;
  const auto& published = std::get<Published>(*got);
  EXPECT_EQ(published.run_id, "run");
  EXPECT_EQ(published.attempt, 3);
  const Publication& one = published.publication;
  EXPECT_EQ(one.asset, "raw.x");
  EXPECT_EQ(one.partition, "2026-03");
  EXPECT_EQ(one.step, "load");
  EXPECT_EQ(one.rows, 7);
  EXPECT_EQ(one.bytes, 1LL << 40);
  EXPECT_EQ(one.columns, "[]");
  EXPECT_EQ(one.fingerprint, "abc");
  EXPECT_EQ(one.metadata, R"({"a":1})");
}

// A worker that was started by the eider before publications outlives its server and is adopted by this one.
TEST(Messages, WhatAnEarlierEiderWroteIsRead) {
  const auto result = decode_result(
      R"({"version":1,"kind":"result","run_id":"r","attempt":1,"outcome":"succeeded","error":"","finished_at_us":5,)"
      R"("worker_pid":9,"steps":[],"renames":[{"staged":"/s","target":"/t","inode":4,"folder":false}]})");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->publications.empty());
  ASSERT_EQ(result->renames.size(), 1u);
  EXPECT_EQ(result->renames[0].asset, "");
  const auto adopted =
      decode_to_server(R"({"version":1,"kind":"adopted","run_id":"r","attempt":1,"pid":9,"steps":[],"running":[]})");
  ASSERT_TRUE(adopted.ok()) << adopted.error().message;
  EXPECT_TRUE(std::get<Adopted>(*adopted).published.empty());
  // What it did write it must have written.
  EXPECT_FALSE(decode_to_server(R"({"version":1,"kind":"adopted","run_id":"r","attempt":1,"pid":9,"steps":[]})").ok());
}

TEST(Messages, AResultIsNoRecordOfWhatIsPublished) {
  const auto decoded = decode_published(encode_result({}));
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.error().message.find("unknown kind `result`"), std::string::npos) << decoded.error().message;
}

RC_GTEST_PROP(Messages, HostileBytesAreAnErrorNeverACrash, ()) {
  std::string text = any<bool>()   ? encode(any_to_server())
                     : any<bool>() ? encode_result(any_result())
                                   : encode_published({some(any_publication), some(any_rename)});
  for (int i = *gen::inRange(0, 8); i > 0 && !text.empty(); --i) {
    const auto at = *gen::inRange<std::size_t>(0, text.size());
    switch (*gen::inRange(0, 3)) {
      case 0:
        text[at] = any<char>();
        break;
      case 1:
        text.erase(at, *gen::inRange<std::size_t>(1, 20));
        break;
      default:
        text.insert(at, any<std::string>());
        break;
    }
  }
  for (const auto& error : {decode_to_server(text).ok() ? std::optional<Error>() : decode_to_server(text).error(),
                            decode_to_worker(text).ok() ? std::optional<Error>() : decode_to_worker(text).error(),
                            decode_result(text).ok() ? std::optional<Error>() : decode_result(text).error(),
                            decode_published(text).ok() ? std::optional<Error>() : decode_published(text).error()}) {
    if (error) RC_ASSERT(error->code == ErrorCode::corrupt && !error->message.empty());
  }
}

TEST(Messages, EveryFieldOfAResultArrives) {
  StepResult step{"build", StepOutcome::receipt_found, from_us(1), from_us(2), 3, 9, 1 << 20, 77, "boom", R"({"a":1})",
                  4};
  const AttemptResult sent{"run",
                           2,
                           model::Outcome::crashed,
                           "bad",
                           from_us(5),
                           from_us(6),
                           123,
                           7,
                           11,
                           1LL << 40,
                           {step},
                           {{"s", "t", ~0ULL, true, "raw.x"}},
                           {{"raw.x", "p", "", 1, 2, "", "", ""}},
                           FileHeld{"w.duckdb", 8}};
  const auto got = decode_result(encode_result(sent));
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->run_id, "run");
  EXPECT_EQ(got->attempt, 2);
  EXPECT_EQ(got->outcome, model::Outcome::crashed);
  EXPECT_EQ(got->error, "bad");
  EXPECT_EQ(got->started_at, from_us(5));
  EXPECT_EQ(got->finished_at, from_us(6));
  EXPECT_EQ(got->worker_pid, 123);
  EXPECT_EQ(got->exit_code, 7);
  EXPECT_EQ(got->signal, 11);
  EXPECT_EQ(got->peak_memory_bytes, 1LL << 40);
  ASSERT_EQ(got->steps.size(), 1u);
  EXPECT_EQ(got->steps[0].step, "build");
  EXPECT_EQ(got->steps[0].outcome, StepOutcome::receipt_found);
  EXPECT_EQ(got->steps[0].started_at, from_us(1));
  EXPECT_EQ(got->steps[0].finished_at, from_us(2));
  EXPECT_EQ(got->steps[0].exit_code, 3);
  EXPECT_EQ(got->steps[0].signal, 9);
  EXPECT_EQ(got->steps[0].peak_memory_bytes, 1 << 20);
  EXPECT_EQ(got->steps[0].rows, 77);
  EXPECT_EQ(got->steps[0].error, "boom");
  EXPECT_EQ(got->steps[0].facts, R"({"a":1})");
  EXPECT_EQ(got->steps[0].left_over_processes, 4);
  ASSERT_EQ(got->renames.size(), 1u);
  EXPECT_EQ(got->renames[0].inode, ~0ULL);
  EXPECT_EQ(got->renames[0].asset, "raw.x");
  ASSERT_EQ(got->publications.size(), 1u);
  EXPECT_EQ(got->publications[0].partition, "p");
  ASSERT_TRUE(got->file_held.has_value());
  EXPECT_EQ(got->file_held->path, "w.duckdb");
  EXPECT_EQ(got->file_held->pid, 8);
}

TEST(Messages, EveryFieldOfAJobArrives) {
  const Job sent{"run", 3, "{}", {{"partition", "2026-01-01"}}, "/w/.eider/runs/run", 64, Micros(-5)};
  const auto got = decode_to_worker(encode(ToWorker(sent)));
  ASSERT_TRUE(got.ok()) << got.error().message;
  const Job& job = std::get<Job>(*got);
  EXPECT_EQ(job.run_id, "run");
  EXPECT_EQ(job.attempt, 3);
  EXPECT_EQ(job.definition, "{}");
  EXPECT_EQ(job.facts, sent.facts);
  EXPECT_EQ(job.folder, "/w/.eider/runs/run");
  EXPECT_EQ(job.log_limit_bytes, 64);
  EXPECT_EQ(job.clock_offset, Micros(-5));
}

TEST(Messages, NotANumberBecomesZero) {
  const auto back = decode_to_server(encode(ToServer(StepProgress{"r", 1, "s", std::nan("")})));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<StepProgress>(*back).fraction, 0);
}

struct BadCase {
  const char* text;
  const char* says;
};
TEST(Messages, ErrorsSayWhatIsWrong) {
  const BadCase cases[] = {
      {"", "no JSON"},
      {"[]", "must be an object"},
      {R"({"kind":"ready","pid":1})", "`version` is missing"},
      {R"({"version":2,"kind":"ready","pid":1})", "version 2, and this program reads 1 to 1: a newer eider"},
      {R"({"version":0,"kind":"ready","pid":1})", "never existed"},
      {R"({"version":1,"kind":"teleport"})", "unknown kind `teleport`"},
      {R"({"version":1,"kind":"ready"})", "ready: `pid` is missing"},
      {R"({"version":1,"kind":"ready","pid":1.5})", "`pid` must be a whole number in range"},
      {R"({"version":1,"kind":"ready","pid":99999999999})", "`pid` must be a whole number in range"},
      {R"({"version":1,"kind":"step_ended","run_id":"r","attempt":1,"result":{"step":"s","outcome":"flew"}})",
       "`result` `outcome` is no outcome"},
      {R"({"version":1,"kind":"adopted","run_id":"r","attempt":1,"pid":1,"running":[],"steps":[7]})",
       "`steps` [0]: must be an object"},
  };
  for (const BadCase& bad : cases) {
    const auto decoded = decode_to_server(bad.text);
    ASSERT_FALSE(decoded.ok()) << bad.text;
    EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
    EXPECT_NE(decoded.error().message.find(bad.says), std::string::npos) << decoded.error().message;
  }
}

TEST(Messages, DeepNestingIsRefused) {
  const auto decoded = decode_to_server(std::string(100'000, '['));
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().code, ErrorCode::corrupt);
}

TEST(Messages, UnknownKeysOfTheSameVersionAreIgnored) {
  const auto decoded = decode_to_server(R"({"version":1,"kind":"ready","pid":4,"mood":"fine"})");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Ready>(*decoded).pid, 4);
}

RC_GTEST_PROP(Messages, StepsForTheApiAreAlwaysValidJson, ()) {
  std::vector<StepResult> steps;
  for (int i = *gen::inRange(0, 3); i > 0; --i) steps.push_back(any_step_result());
  json::error_code error;
  const json::value shown = json::parse(steps_json(steps), error);
  RC_ASSERT(!error);
  RC_ASSERT(shown.as_array().size() == steps.size());
}

/// What is stored is what a retry reads: all that it must know comes back.
TEST(Messages, StoredStepsAreReadBack) {
  StepResult step;
  step.step = "build";
  step.started_at = from_us(1'234'567);
  step.finished_at = from_us(2'000'000);
  step.exit_code = 0;
  step.rows = 12;
  step.facts = R"({"rows":12})";
  step.said = "{\"materialized\":\"raw.x\"}\n";
  step.content = "0123";
  step.unpublished = {"raw.x"};
  step.kept_from = 3;
  StepResult plain;
  plain.step = "load";
  plain.outcome = StepOutcome::receipt_found;
  plain.unpublished.emplace();
  StepResult failed;
  failed.step = "report";
  failed.outcome = StepOutcome::failed;
  failed.error = "it broke";
  failed.left_over_processes = 2;
  const std::string stored = steps_json({step, plain, failed});
  const auto read = parse_steps(stored);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ(steps_json(*read), stored);
  EXPECT_EQ(read->at(0).started_at, step.started_at);
  EXPECT_EQ(read->at(0).facts, step.facts);
  EXPECT_EQ(read->at(0).said, step.said);
  EXPECT_EQ(read->at(0).unpublished, step.unpublished);
  EXPECT_EQ(read->at(0).kept_from, 3);
  EXPECT_EQ(read->at(1).unpublished, std::vector<std::string>());
  EXPECT_EQ(read->at(2).error, "it broke");
  EXPECT_FALSE(read->at(2).unpublished.has_value());
  EXPECT_TRUE(parse_steps("")->empty());
  for (const char* bad : {"{}", "[7]", "nonsense", R"([{"step":"s"}])", R"([{"step":"s","outcome":"flew"}])",
                          R"([{"step":"s","outcome":"succeeded","started_at":"yesterday"}])"}) {
    EXPECT_FALSE(parse_steps(bad).ok()) << bad;
  }
}

/// An eider that knows no kept steps has written and reads the same frames.
TEST(Messages, WhatCameLaterMayBeMissing) {
  const auto job = decode_to_worker(
      R"({"version":1,"kind":"job","run_id":"r","attempt":1,"definition":"{}","facts":{},"folder":"/f",)"
      R"("log_limit_bytes":1,"clock_offset_us":0})");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_TRUE(std::get<Job>(*job).kept.empty());
  const auto ended = decode_to_server(
      R"({"version":1,"kind":"step_ended","run_id":"r","attempt":1,"result":{"step":"s","outcome":"succeeded",)"
      R"("error":"","facts":"","left_over_processes":0}})");
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(std::get<StepEnded>(*ended).result.content, "");
  EXPECT_FALSE(std::get<StepEnded>(*ended).result.unpublished.has_value());
}

TEST(Messages, StepsForTheApi) {
  StepResult step;
  step.step = "build";
  step.outcome = StepOutcome::failed;
  step.started_at = from_us(0);
  step.exit_code = 3;
  step.error = "it broke: \xff";
  step.facts = R"({"rows": 12})";
  const json::value shown = json::parse(steps_json({step}));
  const json::object& first = shown.as_array().at(0).as_object();
  EXPECT_EQ(first.at("step"), "build");
  EXPECT_EQ(first.at("outcome"), "failed");
  EXPECT_EQ(first.at("started_at"), "1970-01-01T00:00:00Z");
  EXPECT_FALSE(first.contains("finished_at"));
  EXPECT_FALSE(first.contains("left_over_processes"));
  EXPECT_EQ(first.at("exit_code"), 3);
  EXPECT_EQ(first.at("error"), "it broke: \xEF\xBF\xBD");
  EXPECT_EQ(first.at("facts").at("rows"), 12);
  EXPECT_EQ(steps_json({}), "[]");
}

}  // namespace
}  // namespace eider::wire
