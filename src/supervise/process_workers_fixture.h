// A workspace in a temporary folder, a reactor, and ProcessWorkers whose workers are this test program itself.
#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "supervise/process_workers.h"

namespace eider::supervise {

inline constexpr Micros kDeadline = std::chrono::seconds(60);

inline int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

/// Running, sleeping or stopped; not a zombie that nobody has reaped.
inline bool is_alive(int pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat", 65536);
  if (!stat) return false;
  const std::size_t name_end = stat->rfind(')');
  return name_end != std::string::npos && stat->at(name_end + 2) != 'Z' && stat->at(name_end + 2) != 'X';
}

class ProcessWorkersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/eider-supervise-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    options_.layout.workspace = path;
    options_.max_workers = 8;
  }
  void TearDown() override {
    workers_.reset();
    for (const int pid : let_go_) ::kill(pid, SIGKILL);
    // Every worker finds its channel closed and leaves; some have not begun yet.
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    std::filesystem::remove_all(options_.layout.workspace);
  }

  void open() {
    auto opened = ProcessWorkers::open(reactor_, options_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    workers_ = std::move(*opened);
  }

  void hand_off(const std::string& run_id, const std::string& script, int attempt = 1) {
    HandOff job;
    job.run_id = run_id;
    job.attempt = attempt;
    job.definition = std::make_shared<const std::string>(script);
    job.timeout = timeout_;
    workers_->hand_off(std::move(job));
  }

  /// Runs the reactor until an event of that type comes for the run; the others that come before are in seen_.
  template <typename Event>
  Event wait_for(const std::string& run_id) {
    bool late = false;
    const auto deadline = reactor_.call_after(kDeadline, [&] { late = true; });
    while (!late) {
      for (std::size_t i = 0; i < queue_.size(); ++i) {
        const auto* event = std::get_if<Event>(&queue_[i]);
        if (event == nullptr || run_of(*event) != run_id) continue;
        Event out = *event;
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
        reactor_.cancel_timer(deadline);
        return out;
      }
      take();
      if (!any_for<Event>(run_id)) reactor_.run_once();
      take();
    }
    ADD_FAILURE() << "nothing came for " << run_id;
    return {};
  }
  AttemptOver over(const std::string& run_id) { return wait_for<AttemptOver>(run_id); }
  AttemptOver run(const std::string& run_id, const std::string& script, int attempt = 1) {
    hand_off(run_id, script, attempt);
    return over(run_id);
  }
  int step_pid(const std::string& run_id) { return wait_for<AttemptStepStarted>(run_id).step.pid; }

  /// The server goes and leaves its busy workers alone; they are ended after the test, whatever becomes of it.
  void leave(std::initializer_list<int> pids) {
    let_go_.insert(pids);
    workers_->close(true);
    workers_.reset();
    queue_.clear();
  }
  /// Waits for the end of a worker that was let go.
  void wait_for_exit(int pid) {
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
    let_go_.erase(pid);
  }

  std::size_t starts() const {
    const auto text = read_file(options_.layout.workspace + "/starts", 1 << 20);
    return text ? text->size() : 0;
  }

  static std::string run_of(const AttemptStepStarted& event) { return event.step.run_id; }
  static std::string run_of(const AttemptProgress& event) { return event.progress.run_id; }
  static std::string run_of(const AttemptStepEnded& event) { return event.step.run_id; }
  static std::string run_of(const AttemptPublished& event) { return event.published.run_id; }
  static std::string run_of(const AttemptOver& event) { return event.run_id; }
  static std::string run_of(const AttemptAdopted& event) { return event.state.run_id; }

  void take() {
    for (WorkerEvent& event : workers_->take_events()) queue_.push_back(std::move(event));
  }
  template <typename Event>
  bool any_for(const std::string& run_id) const {
    for (const WorkerEvent& event : queue_) {
      if (const auto* found = std::get_if<Event>(&event); found != nullptr && run_of(*found) == run_id) return true;
    }
    return false;
  }

  ProcessWorkersOptions options_;
  Micros timeout_ = std::chrono::hours(1);
  Reactor reactor_;
  std::unique_ptr<ProcessWorkers> workers_;
  std::vector<WorkerEvent> queue_;
  std::set<int> let_go_;
};

}  // namespace eider::supervise
