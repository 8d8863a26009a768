// From what a pipeline file says to the model's pipeline, and every check that needs more than one of its values.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/pipeline.h"
#include "timing/exclusions.h"
#include "workspace/diagnostic.h"
#include "workspace/draft.h"
#include "workspace/files.h"
#include "workspace/yaml_tree.h"

namespace eider::workspace {

/// What a draft is seen beside. `root` is the file's tree, for the marks of complaints.
struct Surroundings {
  const model::Settings& settings;
  const Folder& folder;
  std::size_t sql_limit_bytes;
  std::optional<Instant> now;  ///< none: what lies in the past is not looked for
  YamlValue root;
  Complaints& complaints;
  const timing::Calendars& calendars;
  /// Calendars that are wrong, by name, with their file.
  const std::map<std::string, std::string, std::less<>>& broken_calendars;
};

/// Fills in defaults, reads SQL files and puts the steps together. Complains about what can't be.
model::Pipeline assemble(PipelineDraft draft, const Surroundings& around);

/// Complains about ids, dependencies, pools, policies, publishes and sizes that do not fit together.
void check(const model::Pipeline& pipeline, const Surroundings& around);

/// The part of it that is about one schedule: its timing, its policies, and what contradicts what.
void check_schedule(const model::Pipeline& pipeline, std::size_t index, const Surroundings& around);

/// The part of it about pools, locks, keys and sizes; check_limits.cc.
void check_limits(const model::Pipeline& pipeline, const Surroundings& around);

/// Puts a calendar together. Complains about a zone, and about one that holds nothing or everything.
timing::Calendar assemble_calendar(const CalendarDraft& draft, Complaints& complaints);

/// What a pool's slots are that does not say: one, or without a bound when it has a rate. Complains about pools that
/// limit nothing.
void settle_pools(YamlValue root, model::Settings& settings, Complaints& complaints);

/// Complains about assets of eider.yaml whose values do not fit together. `root` is the file's tree.
void check(const model::Settings& settings, YamlValue root, Complaints& complaints);

/// Where `schedules[3].overlap` stands: its value, or the nearest thing around it that the file has.
Mark locate(YamlValue root, std::string_view key);

}  // namespace eider::workspace
