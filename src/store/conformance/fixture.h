// What the suite's tests share: a folder of their own, short ways to make values and turns, and a second process.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "store/conformance/backend.h"

namespace eider::store::conformance {

/// A new folder, removed with all it holds.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "eider-store-XXXXXX").string();
    EIDER_CHECK(mkdtemp(name.data()) != nullptr, "a temporary folder can be made");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline Instant at(std::int64_t seconds) { return from_us(1'800'000'000'000'000 + seconds * 1'000'000); }
inline std::string run_id(int n) { return fmt::format("0190a000-0000-7000-8000-{:012d}", n); }

inline model::Run queued_run(int n, const std::string& pipeline = "flights") {
  model::Run run;
  run.id = run_id(n);
  run.pipeline = pipeline;
  run.trigger_id = "somebody";
  run.created_at = run.not_before = at(n);
  run.reason = model::reason::requested;
  return run;
}

inline model::Occurrence occurrence(const std::string& schedule, Instant when, model::Decision decision) {
  model::Occurrence o;
  o.id = model::occurrence_id(schedule, when);
  o.schedule = schedule;
  o.pipeline = schedule.substr(0, schedule.find('/'));
  o.scheduled_for = o.scheduled_until = when;
  o.timezone = "Europe/Brussels";
  o.offset_s = 3600;
  o.decided_at = when;
  o.decision = decision;
  o.reason = model::reason::due;
  return o;
}

/// The run of a `run` decision; its occurrence names it.
inline model::Run run_of(model::Occurrence& decided, int n) {
  model::Run run = queued_run(n, decided.pipeline);
  run.trigger = model::TriggerKind::schedule;
  run.trigger_id = decided.schedule;
  run.occurrence_id = decided.id;
  run.scheduled_for = decided.scheduled_for;
  decided.run_id = run.id;
  return run;
}

inline model::CursorPlaced placed(const std::string& schedule, Instant until) {
  return {model::Cursor{.schedule = schedule,
                        .rule = "rule",
                        .decided_until = until,
                        .paused = false,
                        .note = "",
                        .paused_at = {},
                        .reason = "",
                        .resumed_at = {}}};
}

inline model::RunClaimed claim(int n, int number, Instant when = at(1000)) {
  return {.run_id = run_id(n), .number = number, .at = when, .definition = "definition", .taken = {}};
}

inline model::AttemptEnded ended(int n, int number, model::RunEvent event, model::Outcome outcome) {
  model::AttemptEnded change;
  change.attempt.run_id = run_id(n);
  change.attempt.number = number;
  change.attempt.outcome = outcome;
  change.attempt.finished_at = at(2000);
  change.event = event;
  change.at = at(2000);
  change.not_before = at(2010);
  change.reason = "SomeReason";
  return change;
}

inline model::AttemptEnded succeeded(int n, int number) {
  return ended(n, number, model::RunEvent::succeed, model::Outcome::succeeded);
}

/// One turn of sets; what apply() said of each. Fails the test when the turn can't be committed.
inline std::vector<bool> turn(Store& store, const std::vector<model::ChangeSet>& sets) {
  std::vector<bool> applied;
  auto begun = store.begin();
  if (!begun) {
    ADD_FAILURE() << begun.error().message;
    return applied;
  }
  for (const auto& set : sets) {
    auto result = store.apply(set);
    if (!result) ADD_FAILURE() << result.error().message;
    applied.push_back(result && *result);
  }
  auto committed = store.commit();
  if (!committed) ADD_FAILURE() << committed.error().message;
  return applied;
}

inline bool apply_one(Store& store, const model::ChangeSet& set) {
  return turn(store, {set}) == std::vector<bool>{true};
}

/// A second process. Made before this one opens the store: no database may be open across a fork.
class OtherProcess {
 public:
  template <typename Body>
  explicit OtherProcess(const Body& body) {
    EIDER_CHECK(::pipe(ready_) == 0 && ::pipe(go_on_) == 0, "pipes can be made");
    pid_ = ::fork();
    EIDER_CHECK(pid_ >= 0, "a process can be made");
    if (pid_ == 0) {
      // It must not outlive a test that was aborted.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      close_end(ready_[0]);
      close_end(go_on_[1]);
      ::_exit(body(*this));
    }
    // Whoever waits for a process that has died reads the end of its pipe.
    close_end(ready_[1]);
    close_end(go_on_[0]);
  }
  ~OtherProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
    for (const int fd : {ready_[0], ready_[1], go_on_[0], go_on_[1]}) {
      if (fd >= 0) ::close(fd);
    }
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  // In the other process.
  void say_ready() { EIDER_CHECK(::write(ready_[1], "r", 1) == 1, "the pipe takes a byte"); }
  void wait_for_go() { take(go_on_[0]); }
  // Here.
  void wait_ready() { take(ready_[0]); }
  void go() { EIDER_CHECK(::write(go_on_[1], "g", 1) == 1, "the pipe takes a byte"); }
  /// Its exit code, or minus the signal that ended it.
  int wait() {
    int status = 0;
    EIDER_CHECK(::waitpid(pid_, &status, 0) == pid_, "the process is ours");
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  static void close_end(int& fd) {
    ::close(fd);
    fd = -1;
  }
  static void take(int fd) {
    char byte = 0;
    EIDER_CHECK(::read(fd, &byte, 1) == 1, "the other side says something");
  }
  int ready_[2] = {-1, -1};
  int go_on_[2] = {-1, -1};
  pid_t pid_ = -1;
};

/// A test of every backend.
class ConformanceTest : public ::testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Store> open() {
    auto store = GetParam().open(path());
    EIDER_CHECK(store.ok(), store.ok() ? "" : store.error().message);
    return std::move(*store);
  }
  std::unique_ptr<Reader> reader() {
    auto reader = GetParam().reader(path());
    EIDER_CHECK(reader.ok(), reader.ok() ? "" : reader.error().message);
    return std::move(*reader);
  }
  model::Run run(Store& store, int n) {
    auto made = store.reader();
    EIDER_CHECK(made.ok(), "a reader can be opened");
    auto found = (*made)->run(run_id(n));
    EIDER_CHECK(found && *found, "the run is there");
    return **found;
  }
  std::string path() const { return folder_.file("state.db"); }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) { return info.param.name; }

#define EIDER_FOR_EVERY_BACKEND(suite) \
  INSTANTIATE_TEST_SUITE_P(Every, suite, ::testing::ValuesIn(backends()), backend_name)

}  // namespace eider::store::conformance
