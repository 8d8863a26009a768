// This test program is its own worker: started as `… worker` it speaks the worker's side of the wire and plays what the
// job's definition says. main() is here for that.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "wire/channel.h"
#include "wire/layout.h"
#include "wire/messages.h"
#include "wire/staged.h"

namespace eider::supervise {
namespace {

[[noreturn]] void wait_for_ever() {
  while (true) ::pause();
}

/// The worker's one thread; all of it blocks.
class ScriptedWorker {
 public:
  ScriptedWorker() : channel_(UniqueFd(3)) {}

  [[noreturn]] void run() {
    while (true) {
      for (wire::Channel::Frame& frame : wait_for_frames(channel_)) {
        auto message = wire::decode_to_worker(frame.text);
        if (!message) ::_exit(90);
        if (const auto* welcome = std::get_if<wire::Welcome>(&*message)) begin(*welcome);
        if (std::holds_alternative<wire::Quit>(*message)) ::_exit(0);
        if (auto* job = std::get_if<wire::Job>(&*message)) {
          job_ = std::move(*job);
          lock_ = std::move(frame.descriptor);
          play(job_.definition.substr(0, job_.definition.find(':')));
        }
      }
      if (gone_) ::_exit(0);
    }
  }

 private:
  std::vector<wire::Channel::Frame> wait_for_frames(wire::Channel& channel) {
    std::vector<wire::Channel::Frame> out;
    while (out.empty() && !gone_) {
      pollfd wait{channel.fd(), POLLIN, 0};
      ::poll(&wait, 1, -1);
      const auto open = channel.receive(out);
      gone_ = !open || !*open;
    }
    return out;
  }

  void begin(const wire::Welcome& welcome) {
    const UniqueFd starts(
        ::open((welcome.workspace + "/starts").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!write_all(starts.get(), "x")) ::_exit(91);
    if (welcome.duckdb_library == "die at once") ::_exit(7);
    workspace_ = welcome.workspace;
    tell(wire::Ready{::getpid()});
  }

  void tell(const wire::ToServer& message) { tell(channel_, message); }
  void tell(wire::Channel& channel, const wire::ToServer& message) {
    [[maybe_unused]] const auto sent = channel.send(encode(message));
  }

  wire::AttemptResult result(model::Outcome outcome = model::Outcome::succeeded) const {
    wire::AttemptResult out;
    out.run_id = job_.run_id;
    out.attempt = job_.attempt;
    out.outcome = outcome;
    out.worker_pid = ::getpid();
    return out;
  }
  void finish(const wire::AttemptResult& with) {
    lock_.reset();
    tell(wire::Finished{with});
  }
  void started(int pid) { tell(wire::StepStarted{job_.run_id, job_.attempt, "step", pid, from_us(1)}); }

  /// A result on disk that names one staged file.
  wire::AttemptResult commit() {
    std::filesystem::create_directories(job_.folder);
    wire::AttemptResult out = result();
    wire::Rename rename{job_.folder + "/staged", job_.folder + "/published", 0, false, ""};
    if (!write_file_durably(rename.staged, "content")) ::_exit(92);
    struct stat info {};
    ::stat(rename.staged.c_str(), &info);
    rename.inode = info.st_ino;
    out.renames.push_back(rename);
    if (!write_file_durably(wire::Layout::attempt_result(job_.folder, job_.attempt), encode_result(out))) ::_exit(93);
    return out;
  }

  /// A publication on record whose file is not in place yet.
  void publish(const std::string& asset, bool can_be_renamed = true) {
    std::filesystem::create_directories(job_.folder);
    wire::Rename rename{job_.folder + "/staged " + asset, job_.folder + "/" + asset, 0, false, asset};
    if (!write_file_durably(rename.staged, "content")) ::_exit(92);
    struct stat info {};
    ::stat(rename.staged.c_str(), &info);
    rename.inode = info.st_ino;
    if (!can_be_renamed) std::filesystem::create_directories(rename.target);
    published_.publications.push_back({asset, "", "step", 3, 7, "", "abc", ""});
    published_.renames.push_back(rename);
    const std::string record = wire::Layout::attempt_published(job_.folder, job_.attempt);
    if (!write_file_durably(record, wire::encode_published(published_))) ::_exit(93);
  }

  /// Leaves a staged file and its list.
  [[noreturn]] void stage_and_die(bool without_server) {
    const wire::Layout layout{workspace_};
    const wire::AttemptId id{job_.run_id, job_.attempt};
    const std::string staged = wire::staged_path(workspace_ + "/" + job_.run_id, id);
    if (!wire::list_staged(layout, id, {staged}) || !write_file_durably(staged, "half")) ::_exit(90);
    started(::getpid());
    while (without_server && !gone_) wait_for_frames(channel_);
    ::raise(SIGKILL);
    ::_exit(98);
  }

  /// A process in a session of its own, with the lock or with the run's environment.
  int left_over(bool with_lock) {
    if (with_lock) ::fcntl(lock_.get(), F_SETFD, 0);
    const std::string run = "EIDER_RUN_ID=" + job_.run_id;
    const std::string attempt = "EIDER_ATTEMPT=" + std::to_string(job_.attempt);
    const char* arguments[] = {"sleep", "1000", nullptr};
    const char* marked[] = {run.c_str(), attempt.c_str(), nullptr};
    const char* unmarked[] = {nullptr};
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) ::_exit(94);
    const int pid = ::fork();
    if (pid == 0) {
      ::setsid();
      ::execve("/bin/sleep", const_cast<char**>(arguments), const_cast<char**>(with_lock ? unmarked : marked));
      ::_exit(95);
    }
    ::close(ready[1]);
    char byte = 0;
    [[maybe_unused]] const ssize_t n = ::read(ready[0], &byte, 1);  // ends when the other one has executed
    ::close(ready[0]);
    return pid;
  }

