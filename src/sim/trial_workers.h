// Workers that execute nothing and take as long as runs have taken before: of a forecast. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "sim/dice.h"
#include "supervise/workers.h"

namespace eider::sim {

class TrialWorkers final : public supervise::Workers {
 public:
  struct Trade {
    std::vector<Micros> times;        ///< a run takes one of them
    std::vector<std::string> assets;  ///< and publishes these
  };
  /// By the definition that a hand-off brings: the very text of the workspace in force.
  using Trades = std::map<const std::string*, Trade>;
  TrialWorkers(const Clock& clock, Trades trades) : clock_(clock), trades_(std::move(trades)) {}

  std::optional<Micros> next_at() const { return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first); }

  void hand_off(supervise::HandOff job) override;
  void cancel(const std::string& run_id, int attempt, const std::string&) override;
  supervise::AttemptTraces inspect(const std::string&, int) override { return {}; }
  void finish_from_result(const std::string&, int) override {}
  void adopt(const std::string&, int) override {}
  void end_left_overs(const std::string&, int) override {}
  void forget(const std::string&, int) override {}
  std::vector<supervise::WorkerEvent> take_events() override;
  void close(bool) override {}

 private:
  struct Busy {
    Micros until{};
    int attempt = 0;
    bool cancelled = false;
    const Trade* trade = nullptr;
  };
  const Clock& clock_;
  const Trades trades_;
  std::map<std::string, Busy> busy_;               ///< by run
  std::set<std::pair<Micros, std::string>> ends_;  ///< on the boot clock
  Dice dice_{1};                                   ///< always the same: a forecast can be compared with another
};

}  // namespace eider::sim
