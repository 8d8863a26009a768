// What a workspace will do: the engine's own loop and rules on a clock that runs ahead, with run times that history
// has shown, and without executing a step (`eider simulate`). Reads nothing and writes nothing. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/pipeline.h"
#include "sim/meters.h"
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
  std::map<std::string, Instant> fresh;      ///< by pipeline: when its newest successful run ended
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

/// How old a pipeline's data becomes, beside what its file says it may be.
struct FreshnessForecast {
  model::Freshness wanted;
  Micros oldest{};
  Instant oldest_at{};
  struct Missed {
    std::int64_t times = 0;
    Micros lasted{};  ///< in all
    std::optional<Instant> first{};
  };
  Missed warn{};
  Missed error{};
  /// Of the later of the two limits that there are.
  const Missed& worst() const { return wanted.error_after ? error : warn; }
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
  std::map<decide::Thing, UseForecast> uses;           ///< of what is limited
  std::map<std::string, FreshnessForecast> freshness;  ///< by pipeline, of those that say what they want
  std::vector<ClockSurprise> surprises;
  std::int64_t without_run() const;
  Micros longest_wait() const;
  /// Of all that is limited: what is used most in its busiest hour of the day, and the part of it.
  std::pair<decide::Thing, double> busiest() const;
  std::int64_t stale() const;  ///< times that data becomes older than it may be
};

/// More instants than that are refused: fewer days do as well.
inline constexpr std::int64_t most_instants = 20'000'000;

Result<Forecast> forecast(std::shared_ptr<const workspace::Workspace> workspace, const ForecastWishes& wishes);

/// The clock changes of a year or more that its schedules feel.
std::vector<ClockSurprise> clock_surprises(const workspace::Workspace& workspace, Instant from, Instant until);

}  // namespace eider::sim
