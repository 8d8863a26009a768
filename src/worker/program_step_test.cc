// Ends of programs: left-overs, cancels, time-outs, and a flood of output.
#include "worker/program_step.h"

#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;
using wire::StepOutcome;

/// Waits (with the harness's deadline) until a step has written its line to the fifo, so that what it set up is there.
std::string read_fifo(const Workspace& workspace) {
  std::ifstream fifo(workspace.path("fifo"));
  std::string line;
  std::getline(fifo, line);
  return line;
}

class Program : public testing::Test {
 protected:
  Program() { EIDER_CHECK(::mkfifo(workspace.path("fifo").c_str(), 0600) == 0, "mkfifo"); }

  wire::AttemptResult cancel(TestWorker& worker, const TestRun& run) {
    worker.server->send(wire::Cancel{run.job.run_id, run.job.attempt, "by a test"});
    return worker.server->wait_for<wire::Finished>().result;
  }

  Workspace workspace;
};

TEST_F(Program, O14AChildThatKeepsThePipesDoesNotKeepTheRun) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "sleep 300 & echo $!; exit 0")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_EQ(step_of(result, "a").exit_code, 0);
  EXPECT_EQ(step_of(result, "a").left_over_processes, 1);
  EXPECT_TRUE(is_gone(std::stoi(run.log_text("stdout"))));
  EXPECT_EQ(run.log_text("eider"), "left 1 process(es) running; ended with SIGKILL\n");
  EXPECT_TRUE(run.lock_is_free());
}

TEST_F(Program, LeftOversThatHideAreFoundToo) {
  TestWorker worker(workspace);
  // In a session of their own, without pipes and lock; the second without the environment as well.
  TestRun run(workspace,
              pipeline({shell("a",
                              "setsid sleep 300 </dev/null >/dev/null 2>&1 9>&- & echo $! > one\n"
                              "(env -i setsid /bin/sh -c 'sleep 300 & echo $! > three; exec sleep 300' </dev/null "
                              ">/dev/null 2>&1 9>&- & echo $! > two)\n"
                              "while ! test -s three; do :; done")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_GE(step_of(result, "a").left_over_processes, 2);
  for (const char* file : {"one", "two", "three"}) EXPECT_TRUE(is_gone(std::stoi(workspace.read(file)))) << file;
}

TEST_F(Program, AChildThatEndsInTimeIsNoLeftOver) {
  Limits limits = quick_limits();
  limits.left_over_grace = std::chrono::hours(1);
  TestWorker worker(workspace, limits);
  TestRun run(workspace, pipeline({shell("a", "echo early; (read x < fifo; echo late) & exit 0")}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  std::ofstream(workspace.path("fifo")) << "go\n";
  const auto result = worker.server->wait_for<wire::Finished>().result;
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_EQ(step_of(result, "a").left_over_processes, 0);
  EXPECT_EQ(run.log_text("stdout"), "early\nlate\n");
}

TEST_F(Program, AStepsLeftOversAreNotAnotherStepsConcern) {
  TestWorker worker(workspace);
  // b's own children, adopted by the worker, live through the end of a.
  TestRun run(workspace, pipeline({shell("b",
                                         "(sh -c 'read x < fifo; echo alive > b_child' &) ; mkfifo ready; cat ready; "
                                         "echo go > fifo; while ! test -s b_child; do :; done"),
                                   shell("a", "while ! test -p ready; do :; done; sleep 300 & exit 0"),
                                   shell("then", "echo x > ready", {"a"})}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(step_of(result, "a").left_over_processes, 1);
  EXPECT_EQ(step_of(result, "b").left_over_processes, 0);
  EXPECT_TRUE(workspace.has("b_child"));
}

TEST_F(Program, O21CancelEndsTheWholeGroup) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({program("a", {"bash", "-c", "sleep 600 & sleep 600 & echo ready > fifo; wait"})}));
  run.hand_to(worker);
  const int pid = worker.server->wait_for_start("a").pid;
  EXPECT_EQ(read_fifo(workspace), "ready");
  const auto result = cancel(worker, run);
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_EQ(result.error, "by a test");
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_TRUE(is_gone(-pid));
  EXPECT_TRUE(run.lock_is_free());
  EXPECT_EQ(run.result_file().outcome, Outcome::cancelled);
}

TEST_F(Program, WhatIgnoresSigtermGetsSigkill) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "trap '' TERM; setsid sh -c 'echo $$ > fifo; while :; do sleep 1; done'"),
                                   shell("never", "touch no", {"a"})}));
  run.hand_to(worker);
  const int pid = worker.server->wait_for_start("a").pid;
  const int escaped = std::stoi(read_fifo(workspace));
  const auto result = cancel(worker, run);
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_TRUE(is_gone(-pid));
  EXPECT_TRUE(is_gone(escaped));
  EXPECT_EQ(step_of(result, "never").outcome, StepOutcome::skipped);
  EXPECT_NE(run.log_text("eider").find("did not end within 300ms of SIGTERM: SIGKILL"), std::string::npos);
}

TEST_F(Program, O22ACancelledRunIsCancelledThoughItsExitCodeIsZero) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "trap 'exit 0' TERM; sleep 600 & echo ready > fifo; wait")}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  read_fifo(workspace);
  const auto result = cancel(worker, run);
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(step_of(result, "a").outcome, StepOutcome::cancelled);
}

