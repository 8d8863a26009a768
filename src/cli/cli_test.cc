// Verbs against the files of a workspace, without a server.
#include "cli/cli.h"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <boost/json.hpp>

#include "cli/test_support.h"
#include "store/store.h"
#include "wire/workspace_lock.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

TEST(WithoutServer, InitMakesAWorkspaceThatIsGoodAndNeverOverwrites) {
  const TestFolder folder;
  Program program(folder.path());
  const Outcome made = program.run({"init", "mine/"});
  EXPECT_EQ(made.code, 0);
  EXPECT_NE(made.out.find("next: `cd mine/ && eider run hello`"), std::string::npos) << made.out;
  EXPECT_EQ(program.run({"-w", "mine", "validate"}).code, 0);
  const Outcome again = program.run({"init", "mine/"});
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.error.find(folder.path() + "/mine/eider.yaml: exists already"), std::string::npos) << again.error;
}

TEST(WithoutServer, TheWorkspaceIsTheNearestFolderUpwards) {
  const TempWorkspace workspace;
  workspace.write("sql/deep/x.sql", "");
  Program below(workspace.path() + "/sql/deep");
  EXPECT_EQ(below.run({"status"}).code, 0);
  const TestFolder elsewhere;
  Program outside(elsewhere.path());
  const Outcome lost = outside.run({"status"});
  EXPECT_EQ(lost.code, 2);
  EXPECT_NE(lost.error.find("eider.yaml"), std::string::npos);
  outside.environment["EIDER_WORKSPACE"] = workspace.path();
  EXPECT_EQ(outside.run({"status"}).code, 0);
  EXPECT_EQ(outside.run({"-w", elsewhere.path(), "status"}).code, 2) << "the option wins";
}

TEST(WithoutServer, ValidateShowsTheLineAndACaret) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  const Outcome good = program.run({"validate"});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.out, "1 pipeline and 1 schedule are good\n");
  workspace.write("pipelines/bad.yaml", "pipeline: bad\nstepps: []\n");
  const Outcome bad = program.run({"validate"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.out.find("pipelines/bad.yaml:2:1: error: "), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("\n 2 | stepps: []\n   | ^\n"), std::string::npos) << bad.out;
  EXPECT_NE(bad.out.find("1 pipeline and 1 schedule are good; 1 file not loaded"), std::string::npos) << bad.out;
  const json::value shape = json::parse(program.run({"validate", "--json"}).out);
  EXPECT_EQ(shape.at("ok"), false);
  EXPECT_EQ(shape.at("diagnostics").as_array().back().at("line"), 2);
}

TEST(WithoutServer, ABrokenSettingsFileRefusesTheWhole) {
  const TempWorkspace workspace;
  workspace.write("eider.yaml", "workers: { max: many }\n");
  const Outcome bad = Program(workspace.path()).run({"validate", "--color", "always"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.out.find("nothing of this workspace can be used"), std::string::npos);
  EXPECT_NE(bad.out.find("\033[31merror\033[0m"), std::string::npos) << bad.out;
}

TEST(WithoutServer, ABrokenSettingsFileIsSaidByEveryVerbThatReadsFiles) {
  const TempWorkspace workspace;
  workspace.write("eider.yaml", "workers: { max: many }\n");
  Program program(workspace.path());
  const std::string where = "eider: eider.yaml:1:17: error: ";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"schedule", "list"},
                                             {"schedule", "list", "--json"},
                                             {"pipelines", "list"},
                                             {"pools"},
                                             {"occurrences", "daily/nightly"},
                                             {"runs", "list", "--pipeline", "daily"}}) {
    const Outcome outcome = program.run(words);
    EXPECT_EQ(outcome.code, 2) << words.front();
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.error.find(where), 0u) << outcome.error;
    EXPECT_NE(outcome.error.find("\n 1 | workers: { max: many }\n   |                 ^\n"), std::string::npos)
        << outcome.error;
  }
  // What has happened can be read all the same; that it is not the whole truth is said.
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"occurrences", "--json"}, {"runs", "list", "--json"}}) {
    const Outcome outcome = program.run(words);
    EXPECT_EQ(outcome.code, 0) << words.front();
    EXPECT_EQ(outcome.out, "{\"items\":[],\"next\":null}\n");
    EXPECT_EQ(outcome.error.find(where), 0u) << outcome.error;
  }
}

