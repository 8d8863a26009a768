#include "decide/rule.h"

namespace eider::decide {

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

}  // namespace eider::decide
