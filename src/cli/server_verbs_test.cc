// Verbs against a server that answers what the test says.
#include <csignal>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "cli/test_support.h"

namespace eider::cli {
namespace {

TEST(WithServer, JsonIsTheBodyAsItIs) {
  const TempWorkspace workspace;
  const std::string body = "{ \"items\" :[],\n \"next\":null , \"more\":1e2}\n";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"runs", "list"},
                                             {"runs", "show", kId},
                                             {"status"},
                                             {"pipelines", "list"},
                                             {"schedule", "list"},
                                             {"schedule", "describe", "daily/nightly"},
                                             {"schedule", "preview", "daily/nightly"},
                                             {"occurrences"},
                                             {"pools"},
                                             {"cancel", kId}}) {
    std::vector<std::string> line = words;
    line.push_back("--json");
    EXPECT_EQ(program.run(line).out, body) << words.front();
  }
}

TEST(WithServer, RequestsAreWhatWasAskedFor) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) { return answer_of(200, R"({"items":[],"next":null})"); });
  Program program(workspace.path());
  program.run({"runs", "list", "--pipeline", "daily", "--state", "failed", "--limit", "5", "--cursor", "a b&c"});
  program.run({"schedule", "pause", "daily/nightly", "--note", "it's \"down\""});
  program.run({"schedule", "resume", "daily/nightly"});
  program.run({"occurrences", "daily/nightly", "--decision", "missed"});
  program.run({"schedule", "preview", "daily/nightly", "--from", "2026-03-28T12:00:00+01:00", "--count", "3"});
  program.run({"runs", "show", "a/../b"});
  program.run({"schedule", "pause", "daily/nightly"});
  program.run({"schedule", "pause", "daily/nightly", "--note", ""});
  program.run({"schedule", "resume", "daily/nightly", "--catch-up", "latest"});
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 9u);
  EXPECT_EQ(boost::json::parse(asked[8].body), boost::json::parse(R"({"catch_up":"latest"})"));
  EXPECT_EQ(boost::json::parse(asked[6].body), boost::json::parse("{}")) << "an earlier note stays";
  EXPECT_EQ(boost::json::parse(asked[7].body), boost::json::parse(R"({"note":""})"));
  const std::map<std::string, std::string> query{
      {"pipeline", "daily"}, {"state", "failed"}, {"limit", "5"}, {"cursor", "a b&c"}};
  EXPECT_EQ(asked[0].query, query);
  EXPECT_EQ(asked[1].method + asked[1].path, "POST/api/v1/schedules/daily/nightly/pause");
  EXPECT_EQ(boost::json::parse(asked[1].body), boost::json::parse(R"({"note":"it's \"down\""})"));
  EXPECT_EQ(asked[2].path, "/api/v1/schedules/daily/nightly/resume");
  EXPECT_EQ(asked[3].query.at("schedule") + asked[3].query.at("decision"), "daily/nightlymissed");
  EXPECT_EQ(asked[4].query.at("from"), "2026-03-28T12:00:00+01:00");
  EXPECT_EQ(asked[5].path, "/api/v1/runs/a%2F..%2Fb") << "one segment, whatever it holds";
}

TEST(WithServer, ProblemsBecomeASentenceAndAnExitCode) {
  const TempWorkspace workspace;
  struct Case {
    int status;
    const char* code;
    int exit;
  };
  const Case cases[] = {{400, "invalid", 2}, {404, "not-found", 2}, {409, "active-run", 2},  {429, "refused", 2},
                        {500, "io", 1},      {500, "corrupt", 2},   {503, "unavailable", 1}, {503, "no-server", 3}};
  const Case* now = cases;
  ScriptedServer server(workspace, [&](const api::Request&) {
    return answer_of(now->status,
                     std::string(R"({"type":"urn:eider:problem:)") + now->code + R"(","detail":"so \u001b[1mit is"})");
  });
  Program program(workspace.path());
  for (const Case& each : cases) {
    now = &each;
    const Outcome outcome = program.run({"runs", "list"});
    EXPECT_EQ(outcome.code, each.exit) << each.code;
    EXPECT_EQ(outcome.error, "eider: so \\x1b[1mit is\n");
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(WithServer, AnActiveRunIsNamedWithAWayOn) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(409, R"({"type":"urn:eider:problem:active-run","detail":"a run is active","active_run":"0189"})");
  });
  const Outcome outcome = Program(workspace.path()).run({"run", "daily"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("`eider logs -f 0189` follows it, `--queue` waits behind it"), std::string::npos);
}

TEST(WithServer, ForeignAnswersAreNotTrusted) {
  const TempWorkspace workspace;
  std::string body;
  int status = 200;
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(status, body); });
  Program program(workspace.path());
  for (const char* each :
       {"", "[]", "7", "{\"items\":7}", "{\"items\":[null,1,{}]}", "{\"items\":[{\"id\":{}}],\"next\":3}", "<html>"}) {
    body = each;
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"runs", "list"},
                                                                                       {"runs", "show", kId},
                                                                                       {"status"},
                                                                                       {"schedule", "list"},
                                                                                       {"occurrences"},
                                                                                       {"pools"},
                                                                                       {"pipelines", "list"},
                                                                                       {"reload"}}) {
      const Outcome outcome = program.run(words);
      EXPECT_TRUE(outcome.code == 0 || outcome.code == 1) << each;
    }
  }
  status = 502;
  EXPECT_EQ(program.run({"runs", "list"}).code, 1);
}

