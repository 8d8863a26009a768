// What has been decided about one run, in order, with times: queued, each attempt, why again, why it ended, what it
// waits for. Pure.
#pragma once

#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "engine/inbox.h"
#include "model/run.h"

namespace eider::api {

struct Moment {
  Instant at{};
  std::string code;  ///< CamelCase
  std::string text;
};

/// `attempts` oldest first. `longer`: that it takes longer than usual, in words, or empty.
std::vector<Moment> history(const model::Run& run, const std::vector<model::Attempt>& attempts,
                            const engine::LiveRun* live, const std::string& longer, Instant now);
boost::json::array json_of(const std::vector<Moment>& history);

}  // namespace eider::api
