#include "worker/worker.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/scheduling.h"
#include "worker/attempt.h"

namespace eider::worker {
namespace {

constexpr Micros kFlushLimit = std::chrono::seconds(1);

/// Signals come as a descriptor: SIGCHLD for steps and what they leave, SIGTERM and SIGINT to leave.
Result<UniqueFd> take_signals() {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) ::sigaddset(&taken, signal);
  // Before any thread is started: they inherit it.
  if (::sigprocmask(SIG_BLOCK, &taken, nullptr) != 0) return io_error("sigprocmask", errno);
  UniqueFd fd(::signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return io_error("signalfd", errno);
  return fd;
}

class Worker {
 public:
  Worker(UniqueFd channel, UniqueFd signals, const Clock& clock, const Limits& limits)
      : signals_(std::move(signals)),
        clock_(clock),
        limits_(limits),
        mailbox_(reactor_),
        environment_(inherited_environment(environ)),
        reports_(reactor_, std::move(channel),
                 {[this](wire::ToWorker message, UniqueFd fd) { on_message(std::move(message), std::move(fd)); },
                  [this] { return attempt_ ? std::optional(attempt_->adopted()) : std::nullopt; }}) {}

  int run() {
    reactor_.watch(signals_.get(), [this] { take_signals_pending(); });
    reports_.send(wire::Ready{::getpid()});
    while (!may_leave()) {
      reactor_.run_once();
      mailbox_.deliver();
      start_job();
      if (attempt_ && attempt_->advance()) end_attempt();
      reports_.release();
    }
    reports_.flush(kFlushLimit);
    reactor_.unwatch(signals_.get());
    return reports_.confused() ? 1 : 0;
  }

 private:
  bool may_leave() const { return !attempt_ && !job_ && (leaving_ || reports_.server_gone() || reports_.confused()); }

  void on_message(wire::ToWorker message, UniqueFd descriptor) {
    if (auto* welcome = std::get_if<wire::Welcome>(&message)) {
      greet(*welcome);
    } else if (auto* job = std::get_if<wire::Job>(&message)) {
      if (attempt_ || job_) {
        fmt::print(stderr, "eider worker: got run {} while it has one already; ignored\n", job->run_id);
        return;
      }
      job_ = std::move(*job);
      lock_ = std::move(descriptor);
    } else if (auto* cancel = std::get_if<wire::Cancel>(&message)) {
      start_job();
      if (attempt_ && attempt_->is(cancel->run_id, cancel->attempt)) attempt_->cancel(cancel->reason);
    } else {
      leaving_ = true;
    }
  }

  void greet(const wire::Welcome& welcome) {
    workspace_ = welcome.workspace;
    if (::chdir(workspace_.c_str()) != 0) {
      fmt::print(stderr, "eider worker: {}\n", io_error(workspace_, errno).message);
      leaving_ = true;
      return;
    }
    sql_.use(welcome.duckdb_library, welcome.warm_sql);
  }

  void start_job() {
    if (!job_) return;
    attempt_ = std::make_unique<Attempt>(
        AttemptServices{reactor_, mailbox_, clock_, limits_, reports_, sql_, folder_, environment_, workspace_},
        std::move(*job_), std::move(lock_));
    job_.reset();
    attempt_->start();
  }

  void take_signals_pending() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      leaving_ = true;
      start_job();
      if (attempt_) attempt_->interrupt();
    }
    // One SIGCHLD may stand for many.
    for (ChildEnd end = reap_one(); end.pid != 0; end = reap_one()) {
      if (attempt_) attempt_->child_ended(end);
    }
  }

  void end_attempt() {
    if (attempt_->stuck()) {
      reports_.flush(kFlushLimit);
      ::_exit(0);
    }
    attempt_.reset();
    folder_.make_spares();
  }

  UniqueFd signals_;
  const Clock& clock_;
  const Limits& limits_;
  Reactor reactor_;
  Mailbox mailbox_;
  const std::map<std::string, std::string> environment_;
  std::string workspace_;
  SqlHost sql_;
  WorkerFolder folder_;
  std::optional<wire::Job> job_;  ///< with its lock: not begun yet
  UniqueFd lock_;
  Reports reports_;
  std::unique_ptr<Attempt> attempt_;
  bool leaving_ = false;
};

/// Nice 5. Where the kernel shares processors out by session first (autogroup, Debian's default), a nice value counts
/// only within its session, and a worker has a session of its own: so the session gets the same value.
void stand_back() {
  constexpr int nice = 5;
  ::setpriority(PRIO_PROCESS, 0, nice);
  if (::getsid(0) != ::getpid()) return;  // somebody else's session, a terminal's: it is not ours to change
  const UniqueFd autogroup(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  if (!autogroup) return;  // a kernel without it has nothing to be told
  const std::string value = std::to_string(nice);
  [[maybe_unused]] const auto ignored = ::write(autogroup.get(), value.data(), value.size());
}

}  // namespace

int worker_main(int channel_fd, const Clock& clock, const Limits& limits) {
  UniqueFd channel(channel_fd);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // over a file size limit: an error where it is written, not the worker's death
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "eider worker");  // else `top` shows the "exe" of /proc/self/exe
  stand_back();
  ask_for_short_slices();
  auto signals = take_signals();
  if (!signals) {
    fmt::print(stderr, "eider worker: {}\n", signals.error().message);
    return 1;
  }
  Worker worker(std::move(channel), std::move(*signals), clock, limits);
  return worker.run();
}

}  // namespace eider::worker
