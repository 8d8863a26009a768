// What a person typed, as one flat value. Texts are checked where they are used: most by the API, which has the same
// rules for everybody.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace eider::cli {

enum class Verb {
  init,
  validate,
  schema,
  run,
  serve,
  stop,
  status,
  pipelines_list,
  schedule_list,
  schedule_describe,
  schedule_preview,
  schedule_pause,
  schedule_resume,
  occurrences,
  runs_list,
  runs_show,
  logs,
  cancel,
  retry,
  assets_list,
  assets_show,
  assets_graph,
  assets_materialize,
  materializations,
  materializations_show,
  deliveries_list,
  deliveries_show,
  deliveries_retry,
  deliveries_skip,
  explain,
  doctor,
  simulate,
  pools,
  reload,
  completion,
  version,
  worker,    ///< hidden: a process of the server's
  complete,  ///< hidden: what the completion scripts call
};

struct Options {
  Verb verb = Verb::version;
  std::string workspace;  ///< --workspace; empty: EIDER_WORKSPACE, or the nearest folder upwards
  std::string color = "auto";
  bool json = false;

  std::string target;  ///< the argument that has no name: a pipeline, a schedule, an id, a folder, a shell

  std::string pipeline, state, decision, limit, cursor;   // lists
  std::string asset, trigger, event, run;                 // lists about data
  std::string params, partition, idempotency_key;         // run, assets materialize
  std::string metadata, rows, bytes, fingerprint;         // assets materialize
  bool dot = false;                                       // assets graph
  std::vector<std::string> pairs;                         // run -p k=v
  bool queue = false, detach = false;                     // run
  bool leave_running = false, now = false;                // stop
  std::string catch_up;                                   // schedule resume
  std::optional<std::string> note;                        // schedule pause, deliveries skip
  std::string cron, timezone, from, to, count;            // schedule preview
  bool from_failed = false;                               // retry
  bool follow = false, raw = false;                       // logs
  std::string attempt, step;                              // logs
  std::string test_clock, ceiling;                        // serve
  std::string days, against, assume;                      // simulate
  std::string max_skipped, max_wait, max_use, max_stale;  // simulate
  std::vector<std::string> words;                         // __complete: the line so far
};

}  // namespace eider::cli
