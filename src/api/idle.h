// What keeps a pipeline from running now, and what will start it (I10): as reasons with codes, and as one sentence.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "api/snapshot.h"

namespace eider::api {

struct IdleReason {
  std::string code;    ///< CamelCase
  bool keeps = false;  ///< it keeps the pipeline from running; else it says what runs or what comes
  std::string name{};  ///< the schedule, the trigger, the run that it is about
  std::optional<Instant> since{};
  std::optional<Instant> until{};  ///< when it is due, or looked at again
  std::string text{};
  std::string remedy{};  ///< a command, or empty
};

struct IdleAnswer {
  std::string text;  ///< all in one sentence
  std::vector<IdleReason> reasons;
};

/// What is known of one pipeline. `last`: the newest decision about each of its schedules, by key.
struct IdleFacts {
  const Snapshot& snapshot;
  const engine::PipelineView& pipeline;
  const std::map<std::string, model::Occurrence>& last;
  const std::map<std::string, std::string>& longer;  ///< by run that takes longer than usual: in words
  std::string newest;  ///< id of the newest run that has ended badly, with nothing succeeded since; or empty
};

IdleAnswer explain_idle(const IdleFacts& facts);
boost::json::object json_of(const std::string& pipeline, const IdleAnswer& answer);

}  // namespace eider::api
