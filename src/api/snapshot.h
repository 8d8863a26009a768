// What several answers are made of: what is open, what starts it and how the server is, gathered one question after the
// other. Without a server it is what the store and the files say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/context.h"

namespace eider::api {

struct Snapshot {
  engine::StatusView status;
  std::vector<engine::PipelineView> pipelines;
  std::vector<engine::ScheduleView> schedules;
  std::vector<engine::TriggerView> triggers;
  std::vector<model::Run> open;  ///< queued and running, newest first; 1,000 at most
  bool more = false;             ///< there are more open ones
  std::vector<engine::LiveRun> live;
  std::string files_error;  ///< why the files can't be used, and pipelines, schedules and triggers are empty

  bool has_server() const { return status.health != "stopped"; }
  const engine::LiveRun* live_of(const std::string& run_id) const;
};

/// `pipeline`: of this one alone; empty: of all. `respond` is told when there is nobody to ask.
void take_snapshot(Context& context, const std::string& pipeline, const Respond& respond,
                   std::function<void(const Snapshot&)> then);

}  // namespace eider::api
