// A `sql` step: a thread with a DuckDB connection of its own that posts its end to the main thread.
//
//   running --stop--> interrupted --after_interrupt--> interrupted again --after_term--> stuck: the worker must leave
//   running --file held from outside--> waiting (held()) --try_again--> running
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "model/pipeline.h"
#include "worker/sql_host.h"
#include "worker/step_run.h"

namespace eider::worker {

class SqlStep final : public StepRun {
 public:
  struct Script {
    std::optional<duck::DatabaseFile> database;
    duck::Facts variables;
    duck::ScriptRequest request;
    std::vector<std::string> find_tables;  ///< in place of the request: Connection::find_tables
  };

  SqlStep(StepServices& services, SqlSession& session, const model::Step& step, Script script);
  /// Joins the thread; a stuck step must not be destroyed.
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
  void work();
  std::optional<duck::ScriptOutcome> run_script();
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
  std::thread thread_;
  std::mutex mutex_;  ///< of the next two
  std::unique_ptr<duck::Connection> connection_;
  bool interrupted_ = false;

  std::optional<duck::ScriptOutcome> outcome_;
  std::optional<wire::FileHeld> held_;
  std::optional<wire::StepOutcome> stopped_;
  bool stuck_ = false;
  Reactor::TimerId timer_ = 0;
};

}  // namespace eider::worker
