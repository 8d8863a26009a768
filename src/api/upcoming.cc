#include "api/upcoming.h"

#include <boost/json.hpp>

#include "api/shapes.h"
#include "decide/rule.h"

namespace eider::api {

Result<boost::json::array> upcoming(const model::Timing& timing, Instant after, std::optional<Instant> until,
                                    int count) {
  auto rule = decide::make_rule(timing);
  if (!rule) return rule.error();
  boost::json::array out;
  for (auto at = rule->next(after); at && static_cast<int>(out.size()) < count; at = rule->next(*at)) {
    if (until && *at > *until) break;
    out.push_back(shapes::preview(*at, rule->zone().name(), rule->zone().offset_at(*at), rule->shifted(*at)));
  }
  return out;
}

}  // namespace eider::api