TEST_F(Program, O22ATimeOutIsATimeOutThoughTheExitCodeIsZero) {
  TestWorker worker(workspace);
  auto of_run = pipeline({shell("a", "trap 'exit 0' TERM; sleep 600 & wait")});
  of_run.timeout = std::chrono::seconds(1);
  auto result = TestRun(workspace, of_run).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::timed_out);
  EXPECT_EQ(result.error, "timed out after 1s");
  EXPECT_EQ(result.exit_code, 0);

  auto of_step =
      pipeline({shell("a", "trap 'exit 0' TERM; sleep 600 & wait"), shell("b", "true"), shell("c", "true", {"a"})});
  of_step.steps[0].timeout = std::chrono::seconds(1);
  result = TestRun(workspace, of_step, 1, "run-2").run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::timed_out);
  EXPECT_EQ(result.error, "step a: timed out after 1s");
  EXPECT_EQ(step_of(result, "a").exit_code, 0);
  EXPECT_EQ(step_of(result, "b").outcome, StepOutcome::succeeded);
  EXPECT_EQ(step_of(result, "c").outcome, StepOutcome::skipped);
}

TEST_F(Program, TheLogSaysOnceHowAStepEnded) {
  TestWorker worker(workspace);
  auto slow = pipeline({shell("a", "sleep 600"), shell("b", "true", {"a"})});
  slow.steps[0].timeout = std::chrono::milliseconds(100);
  TestRun timed_out(workspace, slow);
  timed_out.run_on(worker);
  EXPECT_EQ(timed_out.log_text("eider"), "timed out after 100ms\nskipped: a step that it needs did not succeed\n");
  TestRun missing(workspace, pipeline({program("a", {"pyton3"})}), 1, "run-2");
  missing.run_on(worker);
  const std::string text = missing.log_text("eider");
  EXPECT_NE(text.find("the PATH is "), std::string::npos) << text;
  EXPECT_NE(text.find("failed: there is no program `pyton3` in the PATH; install it"), std::string::npos) << text;
}

TEST_F(Program, ACancelRightAfterTheJobStartsNothing) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "touch no")}));
  ::kill(worker.pid, SIGSTOP);  // so that it finds both frames at once
  run.hand_to(worker);
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  ::kill(worker.pid, SIGCONT);
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::cancelled);
  EXPECT_FALSE(workspace.has("no"));
}

TEST_F(Program, ACancelOfAnotherAttemptIsIgnored) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "cat fifo")}), 2);
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  worker.server->send(wire::Cancel{"run-2", 2, ""});
  std::ofstream(workspace.path("fifo")) << "go\n";
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::succeeded);
}

TEST_F(Program, SigtermToTheWorkerInterruptsItsRun) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "echo ready > fifo; sleep 600")}));
  run.hand_to(worker);
  read_fifo(workspace);
  ::kill(worker.pid, SIGTERM);
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::interrupted);
  EXPECT_TRUE(worker.server->at_end());
  EXPECT_EQ(worker.wait_for_exit(), 0);
  EXPECT_TRUE(run.lock_is_free());
}

TEST_F(Program, AFloodOfOutputIsCutAndDoesNotKeepACancelWaiting) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "yes & echo started > fifo; wait")}));
  run.job.log_limit_bytes = 200'000;
  run.hand_to(worker);
  read_fifo(workspace);
  EXPECT_EQ(cancel(worker, run).outcome, Outcome::cancelled);
  EXPECT_LE(std::filesystem::file_size(wire::Layout::attempt_log(run.job.folder, 1)), 200'000U);
  run.log();  // all of it is JSON
}

TEST_F(Program, O23AVeryLongLineIsCutWithAMark) {
  TestWorker worker(workspace);
  TestRun warm_up(workspace, pipeline({shell("a", "echo x")}), 1, "run-0");
  const auto before = warm_up.run_on(worker).peak_memory_bytes.value();
  TestRun run(workspace, pipeline({shell("a", "head -c 2000000 /dev/zero | tr '\\0' x; printf '\\nend\\n'")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  const auto log = run.log();
  ASSERT_EQ(log.size(), 2U);
  const std::string text(log[0].at("text").as_string());
  EXPECT_EQ(text, std::string(65536, 'x') + " … [cut: the line has 2000000 bytes]");
  EXPECT_EQ(log[1].at("text").as_string(), "end");
  EXPECT_LT(result.peak_memory_bytes.value() - before, 16 * 1024 * 1024);
}

TEST_F(Program, O24BytesThatAreNoUtf8AndCharactersInTwoReads) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("bad", "printf 'a\\377\\376\\200b\\n'"),
                                   // The two bytes of é come in two reads: the second only after the first was logged.
                                   shell("split",
                                         "head -c 4095 /dev/zero | tr '\\0' x; printf '\\303'; read x < fifo; "
                                         "printf '\\251\\n'",
                                         {"bad"})}));
  run.hand_to(worker);
  worker.server->wait_for_start("split");
  std::ofstream(workspace.path("fifo")) << "go\n";
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::succeeded);
  const auto log = run.log();
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].at("text").as_string(),
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
            "b");
  EXPECT_EQ(log[0].at("raw").as_string(), "Yf/+gGI=");
  EXPECT_EQ(log[1].at("text").as_string(), std::string(4095, 'x') + "é");
  EXPECT_FALSE(log[1].contains("raw"));
}

}  // namespace
}  // namespace eider::worker
