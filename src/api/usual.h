// What runs of a pipeline usually take, as the store's last succeeded ones say (decide/usual.h). One thread, for one
// answer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "decide/usual.h"
#include "model/run.h"
#include "store/store.h"

namespace eider::api {

class Usuals {
 public:
  /// `reader` outlives this object. What it cannot read now is not known: it explains, and nothing depends on it.
  Usuals(store::Reader& reader, Instant now) : reader_(reader), now_(now) {}

  const std::optional<decide::Usual>& of(const std::string& pipeline);
  /// How long the running run's attempt has been at it; none: it does not run. `attempts` oldest first.
  std::optional<Micros> takes(const model::Run& run, const std::vector<model::Attempt>& attempts) const;
  bool is_long(const model::Run& run, const std::vector<model::Attempt>& attempts);
  /// Adds `usual` ({median, limit, runs} or null) and `longer_than_usual` to a run's shape.
  void add_to(boost::json::object& shown, const model::Run& run, const std::vector<model::Attempt>& attempts);
  /// `longer than usual (3m)`, or empty.
  std::string words(const model::Run& run, const std::vector<model::Attempt>& attempts);

 private:
  std::vector<Micros> durations(const std::string& pipeline);

  store::Reader& reader_;
  const Instant now_;
  std::map<std::string, std::optional<decide::Usual>> known_;
};

/// To the second, as people are told: `2m5s`; below a second as it is.
std::string short_duration(Micros duration);

}  // namespace eider::api
