// What `eider serve` shows: one line an event, for people or as NDJSON. Made from committed changes only.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "model/change.h"

namespace eider::app {

/// One thread. Remembers the pipeline of open runs, to name it when they end. One event may be owed to very many
/// triggers, so it is one line, and a data run has its first line when it starts, not when it is queued (as NDJSON it
/// has both).
class EventLines {
 public:
  enum class Form {
    json,    ///< NDJSON
    file,    ///< `2026-03-29T01:00:05.123Z started    hello 0198…`
    screen,  ///< `01:00:05Z started    hello 0198…`
  };
  EventLines(const Clock& clock, Form form, bool colour) : clock_(clock), form_(form), colour_(colour) {}

  /// Writes the lines of one committed set to standard output, with the time of its commit: what the set asks for (a
  /// run handed to its worker) is done before, so that nothing waits for a line. A reader that is gone (EPIPE) or slow
  /// loses lines, the server loses nothing: it never waits here.
  void show(const model::ChangeSet& changes, Instant committed_at);
  /// A run that was open before this server: its name is known when it ends.
  void remember(const model::Run& run);
  void say(const std::string& event, const std::string& text);

 private:
  struct Known {
    std::string pipeline;
    std::string trigger{};       ///< of a data run, `pipeline/id`
    std::string cause{};         ///< of one that was not said yet, for the line of its start
    std::size_t deliveries = 0;  ///< that it was made for; 0: not known
  };

  void line(const char* colour, const std::string& event, const std::string& pipeline, const std::string& run_id,
            const std::string& text);
  void show_one(const model::Change& change);
  void show_queued(const model::Run& run);
  void show_started(const model::RunClaimed& claimed);
  void show_ended(const model::AttemptEnded& ended);
  void show_published(const model::AssetMaterialized& published);
  void show_claimed(const model::DeliveriesClaimed& claimed);
  void show_skipped(const model::DeliveriesSkipped& skipped);
  Known forget(const std::string& run_id);
  static std::string failed_deliveries(const Known& known);

  const Clock& clock_;
  const Form form_;
  const bool colour_;
  Instant at_{};  ///< of the lines that are written now
  std::map<std::string, Known> runs_;
  std::size_t pipeline_width_ = 8;  ///< of the longest name so far
};

}  // namespace eider::app