  std::string surroundings() const {
    std::set<int> fds;
    for (int fd = 0; fd < 100; ++fd) {
      if (::fcntl(fd, F_GETFD) >= 0) fds.insert(fd);
    }
    fds.erase(lock_.get());
    const char* run = ::getenv("EIDER_RUN_ID");
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    struct sigaction pipe_action {};
    ::sigaction(SIGPIPE, nullptr, &pipe_action);
    return fmt::format("descriptors {}, own session {}, run {}, blocked {}, ignored {}", fmt::join(fds, " "),
                       ::getsid(0) == ::getpid(), run == nullptr ? "none" : run, ::sigismember(&blocked, SIGUSR1),
                       pipe_action.sa_handler == SIG_IGN);
  }

  /// Listens on the attempt's socket, outlives its server, and takes the next one.
  [[noreturn]] void live_alone(const std::string& then) {
    std::filesystem::create_directories(job_.folder);
    auto listener = wire::listen_at(wire::Layout::attempt_socket(job_.folder, job_.attempt));
    if (!listener) ::_exit(96);
    started(::getpid());
    while (!gone_) wait_for_frames(channel_);
    if (then == "stop") ::raise(SIGSTOP);
    if (then == "die") ::_exit(5);
    while (true) serve_one(listener->get(), then);
  }

  /// A server that came back, until it goes again.
  void serve_one(int listener, const std::string& then) {
    pollfd wait{listener, POLLIN, 0};
    ::poll(&wait, 1, -1);
    wire::Channel server(UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)));
    tell(server,
         wire::Adopted{job_.run_id, job_.attempt, ::getpid(), {}, {}, {{"raw.x", "", "step", 3, 7, "", "abc", ""}}});
    if (then == "die later") ::_exit(5);
    gone_ = false;
    while (!gone_) {
      for (const auto& frame : wait_for_frames(server)) {
        auto message = wire::decode_to_worker(frame.text);
        if (!message || !std::holds_alternative<wire::Cancel>(*message)) ::_exit(97);
        wire::AttemptResult ended = result(model::Outcome::cancelled);
        ended.error = std::get<wire::Cancel>(*message).reason;
        lock_.reset();
        tell(server, wire::Finished{ended});
        ::_exit(0);
      }
    }
  }

  void play_publishing(const std::string& script) {
    if (script == "publish") {
      tell(wire::Published{job_.run_id, job_.attempt, {"raw.x", "", "step", 3, 7, "", "abc", ""}});
      return finish(result());
    }
    if (script == "publish, commit without server and die") {
      started(::getpid());
      while (!gone_) wait_for_frames(channel_);
      publish("raw.x");
      commit();
    } else {
      publish("raw.x");
      publish("raw.y", false);
      started(::getpid());
    }
    ::raise(SIGKILL);
  }

  void play(const std::string& script) {
    if (script == "finish") return finish(result());
    if (script == "time out") return finish(result(model::Outcome::timed_out));
    if (script == "surroundings") {
      wire::AttemptResult out = result(model::Outcome::failed);
      out.error = surroundings();
      return finish(out);
    }
    if (script == "steps") {
      started(42);
      tell(wire::StepProgress{job_.run_id, job_.attempt, "step", 0.5});
      tell(wire::StepEnded{job_.run_id, job_.attempt, {}});
      return finish(result());
    }
    if (script == "signal") ::raise(SIGTERM);
    if (script == "exit") ::_exit(3);
    if (script == "speak and die") {
      finish(result());
      ::_exit(4);
    }
    if (script == "nonsense") {
      [[maybe_unused]] const auto sent = channel_.send("gibberish");
      wait_for_ever();
    }
    if (script == "close the channel") {
      channel_ = wire::Channel(UniqueFd());
      wait_for_ever();
    }
    if (script == "hang") {
      started(::getpid());
      wait_for_ever();
    }
    if (script == "stop") {
      started(::getpid());
      ::raise(SIGSTOP);
      wait_for_ever();
    }
    if (script == "wait for cancel") {
      started(::getpid());
      wait_for_frames(channel_);
      return finish(result(model::Outcome::cancelled));
    }
    if (script == "leave a lock holder") {
      started(left_over(true));
      return finish(result());
    }
    if (script == "leave a marked process and die") {
      started(left_over(false));
      ::_exit(9);
    }
    if (script.starts_with("stage")) stage_and_die(script == "stage, wait and die");
    if (script.starts_with("publish")) return play_publishing(script);
    if (script == "commit and die") {
      commit();
      started(::getpid());
      ::raise(SIGKILL);
    }
    if (script == "commit without server and die") {
      started(::getpid());
      while (!gone_) wait_for_frames(channel_);
      commit();
      ::raise(SIGKILL);
    }
    if (script == "alone") live_alone("");
    if (script == "alone, stop") live_alone("stop");
    if (script == "alone, die") live_alone("die");
    if (script == "alone, die later") live_alone("die later");
    ::_exit(99);
  }

  wire::Channel channel_;
  bool gone_ = false;
  std::string workspace_;
  wire::Job job_;
  UniqueFd lock_;
  wire::PublishedSoFar published_;
};

}  // namespace
}  // namespace eider::supervise

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") eider::supervise::ScriptedWorker().run();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