TEST(WithServer, HostileTextIsNeverPrintedRaw) {
  const TempWorkspace workspace;
  const std::string evil = "\\u001b]0;owned\\u0007\\u009b31m\u202e\\r\\nX";
  const std::string text =
      R"({"items":[)" + a_run("failed", R"(,"error":")" + evil + R"(","reason_text":")" + evil + "\"") +
      R"(],"next":")" + evil + R"(","health":")" + evil + R"(","diagnostics":[{"text":")" + evil + R"("}]})";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, text); });
  Program program(workspace.path());
  program.terminal = true;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"runs", "list"},
                                                                                     {"runs", "list", "--json"},
                                                                                     {"runs", "show", kId},
                                                                                     {"status"},
                                                                                     {"reload"},
                                                                                     {"occurrences"},
                                                                                     {"schedule", "list"}}) {
    std::vector<std::string> line = words;
    line.insert(line.end(), {"--color", "never"});
    const Outcome outcome = program.run(line);
    const std::string all = outcome.out + outcome.error;
    for (const char c : all)
      EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << words.back();
    EXPECT_EQ(all.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(all.find("\xe2\x80\xae"), std::string::npos);
  }
}

TEST(WithServer, ColoursFollowTheTerminalTheOptionAndNoColor) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace,
                        [&](const api::Request&) { return answer_of(200, R"({"items":[)" + a_run("failed") + "]}"); });
  Program program(workspace.path());
  const auto coloured = [&](const std::vector<std::string>& words) {
    return program.run(words).out.find('\033') != std::string::npos;
  };
  EXPECT_FALSE(coloured({"runs", "list"}));
  EXPECT_TRUE(coloured({"runs", "list", "--color", "always"}));
  program.terminal = true;
  EXPECT_TRUE(coloured({"runs", "list"}));
  EXPECT_FALSE(coloured({"runs", "list", "--color", "never"}));
  program.environment["NO_COLOR"] = "1";
  EXPECT_FALSE(coloured({"runs", "list"}));
}

TEST(WithServer, ATableFitsTheTerminal) {
  const TempWorkspace workspace;
  const std::string error(300, 'e');
  ScriptedServer server(workspace, [&](const api::Request&) {
    return answer_of(200, R"({"items":[)" + a_run("failed", R"(,"error":")" + error + "\"") + "]}");
  });
  Program program(workspace.path());
  EXPECT_NE(program.run({"runs", "list"}).out.find(error), std::string::npos) << "a pipe gets everything";
  program.terminal = true;
  program.environment["NO_COLOR"] = "1";
  program.columns = 100;
  const std::string out = program.run({"runs", "list"}).out;
  const std::string row = out.substr(out.find('\n') + 1);
  EXPECT_EQ(
      row, "01890a5d-ac96-774b  daily     failed  schedule nightly  2 min ago  3.0 s  " + std::string(25, 'e') + "…\n");
}

