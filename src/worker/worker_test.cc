// The steps of a run as its server sees them: order, environment, ends, facts. And main(): this program is the worker
// under test as well.
#include "worker/worker.h"

#include "base/clock.h"
#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;
using wire::StepOutcome;

TEST(Worker, RunsAProgramAndLeavesResultAndLog) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("hello", "echo out; echo err >&2")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(step_of(result, "hello").exit_code, 0);
  EXPECT_GT(result.peak_memory_bytes, 0);
  EXPECT_TRUE(result.started_at.has_value());
  EXPECT_EQ(run.result_file().outcome, Outcome::succeeded);
  EXPECT_EQ(run.log_text("stdout"), "out\n");
  EXPECT_EQ(run.log_text("stderr"), "err\n");
  EXPECT_TRUE(run.lock_is_free());
  EXPECT_FALSE(std::filesystem::exists(wire::Layout::attempt_temp(run.job.folder, 1)));
  EXPECT_FALSE(std::filesystem::exists(wire::Layout::attempt_socket(run.job.folder, 1)));
  // The frames before the last one.
  ASSERT_EQ(worker.server->seen.size(), 2U);
  EXPECT_GT(std::get<wire::StepStarted>(worker.server->seen[0]).pid, 0);
  EXPECT_EQ(std::get<wire::StepEnded>(worker.server->seen[1]).result.step, "hello");
}

TEST(Worker, RunsOneAfterTheOtherAndLeavesWhenAsked) {
  const Workspace workspace;
  TestWorker worker(workspace);
  for (int i = 0; i < 3; ++i) {
    TestRun run(workspace, pipeline({program("a", {"true"})}), 1, fmt::format("run-{}", i));
    EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
  }
  EXPECT_TRUE(workspace.has(fmt::format(".eider/workers/{}", worker.pid)));
  worker.server->send(wire::Quit{});
  EXPECT_TRUE(worker.server->at_end());
  EXPECT_EQ(worker.wait_for_exit(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(workspace.path(".eider/workers")));
}

TEST(Worker, TheTemporaryFolderIsEmptyForEachRun) {
  const Workspace workspace;
  // What a killed worker left behind goes too; 2^22 is above every process number.
  std::filesystem::create_directories(workspace.path(".eider/workers/4194304/tmp"));
  TestWorker worker(workspace);
  int number = 0;
  for (const char* script : {"true", "touch \"$EIDER_TEMP/x\"", "true", "mkdir \"$EIDER_TEMP/y\"", "true"}) {
    TestRun run(workspace, pipeline({shell("a", std::string("test -z \"$(ls -A \"$EIDER_TEMP\")\" && ") + script)}), 1,
                fmt::format("run-{}", ++number));
    const auto result = run.run_on(worker);
    EXPECT_EQ(result.outcome, Outcome::succeeded) << script << result.error;
    EXPECT_FALSE(std::filesystem::exists(wire::Layout::attempt_temp(run.job.folder, 1)));
  }
  EXPECT_FALSE(workspace.has(".eider/workers/4194304"));
}

TEST(Worker, StepsFollowTheirNeeds) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("c", "echo c >> order", {"b"}), shell("b", "echo b >> order", {"a"}),
                                   shell("a", "echo a >> order"), shell("d", "echo d >> order", {"c", "a"})}));
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
  EXPECT_EQ(workspace.read("order"), "a\nb\nc\nd\n");
}

TEST(Worker, IndependentStepsRunSideBySide) {
  const Workspace workspace;
  TestWorker worker(workspace);
  // Each opens what the other must open as well: one after the other they would wait for ever.
  TestRun run(workspace, pipeline({shell("pipes", "mkfifo x y"), shell("a", "echo 1 > x; cat y", {"pipes"}),
                                   shell("b", "cat x; echo 2 > y", {"pipes"})}));
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
}

TEST(Worker, AFailedStepSkipsWhatNeedsItAndNothingElse) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace,
              pipeline({shell("bad", "echo 'no such table' >&2; exit 3"), shell("needs_bad", "touch no", {"bad"}),
                        shell("needs_that", "touch no", {"needs_bad"}), shell("good", "true"),
                        shell("after", "touch yes", {"good"})}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.error, "step bad: exit code 3: no such table");
  EXPECT_EQ(step_of(result, "bad").outcome, StepOutcome::failed);
  EXPECT_EQ(step_of(result, "needs_bad").outcome, StepOutcome::skipped);
  EXPECT_EQ(step_of(result, "needs_that").outcome, StepOutcome::skipped);
  EXPECT_FALSE(step_of(result, "needs_that").started_at.has_value());
  EXPECT_EQ(step_of(result, "after").outcome, StepOutcome::succeeded);
  EXPECT_TRUE(workspace.has("yes"));
  EXPECT_FALSE(workspace.has("no"));
}

