#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <fstream>

#include "supervise/lock_file.h"
#include "supervise/process_workers_fixture.h"
#include "wire/channel.h"

namespace eider::supervise {
namespace {

TEST_F(ProcessWorkersTest, EventsComeInOrderAndTheResultLast) {
  open();
  hand_off("a", "steps");
  while (!any_for<AttemptOver>("a")) {
    reactor_.run_once();
    take();
  }
  ASSERT_EQ(queue_.size(), 4u);
  EXPECT_EQ(std::get<AttemptStepStarted>(queue_[0]).step.pid, 42);
  EXPECT_EQ(std::get<AttemptProgress>(queue_[1]).progress.fraction, 0.5);
  EXPECT_EQ(std::get<AttemptStepEnded>(queue_[2]).step.run_id, "a");
  const auto& over = std::get<AttemptOver>(queue_[3]);
  ASSERT_TRUE(over.result.has_value());
  EXPECT_EQ(over.result->outcome, model::Outcome::succeeded);
  EXPECT_EQ(over.worker_pid, std::get<AttemptStepStarted>(queue_[0]).worker_pid);
  EXPECT_EQ(over.worker_pid, over.result->worker_pid);
  EXPECT_FALSE(over.with_server);
  EXPECT_EQ(over.left_over_processes, 0);
}

TEST_F(ProcessWorkersTest, AWorkerStartsCleanly) {
  ::setenv("EIDER_RUN_ID", "of somebody else", 1);
  open();
  ::unsetenv("EIDER_RUN_ID");
  const AttemptOver ended = run("a", "surroundings");
  ASSERT_TRUE(ended.result.has_value());
  EXPECT_EQ(ended.result->error, "descriptors 0 1 2 3, own session true, run none, blocked 0, ignored false");
}

TEST_F(ProcessWorkersTest, WarmWorkersAreUsedAgain) {
  open();
  std::set<int> pids;
  for (int i = 0; i < 20; ++i) pids.insert(run(std::to_string(i), "finish").result->worker_pid);
  EXPECT_LE(pids.size(), 2u);
  EXPECT_LE(starts(), 2u);
}

TEST_F(ProcessWorkersTest, AWorkerIsRecycledAfterSomeRuns) {
  options_.runs_before_recycling = 3;
  open();
  std::map<int, int> runs;
  for (int i = 0; i < 12; ++i) ++runs[run(std::to_string(i), "finish").result->worker_pid];
  EXPECT_GE(runs.size(), 4u);
  for (const auto& [pid, count] : runs) EXPECT_LE(count, 3);
}

TEST_F(ProcessWorkersTest, AWorkerThatTimedOutARunTakesNoOther) {
  open();
  const int pid = run("a", "time out").result->worker_pid;
  for (int i = 0; i < 5; ++i) EXPECT_NE(run(std::to_string(i), "finish").result->worker_pid, pid);
}

TEST_F(ProcessWorkersTest, WhatIsPublishedIsPassedOnWhileTheRunGoesOn) {
  open();
  hand_off("a", "publish");
  const AttemptPublished published = wait_for<AttemptPublished>("a");
  EXPECT_EQ(published.published.attempt, 1);
  EXPECT_EQ(published.published.publication.asset, "raw.x");
  EXPECT_EQ(published.published.publication.fingerprint, "abc");
  const AttemptOver ended = over("a");
  EXPECT_TRUE(ended.result.has_value());
  EXPECT_TRUE(ended.published.empty()) << "it was told already";
}

TEST_F(ProcessWorkersTest, ManyAtOnceEachGetAWorker) {
  open();
  for (int i = 0; i < 20; ++i) hand_off(std::to_string(i), "hang");  // more than max_workers: that bounds spares
  std::set<int> pids;
  for (int i = 0; i < 20; ++i) pids.insert(step_pid(std::to_string(i)));
  EXPECT_EQ(pids.size(), 20u);
  for (const int pid : pids) ::kill(pid, SIGKILL);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(over(std::to_string(i)).signal, SIGKILL);
}

TEST_F(ProcessWorkersTest, SpareWorkersLeaveAndOneStays) {
  options_.idle_time = std::chrono::milliseconds(20);
  open();
  std::set<int> pids;
  for (int i = 0; i < 4; ++i) hand_off(std::to_string(i), "wait for cancel");
  for (int i = 0; i < 4; ++i) pids.insert(step_pid(std::to_string(i)));
  for (int i = 0; i < 4; ++i) hand_off("f" + std::to_string(i), "finish");
  for (int i = 0; i < 4; ++i) pids.insert(over("f" + std::to_string(i)).result->worker_pid);
  for (int i = 0; i < 4; ++i) workers_->cancel(std::to_string(i), 1, "enough");  // these leave, worn out
  for (int i = 0; i < 4; ++i) over(std::to_string(i));
  // 4 idle ones are left, then one. Its descriptors tell: two a worker.
  const auto deadline = reactor_.call_after(kDeadline, [] { FAIL() << "spare workers stay"; });
  const auto alive = [&] { return std::count_if(pids.begin(), pids.end(), [](int pid) { return is_alive(pid); }); };
  while (alive() > 1) reactor_.run_once();
  reactor_.cancel_timer(deadline);
  EXPECT_LE(alive(), 1);
  ASSERT_TRUE(run("after", "finish").result.has_value());
}

TEST_F(ProcessWorkersTest, DeathBySignal) {
  open();
  const AttemptOver ended = run("a", "signal");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_EQ(ended.signal, SIGTERM);
  EXPECT_FALSE(ended.exit_code.has_value());
  EXPECT_GT(ended.peak_memory_bytes.value_or(0), 1 << 20);
  EXPECT_TRUE(ended.worker_pid.has_value());
  EXPECT_FALSE(ended.with_server);
}

TEST_F(ProcessWorkersTest, DeathByExit) {
  open();
  const AttemptOver ended = run("a", "exit");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_FALSE(ended.signal.has_value());
}

TEST_F(ProcessWorkersTest, WhatAWorkerSaidBeforeItsDeathCounts) {
  open();
  EXPECT_TRUE(run("a", "speak and die").result.has_value());
}

TEST_F(ProcessWorkersTest, AWorkerThatDiesAtOnceDoesNotSpin) {
  options_.duckdb_library = "die at once";
  open();
  for (int i = 0; i < 10; ++i) {
    const AttemptOver ended = run(std::to_string(i), "finish");
    EXPECT_FALSE(ended.result.has_value());
    EXPECT_EQ(ended.exit_code, 7);
  }
  workers_.reset();
  EXPECT_LE(starts(), 21u);  // the first one; a worker and a spare for each job
}

TEST_F(ProcessWorkersTest, AProgramThatIsMissingIsSaidInWords) {
  options_.program = "/nowhere/eider";
  open();
  for (int i = 0; i < 10; ++i) {
    const AttemptOver ended = run(std::to_string(i), "finish");
    EXPECT_FALSE(ended.result.has_value());
    EXPECT_EQ(ended.error, "can't start a worker, /nowhere/eider: No such file or directory");
    EXPECT_TRUE(lock_is_free(options_.layout.lock_file(std::to_string(i))));
  }
}

TEST_F(ProcessWorkersTest, AJobLargerThanASocketHolds) {
  open();
  EXPECT_TRUE(run("a", "finish:" + std::string(8'000'000, 'x')).result.has_value());
}

TEST_F(ProcessWorkersTest, AJobOverTheLimitIsRefusedAndCostsNoWorker) {
  open();
  const AttemptOver ended = run("a", "finish:" + std::string(wire::frame_limit_bytes, 'x'));
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_NE(ended.error.find("64 MiB"), std::string::npos) << ended.error;
  EXPECT_TRUE(run("b", "finish").result.has_value());
  EXPECT_LE(starts(), 2u);
}

TEST_F(ProcessWorkersTest, NonsenseEndsTheWorkerAndIsSaidInWords) {
  open();
  const AttemptOver ended = run("a", "nonsense");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_NE(ended.error.find("broke its protocol"), std::string::npos) << ended.error;
}

TEST_F(ProcessWorkersTest, CancelIsPassedOn) {
  open();
  hand_off("a", "wait for cancel");
  step_pid("a");
  workers_->cancel("a", 2, "another attempt: ignored");
  workers_->cancel("b", 1, "another run: ignored");
  workers_->cancel("a", 1, "enough");
  EXPECT_EQ(over("a").result->outcome, model::Outcome::cancelled);
}

TEST_F(ProcessWorkersTest, AHungWorkerIsKilledAfterACancel) {
  options_.after_interrupt = options_.after_term = Micros(1000);
  options_.cancel_slack = Micros(20'000);
  open();
  hand_off("a", "hang");
  step_pid("a");
  workers_->cancel("a", 1, "enough");
  const AttemptOver ended = over("a");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_FALSE(ended.by_timeout);
  EXPECT_NE(ended.error.find("cancelled"), std::string::npos) << ended.error;
}

TEST_F(ProcessWorkersTest, AHungWorkerIsKilledAfterItsRunsTimeout) {
  options_.after_interrupt = options_.after_term = Micros(1000);
  options_.timeout_slack = timeout_ = Micros(20'000);
  open();
  const AttemptOver ended = run("a", "hang");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_TRUE(ended.by_timeout);
  EXPECT_NE(ended.error.find("timeout"), std::string::npos) << ended.error;
}

TEST_F(ProcessWorkersTest, AStoppedWorkerKeepsItsLockAndTheBackstopEndsIt) {
  options_.after_interrupt = options_.after_term = Micros(1000);
  options_.cancel_slack = Micros(20'000);
  open();
  hand_off("a", "stop");
  const int pid = step_pid("a");
  EXPECT_FALSE(lock_is_free(options_.layout.lock_file("a")));
  workers_->cancel("a", 1, "enough");
  EXPECT_EQ(over("a").signal, SIGKILL);
  EXPECT_FALSE(is_alive(pid));
}

TEST_F(ProcessWorkersTest, AHolderOfTheLockIsEndedBeforeTheAttemptIsOver) {
  open();
  hand_off("a", "leave a lock holder");
  const int pid = step_pid("a");
  const AttemptOver ended = over("a");
  EXPECT_TRUE(ended.result.has_value());
  EXPECT_EQ(ended.left_over_processes, 1);
  EXPECT_FALSE(is_alive(pid));
  EXPECT_TRUE(lock_is_free(options_.layout.lock_file("a")));
}

TEST_F(ProcessWorkersTest, AMarkedProcessWithoutTheLockIsEndedToo) {
  open();
  hand_off("a", "leave a marked process and die");
  const int pid = step_pid("a");
  const AttemptOver ended = over("a");
  EXPECT_EQ(ended.exit_code, 9);
  EXPECT_EQ(ended.left_over_processes, 1);
  EXPECT_FALSE(is_alive(pid));
}

TEST_F(ProcessWorkersTest, AResultOnDiskCountsAndItsFilesArePutInPlace) {
  open();
  const AttemptOver ended = run("a", "commit and die");
  ASSERT_TRUE(ended.result.has_value());
  EXPECT_EQ(ended.result->outcome, model::Outcome::succeeded);
  EXPECT_EQ(ended.signal, SIGKILL);
  EXPECT_EQ(*read_file(options_.layout.run_folder("a") + "/published", 100), "content");
}

TEST_F(ProcessWorkersTest, FilesThatCantBePutInPlaceAreAFailureInWords) {
  open();
  std::filesystem::create_directories(options_.layout.run_folder("a") + "/published");
  const AttemptOver ended = run("a", "commit and die");
  ASSERT_TRUE(ended.result.has_value());
  EXPECT_EQ(ended.result->outcome, model::Outcome::failed);
  EXPECT_NE(ended.result->error.find("a folder lies there"), std::string::npos) << ended.result->error;
}

TEST_F(ProcessWorkersTest, ALockThatIsHeldIsNotStartedBeside) {
  options_.lock_patience = std::chrono::milliseconds(10);
  open();
  auto lock = take_lock(options_.layout.lock_file("a"));
  ASSERT_TRUE(lock.ok());
  const AttemptOver ended = run("a", "finish");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_TRUE(ended.not_started);
  EXPECT_FALSE(ended.others_too);
  EXPECT_NE(ended.error.find("is held by a process"), std::string::npos) << ended.error;
  // Held for a moment, as by a worker that is being started: nobody hears of it.
  options_.lock_patience = std::chrono::hours(1);
  open();
  hand_off("a", "finish", 2);
  reactor_.call_after(std::chrono::milliseconds(3), [&] { lock->reset(); });
  EXPECT_TRUE(over("a").result.has_value());
  // Who is cancelled while it waits never begins.
  lock = take_lock(options_.layout.lock_file("b"));
  hand_off("b", "finish");
  workers_->cancel("b", 1, "enough");
  EXPECT_TRUE(over("b").not_started);
}

TEST_F(ProcessWorkersTest, ASecondAttemptBesideALiveOneIsRefused) {
  open();
  hand_off("a", "wait for cancel");
  step_pid("a");
  const AttemptOver second = run("a", "finish", 2);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(second.error, "attempt 1 of the run is not over yet");
  workers_->cancel("a", 1, "enough");
  EXPECT_EQ(over("a").attempt, 1);
}

TEST_F(ProcessWorkersTest, ForgettingRemovesTheTracesAndNeverAHeldLock) {
  open();
  const std::string lock = options_.layout.lock_file("a");
  const std::string folder = options_.layout.run_folder("a");
  run("a", "commit and die");
  std::filesystem::create_directories(wire::Layout::attempt_temp(folder, 1) + "/deep");
  EXPECT_TRUE(std::filesystem::exists(lock));
  workers_->forget("a", 1);
  EXPECT_TRUE(lock_is_free(lock));
  queue_.clear();
  hand_off("a", "wait for cancel", 2);
  step_pid("a");
  workers_->forget("a", 1);  // late, beside the next attempt
  EXPECT_FALSE(lock_is_free(lock));
  workers_->cancel("a", 2, "enough");
  EXPECT_EQ(over("a").attempt, 2);
  workers_->forget("a", 2);
  workers_.reset();  // finishes what is to be removed
  EXPECT_FALSE(std::filesystem::exists(lock));
  EXPECT_TRUE(std::filesystem::exists(wire::Layout::attempt_result(folder, 1)));
  EXPECT_FALSE(std::filesystem::exists(wire::Layout::attempt_temp(folder, 1)));
  EXPECT_TRUE(std::filesystem::exists(folder + "/published"));
}

TEST_F(ProcessWorkersTest, AStartRemovesTheLocksThatNobodyHolds) {
  std::filesystem::create_directories(options_.layout.locks_folder());
  { const auto left = take_lock(options_.layout.lock_file("killed")); }
  const auto held = take_lock(options_.layout.lock_file("alive"));
  open();
  EXPECT_FALSE(std::filesystem::exists(options_.layout.lock_file("killed")));
  EXPECT_TRUE(std::filesystem::exists(options_.layout.lock_file("alive")));
}

TEST_F(ProcessWorkersTest, NoDescriptorLeaks) {
  options_.runs_before_recycling = 20;
  open();
  run("first", "finish");
  workers_->forget("first", 1);
  workers_.reset();
  const int before = open_descriptors();
  open();
  const char* const scripts[] = {"finish", "steps", "exit", "signal"};
  for (int i = 0; i < 200; ++i) {
    const std::string id = std::to_string(i);
    run(id, i % 10 == 0 ? scripts[(i / 10) % 4] : "finish");
    workers_->forget(id, 1);
  }
  workers_.reset();
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(std::filesystem::is_empty(options_.layout.locks_folder()));
}

TEST_F(ProcessWorkersTest, TheFolderOfLocksIsMadeAgain) {
  open();
  run("a", "finish");
  workers_->forget("a", 1);
  std::filesystem::remove_all(options_.layout.locks_folder());
  EXPECT_TRUE(run("b", "finish").result.has_value());
  // Where that can't be, nothing of the run has begun, and it is not the run's fault.
  std::filesystem::remove_all(options_.layout.locks_folder());
  std::ofstream(options_.layout.locks_folder()) << "a file in its place";
  const AttemptOver ended = run("c", "finish");
  EXPECT_TRUE(ended.not_started);
  EXPECT_NE(ended.error.find("can't make the run's lock file"), std::string::npos) << ended.error;
}

TEST_F(ProcessWorkersTest, NoDescriptorIsLeft) {
  open();
  run("a", "finish");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::dup(0);
  ::close(lowest_free);
  const rlimit none_left{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const AttemptOver ended = run("b", "finish");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(ended.not_started);
  EXPECT_TRUE(ended.others_too);
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_NE(ended.error.find("Too many open files"), std::string::npos) << ended.error;
  EXPECT_TRUE(run("c", "finish").result.has_value());
}

TEST_F(ProcessWorkersTest, ClosingLetsIdleWorkersGo) {
  open();
  const int pid = run("a", "finish").result->worker_pid;
  workers_->close(false);
  const auto deadline = reactor_.call_after(kDeadline, [] { FAIL() << "the idle worker stays"; });
  while (is_alive(pid)) reactor_.run_once();
  reactor_.cancel_timer(deadline);
}

}  // namespace
}  // namespace eider::supervise