TEST(WithoutServer, PipelinesAreListedWithWhatTheyAre) {
  const TempWorkspace workspace;
  workspace.write("pipelines/hello.yaml",
                  "pipeline: hello\ndescription: Says hello\nsteps:\n  - id: say\n    run: [echo, hello]\n");
  workspace.write("pipelines/bad.yaml", "pipeline: bad\nstepps: []\n");
  Program program(workspace.path());
  const Outcome list = program.run({"pipelines", "list"});
  EXPECT_EQ(list.code, 0);
  EXPECT_NE(list.out.find("PIPELINE  STATE    NEXT     RUNS  DESCRIPTION\n"
                          "bad       broken                  pipelines/bad.yaml:1:1: error: "),
            std::string::npos)
      << list.out;
  EXPECT_NE(list.out.find("\ndaily     active   in 23 h\nhello     by hand                 Says hello\n"),
            std::string::npos)
      << list.out;
  const json::value body = json::parse(program.run({"pipelines", "list", "--json"}).out);
  EXPECT_EQ(body.at("items").at(1).at("next"), "2026-03-30T00:30:00Z");
  EXPECT_TRUE(body.at("next").is_null());
}

TEST(WithoutServer, ReadingVerbsReadTheFilesAndAnEmptyStore) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  EXPECT_EQ(program.run({"runs", "list", "--json"}).out, "{\"items\":[],\"next\":null}\n");
  EXPECT_EQ(program.run({"occurrences", "--json"}).out, "{\"items\":[],\"next\":null}\n");
  const json::value status = json::parse(program.run({"status", "--json"}).out);
  EXPECT_EQ(status.at("health"), "stopped");
  EXPECT_EQ(status.at("schedules"), 1);
  const Outcome schedules = program.run({"schedule", "list"});
  EXPECT_NE(schedules.out.find("daily/nightly"), std::string::npos);
  EXPECT_NE(program.run({"pools"}).out.find("heavy"), std::string::npos);
}

constexpr const char* kQueued = "01890a5d-ac96-774b-bcce-b302099a8058";

/// A store as a server that is gone left it: two runs, the first claimed, with a log.
void leave_two_runs(const TestFolder& workspace) {
  const wire::Layout layout{workspace.path()};
  std::filesystem::create_directories(layout.state_folder());
  auto store = store::open_sqlite_store({layout.state_db(), true});
  ASSERT_TRUE(store.ok()) << store.error().message;
  model::ChangeSet changes;
  for (const char* id : {"01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"}) {
    model::Run run;
    run.id = id;
    run.pipeline = "daily";
    run.created_at = run.not_before = at("2026-03-29T00:58:00Z");
    changes.emplace_back(model::RunQueued{run});
  }
  changes.emplace_back(
      model::RunClaimed{"01890a5d-ac96-774b-bcce-b302099a8057", 1, at("2026-03-29T00:59:00Z"), "", {}});
  ASSERT_TRUE((*store)->begin().ok());
  const auto applied = (*store)->apply(changes);
  ASSERT_TRUE(applied.ok() && *applied);
  ASSERT_TRUE((*store)->commit().ok());
  const std::string log = layout.run_folder("01890a5d-ac96-774b-bcce-b302099a8057");
  workspace.write(std::filesystem::relative(wire::Layout::attempt_log(log, 1), workspace.path()).string(),
                  R"({"at":"2026-03-29T00:59:58Z","step":"say","stream":"stdout","text":"hello"})"
                  "\n");
}

TEST(WithoutServer, ReadingVerbsReadTheStore) {
  const TempWorkspace workspace;
  leave_two_runs(workspace);
  Program program(workspace.path());
  const Outcome list = program.run({"runs", "list", "--state", "running"});
  EXPECT_EQ(list.out,
            "RUN                                   PIPELINE  STATE    CAUSE    CREATED    TOOK       WHY\n"
            "01890a5d-ac96-774b-bcce-b302099a8057  daily     running  by hand  2 min ago  1 min 0 s\n");
  program.terminal = true;
  program.environment["NO_COLOR"] = "1";
  const std::string both = program.run({"runs", "list"}).out;
  EXPECT_NE(both.find("\n01890a5d-ac96-774b-bcce-b302099a8058  daily"), std::string::npos)
      << "no shorter form is unique: " << both;
  program.terminal = false;
  const Outcome ambiguous = program.run({"runs", "show", "01890a5d"});
  EXPECT_EQ(ambiguous.code, 2);
  EXPECT_NE(ambiguous.error.find("b302099a8057"), std::string::npos);
  EXPECT_NE(ambiguous.error.find("b302099a8058"), std::string::npos);
  EXPECT_NE(program.run({"runs", "show", "01890a5d-ac96-774b-bcce-b302099a8058"}).out.find("state      queued"),
            std::string::npos);
  EXPECT_EQ(program.run({"logs", "01890a5d-ac96-774b-bcce-b302099a8057"}).out, "00:59:58Z say   | hello\n");
  EXPECT_EQ(program.run({"__complete", "fish", "logs", "01890a5d-ac96-774b-bcce-b302099a8057"}).out,
            "01890a5d-ac96-774b-bcce-b302099a8057\n");
}

