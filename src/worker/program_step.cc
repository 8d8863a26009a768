#include "worker/program_step.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>

#include "wire/processes.h"
#include "worker/text.h"

namespace eider::worker {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;
/// A pipe holds 64 KiB, at most 1 MiB by default: more than that after the program's end comes from a left-over.
constexpr int kDrainReads = 17;
/// How long a killed process may take to vanish (a full page cache on a slow disk) before the step goes on without it.
constexpr Micros kKillRound = std::chrono::milliseconds(20);
constexpr int kKillRounds = 500;
constexpr std::size_t kErrorLineBytes = 300;

}  // namespace

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  std::string text = fmt::format("ended by signal {} ({})", signal, ::strsignal(signal));
  if (signal == SIGKILL) text += "; the kernel does that too when memory runs out";
  return text;
}

ProgramStep::ProgramStep(StepServices& services, const model::Step& step)
    : services_(services), step_(step), out_{{}, {}, Stream::out}, err_{{}, {}, Stream::err} {}

ProgramStep::~ProgramStep() {
  if (timer_ != 0) services_.reactor.cancel_timer(timer_);
  for (Output* output : {&out_, &err_}) {
    if (output->fd) services_.reactor.unwatch(output->fd.get());
  }
}

Result<void> ProgramStep::start(ProgramRequest request) {
  struct rusage own {};
  ::getrusage(RUSAGE_SELF, &own);
  own_peak_memory_bytes_ = static_cast<std::int64_t>(own.ru_maxrss) * 1024;
  auto program = start_program(request);
  if (!program) return program.error();
  program_ = std::move(*program);
  out_.fd = std::move(program_.out);
  err_.fd = std::move(program_.err);
  for (Output* output : {&out_, &err_})
    services_.reactor.watch(output->fd.get(), [this, output] { read_some(*output); });
  return {};
}

void ProgramStep::read_some(Output& output) {
  read_once(output);
  if (!output.fd && phase_ != Phase::running) settle();
}

bool ProgramStep::read_once(Output& output) {
  if (!output.fd) return false;
  static thread_local std::string buffer(kReadSize, '\0');
  const ssize_t n = ::read(output.fd.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    close_output(output);
    return false;
  }
  const Stream stream = output.stream;
  output.lines.feed(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)),
                    [this, stream](std::string_view line, std::int64_t bytes, std::string_view eol) {
                      log_line(stream, line, bytes, eol);
                    });
  return true;
}

void ProgramStep::drain() {
  for (Output* output : {&out_, &err_}) {
    for (int reads = 0; reads < kDrainReads && read_once(*output); ++reads) continue;
  }
}

void ProgramStep::close_output(Output& output) {
  if (!output.fd) return;
  const Stream stream = output.stream;
  output.lines.finish([this, stream](std::string_view line, std::int64_t bytes, std::string_view eol) {
    log_line(stream, line, bytes, eol);
  });
  services_.reactor.unwatch(output.fd.get());
  output.fd.reset();
}

void ProgramStep::log_line(Stream stream, std::string_view line, std::int64_t whole_bytes, std::string_view eol) {
  services_.log.line(services_.now(), step_.id, stream, line, whole_bytes, eol);
  if (stream == Stream::err && line.find_first_not_of(" \t") != std::string_view::npos) {
    last_error_line_ = cut_at_character(line, kErrorLineBytes);
  }
}

void ProgramStep::after(Micros delay, void (ProgramStep::*then)()) {
  if (timer_ != 0) services_.reactor.cancel_timer(timer_);
  timer_ = services_.reactor.call_after(delay, [this, then] {
    timer_ = 0;
    (this->*then)();
  });
}

void ProgramStep::signal_all(int signal) {
  // The leader is not reaped yet, so its number is still the group's.
  ::kill(-program_.pid, signal);
  const wire::ProcessMarks marks{services_.run.run_id, services_.run.attempt, step_.id, ""};
  for (const wire::Process& process : wire::find_processes(marks)) {
    if (::getpgid(process.pid) != program_.pid) wire::signal_process(process, signal);
  }
}

