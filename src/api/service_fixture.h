// What the tests of the handlers share: a loop that answers what the test says, and a Service in front of it.
#pragma once

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "api/service.h"
#include "api/test_support.h"
#include "base/clock.h"

namespace eider::api {

namespace json = boost::json;

/// A loop that answers at once, as the test has told it to, and remembers what it was asked.
class ScriptedLoop {
 public:
  ScriptedLoop() : inbox_([this] { work(); }) {}
  engine::Inbox& inbox() { return inbox_; }

  std::vector<engine::ScheduleView> schedules;
  std::vector<engine::PipelineView> pipelines;
  std::vector<engine::TriggerView> triggers;
  std::shared_ptr<workspace::Workspace> files = std::make_shared<workspace::Workspace>();
  std::vector<engine::LiveRun> live;
  engine::StatusView status;
  Result<std::string> started = Error{ErrorCode::io, "the test has not said"};
  Result<model::RunState> cancelled = model::RunState::running;
  Result<engine::Materialize::Answer> materialized = Error{ErrorCode::io, "the test has not said"};
  Result<std::vector<std::string>> changed = Error{ErrorCode::io, "the test has not said"};
  Result<engine::RetryRun::Answer> retried = Error{ErrorCode::io, "the test has not said"};
  std::optional<engine::Materialize> materialize_asked;
  std::optional<engine::RetryRun> retry_run_asked;
  std::optional<engine::RetryDeliveries> retry_asked;
  std::optional<engine::SkipDeliveries> skip_asked;
  std::optional<engine::StartRun> start_asked;
  std::optional<engine::PauseSchedule> pause_asked;
  std::optional<engine::Stop> stop_asked;
  std::optional<engine::TurnClock> clock_asked;

 private:
  void work() {
    for (engine::Command& command : inbox_.take()) std::visit([this](auto& each) { answer(each); }, command);
  }
  void answer(engine::AskLive& ask) { ask.reply(live); }
  void answer(engine::AskPools& ask) { ask.reply({{{"heavy", 1, 1, 20, {kRunId}}}}); }
  void answer(engine::AskSchedules& ask) {
    std::vector<engine::ScheduleView> found;
    for (const auto& view : schedules) {
      if (!ask.key || *ask.key == view.key) found.push_back(view);
    }
    ask.reply(found);
  }
  void answer(engine::AskPipelines& ask) { ask.reply(pipelines); }
  void answer(engine::AskStatus& ask) { ask.reply(status); }
  void answer(engine::AskTriggers& ask) {
    std::vector<engine::TriggerView> found;
    for (const auto& view : triggers) {
      if (!ask.key || *ask.key == view.key) found.push_back(view);
    }
    ask.reply(found);
  }
  void answer(engine::AskWorkspace& ask) { ask.reply(files); }
  void answer(engine::Materialize& ask) {
    materialize_asked = ask;
    ask.reply(materialized);
  }
  void answer(engine::RetryDeliveries& ask) {
    retry_asked = ask;
    ask.reply(changed);
  }
  void answer(engine::SkipDeliveries& ask) {
    skip_asked = ask;
    ask.reply(changed);
  }
  void answer(engine::StartRun& ask) {
    start_asked = ask;
    ask.reply(started);
  }
  void answer(engine::CancelRun& ask) { ask.reply(cancelled); }
  void answer(engine::RetryRun& ask) {
    retry_run_asked = ask;
    ask.reply(retried);
  }
  void answer(engine::PauseSchedule& ask) {
    pause_asked = ask;
    for (auto& view : schedules) {
      if (view.key != ask.key) continue;
      view.paused = ask.paused;
      return ask.reply({});
    }
    ask.reply(Error{ErrorCode::not_found, "there is no such schedule"});
  }
  void answer(engine::Reload& ask) {
    workspace::Diagnostic diagnostic;
    diagnostic.file = "pipelines/x.yaml";
    diagnostic.line = 3;
    ask.reply(std::vector{diagnostic});
  }
  void answer(engine::Stop& ask) {
    stop_asked = ask;
    ask.reply({});
  }
  void answer(engine::TurnClock& ask) {
    clock_asked = ask;
    ask.reply(at("2026-03-29T01:00:30Z"));
  }

  engine::Inbox inbox_;
};

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    engine::ScheduleView nightly;
    nightly.key = "flights_daily/nightly";
    nightly.pipeline = "flights_daily";
    nightly.schedule.id = "nightly";
    nightly.schedule.timing.cron = "30 2 * * *";
    nightly.schedule.timing.timezone = "Europe/Brussels";
    loop_.schedules = {nightly};
    loop_.pipelines = {{"flights_daily", "pipelines/flights_daily.yaml", "", "hash", false, "", 0, 0}};
    loop_.status.health = "ok";
    options_.reader = &reader_;
    options_.inbox = &loop_.inbox();
    options_.clock = &clock_;
  }
  Response call(Request request) {
    Service service(options_);
    std::optional<Response> got;
    int answers = 0;
    service.handle(std::move(request), [&](Response response) {
      got = std::move(response);
      ++answers;
    });
    EXPECT_EQ(answers, 1);
    return got.value_or(Response{});
  }
  Response get(const std::string& target) {
    Request request;
    EXPECT_TRUE(parse_target(target, request)) << target;
    return call(std::move(request));
  }
  Response post(const std::string& path, const std::string& body, std::map<std::string, std::string> headers = {}) {
    return call({"POST", path, {}, std::move(headers), body});
  }
  static json::value body(const Response& response) { return json::parse(response.body); }
  static std::string text(const Response& response, const char* key) {
    const json::value parsed = body(response);
    const json::value* found = parsed.as_object().if_contains(key);
    return found && found->is_string() ? std::string(found->get_string().c_str()) : "<no " + std::string(key) + ">";
  }

  FakeReader reader_;
  ScriptedLoop loop_;
  FakeClock clock_{at("2026-03-28T12:00:00Z")};
  ServiceOptions options_;
};

}  // namespace eider::api
