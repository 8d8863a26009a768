// Workers as processes: the real supervise::Workers. What happens to an attempt, from its committed claim to the moment
// when nothing of it is left, is here; the processes themselves are Fleet's, the ends are Endings'.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/reactor.h"
#include "supervise/workers.h"
#include "wire/layout.h"

namespace eider::supervise {

struct ProcessWorkersOptions {
  wire::Layout layout;
  std::string program = "/proc/self/exe";  ///< started as `PROGRAM worker`, its channel is descriptor 3
  std::string duckdb_library;
  bool warm_sql = true;  ///< workers open DuckDB before a run arrives
  int max_workers = 16;  ///< no spare worker is started beyond
  int runs_before_recycling = 500;
  std::int64_t log_limit_bytes = 64LL * 1024 * 1024;
  Micros idle_time = std::chrono::seconds(60);  ///< then spare workers leave; one stays
  /// The worker's own escalation: interrupt, this long, SIGTERM, this long, SIGKILL. The server stands behind it.
  Micros after_interrupt = std::chrono::seconds(5);
  Micros after_term = std::chrono::seconds(5);
  Micros cancel_slack = std::chrono::seconds(2);          ///< then a cancelled attempt's worker is killed
  Micros timeout_slack = std::chrono::seconds(5);         ///< then one that is over its time is
  Micros lock_patience = std::chrono::milliseconds(500);  ///< for a lock that somebody holds when an attempt begins
  Micros result_grace = std::chrono::seconds(5);          ///< for a worker found at boot that has left its result
  Micros report_after = std::chrono::seconds(10);         ///< an end that takes longer is told to the log
  std::function<Micros()> clock_offset;                   ///< of a test clock, for the workers'; empty: 0
};

/// Every call on the reactor's thread, which it never blocks: what is slow happens on two threads of its own. New
/// events wake the reactor. Destroying it leaves busy workers alone, as close(true) does.
class ProcessWorkers final : public Workers {
 public:
  /// Starts a first worker, so that the first claim finds one. An Error: the folders can't be made.
  static Result<std::unique_ptr<ProcessWorkers>> open(Reactor& reactor, ProcessWorkersOptions options);
  ~ProcessWorkers() override;

  void hand_off(HandOff job) override;
  void cancel(const std::string& run_id, int attempt, const std::string& reason) override;
  AttemptTraces inspect(const std::string& run_id, int attempt) override;
  void finish_from_result(const std::string& run_id, int attempt) override;
  void adopt(const std::string& run_id, int attempt) override;
  void end_left_overs(const std::string& run_id, int attempt) override;
  void forget(const std::string& run_id, int attempt) override;
  std::vector<WorkerEvent> take_events() override;
  void close(bool leave_running) override;

 private:
  struct Impl;
  explicit ProcessWorkers(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace eider::supervise
