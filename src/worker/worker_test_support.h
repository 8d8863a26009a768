// For the tests of this folder: a real worker process (the test program, started again as `worker-under-test`) and the
// server's side of its channel, played by the test. Waits are for frames and have a deadline; nothing sleeps.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/fd.h"
#include "model/pipeline.h"
#include "wire/channel.h"
#include "wire/layout.h"
#include "wire/messages.h"
#include "worker/worker.h"

namespace eider::worker {

inline constexpr const char* kWorkerUnderTest = "worker-under-test";
inline constexpr int kDeadlineMs = 60'000;

inline std::string test_duckdb_library() {
  const char* named = std::getenv("EIDER_DUCKDB_LIBRARY");
  return named != nullptr ? named : EIDER_TEST_DUCKDB_LIBRARY;
}

/// A workspace that is removed again.
class Workspace {
 public:
  Workspace() {
    std::string name = testing::TempDir() + "eider worker XXXXXX";
    EIDER_CHECK(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    folder = name;
    EIDER_CHECK(make_folders(folder + "/.eider/locks").ok(), "locks");
  }
  ~Workspace() { std::filesystem::remove_all(folder); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::string path(const std::string& name) const { return folder + "/" + name; }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  std::string read(const std::string& name) const {
    auto text = read_file(path(name), 1 << 28);
    return text ? *text : "";
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  std::string folder;
};

inline model::Step program(const std::string& id, std::vector<std::string> argv, std::vector<std::string> needs = {}) {
  model::Step step;
  step.id = id;
  step.argv = std::move(argv);
  step.needs = std::move(needs);
  return step;
}
inline model::Step shell(const std::string& id, const std::string& script, std::vector<std::string> needs = {}) {
  return program(id, {"/bin/sh", "-c", script}, std::move(needs));
}
inline model::Step sql(const std::string& id, const std::string& script, std::vector<std::string> needs = {}) {
  model::Step step;
  step.id = id;
  step.kind = model::Step::Kind::sql;
  step.sql = script;
  step.sql_origin = {"pipelines/p.yaml", 1};
  step.needs = std::move(needs);
  return step;
}
inline model::Pipeline pipeline(std::vector<model::Step> steps) {
  model::Pipeline out;
  out.name = "p";
  out.file = "pipelines/p.yaml";
  out.steps = std::move(steps);
  return out;
}

inline model::Publish file(const std::string& name, const std::string& path, const std::string& after = "") {
  return {name, path, "", after};
}

/// Limits under which escalation is quick; a step that behaves never meets them.
inline Limits quick_limits() {
  Limits limits;
  limits.after_interrupt = limits.after_term = std::chrono::milliseconds(300);
  limits.left_over_grace = std::chrono::milliseconds(100);
  limits.held_file_first_wait = limits.progress_every = std::chrono::milliseconds(5);
  return limits;
}

/// DuckDB may need a while to notice an interrupt, on a busy machine more than that.
inline Limits patient_limits(Micros patience = std::chrono::hours(1)) {
  Limits limits = quick_limits();
  limits.after_interrupt = limits.after_term = patience;
  return limits;
}

/// One end of a channel, with blocking reads.
class Talk {
 public:
  explicit Talk(UniqueFd socket) : channel_(std::move(socket)) {}

  void send(const wire::ToWorker& message, int descriptor = -1) {
    ASSERT_TRUE(channel_.send(wire::encode(message), descriptor));
  }
  /// The next frame; none: the worker's end is closed, or the deadline has passed (which fails the test).
  std::optional<wire::ToServer> next() {
    while (frames_.empty()) {
      if (closed_) return std::nullopt;
      pollfd waiting{channel_.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, kDeadlineMs) != 1) {
        ADD_FAILURE() << "the worker said nothing for a minute";
        return std::nullopt;
      }
      std::vector<wire::Channel::Frame> read;
      const auto open = channel_.receive(read);
      closed_ = !open || !*open;
      for (auto& frame : read) frames_.push_back(std::move(frame.text));
    }
    auto message = wire::decode_to_server(frames_.front());
    frames_.pop_front();
    if (message) return std::move(*message);
    ADD_FAILURE() << message.error().message;
    return std::nullopt;
  }
  /// The next frame of that kind; the ones before it go to `seen`.
  template <typename T>
  T wait_for() {
    while (auto message = next()) {
      if (T* wanted = std::get_if<T>(&*message)) return std::move(*wanted);
      seen.push_back(std::move(*message));
    }
    ADD_FAILURE() << "the channel ended before the frame came";
    return T{};
  }
  wire::StepStarted wait_for_start(const std::string& step) {
    while (true) {
      wire::StepStarted started = wait_for<wire::StepStarted>();
      if (started.step == step || started.step.empty()) return started;
    }
  }
  bool at_end() {
    while (next()) continue;
    return closed_;
  }

  std::vector<wire::ToServer> seen;

 private:
  wire::Channel channel_;
  std::deque<std::string> frames_;
  bool closed_ = false;
};

/// The process. Its end kills it, should it still be there.
class TestWorker {
 public:
  explicit TestWorker(const Workspace& workspace, const Limits& limits = quick_limits(), bool warm_sql = false) {
    auto pair = wire::channel_pair();
    EIDER_CHECK(pair.ok(), "channel_pair");
    server.emplace(std::move(pair->first));
    std::vector<std::string> argv = {"worker_test", kWorkerUnderTest};
    for (const Micros limit : {limits.after_interrupt, limits.after_term, limits.left_over_grace,
                               limits.held_file_first_wait, limits.progress_every}) {
      argv.push_back(std::to_string(limit.count()));
    }
    std::vector<char*> pointers;
    for (std::string& argument : argv) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pair->second.get(), 3);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 4);
    EIDER_CHECK(::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, pointers.data(), environ) == 0, "posix_spawn");
    ::posix_spawn_file_actions_destroy(&actions);
    server->send(wire::Welcome{workspace.folder, warm_sql, test_duckdb_library()});
    server->wait_for<wire::Ready>();
  }
  ~TestWorker() {
    if (pid == 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  TestWorker(const TestWorker&) = delete;
  TestWorker& operator=(const TestWorker&) = delete;

  /// Its exit status; blocks (the harness's time-out ends a worker that does not leave).
  int wait_for_exit() {
    int status = -1;
    ::waitpid(std::exchange(pid, 0), &status, 0);
    return status;
  }

  std::optional<Talk> server;
  pid_t pid = 0;
};

/// What the server keeps of an attempt: job, lock, paths.
class TestRun {
 public:
  TestRun(const Workspace& workspace, const model::Pipeline& pipeline, int attempt = 1, const std::string& id = "run-1")
      : layout{workspace.folder} {
    job.run_id = id;
    job.attempt = attempt;
    job.definition = model::definition_json(pipeline);
    job.folder = layout.run_folder(id);
    lock.reset(::open(layout.lock_file(id).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EIDER_CHECK(lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0, "the lock is free");
  }

  void hand_to(TestWorker& worker) {
    worker.server->send(job, lock.get());
    lock.reset();
  }
  wire::AttemptResult run_on(TestWorker& worker) {
    hand_to(worker);
    return worker.server->wait_for<wire::Finished>().result;
  }
  /// True when no process holds the attempt's lock any more.
  bool lock_is_free() const {
    const UniqueFd again(::open(layout.lock_file(job.run_id).c_str(), O_RDWR | O_CLOEXEC));
    return again && ::flock(again.get(), LOCK_EX | LOCK_NB) == 0;
  }
  wire::AttemptResult result_file() const {
    auto text = read_file(wire::Layout::attempt_result(job.folder, job.attempt), 1 << 26);
    if (!text) {
      ADD_FAILURE() << text.error().message;
      return {};
    }
    auto result = wire::decode_result(*text);
    return result ? *result : wire::AttemptResult{};
  }
  /// The log's lines, each a JSON object.
  std::vector<boost::json::object> log() const {
    std::vector<boost::json::object> lines;
    std::ifstream file(wire::Layout::attempt_log(job.folder, job.attempt));
    for (std::string line; std::getline(file, line);) lines.push_back(boost::json::parse(line).as_object());
    return lines;
  }
  /// The texts of one stream, joined by newlines.
  std::string log_text(const std::string& stream) const {
    std::string out;
    for (const auto& line : log()) {
      if (line.at("stream").as_string() == stream) out += std::string(line.at("text").as_string()) + "\n";
    }
    return out;
  }

  wire::Layout layout;
  wire::Job job;
  UniqueFd lock;
};

inline const wire::StepResult& step_of(const wire::AttemptResult& result, const std::string& step) {
  for (const wire::StepResult& one : result.steps) {
    if (one.step == step) return one;
  }
  ADD_FAILURE() << "no result of step " << step;
  static const wire::StepResult none;
  return none;
}

/// True when the process (or, with a negative number, the group) is gone.
inline bool is_gone(int pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace eider::worker
