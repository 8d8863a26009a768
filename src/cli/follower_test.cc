// How a run is shown while somebody follows it, against a server that answers what the test says.
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/test_support.h"

namespace eider::cli {
namespace {

constexpr const char* kId = "01890a5d-ac96-774b-bcce-b302099a8057";

std::string followed_run(const std::string& more) {
  return R"({"id":")" + std::string(kId) +
         R"(","pipeline":"bad","started_at":"2026-03-29T00:59:57Z","created_at":"2026-03-29T00:59:57Z",)" + more + "}";
}

std::string a_line(const std::string& text) {
  return R"({"at":"2026-03-29T00:59:58Z","step":"boom","stream":"stderr","text":")" + text + "\"}\n";
}

const std::string kFirst = followed_run(R"("state":"running","attempt":1)");
const std::string kTriedAgain =
    followed_run(R"("state":"queued","attempt":1,"failures":1,"max_attempts":3,"not_before":"2026-03-29T01:00:03Z",)"
                 R"("waiting_for":[{"kind":"backoff","name":"bad","detail":"not before"}],)"
                 R"("error":"step boom: exit code 7: oops\nmore")");
const std::string kSecond = followed_run(R"("state":"running","attempt":2,"failures":1,"max_attempts":3)");
const std::string kFailed =
    followed_run(R"("state":"failed","attempt":2,"failures":2,"max_attempts":2,)"
                 R"("finished_at":"2026-03-29T01:00:03.2Z","error":"step boom: exit code 7: oops")");

/// What the run is at each look, the last of them for good; and what its two attempts wrote.
struct Story {
  std::vector<std::string> looks;
  std::size_t look = 0;
  api::Response operator()(const api::Request& request) {
    if (request.method == "POST") return answer_of(201, looks.front());
    if (!request.path.ends_with("/logs")) return answer_of(200, looks[std::min(look++, looks.size() - 1)]);
    const auto attempt = request.query.find("attempt");
    const std::string log = a_line(attempt != request.query.end() && attempt->second == "1" ? "first" : "second");
    const auto after = request.query.find("after");
    return answer_of(200,
                     after == request.query.end() ? log : log.substr(std::min(std::stoul(after->second), log.size())));
  }
};

/// What was said on either stream, in order.
std::string told(Program& program, const std::vector<std::string>& words, int code) {
  std::string all;
  program.on_output = [&](std::string_view bytes) { all += bytes; };
  EXPECT_EQ(program.run(words).code, code);
  return all;
}

TEST(Follower, TheLogOfAnAttemptComesBeforeWhatWasMadeOfIt) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, Story{{kFirst, kTriedAgain, kTriedAgain, kSecond, kFailed}});
  Program program(workspace.path());
  EXPECT_EQ(told(program, {"run", "bad"}, 1),
            "run " + std::string(kId) + " of bad: running\n" +
                "00:59:58Z boom  | first\n"
                "attempt 1 did not succeed: step boom: exit code 7: oops; attempt 2 of 3 in 3 s\n"
                "running, attempt 2 of 3\n"
                "00:59:58Z boom  | second\n"
                "bad failed in 6.2 s (run " +
                kId + ")\nstep boom: exit code 7: oops\n");
}

TEST(Follower, ANarrowTerminalShowsWhenItGoesOn) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, Story{{kFirst, kTriedAgain, kSecond, kFailed}});
  Program program(workspace.path());
  program.terminal = true;
  program.environment["NO_COLOR"] = "1";
  const std::string all = told(program, {"run", "bad"}, 1);
  EXPECT_NE(all.find("\rbad: attempt 2 of 3 in 3 s (step boom: exit code 7: oops)\033[K"), std::string::npos) << all;
  EXPECT_NE(all.find("\rbad: running, attempt 2 of 3"), std::string::npos) << all;
  const std::string once = "attempt 1 did not succeed";
  EXPECT_EQ(all.find(once), all.rfind(once)) << "a line that stays, once";
}

TEST(Follower, WhatTheMachineTookBackIsNoneOfTheAttemptsThatCount) {
  const TempWorkspace workspace;
  const std::string third =
      followed_run(R"("state":"running","attempt":3,"failures":0,"interruptions":2,"max_attempts":2)");
  ScriptedServer server(workspace, Story{{third, kFailed}});
  Program program(workspace.path());
  EXPECT_NE(told(program, {"run", "bad"}, 1).find("running, attempt 3 of 4\n"), std::string::npos);
}

TEST(Follower, WaitingIsToldOnceThoughItsDetailChanges) {
  const TempWorkspace workspace;
  const auto waits = [](const char* detail) {
    return followed_run(R"("state":"queued","attempt":0,"waiting_for":[{"kind":"pool","name":"db","detail":")" +
                        std::string(detail) + "\"}]");
  };
  ScriptedServer server(workspace, Story{{waits("for 1 s"), waits("for 2 s"), waits("for 3 s"), kFailed}});
  Program program(workspace.path());
  const std::string all = told(program, {"run", "bad"}, 1);
  EXPECT_NE(all.find("waits for pool db"), std::string::npos) << all;
  EXPECT_EQ(all.find("waits for pool db"), all.rfind("waits for pool db")) << all;
}

TEST(Follower, ACancelledRunSaysWhyOnce) {
  const TempWorkspace workspace;
  const std::string cancelled = followed_run(
      R"("state":"cancelled","attempt":1,"finished_at":"2026-03-29T01:00:00Z","error":"cancelled by Ctrl-C",)"
      R"("reason_text":"a person asked for it")");
  ScriptedServer server(workspace, Story{{cancelled}});
  Program program(workspace.path());
  const std::string all = told(program, {"run", "bad"}, 1);
  EXPECT_NE(all.find("(run " + std::string(kId) + ")\ncancelled by Ctrl-C\n"), std::string::npos) << all;
  EXPECT_EQ(all.find("a person asked"), std::string::npos) << all;
}

TEST(Follower, LogsThatAreFollowedEndAsARunDoes) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, Story{{kFailed}});
  Program program(workspace.path());
  const Outcome people = program.run({"logs", "-f", kId});
  EXPECT_EQ(people.code, 0);
  EXPECT_EQ(people.error, "bad failed in 6.2 s (run " + std::string(kId) + ")\nstep boom: exit code 7: oops\n");
  EXPECT_EQ(program.run({"logs", "-f", kId, "--json"}).error, "");
  EXPECT_EQ(program.run({"logs", kId}).error, "") << "nobody waited for its end";
}

}  // namespace
}  // namespace eider::cli
