#include "api/upcoming.h"

#include <boost/json.hpp>

#include "api/shapes.h"
#include "decide/rule.h"

namespace eider::api {
namespace {

boost::json::object shown(const timing::Rule& rule, Instant at) {
  return shapes::preview(at, rule.zone().name(), rule.zone().offset_at(at), rule.shifted(at));
}

}  // namespace

Result<boost::json::array> upcoming(const model::Timing& timing, Instant after, std::optional<Instant> until,
                                    int count) {
  auto rule = decide::make_rule(timing);
  if (!rule) return rule.error();
  boost::json::array out;
  for (auto at = rule->next(after); at && static_cast<int>(out.size()) < count; at = rule->next(*at)) {
    if (until && *at > *until) break;
    out.push_back(shown(*rule, *at));
  }
  return out;
}

Result<boost::json::array> upcoming_one(const model::Timing& timing, Instant at, std::optional<Instant> until) {
  auto rule = decide::make_rule(timing);
  if (!rule) return rule.error();
  boost::json::array out;
  if (!until || at <= *until) out.push_back(shown(*rule, at));
  return out;
}

}  // namespace eider::api
