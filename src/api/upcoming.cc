#include "api/upcoming.h"

#include <boost/json.hpp>

#include "api/json_parts.h"
#include "api/shapes.h"
#include "decide/due.h"
#include "workspace/rule.h"

namespace eider::api {
namespace {

namespace json = boost::json;

using shapes::text_or_null;
using shapes::time_or_null;
using shapes::time_text;

json::object shown(const timing::Rule& rule, Instant at) {
  return shapes::preview(at, rule.zone().name(), rule.zone().offset_at(at), rule.shifted(at));
}

struct Fate {
  model::Decision decision = model::Decision::run;
  std::string reason = model::reason::due;
  std::string calendar{};
  std::string run_id{};
};

/// What would become of an instant. Whether a run is active then can be told of the next one only.
Fate fate_of(const engine::ScheduleView& view, Instant at, bool is_next) {
  if (view.paused) {
    return {model::Decision::paused, view.reason.empty() ? model::reason::paused : view.reason, {}, {}};
  }
  if (view.exclusions) {
    const timing::Exclusion why = view.exclusions->at(at).why;
    if (why.kind != timing::Exclusion::Kind::none) {
      return {model::Decision::excluded, decide::exclusion_reason(why.kind), why.by, {}};
    }
  }
  if (is_next && !view.blocked_reason.empty()) {
    return {model::Decision::skipped, view.blocked_reason, {}, view.blocked_by};
  }
  return {};
}

json::object with_fate(json::object item, const engine::ScheduleView& view, Instant at, const Fate& fate) {
  item["due_at"] = time_text(at + view.delay);
  item["decision"] = model::to_text(fate.decision);
  item["reason"] = fate.reason;
  item["reason_text"] = model::reason_sentence(fate.reason);
  item["calendar"] = text_or_null(fate.calendar);
  item["run_id"] = text_or_null(fate.run_id);
  return item;
}

}  // namespace

Result<json::array> upcoming(const model::Timing& timing, const Ahead& ahead) {
  auto rule = workspace::make_rule(timing);
  if (!rule) return rule.error();
  json::array out;
  for (auto at = rule->next(ahead.after); at && static_cast<int>(out.size()) < ahead.count; at = rule->next(*at)) {
    if (ahead.until && *at > *ahead.until) break;
    out.push_back(shown(*rule, *at));
  }
  return out;
}

Result<json::array> upcoming(const engine::ScheduleView& view, const Ahead& ahead) {
  auto rule = workspace::make_rule(view.schedule.timing);
  if (!rule) return rule.error();
  const bool fixed_delay = view.schedule.timing.from_completion;
  auto at = rule->next(ahead.after);
  if (fixed_delay) at = view.next ? std::optional(*view.next - view.delay) : std::nullopt;
  json::array out;
  bool is_next = true;
  for (; at && static_cast<int>(out.size()) < ahead.count; at = rule->next(*at)) {
    if (*at <= ahead.after || (ahead.until && *at > *ahead.until)) break;
    const Fate fate = fate_of(view, *at, is_next);
    is_next = is_next && fate.decision == model::Decision::excluded;
    out.push_back(with_fate(shown(*rule, *at), view, *at, fate));
    if (fixed_delay) break;
  }
  return out;
}

Result<json::object> next_run(const engine::ScheduleView& view, Instant after) {
  auto rule = workspace::make_rule(view.schedule.timing);
  if (!rule) return rule.error();
  if (view.paused) return json::object{{"next_run", nullptr}, {"next_run_unknown", false}};
  timing::Exclusions::Found found{rule->next(after), false};
  if (view.exclusions && !view.schedule.timing.from_completion) found = view.exclusions->next(*rule, after);
  if (view.schedule.timing.from_completion) found.at = view.next;
  return json::object{{"next_run", time_or_null(found.at)}, {"next_run_unknown", found.unknown}};
}

}  // namespace eider::api