TEST(Worker, AProgramEndedByASignalSaysWhich) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "kill -SEGV $$")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.error, "step a: ended by signal 11 (Segmentation fault)");
}

TEST(Worker, AProgramThatCanNotStartSaysWhatToCheck) {
  const Workspace workspace;
  workspace.write("plain.sh", "echo hello\n");
  workspace.write("odd.sh", "#!/no/such/interpreter\n");
  std::filesystem::permissions(workspace.path("odd.sh"), std::filesystem::perms::owner_all);
  TestWorker worker(workspace);
  TestRun run(workspace,
              pipeline({program("unknown", {"no-such-program-1"}), program("path", {"scripts/none.py"}),
                        program("plain", {"./plain.sh"}), program("folder", {"/tmp"}), program("odd", {"./odd.sh"})}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  const auto says = [&](const std::string& step, const std::string& part) {
    EXPECT_EQ(step_of(result, step).outcome, StepOutcome::failed);
    EXPECT_NE(step_of(result, step).error.find(part), std::string::npos) << step_of(result, step).error;
  };
  says("unknown", "there is no program `no-such-program-1` in the PATH");
  says("path", workspace.path("scripts/none.py"));
  says("plain", "may not be executed; check its permissions (chmod +x)");
  says("folder", "is a folder");
  says("odd", "its first line asks for /no/such/interpreter, which is not there");
  EXPECT_NE(result.error.find("step unknown: "), std::string::npos);
}

TEST(Worker, AProgramKnowsItsRun) {
  const Workspace workspace;
  ::setenv("EIDER_SECRET_OF_THE_SERVER", "x", 1);
  ::setenv("NOTIFY_SOCKET", "/run/x", 1);
  TestWorker worker(workspace);
  ::unsetenv("EIDER_SECRET_OF_THE_SERVER");
  ::unsetenv("NOTIFY_SOCKET");
  model::Step step =
      shell("show", "env > env.txt; pwd > cwd.txt; ls -l /proc/self/fd > fds.txt; cat; test -d \"$EIDER_TEMP\"");
  step.env = {{"COLOUR", "green"}, {"EIDER_RUN_ID", "forged"}};
  TestRun run(workspace, pipeline({step}), 2);
  run.job.facts = {{"scheduled_for", "2026-03-29T01:00:00Z"}, {"trigger", "schedule"}, {"params", "{\"a\":1}"}};
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
  const std::string env = "\n" + workspace.read("env.txt");
  for (const std::string entry : {"EIDER_RUN_ID=run-1", "EIDER_ATTEMPT=2", "EIDER_PIPELINE=p", "EIDER_STEP=show",
                                  "EIDER_SCHEDULED_FOR=2026-03-29T01:00:00Z", "EIDER_PARTITION=",
                                  "EIDER_TRIGGER=schedule", "EIDER_PARAMS={\"a\":1}", "COLOUR=green"}) {
    EXPECT_NE(env.find("\n" + entry + "\n"), std::string::npos) << entry;
  }
  EXPECT_NE(env.find("\nEIDER_WORKSPACE=" + workspace.folder + "\n"), std::string::npos);
  EXPECT_EQ(env.find("SECRET_OF_THE_SERVER"), std::string::npos);
  EXPECT_EQ(env.find("NOTIFY_SOCKET"), std::string::npos);
  EXPECT_EQ(workspace.read("cwd.txt"), workspace.folder + "\n");
  // 0 to 2, the lock at 9, and the folder that ls itself reads.
  const std::string fds = workspace.read("fds.txt");
  EXPECT_NE(fds.find(" 9 -> " + run.layout.lock_file("run-1")), std::string::npos) << fds;
  EXPECT_EQ(std::count(fds.begin(), fds.end(), '>'), 5) << fds;
}

TEST(Worker, FactsOfAStepReachLaterOnes) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("count",
                                         "echo '{\"rows\": 7, \"x\": 1}' >> \"$EIDER_OUTPUT\"\n"
                                         "echo '{\"x\": \"two\"}' >> \"$EIDER_OUTPUT\""),
                                   shell("between", "test -f \"$EIDER_FACTS\"", {"count"}),
                                   shell("report", "cp \"$EIDER_FACTS\" facts.json", {"between"})}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(step_of(result, "count").rows, 7);
  EXPECT_EQ(boost::json::parse(step_of(result, "count").facts), boost::json::parse(R"({"rows":7,"x":"two"})"));
  EXPECT_EQ(boost::json::parse(workspace.read("facts.json")), boost::json::parse(R"({"count":{"rows":7,"x":"two"}})"));
}

