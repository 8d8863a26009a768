// A run outlives its server: the worker goes on alone, answers who comes back, and leaves its result.
#include "worker/reports.h"

#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;

class WithoutServer : public testing::Test {
 protected:
  WithoutServer() { EIDER_CHECK(::mkfifo(workspace.path("fifo").c_str(), 0600) == 0, "mkfifo"); }
  void go() { std::ofstream(workspace.path("fifo")) << "go\n"; }
  /// As a server does at boot.
  Talk come_back(const TestRun& run) {
    auto socket = wire::connect_to(wire::Layout::attempt_socket(run.job.folder, run.job.attempt));
    EIDER_CHECK(socket.ok(), socket.ok() ? "" : socket.error().message);
    return Talk(std::move(*socket));
  }

  Workspace workspace;
};

TEST_F(WithoutServer, AnIdleWorkerLeaves) {
  TestWorker worker(workspace);
  worker.server.reset();
  EXPECT_EQ(worker.wait_for_exit(), 0);
}

TEST_F(WithoutServer, ABusyOneFinishesLeavesItsResultAndLeaves) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "read x < fifo; echo done"), shell("b", "touch b", {"a"})}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  worker.server.reset();
  EXPECT_FALSE(run.lock_is_free());
  go();
  EXPECT_EQ(worker.wait_for_exit(), 0);
  EXPECT_EQ(run.result_file().outcome, Outcome::succeeded);
  EXPECT_TRUE(workspace.has("b"));
  EXPECT_TRUE(run.lock_is_free());
}

TEST_F(WithoutServer, AServerThatComesBackAdoptsTheRun) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("first", "true"), shell("a", "read x < fifo", {"first"})}));
  run.hand_to(worker);
  const int pid = worker.server->wait_for_start("a").pid;
  worker.server.reset();
  Talk back = come_back(run);
  const auto adopted = back.wait_for<wire::Adopted>();
  EXPECT_TRUE(back.seen.empty());
  EXPECT_EQ(adopted.run_id, "run-1");
  EXPECT_EQ(adopted.attempt, 1);
  EXPECT_EQ(adopted.pid, worker.pid);
  ASSERT_EQ(adopted.steps.size(), 1U);
  EXPECT_EQ(adopted.steps[0].step, "first");
  ASSERT_EQ(adopted.running.size(), 1U);
  EXPECT_EQ(adopted.running[0].step, "a");
  EXPECT_EQ(adopted.running[0].pid, pid);
  go();
  EXPECT_EQ(back.wait_for<wire::StepEnded>().result.step, "a");
  EXPECT_EQ(back.wait_for<wire::Finished>().result.outcome, Outcome::succeeded);
  EXPECT_TRUE(back.at_end());
  EXPECT_EQ(worker.wait_for_exit(), 0);
}

TEST_F(WithoutServer, AnAdoptedRunCanBeCancelled) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "sleep 600")}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  worker.server.reset();
  Talk back = come_back(run);
  back.wait_for<wire::Adopted>();
  back.send(wire::Cancel{"run-1", 1, "changed my mind"});
  const auto result = back.wait_for<wire::Finished>().result;
  EXPECT_EQ(result.outcome, Outcome::cancelled);
  EXPECT_EQ(result.error, "changed my mind");
  EXPECT_EQ(worker.wait_for_exit(), 0);
}

TEST_F(WithoutServer, WhoConnectsAndGoesAgainDisturbsNothing) {
  TestWorker worker(workspace);
  TestRun run(workspace, pipeline({shell("a", "read x < fifo")}));
  run.hand_to(worker);
  worker.server->wait_for_start("a");
  come_back(run).wait_for<wire::Adopted>();
  {
    auto rude = wire::connect_to(wire::Layout::attempt_socket(run.job.folder, 1));
    ASSERT_TRUE(rude);
    ASSERT_TRUE(write_all(rude->get(), std::string("\x04\0\0\0junk", 8)));
    pollfd waiting{rude->get(), POLLIN, 0};
    ASSERT_EQ(::poll(&waiting, 1, kDeadlineMs), 1);
  }
  Talk second = come_back(run);
  second.wait_for<wire::Adopted>();
  go();
  EXPECT_EQ(second.wait_for<wire::Finished>().result.outcome, Outcome::succeeded);
  EXPECT_EQ(worker.server->wait_for<wire::Finished>().result.outcome, Outcome::succeeded);
  worker.server->send(wire::Quit{});
  EXPECT_EQ(worker.wait_for_exit(), 0);
}

}  // namespace
}  // namespace eider::worker
