#include "workspace/rule.h"

namespace eider::workspace {

Result<timing::Rule> make_rule(const model::Timing& timing) {
  auto zone = timing::Zone::load(timing.timezone);
  if (!zone) return zone.error();
  if (timing.at) return timing::Rule::at(*timing.at, *zone);
  if (timing.every) {
    auto interval =
        timing::Interval::make(*timing.every, timing.anchor.value_or(timing::Interval::default_anchor(*zone)));
    if (!interval) return interval.error();
    return timing.from_completion ? timing::Rule::after_completion(*interval, *zone)
                                  : timing::Rule::every(*interval, *zone);
  }
  auto cron = timing::Cron::parse(timing.cron);
  if (!cron) return cron.error();
  return timing::Rule::cron(*cron, *zone);
}

Result<std::shared_ptr<const timing::Exclusions>> make_exclusions(const model::Schedule& schedule,
                                                                  const timing::Calendars& calendars,
                                                                  const timing::Zone& zone) {
  // Most schedules exclude nothing, and share the one that says so.
  static const auto nothing = std::make_shared<const timing::Exclusions>();
  if (!schedule.start && !schedule.end && schedule.exclude.empty() && schedule.only.empty()) return nothing;
  std::vector<timing::NamedCalendar> named[2];
  const std::vector<std::string>* const lists[2] = {&schedule.exclude, &schedule.only};
  for (std::size_t i = 0; i < 2; ++i) {
    for (const std::string& name : *lists[i]) {
      const auto found = calendars.find(name);
      if (found == calendars.end()) return Error{ErrorCode::invalid, "there is no calendar \"" + name + "\""};
      named[i].push_back({name, found->second});
    }
  }
  return std::make_shared<const timing::Exclusions>(schedule.start, schedule.end, std::move(named[0]),
                                                    std::move(named[1]), zone);
}

}  // namespace eider::workspace
