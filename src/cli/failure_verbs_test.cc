// Verbs about what goes wrong: retry, doctor, and explain of a run and of a pipeline.
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/test_support.h"

namespace eider::cli {
namespace {

TEST(FailureVerbs, RetryAsksForWhatIsWantedAndSaysWhatIsKept) {
  const TempWorkspace workspace;
  const std::string answer = R"({"id":")" + std::string(kId) +
                             R"(","state":"queued","kept":["load","build"],"again":[{"step":"check","why":"it did not )"
                             R"(succeed"}]})";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(202, answer); });
  Program program(workspace.path());
  const Outcome said = program.run({"retry", kId, "--from-failed"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, std::string(kId) + " is queued again; `eider logs -f " + kId +
                          "` follows it\nkept: load, build\ndone again: check (it did not succeed)\n");
  EXPECT_EQ(program.run({"retry", kId, "--json"}).out, answer + "\n");
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].method + asked[0].path, "POST/api/v1/runs/" + std::string(kId) + "/retry");
  EXPECT_EQ(boost::json::parse(asked[0].body), boost::json::parse(R"({"from_failed":true})"));
  EXPECT_EQ(boost::json::parse(asked[1].body), boost::json::parse("{}"));
}

TEST(FailureVerbs, DoctorsExitCodeSaysWhetherItFoundSomething) {
  const TempWorkspace workspace;
  std::string answer = R"({"healthy":true,"server":true,"now":"2026-03-29T01:00:00Z","findings":[]})";
  {
    ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, answer); });
    Program program(workspace.path());
    const Outcome well = program.run({"doctor"});
    EXPECT_EQ(well.code, 0);
    EXPECT_EQ(well.out, "all is well\n");
    answer = R"({"healthy":false,"server":true,"now":"2026-03-29T01:00:00Z","findings":[{"code":"SchedulePaused",)"
             R"("about":"daily/nightly","since":"2026-03-29T00:58:00Z","text":"schedule daily/nightly is paused: why",)"
             R"("remedy":"`eider schedule resume daily/nightly`"}]})";
    const Outcome found = program.run({"doctor"});
    EXPECT_EQ(found.code, 1);
    EXPECT_EQ(found.out,
              "schedule daily/nightly is paused: why, since 2026-03-29T00:58:00Z (2 min ago)\n"
              "    [SchedulePaused]  `eider schedule resume daily/nightly`\n");
    EXPECT_EQ(program.run({"doctor", "--json"}).out, answer + "\n");
    EXPECT_EQ(program.run({"doctor", "--jsn"}).code, 2);
  }
  const Outcome alone = Program(workspace.path()).run({"doctor"});
  EXPECT_EQ(alone.code, 3);
  EXPECT_NE(alone.out.find("[NoServer]"), std::string::npos) << alone.out;
}

TEST(FailureVerbs, ExplainOfAPipelineShowsWhatKeepsItFirst) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200,
                     R"({"kind":"pipeline","id":"daily","text":"daily does not run: it is paused","links":[],)"
                     R"("truncated":false,"reasons":[{"code":"Paused","keeps":true,"name":"daily/nightly",)"
                     R"("since":"2026-03-29T00:58:00Z","until":null,"text":"schedule daily/nightly is paused",)"
                     R"("remedy":"eider schedule resume daily/nightly"},{"code":"Due","keeps":false,"name":"daily/s",)"
                     R"("since":null,"until":"2026-03-29T01:02:00Z","text":"schedule daily/s is due next at …",)"
                     R"("remedy":null}]})");
  });
  EXPECT_EQ(Program(workspace.path()).run({"explain", "daily"}).out,
            "daily does not run: it is paused\n"
            "  - schedule daily/nightly is paused, since 2026-03-29T00:58:00Z (2 min ago)\n"
            "    [Paused]  `eider schedule resume daily/nightly`\n"
            "  + schedule daily/s is due next at … (in 2 min)\n"
            "    [Due]\n");
}

TEST(FailureVerbs, ExplainOfARunTellsItsHistory) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200,
                     R"({"kind":"run","id":"x","truncated":false,"history":[{"at":"2026-03-29T00:58:00Z",)"
                     R"("code":"Requested","text":"queued, asked for by cli"}],"links":[{"part":"asked","level":0,)"
                     R"("kind":"run","id":"x","at":"2026-03-29T00:58:00Z","state":"failed","text":"run x failed",)"
                     R"("more":false}]})");
  });
  EXPECT_EQ(Program(workspace.path()).run({"explain", "0189"}).out,
            "2026-03-29T00:58:00Z  run x failed\n"
            "2026-03-29T00:58:00Z      queued, asked for by cli  [Requested]\n");
}

TEST(FailureVerbs, LongerThanUsualIsSaid) {
  const TempWorkspace workspace;
  const std::string run =
      a_run("running", R"(,"longer_than_usual":true,"usual":{"median":"4m","limit":"12m","runs":9})");
  ScriptedServer server(workspace, [&](const api::Request& request) {
    const bool list = request.path == "/api/v1/runs";
    return answer_of(200, list ? R"({"items":[)" + run + R"(],"next":null})" : run);
  });
  Program program(workspace.path());
  EXPECT_NE(program.run({"runs", "list"}).out.find("longer than usual (4m)"), std::string::npos);
  EXPECT_NE(program.run({"runs", "show", kId}).out.find("running, longer than usual (4m)"), std::string::npos);
}

}  // namespace
}  // namespace eider::cli
