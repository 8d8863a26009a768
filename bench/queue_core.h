// The engine's loop on a real store, with workers that are values: the queue core without processes (rows C and H).
#pragma once

#include <atomic>
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
  ~QueueCore();
  QueueCore(const QueueCore&) = delete;
  QueueCore& operator=(const QueueCore&) = delete;

  /// Asks for `count` runs and turns the loop until all of them have ended; settled per second.
  Result<double> settle(int count);
  store::Store& store() { return *store_; }

 private:
  QueueCore() = default;
  void crank();

  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<store::Store> store_;
  supervise::FakeWorkers workers_;
  engine::Inbox inbox_{[] {}};
  std::unique_ptr<engine::Loop> loop_;
  std::atomic<bool> finish_checkpoint_{false};
  std::jthread checkpointer_;  // as the server has one
};

}  // namespace eider::bench
