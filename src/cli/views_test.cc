// What people are shown of answers: words, times, ids, hints.
#include "cli/views.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/test_support.h"

namespace eider::cli {
namespace {

TEST(Views, WhatARunWaitsForIsSaidWithSinceWhenAndWhoHasIt) {
  const TempWorkspace workspace;
  const std::string run = a_run("queued", R"(,"started_at":null,"waiting_for":[{"kind":"pool","name":"db",)"
                                          R"("detail":"1 of 1 slots in use, 1 wanted","since":"2026-03-29T00:59:48Z",)"
                                          R"("held_by":[{"run_id":"01890a5d-ac96-7cafe-9","pipeline":"slow"}]},)"
                                          R"({"kind":"worker","name":"worker","detail":"2 of 2 busy",)"
                                          R"("since":"2026-03-29T01:00:00Z","held_by":[]}])");
  ScriptedServer server(workspace, [&](const api::Request& request) {
    return answer_of(200, request.path.ends_with("/runs") ? R"({"items":[)" + run + "]}" : run);
  });
  Program program(workspace.path());
  const std::string said =
      "pool db: 1 of 1 slots in use, 1 wanted (for 12 s; held by slow 01890a5d-ac96-7caf); "
      "a worker: 2 of 2 busy\n";
  const std::string list = program.run({"runs", "list"}).out;
  EXPECT_NE(list.find("waits for " + said), std::string::npos) << list;
  const std::string shown = program.run({"runs", "show", kId}).out;
  EXPECT_NE(shown.find("waits for  " + said), std::string::npos) << shown;
}

TEST(Views, ARunIsShownWithItsCauseItsFactsAndTimesInSeconds) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(
        200, a_run("succeeded",
                   R"(,"definition":"97db","scheduled_for":"2026-03-29T00:59:57.500Z",)"
                   R"("finished_at":"2026-03-29T00:59:59.123456Z","steps":[)"
                   R"({"step":"summary","outcome":"succeeded","rows":1000,"peak_memory_bytes":null,)"
                   R"("facts":{"rows":1000,"note":"ok","text":"two words","list":[1]}},)"
                   R"({"step":"query","outcome":"succeeded","rows":0,"peak_memory_bytes":null}],)"
                   R"("attempts":[{"number":1,"outcome":"succeeded","started_at":"2026-03-29T00:59:57.654321Z"}])"));
  });
  const std::string out = Program(workspace.path()).run({"runs", "show", kId}).out;
  EXPECT_NE(out.find("cause     schedule daily/nightly\n"), std::string::npos) << out;
  EXPECT_NE(out.find("due       2026-03-29T00:59:57.500Z (2 s ago)\n"), std::string::npos) << out;
  EXPECT_NE(out.find("finished  2026-03-29T00:59:59Z (now)\n"), std::string::npos) << out;
  EXPECT_NE(out.find("STEP     STATE      ROWS\nsummary  succeeded  1000\nquery    succeeded\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("\nSTEP     FACTS\nsummary  rows=1000 note=ok text=\"two words\" list=[1]\n"), std::string::npos)
      << out;
  EXPECT_EQ(out.find("97db"), std::string::npos);
  EXPECT_EQ(out.find("4321"), std::string::npos) << "microseconds";
}

TEST(Views, WhatATerminalShowsOfAnIdNamesTheRun) {
  const TempWorkspace workspace;
  const auto occurrence = [](const std::string& run) {
    return R"({"schedule":"daily/nightly","local":"2026-03-29T00:59:57+02:00","decision":"run","run_id":)" + run + "}";
  };
  ScriptedServer server(workspace, [&](const api::Request& request) {
    if (request.path.ends_with("/pools")) {
      return answer_of(
          200, std::string(R"({"items":[{"name":"db","slots":1,"used":1,"waiting":0,"held_by":[{"run_id":")") + kId +
                   R"(","pipeline":"slow"}]}]})");
    }
    return answer_of(200, R"({"items":[)" + occurrence("\"01890a5d-ac96-774b-bcce-b302099a8057\"") + "," +
                              occurrence("null") + "," + occurrence("\"01890a5d-ac96-774c-bcce-b302099a8058\"") + "]}");
  });
  Program program(workspace.path());
  program.terminal = true;
  program.columns = 120;
  program.environment["NO_COLOR"] = "1";
  const std::string out = program.run({"occurrences"}).out;
  EXPECT_NE(out.find("  01890a5d-ac96-774b\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  01890a5d-ac96-774c\n"), std::string::npos) << out;
  EXPECT_NE(program.run({"pools"}).out.find("  slow 01890a5d-ac96-774b\n"), std::string::npos);
  program.terminal = false;
  EXPECT_NE(program.run({"pools"}).out.find("  slow " + std::string(kId) + "\n"), std::string::npos);
}

