// A `run` step: a program, its output, its end, and what it leaves behind.
//
//   running --exit--> left-overs? --none--> over
//                        | grace (1 s), or at once when stopped: SIGKILL until none is left
//   running --stop--> SIGTERM to the group --after_term--> SIGKILL --exit--> as above
//
// The step does not wait for the end of its pipes without limit: a child that inherited them (`sleep 300 &`) gets the
// grace, then it is ended, counted and noted in the log (O-14). Nothing is left, because the worker is a subreaper:
// whatever the program started is, at last, a child of the worker.
#pragma once

#include "model/pipeline.h"
#include "worker/lines.h"
#include "worker/step_run.h"

namespace eider::worker {

class ProgramStep final : public StepRun {
 public:
  ProgramStep(StepServices& services, const model::Step& step);
  ~ProgramStep() override;

  /// An error is the step's failure; nothing was started.
  Result<void> start(ProgramRequest request);

  void stop(wire::StepOutcome why) override;
  bool over() const override { return phase_ == Phase::over; }
  wire::StepResult result() override;
  int pid() const override { return program_.pid; }
  void child_ended(const ChildEnd& end) override;
  void children_changed() override;

 private:
  enum class Phase { running, exited, killing, over };
  struct Output {
    UniqueFd fd;
    LineSplitter lines;
    Stream stream;
  };

  void read_some(Output& output);
  /// Reads what is there after the program's end, within a bound.
  void drain();
  bool read_once(Output& output);
  void close_output(Output& output);
  void log_line(Stream stream, std::string_view line, std::int64_t whole_bytes, std::string_view eol);
  void signal_all(int signal);
  void after(Micros delay, void (ProgramStep::*then)());
  void settle();
  void kill_left_overs();
  void give_up();
  void finish();

  StepServices& services_;
  const model::Step& step_;
  Program program_;
  Output out_;
  Output err_;
  Phase phase_ = Phase::running;
  std::optional<wire::StepOutcome> stopped_;
  bool stopping_ = false;
  bool killed_ = false;
  std::optional<ChildEnd> end_;
  std::int64_t own_peak_memory_bytes_ = 0;
  Reactor::TimerId timer_ = 0;
  int left_over_processes_ = 0;
  int kill_rounds_ = 0;
  std::string last_error_line_;
};

/// "exit code 3", "ended by signal 9 (Killed)".
std::string describe_end(int status);

}  // namespace eider::worker
