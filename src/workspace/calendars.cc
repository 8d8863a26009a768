// From what a file of calendars/ says to a calendar (assemble.h).
#include "workspace/assemble.h"

namespace eider::workspace {

timing::Calendar assemble_calendar(const CalendarDraft& draft, Complaints& complaints) {
  std::optional<std::vector<timing::DayRange>> days;
  if (draft.dates || draft.ranges) days.emplace();
  for (const timing::Day day : draft.dates.value_or(std::vector<timing::Day>())) days->push_back({day, day});
  if (draft.ranges) days->insert(days->end(), draft.ranges->begin(), draft.ranges->end());
  std::optional<std::uint8_t> weekdays;
  if (draft.weekdays) {
    weekdays = 0;
    for (const Weekday day : *draft.weekdays) {
      weekdays = static_cast<std::uint8_t>(*weekdays | 1U << static_cast<unsigned>(day));
    }
  }
  std::optional<timing::Zone> zone;
  if (!draft.timezone.empty()) {
    // The reader has looked at it already.
    if (const auto loaded = timing::Zone::load(draft.timezone)) zone = *loaded;
  }
  timing::Calendar calendar(std::move(days), weekdays, draft.hours, zone);
  if (!calendar.ever()) {
    complaints.add(Severity::warning, {}, "",
                   "holds no instant: only this calendar means never, exclude changes nothing");
  } else if (calendar.always()) {
    complaints.add(Severity::warning, {}, "",
                   "holds every instant: exclude this calendar means never, only changes nothing");
  }
  return calendar;
}

}  // namespace eider::workspace