void ProgramStep::stop(wire::StepOutcome why) {
  if (phase_ == Phase::over || stopping_) return;
  stopping_ = true;
  if (phase_ != Phase::running) {
    kill_left_overs();
    return;
  }
  stopped_ = why;
  signal_all(SIGTERM);
  after(services_.limits.after_term, &ProgramStep::give_up);
}

void ProgramStep::give_up() {
  services_.log.note(
      services_.now(), step_.id,
      fmt::format("did not end within {} of SIGTERM: SIGKILL", format_duration(services_.limits.after_term)));
  killed_ = true;
  signal_all(SIGKILL);
}

void ProgramStep::child_ended(const ChildEnd& end) {
  end_ = end;
  phase_ = Phase::exited;
  if (timer_ != 0) services_.reactor.cancel_timer(std::exchange(timer_, 0));
  drain();
  settle();
}

void ProgramStep::children_changed() {
  if (phase_ == Phase::exited || phase_ == Phase::killing) settle();
}

void ProgramStep::settle() {
  if (phase_ == Phase::over) return;
  const bool nothing_left = has_no_children() || services_.strays(step_.id).empty();
  if (nothing_left) {
    // The pipes may still be open in a process outside of our family; it may keep them.
    if (phase_ == Phase::killing || (!out_.fd && !err_.fd)) {
      finish();
      return;
    }
  } else if (killed_ || phase_ == Phase::killing) {
    kill_left_overs();
    return;
  }
  if (timer_ == 0) after(services_.limits.left_over_grace, &ProgramStep::kill_left_overs);
}

void ProgramStep::kill_left_overs() {
  if (phase_ == Phase::over) return;
  const bool first = phase_ != Phase::killing;
  phase_ = Phase::killing;
  std::set<int> killed;
  if (first) {
    const wire::ProcessMarks marks{services_.run.run_id, services_.run.attempt, step_.id, ""};
    for (const wire::Process& process : wire::find_processes(marks)) {
      if (wire::signal_process(process, SIGKILL)) killed.insert(process.pid);
    }
  }
  // Children are ours to reap, so their numbers can't have been given to others.
  const std::vector<int> strays = services_.strays(step_.id);
  for (const int pid : strays) {
    if (::kill(pid, SIGKILL) == 0 && first) killed.insert(pid);
  }
  left_over_processes_ += static_cast<int>(killed.size());
  if (!killed.empty()) {
    services_.log.note(services_.now(), step_.id,
                       fmt::format("left {} process(es) running; ended with SIGKILL", killed.size()));
  }
  if (strays.empty() || ++kill_rounds_ > kKillRounds) {
    finish();
  } else {
    after(kKillRound, &ProgramStep::kill_left_overs);
  }
}

void ProgramStep::finish() {
  if (timer_ != 0) services_.reactor.cancel_timer(std::exchange(timer_, 0));
  drain();
  close_output(out_);
  close_output(err_);
  phase_ = Phase::over;
}

wire::StepResult ProgramStep::result() {
  wire::StepResult result;
  const int status = end_->status;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  // Below that it is the worker's own: a spawned child begins in its parent's memory.
  if (end_->peak_memory_bytes > own_peak_memory_bytes_) result.peak_memory_bytes = end_->peak_memory_bytes;
  result.left_over_processes = left_over_processes_;
  if (stopped_) {
    result.outcome = *stopped_;
  } else if (status == 0) {
    result.outcome = wire::StepOutcome::succeeded;
  } else {
    result.outcome = wire::StepOutcome::failed;
    result.error = describe_end(status);
    if (!last_error_line_.empty()) result.error += ": " + last_error_line_;
  }
  return result;
}

}  // namespace eider::worker