TEST(Worker, FactsThatAreNoFileAreRefusedAndNotWaitedFor) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace,
              pipeline({shell("a", "mkfifo \"$EIDER_OUTPUT\""), shell("b", "ln -s /dev/zero \"$EIDER_OUTPUT\""),
                        shell("c", "mkfifo \"$EIDER_TEMP/d.needs.json\""), shell("d", "true", {"c"})}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(step_of(result, "a").error.find("is no regular file"), std::string::npos) << step_of(result, "a").error;
  EXPECT_NE(step_of(result, "b").error.find("is no regular file"), std::string::npos) << step_of(result, "b").error;
  EXPECT_EQ(step_of(result, "c").outcome, StepOutcome::succeeded);
  EXPECT_NE(step_of(result, "d").error.find("d.needs.json"), std::string::npos) << step_of(result, "d").error;
}

TEST(Worker, BadFactsFailTheStepInWords) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "echo '{}' > \"$EIDER_OUTPUT\"; echo 'rows: 7' >> \"$EIDER_OUTPUT\""),
                                   shell("b", "echo 7 > \"$EIDER_OUTPUT\""),
                                   shell("c", "head -c 1100000 /dev/zero > \"$EIDER_OUTPUT\"")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(step_of(result, "a").error.find("line 2 of the file $EIDER_OUTPUT is no JSON"), std::string::npos);
  EXPECT_NE(step_of(result, "b").error.find("line 1 of the file $EIDER_OUTPUT is no JSON object"), std::string::npos);
  EXPECT_NE(step_of(result, "c").error.find("larger than 1048576 bytes"), std::string::npos);
}

TEST(Worker, ABrokenJobIsAFailedAttemptAndAMissingPlaceIsNone) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun damaged(workspace, pipeline({program("a", {"true"})}));
  damaged.job.definition = "{";
  auto result = damaged.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("the run's definition can't be read"), std::string::npos) << result.error;
  EXPECT_EQ(damaged.result_file().outcome, Outcome::failed);

  TestRun nowhere(workspace, pipeline({program("a", {"true"})}), 1, "run-2");
  nowhere.job.folder = "/proc/no/such/folder";
  result = nowhere.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::released) << "that is not the run's fault";
  EXPECT_FALSE(result.file_held.has_value());
  EXPECT_NE(result.error.find("/proc/no"), std::string::npos) << result.error;
}

TEST(Worker, TimesAreOfTheServersClock) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "echo x")}));
  run.job.clock_offset = std::chrono::hours(24 * 365 * 40);
  const auto result = run.run_on(worker);
  const auto later = *parse_rfc3339("2060-01-01T00:00:00Z");
  EXPECT_GT(result.finished_at, later);
  EXPECT_GT(result.started_at, later);
  EXPECT_GT(*parse_rfc3339(std::string(run.log().at(0).at("at").as_string())), later);
}

}  // namespace
}  // namespace eider::worker

#if defined(__SANITIZE_THREAD__)
/// libduckdb.so is not instrumented: what it does to order its threads can't be seen, and looks like races.
extern "C" const char* __tsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:libduckdb.so\nmutex:libduckdb.so\ndeadlock:libduckdb.so\n";
}
#endif

/// The test program, or the worker that its tests start: `worker-under-test` and five limits in microseconds.
int main(int argc, char** argv) {
  if (argc == 7 && std::string_view(argv[1]) == eider::worker::kWorkerUnderTest) {
    const auto micros = [&](int at) { return eider::Micros(std::atoll(argv[at])); };
    eider::worker::Limits limits;
    limits.after_interrupt = micros(2);
    limits.after_term = micros(3);
    limits.left_over_grace = micros(4);
    limits.held_file_first_wait = micros(5);
    limits.progress_every = micros(6);
    const eider::SystemClock clock;
    return eider::worker::worker_main(3, clock, limits);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
