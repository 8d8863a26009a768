// What a server finds when it starts: attempts of an earlier one (two ProcessWorkers, one after the other).
#include <fcntl.h>
#include <sys/stat.h>

#include "supervise/lock_file.h"
#include "supervise/process_workers_fixture.h"
#include "wire/staged.h"

namespace eider::supervise {
namespace {

class Recovery : public ProcessWorkersTest {
 protected:
  /// A first server hands off and goes; a second one is there. Returns the worker's pid.
  int start_and_leave(const std::string& script) {
    open();
    hand_off("a", script);
    const int pid = step_pid("a");
    leave({pid});
    return pid;
  }
  std::string staged(int attempt) const { return wire::staged_path(options_.layout.workspace + "/a", {"a", attempt}); }
  bool has(const std::string& path) const { return std::filesystem::exists(path); }
  /// The server goes; what it posted to its threads is done then.
  void stop() { workers_.reset(); }
};

TEST_F(Recovery, WhatAKilledWorkerStagedGoesWhenItsAttemptIsForgotten) {
  open();
  run("a", "stage and die");
  EXPECT_TRUE(has(staged(1)));
  workers_->forget("a", 1);
  stop();
  EXPECT_FALSE(has(staged(1)));
  EXPECT_TRUE(wire::staged_lists(options_.layout).empty());
}

TEST_F(Recovery, WhatIsStagedOutlivesTheServerAsLongAsItsAttemptIsNotOver) {
  const int pid = start_and_leave("stage, wait and die");
  wait_for_exit(pid);
  // An attempt that is over, too: its server was killed before it forgot it.
  ASSERT_TRUE(write_file_durably(staged(0), "half").ok());
  ASSERT_TRUE(wire::list_staged(options_.layout, {"a", 0}, {staged(0)}).ok());
  open();
  workers_->end_left_overs("a", 1);
  over("a");
  stop();
  EXPECT_FALSE(has(staged(0)));
  EXPECT_TRUE(has(staged(1)));
  EXPECT_EQ(wire::staged_lists(options_.layout), (std::vector<wire::AttemptId>{{"a", 1}}));
  open();
  workers_->end_left_overs("a", 1);
  over("a");
  workers_->forget("a", 1);
  stop();
  EXPECT_FALSE(has(staged(1)));
}

TEST_F(Recovery, WhatAnAttemptStagedThatIsOverGoesWithTheNextServer) {
  const int pid = start_and_leave("stage, wait and die");
  wait_for_exit(pid);
  // Of a run that is not known here, and lives.
  const std::string living = wire::staged_path(options_.layout.workspace + "/b", {"b", 1});
  ASSERT_TRUE(write_file_durably(living, "half").ok());
  ASSERT_TRUE(wire::list_staged(options_.layout, {"b", 1}, {living}).ok());
  const auto lock = take_lock(options_.layout.lock_file("b"));
  ASSERT_TRUE(lock.ok());
  open();
  take();
  stop();
  EXPECT_FALSE(has(staged(1)));
  EXPECT_TRUE(has(living));
  EXPECT_EQ(wire::staged_lists(options_.layout), (std::vector<wire::AttemptId>{{"b", 1}}));
}

TEST_F(Recovery, APipeIsNoResultAndIsNotWaitedFor) {
  open();
  const std::string folder = options_.layout.run_folder("a");
  ASSERT_TRUE(make_folders(folder).ok());
  ASSERT_EQ(::mkfifo(wire::Layout::attempt_result(folder, 1).c_str(), 0600), 0);
  EXPECT_FALSE(workers_->inspect("a", 1).result_there);
  workers_->end_left_overs("a", 1);
  EXPECT_NE(over("a").error.find("is no regular file"), std::string::npos);
}

TEST_F(Recovery, ALiveAttemptIsAdoptedFollowedAndCancelled) {
  const int pid = start_and_leave("alone");
  open();
  const AttemptTraces traces = workers_->inspect("a", 1);
  EXPECT_TRUE(traces.socket_answers);
  EXPECT_TRUE(traces.lock_held);
  EXPECT_FALSE(traces.result_there);
  workers_->adopt("a", 1);
  // What it published while nobody listened is told like any other publication.
  const AttemptPublished told = wait_for<AttemptPublished>("a");
  EXPECT_EQ(told.published.attempt, 1);
  EXPECT_EQ(told.published.publication.asset, "raw.x");
  const AttemptAdopted adopted = wait_for<AttemptAdopted>("a");
  EXPECT_EQ(adopted.state.pid, pid);
  ASSERT_EQ(adopted.state.published.size(), 1u);
  EXPECT_EQ(adopted.state.published[0].asset, "raw.x");
  workers_->cancel("a", 1, "enough");
  const AttemptOver ended = over("a");
  ASSERT_TRUE(ended.result.has_value());
  EXPECT_EQ(ended.result->outcome, model::Outcome::cancelled);
  EXPECT_EQ(ended.result->error, "enough");
  EXPECT_EQ(ended.worker_pid, pid);
  wait_for_exit(pid);
}

TEST_F(Recovery, AnAdoptedOneOutlivesTheSecondServerToo) {
  const int pid = start_and_leave("alone");
  open();
  workers_->adopt("a", 1);  // without looking first
  wait_for<AttemptAdopted>("a");
  leave({pid});
  open();
  workers_->adopt("a", 1);
  EXPECT_EQ(wait_for<AttemptAdopted>("a").state.pid, pid);
  workers_->cancel("a", 1, "enough");
  EXPECT_TRUE(over("a").result.has_value());
  wait_for_exit(pid);
}

TEST_F(Recovery, AnAdoptedOneThatDiesHasCrashed) {
  const int pid = start_and_leave("alone, die later");
  open();
  workers_->adopt("a", 1);
  wait_for<AttemptAdopted>("a");
  const AttemptOver ended = over("a");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_FALSE(ended.with_server);
  EXPECT_FALSE(ended.exit_code.has_value());
  wait_for_exit(pid);
}

TEST_F(Recovery, OneThatDiedBeforeItWasAdoptedEndedWithItsServer) {
  const int pid = start_and_leave("alone, die");
  wait_for_exit(pid);
  open();
  const AttemptTraces traces = workers_->inspect("a", 1);
  EXPECT_FALSE(traces.socket_answers);
  EXPECT_FALSE(traces.lock_held);
  EXPECT_FALSE(traces.result_there);
  workers_->adopt("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_TRUE(ended.with_server);
}

TEST_F(Recovery, AStoppedWorkerIsNotTakenOverAndCanBeCancelled) {
  options_.after_interrupt = options_.after_term = Micros(1000);
  options_.cancel_slack = Micros(20'000);
  const int pid = start_and_leave("alone, stop");
  open();
  const AttemptTraces traces = workers_->inspect("a", 1);
  EXPECT_TRUE(traces.socket_answers);
  EXPECT_TRUE(traces.lock_held);
  workers_->adopt("a", 1);
  workers_->cancel("a", 1, "enough");
  const AttemptOver ended = over("a");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_NE(ended.error.find("cancelled"), std::string::npos) << ended.error;
  EXPECT_FALSE(is_alive(pid));
  wait_for_exit(pid);
}

TEST_F(Recovery, AResultThatWasLeftIsFinishedNotRepeated) {
  const int pid = start_and_leave("commit without server and die");
  wait_for_exit(pid);
  open();
  const AttemptTraces traces = workers_->inspect("a", 1);
  EXPECT_TRUE(traces.result_there);
  EXPECT_FALSE(traces.socket_answers);
  EXPECT_FALSE(traces.lock_held);
  EXPECT_FALSE(workers_->inspect("a", 2).result_there);
  workers_->finish_from_result("a", 1);
  const AttemptOver ended = over("a");
  ASSERT_TRUE(ended.result.has_value());
  EXPECT_FALSE(ended.with_server);
  EXPECT_EQ(ended.result->worker_pid, pid);
  EXPECT_EQ(*read_file(options_.layout.run_folder("a") + "/published", 100), "content");
}

TEST_F(Recovery, AWorkerThatHasLeftItsResultIsGivenTimeToPutItsFilesInPlace) {
  open();
  const std::string folder = options_.layout.run_folder("a");
  ASSERT_TRUE(make_folders(folder).ok());
  wire::AttemptResult result;
  result.run_id = "a";
  result.attempt = 1;
  ASSERT_TRUE(write_file_durably(wire::Layout::attempt_result(folder, 1), encode_result(result)).ok());
  auto lock = take_lock(options_.layout.lock_file("a"));
  ASSERT_TRUE(lock.ok());
  bool released = false;
  reactor_.call_after(std::chrono::milliseconds(50), [&] {
    released = true;
    lock->reset();
  });
  workers_->finish_from_result("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_TRUE(released);
  EXPECT_TRUE(ended.result.has_value());
  EXPECT_EQ(ended.left_over_processes, 0);
}

TEST_F(Recovery, ADamagedResultIsNoResultAndIsSaid) {
  open();
  const std::string folder = options_.layout.run_folder("a");
  ASSERT_TRUE(make_folders(folder).ok());
  ASSERT_TRUE(write_file_durably(wire::Layout::attempt_result(folder, 1), "{").ok());
  EXPECT_FALSE(workers_->inspect("a", 1).result_there);
  workers_->end_left_overs("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_TRUE(ended.with_server);
  EXPECT_NE(ended.error.find("1.result.json"), std::string::npos) << ended.error;
}

TEST_F(Recovery, WhatIsLeftOfAnAttemptIsEnded) {
  const int pid = start_and_leave("hang");
  open();
  const AttemptTraces traces = workers_->inspect("a", 1);
  EXPECT_FALSE(traces.socket_answers);
  EXPECT_TRUE(traces.lock_held);
  workers_->end_left_overs("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_TRUE(ended.with_server);
  EXPECT_EQ(ended.left_over_processes, 1);
  EXPECT_FALSE(is_alive(pid));
  EXPECT_TRUE(lock_is_free(options_.layout.lock_file("a")));
  wait_for_exit(pid);
}

TEST_F(Recovery, NothingIsLeft) {
  open();
  EXPECT_FALSE(workers_->inspect("a", 1).lock_held);
  workers_->end_left_overs("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_TRUE(ended.with_server);
  EXPECT_EQ(ended.left_over_processes, 0);
  EXPECT_EQ(ended.error, "");
}

TEST_F(Recovery, WhatADeadWorkerPublishedIsPutInPlaceAndTold) {
  open();
  const AttemptOver ended = run("a", "publish and die");
  EXPECT_FALSE(ended.result.has_value());
  EXPECT_EQ(ended.signal, SIGKILL);
  ASSERT_EQ(ended.published.size(), 1u) << "what can't be put in place is not told";
  EXPECT_EQ(ended.published[0].asset, "raw.x");
  EXPECT_EQ(ended.published[0].step, "step");
  EXPECT_EQ(ended.published[0].rows, 3);
  EXPECT_EQ(ended.published[0].fingerprint, "abc");
  EXPECT_EQ(*read_file(options_.layout.run_folder("a") + "/raw.x", 100), "content");
  EXPECT_NE(ended.error.find("/raw.y: a folder lies there"), std::string::npos) << ended.error;
}

TEST_F(Recovery, TheNextServerPutsItInPlaceToo) {
  open();
  run("a", "publish and die");
  stop();
  const std::string folder = options_.layout.run_folder("a");
  // As if the first server had not lived long enough for it.
  std::filesystem::rename(folder + "/raw.x", folder + "/staged raw.x");
  std::filesystem::remove(folder + "/raw.y");
  open();
  workers_->end_left_overs("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_TRUE(ended.with_server);
  EXPECT_EQ(ended.published.size(), 2u);
  EXPECT_TRUE(has(folder + "/raw.x"));
  EXPECT_TRUE(has(folder + "/raw.y"));
  EXPECT_EQ(ended.error, "");
}

TEST_F(Recovery, WithAResultWhatWasPublishedBeforeIsToldAsWell) {
  const int pid = start_and_leave("publish, commit without server and die");
  wait_for_exit(pid);
  open();
  workers_->finish_from_result("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_TRUE(ended.result.has_value());
  ASSERT_EQ(ended.published.size(), 1u);
  EXPECT_EQ(ended.published[0].asset, "raw.x");
  EXPECT_TRUE(has(options_.layout.run_folder("a") + "/raw.x"));
  EXPECT_TRUE(has(options_.layout.run_folder("a") + "/published"));
}

TEST_F(Recovery, ADamagedRecordOfPublicationsIsSaid) {
  open();
  const std::string folder = options_.layout.run_folder("a");
  ASSERT_TRUE(make_folders(folder).ok());
  ASSERT_TRUE(write_file_durably(wire::Layout::attempt_published(folder, 1), "{").ok());
  workers_->end_left_overs("a", 1);
  const AttemptOver ended = over("a");
  EXPECT_TRUE(ended.published.empty());
  EXPECT_NE(ended.error.find("1.published.json: worker message: no JSON"), std::string::npos) << ended.error;
}

}  // namespace
}  // namespace eider::supervise
