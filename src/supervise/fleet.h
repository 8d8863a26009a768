// The worker processes of this server: started on demand and kept warm, each with one attempt at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/reactor.h"
#include "supervise/background.h"
#include "wire/channel.h"
#include "wire/messages.h"
#include "wire/processes.h"

namespace eider::supervise {

struct FleetOptions {
  std::string program;
  wire::Welcome welcome;
  int max_workers = 16;  ///< no spare is started beyond; a job always gets a worker
  int runs_before_recycling = 500;
  Micros idle_time = std::chrono::seconds(60);   ///< idle this long (at most twice), a worker leaves; one stays
  Micros quit_limit = std::chrono::seconds(10);  ///< asked to leave, or silent, and still there: SIGKILL
};

/// How a worker ended. `error`: it could not be started, or it spoke nonsense and was killed.
struct WorkerDeath {
  std::optional<int> pid;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::int64_t> peak_memory_bytes;  ///< of the worker and the processes it waited for, over its life
  std::string error;
};

/// Engine thread. The spawner, the reactor and the callbacks' owner outlive it.
class Fleet {
 public:
  using WorkerId = std::uint64_t;
  struct Callbacks {
    /// A frame of the worker that has the job `run_id`.
    std::function<void(const std::string& run_id, wire::ToServer message)> on_message;
    /// The worker died with that job; every frame it sent before has been passed on.
    std::function<void(const std::string& run_id, WorkerDeath death)> on_death;
  };

  Fleet(Reactor& reactor, Background& spawner, FleetOptions options, Callbacks callbacks);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Sends the job and its lock to an idle worker, or to one that is being started: frames wait in the socket until
  /// the process reads them. Errors: no socket pair or descriptor is left (EMFILE), a job over 64 MiB.
  Result<WorkerId> give(const wire::Job& job, const UniqueFd& lock);
  /// To a busy worker. That it is gone is no error here: its death is on the way.
  void send(WorkerId id, const wire::ToWorker& message);
  void kill(WorkerId id);
  /// The worker's job is done. Without `reuse` it is asked to leave.
  void release(WorkerId id, bool reuse);
  /// Starts a worker that waits for a job, if none does.
  void start_spare();

  /// No spares any more; idle workers leave, now and when their job is done.
  void close();
  /// Closes the channel of a busy worker: it finishes alone.
  void let_go(WorkerId id);

  std::optional<int> pid(WorkerId id) const;

 private:
  struct Worker;
  Worker* find(WorkerId id);
  Result<Worker*> start();
  void started(WorkerId id, Result<wire::Process> process);
  Worker* waiting_worker();
  int waiting_count() const;
  void send_to(Worker& worker, const std::string& frame);
  void on_channel(WorkerId id);
  bool read_frames(WorkerId id);
  void on_writable(WorkerId id);
  void on_exit(WorkerId id);
  void nonsense(Worker& worker, const std::string& what);
  void close_channel(Worker& worker);
  void ask_to_leave(Worker& worker);
  void kill_unless_gone(Worker& worker);
  void remove(WorkerId id, WorkerDeath death);
  void plan_trim();
  void trim();

  Reactor& reactor_;
  Background& spawner_;
  const FleetOptions options_;
  const Callbacks callbacks_;
  const std::shared_ptr<const std::vector<std::string>> environment_;
  std::unordered_map<WorkerId, std::unique_ptr<Worker>> workers_;
  WorkerId last_id_ = 0;
  std::uint64_t last_use_ = 0;
  std::uint64_t trim_mark_ = 0;  ///< idle since before this use: may leave
  std::optional<Reactor::TimerId> trim_timer_;
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  ///< completions that come too late see false
};

}  // namespace eider::supervise
