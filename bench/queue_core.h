// The engine's loop on a real store, with workers that are values: the queue core without processes (rows C, H, I, J).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "engine/loop.h"
#include "store/store.h"
#include "supervise/fake_workers.h"

namespace eider::bench {

class QueueCore {
 public:
  /// A state.db in the folder, made when it is not there. One pipeline, `work`, with room for `workers` runs.
  static Result<std::unique_ptr<QueueCore>> open(const std::string& folder, int workers);
  /// The same with a workspace of its own.
  static Result<std::unique_ptr<QueueCore>> open(const std::string& folder,
                                                 const std::shared_ptr<const workspace::Workspace>& workspace);
  ~QueueCore();
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  /// Asks for `count` runs and turns the loop until all of them have ended; settled per second.
  Result<double> settle(int count);
  store::Store& store() { return *store_; }
  const engine::State& state() const { return loop_->state(); }

  /// Attempts of this pipeline go on for ever from now on; all others succeed as soon as they are handed off.
  void hold(const std::string& pipeline);
  bool post(engine::Command command) { return inbox_.post(std::move(command)); }
  /// One turn of the loop.
  engine::Loop::Next crank();
  /// Turns until nothing has to be done at once, what is held aside; when there will be something.
  Result<engine::Loop::Next> crank_until_idle();
  /// Sees every set after its commit. May be empty.
  std::function<void(const model::ChangeSet&)> observe;

 private:
  QueueCore() = default;

  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<store::Store> store_;
  supervise::FakeWorkers workers_;
  engine::Inbox inbox_{[] {}};
  std::string held_;  // a pipeline; empty: none
  std::unique_ptr<engine::Loop> loop_;
  std::atomic<bool> finish_checkpoint_{false};
  std::jthread checkpointer_;  // as the server has one
};

/// A workspace of values, with a pipeline of one step; `shape` makes of it what it is to be.
std::shared_ptr<workspace::Workspace> empty_workspace(const std::string& folder, int workers);
void add_pipeline(workspace::Workspace& workspace, const std::string& name,
                  const std::function<void(model::Pipeline&)>& shape);

}  // namespace eider::bench