TEST(WithServer, AReaderThatGoesAwayIsNoError) {
  const TempWorkspace workspace;
  std::string items = a_run("failed");
  for (int i = 0; i < 50; ++i) items += "," + a_run("failed");
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, R"({"items":[)" + items + "]}"); });
  Program program(workspace.path());
  program.out_limit_bytes = 100;
  const Outcome outcome = program.run({"runs", "list"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_LT(outcome.out.size(), 400u);
}

/// A run that is over after `looks` looks at it, and its log.
struct ScriptedRun {
  int looks = 3;
  std::string end = "succeeded";
  std::string log = R"({"at":"2026-03-29T00:59:58Z","step":"say","stream":"stdout","text":"hello"})"
                    "\n";

  api::Response operator()(const api::Request& request) {
    if (request.method == "POST") return answer_of(201, a_run("queued"));
    if (request.path.ends_with("/logs")) {
      const std::size_t after = std::stoul(request.query.at("after"));
      return answer_of(200, log.substr(std::min(after, log.size())));
    }
    const bool over = --looks <= 0;
    return answer_of(200, a_run(over ? end : "running",
                                over ? R"(,"finished_at":"2026-03-29T01:00:00Z","error":"E")" : R"(,"progress":0.5)"));
  }
};

TEST(WithServer, RunIsFollowedToItsEnd) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, ScriptedRun());
  const Outcome outcome =
      Program(workspace.path())
          .run({"run", "daily", "-p", "a=1", "--queue", "--idempotency-key", "k1", "--partition", "p"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "00:59:58Z say   | hello\n") << "each line once";
  EXPECT_NE(outcome.error.find("daily succeeded in 3.0 s (run " + std::string(kId) + ")"), std::string::npos)
      << outcome.error;
  const api::Request post = server.asked().front();
  EXPECT_EQ(post.headers.at("idempotency-key"), "k1");
  EXPECT_EQ(boost::json::parse(post.body),
            boost::json::parse(R"({"pipeline":"daily","params":{"a":"1"},"partition":"p","queue":true})"));
}

TEST(WithServer, AFailedRunIsExitOne) {
  const TempWorkspace workspace;
  ScriptedRun run;
  run.end = "failed";
  ScriptedServer server(workspace, run);
  const Outcome outcome = Program(workspace.path()).run({"run", "daily"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.error.find("daily failed in 3.0 s"), std::string::npos);
  EXPECT_NE(outcome.error.find("\nE\n"), std::string::npos);
}

TEST(WithServer, RunWithJsonPrintsTheRunAtItsEndOnly) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, ScriptedRun());
  const Outcome outcome = Program(workspace.path()).run({"run", "daily", "--json"});
  EXPECT_EQ(boost::json::parse(outcome.out).at("state"), "succeeded");
  EXPECT_EQ(outcome.error, "");
}

TEST(WithServer, ADetachedRunPrintsItsId) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, ScriptedRun());
  const Outcome outcome = Program(workspace.path()).run({"run", "daily", "--detach"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, std::string(kId) + "\n");
  EXPECT_EQ(server.asked().size(), 1u);
}

TEST(WithServer, AnInterruptedRunGoesOn) {
  const TempWorkspace workspace;
  ScriptedRun run;
  run.looks = 1'000'000;
  ScriptedServer server(workspace, [run](const api::Request& request) mutable {
    if (request.path.ends_with("/logs")) ::kill(::getpid(), SIGINT);  // the person presses Ctrl-C while it runs
    return run(request);
  });
  const Outcome outcome = Program(workspace.path()).run({"run", "daily"});
  EXPECT_EQ(outcome.code, 130);
  EXPECT_NE(outcome.error.find("the run goes on; `eider logs -f " + std::string(kId)), std::string::npos);
  EXPECT_NE(outcome.error.find("`eider cancel " + std::string(kId)), std::string::npos);
}

TEST(WithServer, TheProgressLineIsForTerminalsAndGoesAway) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, ScriptedRun());
  Program program(workspace.path());
  program.terminal = true;
  program.environment["NO_COLOR"] = "1";
  const Outcome outcome = program.run({"run", "daily"});
  EXPECT_NE(outcome.error.find("\rdaily: running (50 % of the run), 3.0 s\033[K"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("\r\033[Kdaily succeeded"), std::string::npos);
}

TEST(WithServer, LogsPassTheirQuestionOn) {
  const TempWorkspace workspace;
  const std::string line = R"({"at":"2026-03-29T00:59:58Z","step":"say","stream":"stdout","text":"hello"})"
                           "\n";
  ScriptedServer server(workspace, [&](const api::Request& request) {
    return answer_of(200, request.query.contains("raw") ? std::string("hel\x1blo") : line);
  });
  Program program(workspace.path());
  EXPECT_EQ(program.run({"logs", kId, "-f", "--attempt", "2", "--step", "say"}).out, "00:59:58Z say   | hello\n");
  const std::map<std::string, std::string> query{{"follow", "true"}, {"attempt", "2"}, {"step", "say"}};
  const auto asked = server.asked();
  EXPECT_EQ(asked[asked.size() - 2].query, query);
  EXPECT_EQ(asked.back().path, "/api/v1/runs/" + std::string(kId)) << "how did it end?";
  EXPECT_EQ(program.run({"logs", kId, "--json"}).out, line);
  EXPECT_EQ(program.run({"logs", kId, "--raw"}).out, "hel\x1blo");
  program.terminal = true;
  EXPECT_EQ(program.run({"logs", kId, "--raw"}).out, "hel\\x1blo\n");
}