TEST(WithoutServer, WhatIsOpenWaitsForAServer) {
  const TempWorkspace workspace;
  leave_two_runs(workspace);
  Program program(workspace.path());
  const std::string list = program.run({"runs", "list", "--state", "queued"}).out;
  EXPECT_NE(list.find("waits for a server: none is running; `eider serve` starts one"), std::string::npos) << list;
  const json::value run = json::parse(program.run({"runs", "show", kQueued, "--json"}).out);
  EXPECT_EQ(run.at("waiting_for").at(0).at("kind"), "server");
  EXPECT_EQ(run.at("waiting_for").at(0).at("since"), "2026-03-29T00:58:00Z");
  const Outcome status = program.run({"status"});
  EXPECT_NE(status.out.find("1 running when the server ended, 1 queued"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find(", if a server runs then"), std::string::npos) << status.out;
  EXPECT_EQ(json::parse(program.run({"status", "--json"}).out).at("foreground_run"), nullptr);
  program.terminal = true;
  EXPECT_NE(program.run({"schedule", "list"}).error.find("no server is running"), std::string::npos);
}

/// A process of its own that runs a pipeline in the foreground, as far as others can see.
class Foreground {
 public:
  Foreground(const TestFolder& workspace, const std::string& pipeline) {
    const wire::Layout layout{workspace.path()};
    std::filesystem::create_directories(layout.state_folder());
    int ends[2];
    EIDER_CHECK(::pipe(ends) == 0, "no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto lock = wire::take_workspace_lock(layout, pipeline);
      EIDER_CHECK(lock.ok(), "the workspace is locked already");
      EIDER_CHECK(::write(ends[1], "y", 1) == 1, "nobody listens");
      while (true) ::pause();
    }
    char told = 0;
    EIDER_CHECK(::read(ends[0], &told, 1) == 1, "the other process is gone");
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Foreground() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = 0;
};

TEST(WithoutServer, ARunInTheForegroundIsNamed) {
  const TempWorkspace workspace;
  leave_two_runs(workspace);
  const Foreground other(workspace, "nap");
  Program program(workspace.path());
  const std::string named = "`eider run nap` (process " + other.pid() + ") holds this workspace while it runs";
  const Outcome status = program.run({"status"});
  EXPECT_NE(status.out.find("stopped: no server is running; " + named), std::string::npos) << status.out;
  EXPECT_NE(status.out.find("1 running of at most"), std::string::npos) << status.out;
  EXPECT_EQ(json::parse(program.run({"status", "--json"}).out).at("foreground_run").at("pipeline"), "nap");
  const Outcome cancel = program.run({"cancel", kQueued});
  EXPECT_EQ(cancel.code, 3);
  EXPECT_NE(cancel.error.find(named + "; wait for it, or press Ctrl-C there"), std::string::npos) << cancel.error;
  EXPECT_EQ(cancel.error.find("start one"), std::string::npos) << "it would be refused: " << cancel.error;
  EXPECT_NE(program.run({"runs", "list"}).out.find("waits for a server: none is running; " + named), std::string::npos);
}

TEST(WithoutServer, TheEndOfALiveRunIsNotWaitedFor) {
  const TempWorkspace workspace;
  leave_two_runs(workspace);
  const Outcome outcome = Program(workspace.path()).run({"logs", "-f", "01890a5d-ac96-774b-bcce-b302099a8057"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "00:59:58Z say   | hello\n");
  EXPECT_NE(outcome.error.find("the log so far"), std::string::npos);
}

TEST(WithoutServer, ADamagedStoreIsSaid) {
  const TempWorkspace workspace;
  workspace.write(".eider/state.db", std::string(8192, 'x'));
  const Outcome outcome = Program(workspace.path()).run({"runs", "list"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.error.find("state.db"), std::string::npos) << outcome.error;
}

TEST(WithoutServer, WhatChangesSomethingNeedsAServer) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"stop"},
                                             {"reload"},
                                             {"schedule", "pause", "daily/nightly"},
                                             {"cancel", "0192"},
                                             {"retry", "0192"},
                                             {"run", "daily", "--detach"}}) {
    const Outcome outcome = program.run(words);
    EXPECT_EQ(outcome.code, 3) << words.front();
    EXPECT_NE(outcome.error.find("eider serve"), std::string::npos) << outcome.error;
  }
}

