// Who holds what a queued run waits for, as the store's live attempts say. One thread, for one answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "model/run.h"
#include "store/store.h"

namespace eider::api {

class Holders {
 public:
  /// `reader` outlives this object. What it cannot read now is left out: it explains, and nothing depends on it.
  explicit Holders(store::Reader& reader) : reader_(reader) {}

  /// Fills `held_by` of each entry in a run's `waiting_for`: `[{run_id, pipeline}]`, five at most. Of a pool, a lock, a
  /// DuckDB file, memory, temporary space, a concurrency key or a pipeline's own runs; of anything else it stays empty.
  void add_to(boost::json::object& run);

  /// `{run_id, pipeline}`
  boost::json::object named(const std::string& run_id);

 private:
  const boost::json::array& of(const std::string& kind, const std::string& name);
  const std::vector<model::Attempt>& live();
  const std::string& pipeline_of(const std::string& run_id);

  store::Reader& reader_;
  std::optional<std::vector<model::Attempt>> live_;
  std::map<std::string, std::string> pipelines_;  ///< by run
  std::map<std::pair<std::string, std::string>, boost::json::array> found_;
};

}  // namespace eider::api
