// What is not well in a workspace, found by looking: `eider doctor`. Each finding says what, since when and what to do.
// The rules are pure; what they look at is gathered by examine().
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "api/snapshot.h"
#include "decide/usual.h"

namespace eider::api {

struct Finding {
  std::string code;   ///< CamelCase
  std::string about;  ///< the run, the schedule, the file
  std::optional<Instant> since{};
  std::string text;
  std::string remedy{};  ///< what to do
};

/// What one look at a running run has shown.
struct RunSigns {
  model::Run run;
  std::string holds;  ///< pools, locks and files that others may want, in words; or empty
  Instant claimed_at{};
  std::optional<Instant> last_sign;  ///< the newest line of its log, or the newest step that began or ended
  std::optional<int> worker_pid;
  char worker_state = '?';  ///< of /proc: `T` stopped, `Z` or `X` dead; `?`: not known
  std::optional<decide::Usual> usual;
};

struct Disk {
  std::string path;
  std::int64_t free_bytes = 0;
  std::optional<std::int64_t> free_files;  ///< none: the file system does not count them
};

/// When what a pipeline makes was new, and how old it may be.
struct DataAge {
  std::string pipeline;
  model::Freshness wanted;
  Instant renewed_at{};
};

/// What examine() has seen.
struct Examined {
  Snapshot snapshot;
  Instant now{};
  std::vector<DataAge> data;  ///< of pipelines that say how fresh it must be, and have succeeded once
  std::vector<RunSigns> running;
  std::optional<Disk> disk;
  std::string zone_data;               ///< timing::tzdata_version()
  std::vector<std::string> left_over;  ///< folders that nobody uses
  std::string foreground{};            ///< the pipeline that `eider run` runs, without a server; or empty
};

/// A queued run that waits longer than this is shown.
inline constexpr Micros long_wait = std::chrono::minutes(10);
/// Less than this is little.
inline constexpr std::int64_t little_disk_bytes = 1024LL * 1024 * 1024;
inline constexpr std::int64_t few_files = 10'000;
/// Zone data is renewed several times a year.
inline constexpr int old_zone_data_years = 2;

/// The worst first.
std::vector<Finding> findings(const Examined& examined);
boost::json::object json_of(const std::vector<Finding>& findings, const Examined& examined);

}  // namespace eider::api
