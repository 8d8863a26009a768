// The rows of calendars/*.yaml.
#include "workspace/key_rows.h"

namespace eider::workspace {
namespace {

using timing::DayRange;

using C = CalendarDraft;

// One row a key, in a form that can be read as a table.
// clang-format off
constexpr Key kRangeKeys[] = {
    {.name = "from", .type = Type::date, .read = into<DayRange, &DayRange::first>,
     .about = "First day.", .required = true},
    {.name = "to", .type = Type::date, .read = into<DayRange, &DayRange::last>,
     .about = "Last day, included.", .required = true},
};
constexpr Section kRange = {.name = "range", .title = "ranges[]", .about = "Days one after the other.",
                            .keys = kRangeKeys};

constexpr Key kCalendarKeys[] = {
    {.name = "description", .type = Type::text, .read = into<C, &C::description>,
     .about = "What it is for."},
    {.name = "timezone", .type = Type::timezone, .read = into<C, &C::timezone>,
     .about = "Zone in which days and hours are read. Default: that of the schedule which names the calendar."},
    {.name = "dates", .type = Type::dates, .read = into<C, &C::dates>,
     .about = "Single days: `[2026-12-25, 2027-01-01]`."},
    {.name = "ranges", .type = Type::list, .read = into<C, &C::ranges>,
     .about = "Stretches of days: `{from: 2026-12-24, to: 2027-01-02}`.", .of = &kRange},
    {.name = "weekdays", .type = Type::choices, .read = into<C, &C::weekdays>,
     .about = "Days of every week: `[sat, sun]`.", .choices = "sun mon tue wed thu fri sat"},
    {.name = "hours", .type = Type::hours, .read = into<C, &C::hours>,
     .about = "Parts of the day, in quotes: `[\"22:00-06:00\"]`; the end is not included. What goes on past midnight "
              "belongs to the day on which it began. Default: the whole day."},
};
constexpr Section kCalendar = {
    .name = "calendar", .title = "calendars/*.yaml",
    .about = "A named set of instants, called like its file; a schedule names it in `exclude` or `only`. An instant lies "
             "in it when its day does (`dates`, `ranges` or `weekdays`; without any of the three, every day) and, where "
             "`hours` are given, its time of day too. An empty list holds nothing, and so does an empty file.",
    .keys = kCalendarKeys};

// clang-format on

}  // namespace

const Section& calendar_section() { return kCalendar; }

std::vector<const Section*> calendar_sections() { return {&kCalendar, &kRange}; }

}  // namespace eider::workspace
