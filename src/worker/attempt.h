// One attempt of one run, from its Job to its result: the steps as a DAG, the time-outs, the commit.
//
// Steps start as soon as all they need has succeeded, independent ones side by side. When a step fails, what needs it
// (directly or through others) is skipped; independent steps go on and may start, as in Airflow: what they do is not
// wasted, and a retry repeats a failed run as a whole. The outcome is then that of the first step that failed.
// A cancel or the run's time-out ends all steps and starts no more; it wins over exit code 0 (O-22), and loses only
// to the commit point (the result file).
//
// A step that is kept (`retry --from-failed`) is over before the attempt begins, with the result that it had.
//
// To publish is a node of the DAG like a step: what is published `after` a step needs that step, and what needs the
// step needs it; what is published at the end needs all. Only a failed one is shown as a step. What was published
// before the end stays so, however the attempt ends.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "worker/publication.h"
#include "worker/publishing.h"
#include "worker/reports.h"
#include "worker/sql_host.h"
#include "worker/sql_step.h"
#include "worker/step_run.h"
#include "worker/worker_folder.h"

namespace eider::worker {

/// What an attempt needs of its worker; outlives it.
struct AttemptServices {
  Reactor& reactor;
  Mailbox& mailbox;
  const Clock& clock;
  const Limits& limits;
  Reports& reports;
  SqlHost& sql;
  WorkerFolder& folder;
  const std::map<std::string, std::string>& environment;  ///< inherited_environment()
  std::string workspace;
};

/// Main thread. The worker calls advance() after each turn of the reactor, so that nothing here happens within
/// another object's handler.
class Attempt {
 public:
  Attempt(AttemptServices services, wire::Job job, UniqueFd lock);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  void start();
  /// Takes the ends of steps, starts what is ready, ends the attempt; true when it is over and reported.
  bool advance();
  /// A query could not be stopped: the process must leave, without touching the attempt again.
  bool stuck() const { return stuck_; }

  bool is(const std::string& run_id, int attempt) const { return job_.run_id == run_id && job_.attempt == attempt; }
  void cancel(const std::string& reason);
  /// SIGTERM to the worker: the outcome is `interrupted`.
  void interrupt();
  void child_ended(const ChildEnd& end);
  wire::Adopted adopted() const;

 private:
  /// One step of the DAG.
  struct Node {
    const model::Step* step = nullptr;
    std::unique_ptr<PublishWork> work;       ///< of one that publishes, once started; outlives what runs it
    std::unique_ptr<StepRun> run;            ///< while it runs
    std::optional<wire::StepResult> result;  ///< once it is over
    std::optional<Instant> started_at;
    Reactor::TimerId timeout = 0;
    Micros held_wait{};
    Reactor::TimerId held_timer = 0;
    double progress = -1;
    bool publishes = false;  ///< none of the pipeline's steps
    std::string after;       ///< of one that publishes: the step, or empty for the end of the run
    std::string content;     ///< model::step_hash
    std::map<std::string, std::string> staged_before;  ///< Publishing::staged when it began
    std::vector<std::string> staged{};                 ///< assets whose staged files changed while it ran
  };

  Result<void> make_places();
  Result<void> prepare();
  Result<void> take_kept();
  void fail(std::string error);
  void stop(model::Outcome why, std::string error);
  void stop_running(wire::StepOutcome why);

  // steps (attempt_steps.cc)
  bool start_ready();
  /// What a step needs: not over yet, over and well, or over and not.
  enum class Needs { open, met, failed };
  Needs needs_of(const Node& node) const;
  void start_step(Node& node);
  Result<void> start_program(Node& node);
  void start_sql(Node& node);
  SqlStep::Script script_of(const Node& node) const;
  std::vector<const Node*> all_needs_of(const Node& node) const;
  std::map<std::string, std::string> facts_for(const Node& node) const;
  void end_step(Node& node);
  void take_facts(const Node& node, wire::StepResult& result);
  void note_end(const Node& node, const wire::StepResult& result);
  void settle_step(Node& node, wire::StepResult result);
  void file_is_held(Node& node);
  bool is_kept(const std::string& step) const;
  bool names_an_output(const model::Step& step) const;
  void note_staged(Node& node) const;
  std::vector<int> strays_of(const std::string& step) const;
  void report_progress();
  Node* node_of(const std::string& step);
  void note(const std::string& step, const std::string& text);

  // publishing (attempt_publish.cc)
  void add_publish_nodes();
  void add_publish_node(const std::string& after, std::vector<std::string> needs);
  bool is_publishing() const;
  SqlStep::Script publish_script(Node& node);
  Result<void> take_said(const Node& node, std::vector<Said> said);
  void take_published(const Node& node);
  void take_publications(wire::AttemptResult& result) const;

  // end (attempt_end.cc)
  bool end();
  bool family_is_gone();
  wire::AttemptResult make_result();
  std::vector<std::string> unpublished_of(const Node& node) const;
  Result<void> write_result(const wire::AttemptResult& result) const;
  void commit(wire::AttemptResult& result);
  void clean_up(const wire::AttemptResult& result);

  Instant now() const { return services_.clock.now() + job_.clock_offset; }

  AttemptServices services_;
  wire::Job job_;
  UniqueFd lock_;
  model::Pipeline pipeline_;
  RunContext run_;
  std::optional<LogFile> log_;
  std::optional<Publishing> publishing_;
  std::optional<SqlSession> sql_;
  std::optional<StepServices> step_services_;
  std::deque<model::Step> publish_steps_;  ///< of the nodes that publish
  std::vector<Node> nodes_;         ///< in the order of the pipeline, then those that publish; fixed after start()
  std::vector<Said> said_;          ///< of assets, by the steps that have succeeded
  wire::PublishedSoFar published_;  ///< `after` steps
  std::vector<std::string> ended_;  ///< steps in the order of their ends
  std::optional<Instant> started_at_;
  std::optional<model::Outcome> stopped_;
  std::string error_;
  std::optional<wire::FileHeld> released_;
  std::size_t facts_bytes_ = 0;
  Reactor::TimerId timeout_ = 0;
  Reactor::TimerId flush_timer_ = 0;
  Reactor::TimerId progress_timer_ = 0;
  Reactor::TimerId family_timer_ = 0;
  int family_rounds_ = 0;
  bool stuck_ = false;
  bool over_ = false;
};

}  // namespace eider::worker
