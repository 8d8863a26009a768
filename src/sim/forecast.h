// What a workspace will do: the engine's own loop and rules on a clock that runs ahead, with run times that history
// has shown, and without executing a step (`eider simulate`). Reads nothing and writes nothing. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/pipeline.h"
#include "workspace/load.h"

namespace eider::sim {

/// How long runs of a pipeline have taken, shortest first; never empty.
struct RunTimes {
  std::vector<Micros> seen;
};

struct ForecastWishes {
  Instant from{};
  Micros length{};
  Micros assumed = std::chrono::seconds(1);  ///< a run of a pipeline without history
  std::map<std::string, RunTimes> times;     ///< by pipeline
  std::map<std::string, bool> paused;        ///< schedules that are paused or active now, whatever their file says
  /// Now and then, with the part that is done. May be empty.
  std::function<void(double done)> progress;
};

/// Percentiles of waits or run times.
struct Spread {
  std::int64_t count = 0;
  Micros median{};
  Micros p95{};
  Micros most{};
};

struct ScheduleForecast {
  std::string key;       ///< `pipeline/id`
  std::string rule;      ///< for people
  std::int64_t due = 0;  ///< instants
  std::int64_t ran = 0;
  std::int64_t late = 0;                        ///< of those that ran: had to wait a second or more
  std::map<std::string, std::int64_t> not_run;  ///< by reason code: ActiveRun, QueueFull, …
  std::int64_t without_run() const {
    std::int64_t sum = 0;
    for (const auto& [reason, count] : not_run) sum += count;
    return sum;
  }
};

struct PipelineForecast {
  std::int64_t runs = 0;
  Spread wait;         ///< from queued to started
  Spread takes;        ///< what was assumed of its runs
  bool known = false;  ///< from history
};

/// How much of something countable is in use. By the hour of the day in the workspace's time zone.
struct UseForecast {
  std::int64_t all = 0;  ///< slots
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

/// A change of the clocks that a schedule feels.
struct ClockSurprise {
  std::string schedule;
  Instant at{};            ///< the first instant that is concerned
  std::int64_t count = 1;  ///< how many are
  std::string timezone;
  enum class Kind {
    moved,    ///< the wall skips its time: it is due when the gap is over
    doubled,  ///< the wall shows its time twice, and it is due both times
  } kind = Kind::moved;
  std::string local;  ///< as the wall shows it, with offset
};

struct Forecast {
  Instant from{};
  Instant until{};
  std::string timezone;  ///< of the hours
  std::int64_t runs = 0;
  std::int64_t most_runs_a_day = 0;
  std::string most_runs_day;   ///< `2026-03-29`
  std::int64_t left_over = 0;  ///< runs that have not ended: the workspace makes more than it can do
  std::vector<ScheduleForecast> schedules;
  std::map<std::string, PipelineForecast> pipelines;
  std::map<std::string, UseForecast> pools;
  UseForecast workers;
  std::vector<ClockSurprise> surprises;
  std::int64_t without_run() const;
  Micros longest_wait() const;
  double busiest() const;  ///< of any pool, or of the workers
};

/// More instants than that are refused: fewer days do as well.
inline constexpr std::int64_t most_instants = 20'000'000;

Result<Forecast> forecast(std::shared_ptr<const workspace::Workspace> workspace, const ForecastWishes& wishes);

/// The clock changes of a year or more that its schedules feel.
std::vector<ClockSurprise> clock_surprises(const workspace::Workspace& workspace, Instant from, Instant until);

}  // namespace eider::sim
