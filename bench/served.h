// `eider serve` on a workspace of the bench, as a person would run it: started, asked over its socket, killed by pid.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "api/client.h"
#include "base/result.h"
#include "base/time.h"
#include "bench/rows.h"
#include "model/run.h"

namespace eider::bench {

/// A new workspace in the scratch folder. It goes with the scratch folder at the end of all rows: on ext4, whoever
/// makes files in the minute after many were removed pays for passing over their inodes (ADR 0008).
class Folder {
 public:
  Folder(const Setup& setup, const std::string& name);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(const std::string& file, const std::string& text) const;
  void pipeline(const std::string& name, const std::string& text) const {
    write("pipelines/" + name + ".yaml", "pipeline: " + name + "\n" + text);
  }
  const std::string& path() const { return path_; }
  std::string state_db() const { return path_ + "/.eider/state.db"; }
  std::string events() const { return path_ + "/events.ndjson"; }

 private:
  std::string path_;
};

/// Puts runs into the queue of a workspace that has no server at the moment. Their ids, oldest first.
Result<std::vector<std::string>> queue_runs(const Folder& folder, const std::string& pipeline, int count);

class Server {
 public:
  /// Returns when /readyz says so.
  static Result<std::unique_ptr<Server>> start(const Setup& setup, const Folder& folder,
                                               Micros limit = std::chrono::minutes(2));
  /// Ends it and its workers.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int pid() const { return pid_; }
  Instant executed_at() const { return executed_at_; }
  Micros ready_after() const { return ready_after_; }

  Result<boost::json::value> get(const std::string& path, const std::map<std::string, std::string>& query = {}) const;
  /// The body as it is.
  Result<std::string> text(const std::string& path, const std::map<std::string, std::string>& query) const;
  Result<boost::json::value> post(const std::string& path, const std::string& body) const;
  /// Queues a run; its id.
  Result<std::string> start_run(const std::string& pipeline) const;
  /// The runs in this state, with all that the API says of them.
  Result<boost::json::array> runs(const std::string& state, const std::string& pipeline = {}) const;
  /// Run and process of each busy worker.
  Result<std::vector<std::pair<std::string, int>>> busy_workers(const std::string& pipeline = {}) const;

  /// SIGKILL, to the server alone.
  void kill();

 private:
  Server(const Folder& folder, int pid);
  void stop();
  api::Client client_;
  int pid_;
  Instant executed_at_{};
  Micros ready_after_{};
};

/// When the server had committed it: what `eider serve --json` prints after each commit. By run, the first of its
/// kind: `queued`, `started` (claimed), `ended`.
std::map<std::string, Instant> event_times(const Folder& folder, const std::string& event);

/// What became of one due instant.
struct Firing {
  model::Occurrence occurrence;
  std::optional<model::Run> run;
  std::vector<model::Attempt> attempts;
};
/// Decisions of a schedule about instants in [from, to), oldest first; read beside the server.
Result<std::vector<Firing>> firings(const Folder& folder, const std::string& schedule, Instant from, Instant to);
/// When the claim was committed, as far as can be seen from outside: the server had printed it (`started`, of
/// event_times), or its step had started, which it may only after the commit.
std::optional<Instant> claim_committed(const Firing& firing, const std::map<std::string, Instant>& started_events);
/// How many runs there are in this state.
Result<int> count_runs(const std::string& state_db, model::RunState state);

}  // namespace eider::bench
