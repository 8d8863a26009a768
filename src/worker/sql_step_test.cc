// SQL steps on the real DuckDB: variables, receipts, errors, files held from outside, cancels.
#include "worker/sql_step.h"

#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;
using wire::StepOutcome;

model::Pipeline on_file(std::vector<model::Step> steps) {
  auto out = pipeline(std::move(steps));
  out.database = model::Database{"w.duckdb", false};
  return out;
}

constexpr const char* kEndless =
    "SELECT count(*) FROM range(100000000000) a, range(1000000) b WHERE a.range + b.range = 3";

class Sql : public testing::Test {
 protected:
  const Workspace workspace;
};

TEST_F(Sql, StepsOfARunShareTheirInstanceAndKnowTheRun) {
  TestWorker worker(workspace, patient_limits());
  TestRun run(workspace,
              pipeline({sql("make",
                            "CREATE TABLE t AS SELECT getvariable('run_id') AS id, "
                            "getvariable('partition') AS p, getvariable('trigger') AS why"),
                        sql("show", "SELECT id, p IS NULL AS no_partition, why, getvariable('step') AS step FROM t",
                            {"make"})}));
  run.job.facts = {{"trigger", "manual"}};
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  const std::string text = run.log_text("stdout");
  for (const char* part : {"run-1", "true", "manual", "show"}) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(Sql, NothingLeaksFromOneRunToTheNext) {
  TestWorker worker(workspace, patient_limits(), true);
  EXPECT_EQ(TestRun(workspace, pipeline({sql("a", "CREATE TABLE t (x INT)")})).run_on(worker).outcome,
            Outcome::succeeded);
  const auto result = TestRun(workspace, pipeline({sql("a", "FROM t")}), 1, "run-2").run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("t does not exist"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("pipelines/p.yaml"), std::string::npos) << result.error;
}

TEST_F(Sql, ARepeatedAttemptFindsTheReceipt) {
  TestWorker worker(workspace, patient_limits());
  const auto twice = on_file({sql("make", "CREATE TABLE IF NOT EXISTS t (x INT); INSERT INTO t VALUES (1)"),
                              shell("fail_once", "test -e again || { touch again; exit 1; }", {"make"}),
                              sql("count", "SELECT 'rows=' || count(*) AS n FROM t", {"fail_once"})});
  const auto first = TestRun(workspace, twice).run_on(worker);
  EXPECT_EQ(first.outcome, Outcome::failed);
  EXPECT_EQ(step_of(first, "make").outcome, StepOutcome::succeeded);
  EXPECT_EQ(step_of(first, "make").rows, 1);
  TestRun second(workspace, twice, 2);
  const auto result = second.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(step_of(result, "make").outcome, StepOutcome::receipt_found);
  EXPECT_NE(second.log_text("stdout").find("rows=1"), std::string::npos);
}

TEST_F(Sql, AStepThatWritesAPublishedFileIsRepeatedInstead) {
  TestWorker worker(workspace, patient_limits());
  auto twice = on_file({sql("write", "COPY (SELECT 1 AS x) TO (getvariable('out_one')) (FORMAT csv)"),
                        shell("fail_once", "test -e again || { touch again; exit 1; }", {"write"})});
  twice.publishes = {{"one", "out/one.csv", "", ""}};
  EXPECT_EQ(TestRun(workspace, twice).run_on(worker).outcome, Outcome::failed);
  EXPECT_FALSE(workspace.has("out/one.csv"));
  const auto result = TestRun(workspace, twice, 2).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(workspace.read("out/one.csv"), "x\n1\n");
}

TEST_F(Sql, FactsOfProgramsAreAVariable) {
  TestWorker worker(workspace, patient_limits());
  TestRun run(workspace,
              pipeline({shell("count", "echo '{\"rows\": 42}' > \"$EIDER_OUTPUT\""),
                        sql("show", "SELECT 'got ' || (getvariable('facts')->'count'->>'rows') AS n", {"count"})}));
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
  EXPECT_NE(run.log_text("stdout").find("got 42"), std::string::npos) << run.log_text("stdout");
}

TEST_F(Sql, ACancelInterruptsTheQuery) {
  TestWorker worker(workspace, patient_limits());
  TestRun run(workspace, on_file({sql("a", std::string("CREATE TABLE t (x INT);") + kEndless)}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  const auto result = worker.server->wait_for<wire::Finished>().result;
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_EQ(step_of(result, "a").outcome, StepOutcome::cancelled);
  // Nothing of its transaction is there, and the file is free.
  const auto after = TestRun(workspace, on_file({sql("a", "CREATE TABLE t (x INT)")}), 1, "run-2").run_on(worker);
  EXPECT_EQ(after.outcome, Outcome::succeeded) << after.error;
}

TEST_F(Sql, APublishedTableMustBeThereInTheEnd) {
  TestWorker worker(workspace, patient_limits());
  auto one = on_file({sql("make", "CREATE SCHEMA s; CREATE TABLE s.t (x INT); CREATE VIEW v AS FROM s.t")});
  one.publishes = {{"a.t", "", "s.t", ""}, {"a.v", "", "v", ""}};
  auto result = TestRun(workspace, one).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(result.steps.size(), 1U) << "what is well is not shown";

  one.steps = {sql("make", "SELECT 1")};
  one.publishes = {{"a.t", "", "s.t", ""}, {"a.x", "", "s.nonexist", ""}};
  TestRun missing(workspace, one, 1, "run-2");
  result = missing.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_TRUE(result.error.starts_with("no step made the table s.nonexist, which the pipeline publishes as a.x: "))
      << result.error;
  EXPECT_NE(missing.log_text("eider").find("no step made the table s.nonexist"), std::string::npos);

  // Programs alone, and they made no file: to look makes none either.
  one.steps = {program("a", {"true"})};
  one.database->file = "other.duckdb";
  result = TestRun(workspace, one, 1, "run-3").run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_FALSE(workspace.has("other.duckdb"));
}

TEST_F(Sql, TheFolderOfTheDatabaseIsMade) {
  TestWorker worker(workspace, patient_limits());
  auto deep = on_file({sql("make", "CREATE TABLE t (x INT)")});
  deep.database->file = "data/deep/w.duckdb";
  const auto result = TestRun(workspace, deep).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_TRUE(workspace.has("data/deep/w.duckdb"));
}

TEST_F(Sql, AnErrorNamesItsStepOnce) {
  TestWorker worker(workspace, patient_limits());
  const auto result = TestRun(workspace, pipeline({sql("broken", "SELECT nosuch")})).run_on(worker);
  EXPECT_TRUE(result.error.starts_with("step broken: pipelines/p.yaml:1:8: Binder Error")) << result.error;
  EXPECT_EQ(result.error.find("broken"), result.error.rfind("broken")) << result.error;
}

TEST_F(Sql, AStepsTimeOutInterruptsTheQuery) {
  TestWorker worker(workspace, patient_limits());
  auto slow = pipeline({sql("a", kEndless)});
  slow.steps[0].timeout = std::chrono::milliseconds(100);
  const auto result = TestRun(workspace, slow).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::timed_out);
  EXPECT_EQ(result.error, "step a: timed out after 100ms");
}

TEST_F(Sql, ProgressIsReportedWhileAQueryRuns) {
  TestWorker worker(workspace, patient_limits());
  auto steps = pipeline({sql("make", "CREATE TABLE t AS SELECT range AS x FROM range(3000000)"),
                         sql("a", "SELECT max(md5(repeat(x::VARCHAR, 100))) FROM t", {"make"})});
  TestRun run(workspace, steps);
  run.hand_to(worker);
  auto progress = worker.server->wait_for<wire::StepProgress>();
  while (progress.step == "make" || progress.fraction == 0) progress = worker.server->wait_for<wire::StepProgress>();
  EXPECT_EQ(progress.step, "a");
  EXPECT_LE(progress.fraction, 1);
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::cancelled);
}

TEST_F(Sql, AQueryThatIgnoresItsInterruptEndsWithItsWorker) {
  Limits limits = quick_limits();
  limits.after_interrupt = limits.after_term = std::chrono::milliseconds(20);
  TestWorker worker(workspace, limits);
  // It reads a pipe into which nobody writes, and looks at no interrupt meanwhile; a program runs beside it.
  ASSERT_EQ(::mkfifo(workspace.path("pipe").c_str(), 0600), 0);
  TestRun run(workspace, on_file({sql("a",
                                      "CREATE TABLE t AS FROM read_csv('pipe', auto_detect = false, header = false, "
                                      "columns = {'x': 'VARCHAR'})"),
                                  shell("b", "sleep 600")}));
  run.hand_to(worker);
  // Opens once the query has opened its end.
  const UniqueFd writer(::open(workspace.path("pipe").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(writer);
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  ASSERT_TRUE(worker.server->at_end());
  EXPECT_EQ(worker.wait_for_exit(), 0);
  const auto result = run.result_file();
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_EQ(step_of(result, "a").outcome, StepOutcome::cancelled);
  EXPECT_EQ(step_of(result, "b").signal, SIGTERM);
  EXPECT_TRUE(run.lock_is_free());
  // Nothing of it was kept.
  TestWorker next(workspace, patient_limits());
  const auto after = TestRun(workspace, on_file({sql("a", "CREATE TABLE t (x INT)")}), 1, "run-2").run_on(next);
  EXPECT_EQ(after.outcome, Outcome::succeeded) << after.error;
}

/// Another process that has the file open: a worker with a run in the middle of a SQL step.
class HeldFile : public Sql {
 protected:
  HeldFile()
      : holder(workspace, patient_limits()), holding(workspace, on_file({sql("hold", kEndless)}), 1, "run-holder") {
    // Its file is there once a first run has made it; then it is opened again and held.
    EXPECT_EQ(TestRun(workspace, on_file({sql("make", "CREATE TABLE t AS SELECT 1 AS x")}), 1, "run-make")
                  .run_on(holder)
                  .outcome,
              Outcome::succeeded);
  }
  void hold() {
    // The step's own output says that it is past the opening.
    auto steps = on_file({sql("hold", std::string("SELECT 1; COPY (SELECT 1 AS x) TO 'held.csv';") + kEndless)});
    steps.steps[0].transaction = false;
    holding.job.definition = model::definition_json(steps);
    holding.hand_to(holder);
    while (!workspace.has("held.csv")) ::sched_yield();
  }
  void let_go() {
    holder.server->send(wire::Cancel{"run-holder", 1, ""});
    holder.server->wait_for<wire::Finished>();
  }

  TestWorker holder;
  TestRun holding;
};

TEST_F(HeldFile, BeforeAnyStepTheRunIsReleased) {
  hold();
  TestWorker worker(workspace, patient_limits());
  const auto result = TestRun(workspace, on_file({sql("a", "FROM t")})).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::released);
  ASSERT_TRUE(result.file_held.has_value());
  EXPECT_EQ(result.file_held->pid, holder.pid);
  EXPECT_NE(result.error.find(fmt::format("is open in process {}", holder.pid)), std::string::npos) << result.error;
  let_go();
}

TEST_F(HeldFile, FirstStepsSideBySideReleaseTheRunToo) {
  hold();
  TestWorker worker(workspace, patient_limits());
  for (const auto& steps : {std::vector{sql("a", "FROM t"), sql("b", "FROM t")},
                            std::vector{sql("a", "FROM t"), sql("b", "FROM t"), sql("c", "FROM t", {"a", "b"})}}) {
    const auto result = TestRun(workspace, on_file(steps)).run_on(worker);
    EXPECT_EQ(result.outcome, Outcome::released);
    EXPECT_TRUE(result.file_held.has_value());
  }
  let_go();
}

TEST_F(HeldFile, BesideAStepThatRunsTheRunWaitsForIt) {
  hold();
  TestWorker worker(workspace, patient_limits());
  const std::string until = "while [ ! -e go ]; do sleep 0.01; done";
  TestRun run(workspace, on_file({shell("runs", until), sql("a", "FROM t"), sql("b", "FROM t")}));
  run.hand_to(worker);
  const auto waits = [&] { return run.log_text("eider").find("waiting for it") != std::string::npos; };
  while (!waits()) ::sched_yield();
  let_go();
  workspace.write("go", "");
  const auto result = worker.server->wait_for<wire::Finished>().result;
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
}

TEST_F(HeldFile, AfterAStepTheRunWaitsForIt) {
  hold();
  TestWorker worker(workspace, patient_limits());
  TestRun run(workspace, on_file({shell("first", "true"), sql("a", "SELECT 'x=' || x AS n FROM t", {"first"})}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  const auto waits = [&] { return run.log_text("eider").find("waiting for it") != std::string::npos; };
  while (!waits()) ::sched_yield();
  let_go();
  const auto result = worker.server->wait_for<wire::Finished>().result;
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_NE(run.log_text("stdout").find("x=1"), std::string::npos);
}

TEST_F(HeldFile, WaitingEndsWithACancel) {
  hold();
  TestWorker worker(workspace, patient_limits());
  TestRun run(workspace, on_file({shell("first", "true"), sql("a", "FROM t", {"first"})}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  worker.server->send(wire::Cancel{"run-1", 1, ""});
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::cancelled);
  let_go();
}

TEST_F(Sql, ASecondAttemptOfAWarmWorkerDoesNotWaitForPrograms) {
  // A program that arrives while the instance is being opened starts without it, and a SQL step waits for it.
  TestWorker worker(workspace, patient_limits(), true);
  const auto result = TestRun(workspace, pipeline({program("p", {"true"}), sql("s", "SELECT 1")})).run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  worker.server->send(wire::Quit{});
  EXPECT_EQ(worker.wait_for_exit(), 0);
}

}  // namespace
}  // namespace eider::worker
