// The same work done bare, beside which each row stands: a timer, a durable commit, a process. The only place of the
// bench that reads clocks itself.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "bench/stats.h"

struct sqlite3;
struct sqlite3_stmt;

namespace eider::bench {

/// CLOCK_MONOTONIC, in milliseconds.
double monotonic_ms();

/// A deadline timer on the wall clock, as bare as it gets.
class BareTimer {
 public:
  BareTimer();
  ~BareTimer();
  BareTimer(const BareTimer&) = delete;
  BareTimer& operator=(const BareTimer&) = delete;
  /// Waits until `at`; how much later it returned, in milliseconds.
  double wait(Instant at) const;

 private:
  int fd_;
};

/// Single-row durable commits: WAL, synchronous=FULL, no more.
class BareStore {
 public:
  static Result<std::unique_ptr<BareStore>> open(const std::string& folder);
  ~BareStore();
  BareStore(const BareStore&) = delete;
  BareStore& operator=(const BareStore&) = delete;
  /// One; how long it took, in milliseconds.
  double commit();
  double commits_per_second(double seconds);

 private:
  BareStore() = default;
  std::string path_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

/// How long posix_spawn of /bin/true takes its caller, in milliseconds; then waits for the end of the process.
double bare_spawn();
/// posix_spawn of /bin/true, this many at a time.
double spawns_per_second(int at_once, double seconds);
/// fdatasync of a written page in the folder, in milliseconds.
std::vector<double> sync_times(const std::string& folder, int count);

/// What a bare timer, commit and spawn cost, one after the other, at a series of instants.
struct FloorTimes {
  std::vector<double> timer;    ///< due → woken
  std::vector<double> commit;   ///< due → committed
  std::vector<double> started;  ///< due → process started
};
/// Measures at `from`, `from + every` … before `to`, on this thread.
FloorTimes floor_times(BareStore& store, Instant from, Instant to, Micros every);

/// The same on a thread of its own, beside what is measured.
class FloorProbe {
 public:
  FloorProbe(BareStore& store, Instant from, Instant to, Micros every)
      : thread_([this, &store, from, to, every] { times_ = floor_times(store, from, to, every); }) {}
  /// Waits for its end.
  const FloorTimes& times() {
    if (thread_.joinable()) thread_.join();
    return times_;
  }

 private:
  FloorTimes times_;
  std::jthread thread_;
};

}  // namespace eider::bench