TEST(Views, SeveralInstantsAreShownFromTheFirstToTheLast) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200, R"({"items":[{"schedule":"daily/tick","local":"2026-03-29T02:46:21+02:00","offset":"+02:00",)"
                          R"("count":5,"scheduled_until":"2026-03-29T00:46:33Z","decision":"missed"},)"
                          R"({"schedule":"daily/tick","local":"2026-03-28T02:46:21+02:00","offset":"+02:00",)"
                          R"("count":2,"scheduled_until":"2026-03-29T00:46:33Z","decision":"missed"}]})");
  });
  const std::string out = Program(workspace.path()).run({"occurrences"}).out;
  EXPECT_NE(out.find("  2026-03-29T02:46:21+02:00 to 02:46:33+02:00 (5 instants)             missed"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("  2026-03-28T02:46:21+02:00 to 2026-03-29T02:46:33+02:00 (2 instants)  missed"),
            std::string::npos)
      << out;
}

TEST(Views, AFixedDelayIsSaidInsteadOfAGrid) {
  const TempWorkspace workspace;
  std::string items = R"([{"scheduled_for":"2026-03-29T01:00:03Z"}])";
  ScriptedServer server(workspace, [&](const api::Request&) {
    return answer_of(200, R"({"upcoming":)" + items + R"(,"items":)" + items +
                              R"(,"then":"3 seconds after each run ends","rule":"every 3s from completion"})");
  });
  Program program(workspace.path());
  for (const char* verb : {"describe", "preview"}) {
    const std::string out = program.run({"schedule", verb, "daily/nightly"}).out;
    EXPECT_NE(out.find("\n2026-03-29T01:00:03Z\nthen 3 seconds after each run ends\n"), std::string::npos) << out;
  }
  items = "[]";
  EXPECT_EQ(program.run({"schedule", "preview", "daily/nightly"}).out, "3 seconds after each run ends\n");
}

TEST(Views, ThatThereIsMoreIsSaidInAPipeToo) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200, R"({"items":[)" + a_run("failed") + R"(],"next":"c1"})");
  });
  Program program(workspace.path());
  EXPECT_EQ(program.run({"runs", "list"}).error, "there are more: `--cursor c1` shows the next page\n");
  EXPECT_EQ(program.run({"runs", "list", "--json"}).error, "");
  EXPECT_EQ(program.run({"runs", "list", "--limit", "1"}).error, "") << "it was asked for";
}

TEST(Views, AFilterThatMatchesNothingIsNotAnEmptyHistory) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) { return answer_of(200, R"({"items":[],"next":null})"); });
  Program program(workspace.path());
  program.terminal = true;
  program.environment["NO_COLOR"] = "1";
  EXPECT_EQ(program.run({"occurrences", "--decision", "paused"}).error, "no decisions match\n");
  EXPECT_EQ(program.run({"occurrences"}).error, "nothing has been decided yet\n");
  EXPECT_EQ(program.run({"runs", "list", "--state", "failed"}).error, "no runs match\n");
  EXPECT_EQ(program.run({"runs", "list"}).error, "no runs\n");
}

TEST(Views, StatusCountsWrongFilesWhereItSaysHowItIs) {
  const TempWorkspace workspace;
  int broken = 1;
  ScriptedServer server(workspace, [&](const api::Request&) {
    return answer_of(200,
                     R"({"health":"ok","pipelines":2,"schedules":1,"broken_files":)" + std::to_string(broken) + "}");
  });
  Program program(workspace.path());
  std::string out = program.run({"status"}).out;
  EXPECT_NE(out.find("health     ok, 1 file is wrong\n"), std::string::npos) << out;
  EXPECT_NE(out.find("pipelines  2, with 1 schedule\n"), std::string::npos) << out;
  broken = 2;
  out = program.run({"status"}).out;
  EXPECT_NE(out.find("health     ok, 2 files are wrong\n"), std::string::npos) << out;
}

TEST(Views, AResumedScheduleSaysWhenItIsDue) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200, R"({"key":"sales/tick","paused":false,"next":"2026-03-29T01:00:00.200Z"})");
  });
  EXPECT_EQ(Program(workspace.path()).run({"schedule", "resume", "sales/tick"}).out,
            "sales/tick is active; next due 2026-03-29T01:00:00Z (now)\n");
}

}  // namespace
}  // namespace eider::cli