TEST(WithServer, AQueuedRunSaysWhatItWaitsForAndTakesNoTime) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200, R"({"items":[)" +
                              a_run("queued", R"(,"error":"step a: exit code 7","waiting_for":[{"kind":"pool","name":)"
                                              R"("db","detail":"1 of 1 slots in use"}])") +
                              "]}");
  });
  const std::string out = Program(workspace.path()).run({"runs", "list"}).out;
  EXPECT_NE(out.find("waits for pool db"), std::string::npos) << out;
  EXPECT_EQ(out.find("exit code 7"), std::string::npos) << out;
  EXPECT_EQ(out.find("3.0 s"), std::string::npos) << "it has started once, and does not run: " << out;
}

TEST(WithServer, APausedScheduleSaysSinceWhen) {
  const TempWorkspace workspace;
  const std::string schedule = R"("key":"daily/nightly","paused":true,"paused_at":"2026-03-29T00:55:00Z")";
  std::string body = "{" + schedule + "}";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  EXPECT_NE(program.run({"schedule", "describe", "daily/nightly"}).out.find("paused since 2026-03-29T00:55:00Z (5 min"),
            std::string::npos);
  body = R"({"items":[{)" + schedule + "}]}";
  EXPECT_NE(program.run({"schedule", "list"}).out.find("paused 5 min ago"), std::string::npos);
  body = R"({"paused":true,"items":[{"scheduled_for":"2026-03-30T00:30:00Z"}]})";
  const Outcome preview = program.run({"schedule", "preview", "daily/nightly"});
  EXPECT_NE(preview.out.find("2026-03-30T00:30:00Z"), std::string::npos);
  EXPECT_NE(preview.error.find("the schedule is paused"), std::string::npos);
}

TEST(WithServer, AnErrorIsSaidOnceAndAStepEndsInItsOwnWords) {
  const TempWorkspace workspace;
  ScriptedServer server(workspace, [](const api::Request&) {
    return answer_of(200,
                     a_run("failed", R"(,"steps":[)"
                                     R"({"step":"a","outcome":"failed","exit_code":7,"error":"exit code 7: oops"},)"
                                     R"({"step":"b","outcome":"timed_out","signal":15,"error":"timed out after 3s"},)"
                                     R"({"step":"c","outcome":"failed","exit_code":9,"error":null}])"));
  });
  const std::string out = Program(workspace.path()).run({"runs", "show", kId}).out;
  EXPECT_NE(out.find("  exit code 7: oops\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("exit code 7, "), std::string::npos) << out;
  EXPECT_EQ(out.find("signal 15"), std::string::npos) << "Eider sent it: " << out;
  EXPECT_NE(out.find("  exit code 9\n"), std::string::npos) << out;
}

TEST(WithServer, ReloadSaysWhatIsWrong) {
  const TempWorkspace workspace;
  std::string body = R"({"diagnostics":[]})";
  ScriptedServer server(workspace, [&](const api::Request&) { return answer_of(200, body); });
  Program program(workspace.path());
  EXPECT_EQ(program.run({"reload"}).code, 0);
  body = R"({"diagnostics":[{"severity":"warning","text":"pipelines/a.yaml:1:1: warning: x"}]})";
  EXPECT_EQ(program.run({"reload"}).code, 0);
  body = R"({"diagnostics":[{"severity":"error","text":"pipelines/a.yaml:1:1: error: x"}]})";
  const Outcome wrong = program.run({"reload"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "pipelines/a.yaml:1:1: error: x\nreloaded; a file that is wrong keeps its last good version\n");
}

TEST(WithServer, StopAsksAndWaitsForTheEnd) {
  const TempWorkspace workspace;
  std::unique_ptr<ScriptedServer> server;
  int statuses = 0;
  // No process is named, so the end is seen by the answers: after the second one there is no server.
  server = std::make_unique<ScriptedServer>(workspace, [&](const api::Request& request) {
    if (request.method == "POST") return answer_of(202, "{}");
    return ++statuses < 3 ? answer_of(200, R"({"pid":null,"running":1})")
                          : answer_of(503, R"({"type":"urn:eider:problem:no-server","detail":"gone"})");
  });
  const Outcome outcome = Program(workspace.path()).run({"stop", "--leave-running"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, "stopped\n");
  EXPECT_EQ(statuses, 3);
  EXPECT_EQ(server->asked()[1].body, R"({"leave_running":true})");
}

}  // namespace
}  // namespace eider::cli