TEST(WithoutServer, WrongRequestsAreExplained) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  const std::pair<std::vector<std::string>, std::string> lines[] = {
      {{"runs", "list", "--state", "faild"},
       "--state: `faild` is wrong: expected one of queued, running, succeeded, failed or cancelled; did you mean "
       "`failed`?"},
      {{"runs", "list", "--pipeline", "dialy"},
       "--pipeline: there is no pipeline `dialy` in this workspace; did you mean `daily`?"},
      {{"schedule", "list", "--pipeline", "nope"},
       "--pipeline: there is no pipeline `nope` in this workspace; `eider pipelines list` shows them"},
      {{"occurrences", "nope"},
       "there is no pipeline `nope` in this workspace or its history; `eider pipelines list` shows them"},
      {{"occurrences", "--decision", "coalesce"},
       "--decision: `coalesce` is wrong: expected one of run, skipped, missed, coalesced, excluded or paused; did you "
       "mean `coalesced`?"},
      {{"runs", "show", "zz"},
       "`zz` is no run's id: expected 4 or more of its characters 0-9, a-f and -; `eider runs list` shows them"},
      {{"runs", "show", "0192"}, "there is no run 0192; `eider runs list` shows them"},
      {{"schedule", "describe", "daily/nigthly"},
       "there is no schedule `daily/nigthly` in this workspace; did you mean `daily/nightly`?"},
      {{"schedule", "preview", "daily/nightly", "--count", "0"},
       "--count: `0` is wrong: expected a whole number from 1 to 1000"},
      {{"schedule", "preview", "--cron", "* * * * *", "--count", "0"},
       "--count: `0` is wrong: expected a whole number from 1 to 1000"},
  };
  for (const auto& [words, said] : lines) {
    const Outcome outcome = program.run(words);
    EXPECT_EQ(outcome.code, 2) << said;
    EXPECT_EQ(outcome.error, "eider: " + said + "\n");
  }
  EXPECT_EQ(program.run({"logs", "../../etc/passwd"}).code, 2);
  EXPECT_NE(program.run({"schedule", "describe", "daily"}).error.find("expected pipeline/id"), std::string::npos);
  const std::string time = program.run({"schedule", "preview", "daily/nightly", "--from", "yesterday"}).error;
  EXPECT_EQ(time, program.run({"schedule", "preview", "--cron", "* * * * *", "--from", "yesterday"}).error)
      << "one mistake, one sentence";
  EXPECT_EQ(time.find("eider: --from: \"yesterday\" is not a time"), 0u) << time;
}

TEST(WithoutServer, PreviewOfACronExpressionNeedsNoWorkspace) {
  const TestFolder folder;
  Program program(folder.path());
  const Outcome shown = program.run({"schedule", "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Brussels",
                                     "--from", "2026-03-28T12:00:00Z", "--count", "2", "--json"});
  ASSERT_EQ(shown.code, 0) << shown.error;
  const json::value body = json::parse(shown.out);
  EXPECT_EQ(body.at("items").at(0).at("scheduled_for"), "2026-03-29T01:00:00Z");
  EXPECT_EQ(body.at("items").at(0).at("shifted"), true);
  EXPECT_EQ(body.at("items").as_array().size(), 2u);
  EXPECT_EQ(body.at("next"), nullptr);
  EXPECT_EQ(program.run({"schedule", "preview", "--cron", "61 2 * * *"}).code, 2);
  EXPECT_EQ(program.run({"schedule", "preview", "--cron", "* * * * *", "--timezone", "Nowhere"}).code, 2);
  EXPECT_EQ(program.run({"schedule", "preview", "--cron", "* * * * *", "--count", "0"}).code, 2);
  EXPECT_EQ(program.run({"schedule", "preview", "--cron", "* * * * *", "--from", "yesterday"}).code, 2);
  const Outcome until = program.run({"schedule", "preview", "--cron", "* * * * *", "--from", "2026-03-28T12:00:00Z",
                                     "--to", "2026-03-28T12:20:00Z", "--json"});
  EXPECT_EQ(json::parse(until.out).at("items").as_array().size(), 20u) << "with --to the default count does not cut";
  const Outcome never = program.run({"schedule", "preview", "--cron", "0 0 0 1 1 * 2020"});
  EXPECT_EQ(never.code, 0);
  EXPECT_EQ(never.out, "");
  EXPECT_EQ(never.error, "it does not fire in that time\n") << "in a pipe, too";
}

