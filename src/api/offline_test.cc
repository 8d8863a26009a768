// The API of a command without a server.
#include "api/offline.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "api/service.h"
#include "api/test_support.h"
#include "base/clock.h"

namespace eider::api {
namespace {

namespace json = boost::json;

class OfflineTest : public testing::Test {
 protected:
  OfflineTest() {
    options_.reader = &reader_;
    options_.clock = &clock_;
  }
  Response get(const std::string& target) {
    Request request;
    EXPECT_TRUE(parse_target(target, request)) << target;
    return call(std::move(request));
  }
  Response post(const std::string& path, const std::string& body) { return call({"POST", path, {}, {}, body}); }
  static json::value body(const Response& response) { return json::parse(response.body); }
  static std::string text(const Response& response, const char* key) {
    return std::string(body(response).at(key).as_string());
  }

  FakeReader reader_;
  FakeClock clock_{at("2026-03-28T12:00:00Z")};
  ServiceOptions options_;

 private:
  Response call(Request request) {
    Service service(options_);
    Response got;
    service.handle(std::move(request), [&](Response response) { got = std::move(response); });
    return got;
  }
};

TEST_F(OfflineTest, OpenRunsAreCountedAndAFixedDelayWaitsForItsRun) {
  workspace::Workspace files;
  auto pipeline = std::make_shared<model::Pipeline>();
  pipeline->name = "flights_daily";
  pipeline->schedules.emplace_back();
  pipeline->schedules[0].id = "loop";
  pipeline->schedules[0].timing.every = std::chrono::seconds(3);
  pipeline->schedules[0].timing.from_completion = true;
  files.usable = true;
  files.pipelines["flights_daily"] = {pipeline, nullptr, "hash", {}};
  options_.workspace = &files;
  EXPECT_EQ(body(get("/api/v1/schedules")).at("items").at(0).at("next"), json::value("2026-03-28T12:00:03Z"));
  model::Run run = a_run(kRunId, model::RunState::running, 1);
  run.trigger_id = "flights_daily/loop";
  reader_.put(run);
  EXPECT_TRUE(body(get("/api/v1/schedules")).at("items").at(0).at("next").is_null());
  EXPECT_EQ(body(get("/api/v1/pipelines")).at("items").at(0).at("running"), json::value(1));
}

TEST_F(OfflineTest, FilesThatCannotBeUsedAreAnErrorAndHistoryIsNot) {
  options_.files_error = "eider.yaml:1:17: error: workers.max: …";
  for (const char* target : {"/api/v1/schedules", "/api/v1/schedules/a/b", "/api/v1/pools", "/api/v1/pipelines"}) {
    const Response refused = get(target);
    EXPECT_EQ(refused.status, 400) << target;
    EXPECT_EQ(text(refused, "detail"), options_.files_error);
  }
  reader_.put(a_run(kRunId, model::RunState::failed, 1));
  EXPECT_EQ(get("/api/v1/runs").status, 200);
  EXPECT_EQ(get("/api/v1/occurrences").status, 200);
  EXPECT_EQ(get("/api/v1/status").status, 200);
  EXPECT_EQ(post("/api/v1/reload", "").status, 503);
}

}  // namespace
}  // namespace eider::api
