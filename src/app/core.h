// What every process with an engine has: the workspace's lock, the store, workers, the loop and its timer, wired once.
// `serve` adds the API and signals; `run` without a server adds one request.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/reactor.h"
#include "engine/deadline_timer.h"
#include "engine/inbox.h"
#include "engine/loop.h"
#include "store/store.h"
#include "supervise/process_workers.h"
#include "wire/layout.h"
#include "workspace/load.h"

namespace eider::app {

struct CoreOptions {
  std::string workspace;  ///< absolute root
  std::optional<Instant> test_clock;
  std::string ceiling{};            ///< the ceiling file, or empty
  std::string foreground_pipeline;  ///< of `eider run` without a server; empty: a server
  engine::LoopOptions loop;
  std::function<void(const model::ChangeSet&, Instant committed_at)> observe;
};

/// Engine thread: the one that opens it and calls run().
class Core {
 public:
  /// Errors: `conflict` when another process has the workspace (it is named), `invalid` when eider.yaml is wrong
  /// (the diagnostics are in the message), `corrupt` for a damaged or newer state.db, `io`.
  static Result<std::unique_ptr<Core>> open(CoreOptions options);
  ~Core();

  /// Turns the loop until it has drained or `stop_at_once` is set. `after_turn` is called between two turns.
  void run(const std::function<void()>& after_turn = {});
  /// run() returns after the present turn; running runs go on alone. Engine thread.
  void stop_at_once() { stop_at_once_ = true; }

  engine::Inbox& inbox() { return inbox_; }
  engine::Loop& loop() { return *loop_; }
  Reactor& reactor() { return reactor_; }
  store::Store& store() { return *store_; }
  const Clock& clock() const { return *clock_; }
  const wire::Layout& layout() const { return layout_; }
  bool has_test_clock() const { return test_clock_ != nullptr; }

 private:
  explicit Core(CoreOptions options);
  Result<void> build();
  Result<workspace::Workspace> load() const;
  Result<std::shared_ptr<const workspace::Workspace>> first_workspace();
  Result<std::shared_ptr<const workspace::Workspace>> reread(const workspace::Workspace* in_force);
  void start_checkpointer();

  CoreOptions options_;
  wire::Layout layout_;
  SystemClock system_clock_;
  std::unique_ptr<FakeClock> test_clock_;
  Clock* clock_ = nullptr;
  SystemRandom random_;
  UniqueFd server_lock_;
  Reactor reactor_;
  engine::Inbox inbox_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<engine::DeadlineTimer> timer_;
  std::unique_ptr<supervise::ProcessWorkers> workers_;
  std::unique_ptr<engine::Loop> loop_;
  bool stop_at_once_ = false;
  std::atomic<std::uint64_t> turns_{0};  ///< moves after each turn: what the checkpointer waits for
  std::atomic<bool> finish_checkpoint_{false};
  std::jthread checkpointer_;
};

/// `libduckdb.so` beside the program (`duckdb/`) or installed (`../lib/eider/`); empty when there is none.
std::string find_duckdb_library();

}  // namespace eider::app