TEST(WithoutServer, RunIsDoneInThisProcess) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  std::optional<RunAloneRequest> asked;
  const std::string over =
      R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","pipeline":"daily","state":"failed","attempt":1,)"
      R"("started_at":"2026-03-29T00:59:58Z","finished_at":"2026-03-29T01:00:00Z","error":"line 1\nline 2"})";
  program.alone = [&](const RunAloneRequest& request) {
    asked = request;
    request.on_progress(over);
    return exit_failed;
  };
  const Outcome outcome =
      program.run({"run", "daily", "--params", "{\"a\":1}", "-p", "b=x", "-p", "n:=2", "--partition", "p"});
  EXPECT_EQ(outcome.code, 1);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(json::parse(asked->params), json::parse(R"({"a":1,"b":"x","n":2})"));
  EXPECT_EQ(asked->partition, "p");
  EXPECT_EQ(asked->workspace, workspace.path());
  EXPECT_NE(outcome.error.find("daily failed in 2.0 s"), std::string::npos) << outcome.error;
  EXPECT_NE(outcome.error.find("line 1\nline 2\n"), std::string::npos);
  EXPECT_EQ(program.run({"run", "daily", "--json"}).out, over + "\n");
}

TEST(WithoutServer, RunKnowsItsPipelines) {
  const TempWorkspace workspace;
  workspace.write("pipelines/bad.yaml", "pipeline: bad\nstepps: []\n");
  Program program(workspace.path());
  program.alone = [](const RunAloneRequest&) { return ADD_FAILURE() << "nothing to run", exit_failed; };
  const Outcome mistyped = program.run({"run", "dialy"});
  EXPECT_EQ(mistyped.code, 2);
  EXPECT_NE(mistyped.error.find("did you mean `daily`?"), std::string::npos) << mistyped.error;
  EXPECT_EQ(program.run({"run", "nope"}).error,
            "eider: there is no pipeline `nope` in this workspace; `eider pipelines list` shows them\n");
  const Outcome broken = program.run({"run", "bad"});
  EXPECT_EQ(broken.code, 2);
  EXPECT_NE(broken.error.find("pipelines/bad.yaml:2:1"), std::string::npos) << broken.error;
  EXPECT_EQ(program.run({"run", "daily", "--params", "[1]"}).code, 2);
  EXPECT_EQ(program.run({"run", "daily", "--params", "{\"a\":1,\"a\":2}"}).code, 2) << "a key twice";
  EXPECT_EQ(program.run({"run", "daily", "-p", "nothing"}).code, 2);
  EXPECT_EQ(program.run({"run", "daily", "-p", "n:=x"}).code, 2);
}

TEST(WithoutServer, TheOtherVerbs) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  EXPECT_EQ(program.run({"version"}).out, "eider 1.2.3\n");
  EXPECT_EQ(program.run({"version", "--json"}).out, "{\"version\":\"1.2.3\"}\n");
  EXPECT_NE(json::parse(program.run({"schema"}).out), json::parse(program.run({"schema", "workspace"}).out));
  EXPECT_EQ(program.run({"worker"}).code, 77);
  EXPECT_EQ(program.run({"serve", "--json", "--test-clock", "2026-03-29T01:00:00Z"}).code, 0);
  ASSERT_TRUE(program.served.has_value());
  EXPECT_EQ(program.served->workspace, workspace.path());
  EXPECT_TRUE(program.served->json);
  EXPECT_EQ(program.served->test_clock, at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(program.run({"serve", "--test-clock", "soon"}).code, 2);
  EXPECT_NE(program.run({"completion", "bash"}).out.find("__complete bash"), std::string::npos);
  EXPECT_EQ(program.run({"nonsense"}).code, 2);
}

TEST(WithoutServer, CompletionKnowsTheNamesOfTheWorkspace) {
  const TempWorkspace workspace;
  Program program(workspace.path());
  EXPECT_EQ(program.run({"__complete", "bash", "run", ""}).out, "daily\n");
  EXPECT_EQ(program.run({"__complete", "zsh", "schedule", "pause", "da"}).out, "daily/nightly\n");
  EXPECT_EQ(program.run({"__complete", "bash", "runs", "list", "--pipeline", "=", "d"}).out, "daily\n");
  EXPECT_EQ(program.run({"__complete", "fish", "runs", "list", "--pipeline=d"}).out, "--pipeline=daily\n");
  EXPECT_EQ(program.run({"__complete", "zsh", "sta"}).out, "status\n");
  const TestFolder nowhere;
  const Outcome lost = Program(nowhere.path()).run({"__complete", "bash", "run", ""});
  EXPECT_EQ(lost.code, 0);
  EXPECT_EQ(lost.out + lost.error, "") << "a completion never complains";
}

}  // namespace
}  // namespace eider::cli
