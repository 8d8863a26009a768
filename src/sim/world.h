// What really happens outside of the engine: attempts that run, die, hang, disobey, report twice or too late, with a
// server and without one. The engine sees it as its workers; the book (book.h) sees the truth. It outlives every
// server of a life. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sim/dice.h"
#include "sim/fault.h"
#include "supervise/workers.h"

namespace eider::sim {

/// One attempt that was handed off, and what is true of it.
struct Execution {
  std::string run_id;
  int attempt = 0;
  std::string pipeline;
  bool alive = true;                          ///< processes of it are there
  std::optional<wire::AttemptResult> result;  ///< what it has left
  bool by_timeout = false;
  bool with_server = false;      ///< ended by a server that found it
  bool never_ran = false;        ///< the machine lacked what a start needs
  bool others_too = false;       ///< and every start needs it
  std::optional<int> exit_code;  ///< of its program, or of its worker
  std::optional<int> signal;
  std::vector<wire::StepResult> kept{};  ///< steps that it need not do
  bool asked_to_end = false;             ///< by the server of now
  bool mine = false;                     ///< the server of now knows it
  bool told = false;                     ///< and has been told of its end
  // Its fate, drawn when it was handed off.
  bool obeys = true;            ///< a cancel
  bool outlives_server = true;  ///< goes on without it
  bool answers_twice = false;
  bool lies = false;  ///< results of attempts that are not its own come with its end
};

/// What the world must know of the books to be what it is.
class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual void handed_off(const std::string& run_id, int attempt) = 0;
  virtual void forgotten(const std::string& run_id, int attempt) = 0;
  /// As the files say now; null: it is not there.
  virtual const model::Pipeline* pipeline(const std::string& name) const = 0;
  /// The hash by which its definition is known; of a pipeline that is there.
  virtual const std::string& definition_of(const std::string& name) const = 0;
  virtual std::string pipeline_of(const std::string& run_id) const = 0;
  virtual std::vector<std::string> assets_of(const std::string& pipeline) const = 0;
  virtual int live_attempt(const std::string& run_id) const = 0;  ///< 0: none
  virtual void violated(const char* law, const std::string& what) = 0;
};

class World final : public supervise::Workers {
 public:
  World(std::uint64_t seed, const Clock& clock, Faults& faults, Mutation mutation)
      : seed_(seed), clock_(clock), faults_(faults), mutation_(mutation) {}
  void keep_books(Ledger* ledger) { ledger_ = ledger; }

  // What the engine does.
  void hand_off(supervise::HandOff job) override;
  void cancel(const std::string& run_id, int attempt, const std::string& reason) override;
  supervise::AttemptTraces inspect(const std::string& run_id, int attempt) override;
  void finish_from_result(const std::string& run_id, int attempt) override;
  void adopt(const std::string& run_id, int attempt) override;
  void end_left_overs(const std::string& run_id, int attempt) override;
  void forget(const std::string& run_id, int attempt) override;
  std::vector<supervise::WorkerEvent> take_events() override;
  void close(bool) override {}

  // What happens to the world.
  void server_died();
  void server_left();  ///< it has ended by itself: what runs goes on
  void kill_some(std::uint64_t choice, int signal);
  void tell_old_result(std::uint64_t choice);
  /// Until then (boot clock) nothing can be started.
  void lack_until(Micros until) { lacks_until_ = until; }
  bool lacks() const { return clock_.boottime() < lacks_until_; }
  Micros lacked_last() const { return lacked_last_; }
  /// From now on everything that runs ends soon and well.
  void calm_down();
  /// When the next thing happens, on the boot clock.
  std::optional<Micros> next_at() const;
  /// All that has happened by now.
  void happen();
  bool has_events() const { return !outbox_.empty(); }
  /// For mutations that hand off by themselves.
  void start(const std::string& run_id, int attempt, Micros timeout, std::vector<wire::StepResult> kept = {});

  // The truth.
  const Execution* execution(const std::string& run_id, int attempt) const;
  const std::map<std::pair<std::string, int>, Execution>& executions() const { return executions_; }
  std::int64_t handed_off_count() const { return count_; }

 private:
  enum class What {
    ends_well,
    fails,
    dies,
    times_out,
    is_told_to_go,  ///< its worker, by somebody who is not its server
    meets_held_file,
    cancelled,
    killed,
    killed_by_server,
    left_overs_gone
  };
  struct Happening {
    Micros at{};
    std::int64_t order = 0;
    std::pair<std::string, int> who;
    What what = What::ends_well;
    auto operator<=>(const Happening&) const = default;  // NOLINT(modernize-use-nullptr): of the operator itself
  };

  Execution* find(const std::string& run_id, int attempt);
  void later(Micros in, const Execution& who, What what);
  void end(Execution& execution, What what);
  void leave_result(Execution& execution, What what);
  // world_steps.cc: what attempts do of their pipeline's steps.
  void check_kept(const supervise::HandOff& job);
  void do_steps(Execution& execution, bool well);
  const std::string& content_of(const std::string& name, const model::Pipeline& pipeline, const model::Step& step);
  void tell(Execution& execution);
  void draw_fate(Execution& execution, Micros timeout);

  const std::uint64_t seed_;
  const Clock& clock_;
  Faults& faults_;
  const Mutation mutation_;
  Ledger* ledger_ = nullptr;
  std::map<std::pair<std::string, int>, Execution> executions_;  ///< not forgotten
  std::set<Happening> happenings_;
  std::vector<supervise::WorkerEvent> outbox_;
  std::map<std::string, std::map<std::string, std::string>> done_;  ///< run -> step -> its content, as last done
  std::map<std::string, std::string> contents_;                     ///< by definition and step
  std::map<std::string, std::int64_t> starts_;                      ///< by pipeline
  std::vector<std::pair<std::string, int>> reported_;               ///< the newest that have ended, for lies
  std::int64_t count_ = 0;
  std::int64_t order_ = 0;
  std::int64_t told_ = 0;
  Micros lacks_until_{-1};
  Micros lacked_last_{-1'000'000'000};
  bool calm_ = false;
};

}  // namespace eider::sim
