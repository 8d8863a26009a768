// A `sql` step, or other work that may need DuckDB: a helper thread with a connection of its own, that posts its end to
// the main thread.
//
//   running --stop--> interrupted --after_interrupt--> interrupted again --after_term--> stuck: the worker must leave
//   running --file held from outside--> waiting (held()) --try_again--> running
#pragma once

#include <functional>
#include <future>
#include <mutex>

#include "model/pipeline.h"
#include "worker/sql_host.h"
#include "worker/step_run.h"

namespace eider::worker {

/// What a SqlStep's thread has for the work it does. That thread.
class SqlThread {
 public:
  virtual ~SqlThread() = default;
  /// The connection; the first call opens it. A null pointer: the file is held from outside, so the work returns
  /// (whatever), and is begun again from its start when that may have changed.
  virtual Result<duck::Connection*> connect() = 0;
  /// The step was told to end. A query ends by itself then.
  virtual bool interrupted() = 0;
  /// A line of Eider's own in the attempt's log.
  virtual void note(std::string text) = 0;
};

class SqlStep final : public StepRun, private SqlThread {
 public:
  struct Script {
    std::optional<duck::DatabaseFile> database;
    duck::Facts variables;
    duck::ScriptRequest request;
    std::function<duck::ScriptOutcome(SqlThread&)> work;  ///< in place of the request
  };

  SqlStep(StepServices& services, SqlSession& session, const model::Step& step, Script script);
  /// Waits for its thread; a stuck step must not be destroyed.
  ~SqlStep() override;

  void start();

  void stop(wire::StepOutcome why) override;
  bool over() const override { return outcome_.has_value(); }
  bool stuck() const override { return stuck_; }
  wire::StepResult result() override;
  std::optional<double> progress() override;
  std::optional<wire::FileHeld> held() const override { return held_; }
  void try_again() override;

 private:
  Result<duck::Connection*> connect() override;
  bool interrupted() override;
  void note(std::string text) override;
  void work();
  duck::ScriptOutcome run_script();
  void found_held(wire::FileHeld held);
  void ended(duck::ScriptOutcome outcome);
  void post_line(std::string_view line);
  void after(Micros delay, void (SqlStep::*then)());
  void interrupt_again();
  void give_up();

  StepServices& services_;
  SqlSession& session_;
  const model::Step& step_;
  const Script script_;
  std::future<void> work_;
  std::mutex mutex_;  ///< of the next two
  std::unique_ptr<duck::Connection> connection_;
  bool interrupted_ = false;
  bool waits_ = false;  ///< the thread's: it has found the file held

  std::optional<duck::ScriptOutcome> outcome_;
  std::optional<wire::FileHeld> held_;
  std::optional<wire::StepOutcome> stopped_;
  bool stuck_ = false;
  Reactor::TimerId timer_ = 0;
};

}  // namespace eider::worker
