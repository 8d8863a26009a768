// How much of what is limited is in use over time, of a forecast: pools, rates, locks, DuckDB files, memory, workers.
// Everything is a level that rises and falls; a start counts against its rate until the rate's time is over. One
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "decide/admission.h"
#include "timing/zone.h"
#include "workspace/load.h"

namespace eider::sim {

/// How much of something countable is in use. By the hour of the day in the workspace's time zone.
struct UseForecast {
  std::int64_t all = 0;  ///< slots, starts within the rate's time, bytes; 1: of a lock or a file
  struct Hour {
    double mean = 0;
    std::int64_t most = 0;
  };
  std::array<Hour, 24> hours{};
  double mean = 0;
  std::int64_t most = 0;
  Instant most_at{};  ///< when that was so for the first time
  /// Of the hour of the day that is used most, as a part of all.
  double busiest() const;
};

/// One level over time.
class Meter {
 public:
  Meter(std::int64_t all, Instant from, const timing::Zone& zone) : zone_(zone), from_(from), since_(from) {
    out_.all = all;
  }
  /// `now` never goes back.
  void change(std::int64_t by, Instant now);
  UseForecast read(Instant until);

 private:
  std::size_t hour_of(Instant at) const;
  std::chrono::minutes minutes_left(Instant at) const;
  void pass(Instant now);

  const timing::Zone& zone_;
  Instant from_;
  UseForecast out_;
  std::int64_t used_ = 0;
  Instant since_;
  std::array<double, 24> used_for_{};
  std::array<double, 24> lived_{};
};

class Meters {
 public:
  /// All outlives this object.
  Meters(const workspace::Workspace& workspace, const timing::Zone& zone, Instant from);

  /// A run with these needs begins, or ends.
  void begins(const std::vector<decide::Need>& needs, Instant at);
  void ends(const std::vector<decide::Need>& needs, Instant at);
  /// Of kind worker, pool, rate, lock, database, memory and temp.
  std::map<decide::Thing, UseForecast> read(Instant until);

 private:
  void add(decide::Kind kind, const std::string& name, std::int64_t all);
  void expire(Instant now);

  const workspace::Workspace& workspace_;
  const timing::Zone& zone_;
  const Instant from_;
  std::map<decide::Thing, Meter> meters_;
  std::map<decide::Thing, int> holders_;                 ///< of locks and files
  std::map<decide::Thing, std::deque<Instant>> starts_;  ///< that count against a rate: when they no longer do
};

}  // namespace eider::sim
