// The laws of the search, against an independent slow model: it reads the fields of a made expression by itself, walks
// every second or minute on the wall around a clock change, and asks cctz, not our stretches, what that is in UTC.
#include <set>

#include <cctz/time_zone.h>
#include <rapidcheck/gtest.h>

#include "timing/cron.h"

namespace eider::timing {
namespace {

struct Change {
  const char* zone;
  const char* near;  // an instant within a day of the change
};
constexpr Change kChanges[] = {
    {"Europe/Brussels", "2026-03-29T01:00:00Z"},     {"Europe/Brussels", "2026-10-25T01:00:00Z"},
    {"America/New_York", "2026-03-08T07:00:00Z"},    {"America/New_York", "2026-11-01T06:00:00Z"},
    {"Australia/Lord_Howe", "2026-10-03T15:30:00Z"}, {"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
    {"Africa/Casablanca", "2026-02-15T02:00:00Z"},   {"Africa/Casablanca", "2026-03-22T02:00:00Z"},
    {"Pacific/Apia", "2011-12-30T10:00:00Z"},        {"America/Santiago", "2025-09-07T04:00:00Z"},
    {"Asia/Pyongyang", "2018-05-04T15:00:00Z"},      {"Africa/Cairo", "2025-04-24T22:00:00Z"},
    {"Europe/Lisbon", "1992-09-27T01:00:00Z"},       {"Antarctica/Troll", "2026-03-29T01:00:00Z"},
    {"Antarctica/Troll", "2026-10-25T01:00:00Z"},    {"UTC", "2024-02-29T12:00:00Z"},
};

Change any_change() { return kChanges[*rc::gen::inRange<std::size_t>(0, std::size(kChanges))]; }

/// One made field: its text, and which values it names.
struct MadeField {
  std::string text;
  std::set<int> values;
  bool step = false;
  bool star = false;
};

void add_item(MadeField& field, int min, int max) {
  const int kind = *rc::gen::weightedElement<int>({{6, 0}, {3, 1}, {3, 2}, {2, 3}, {1, 4}});
  const int size = max - min + 1;
  const int a = *rc::gen::inRange(min, max + 1);
  const int b = *rc::gen::inRange(a, max + 1);
  const int step = *rc::gen::inRange(1, size + 1);
  std::string item;
  int from = a, to = b, by = 1;
  if (kind == 0) to = a, item = std::to_string(a);
  if (kind == 1) from = min, to = max, item = "*";
  if (kind == 2) from = min, to = max, by = step, item = "*/" + std::to_string(step);
  if (kind == 3) item = std::to_string(a) + "-" + std::to_string(b);
  if (kind == 4) by = step, item = std::to_string(a) + "-" + std::to_string(b) + "/" + std::to_string(step);
  for (int v = from; v <= to; v += by) field.values.insert(v);
  field.step = field.step || item.find_first_of("*/") != std::string::npos;
  if (field.text.empty()) field.star = item.front() == '*';
  field.text += (field.text.empty() ? "" : ",") + item;
}

MadeField made_field(int min, int max, bool usually_all) {
  MadeField field;
  if (usually_all && *rc::gen::inRange(0, 3) != 0) {
    field.text = "*";
    field.star = field.step = true;
    for (int v = min; v <= max; ++v) field.values.insert(v);
    return field;
  }
  const int items = *rc::gen::weightedElement<int>({{5, 1}, {2, 2}, {1, 3}});
  for (int i = 0; i < items; ++i) add_item(field, min, max);
  return field;
}

struct Made {
  MadeField second, minute, hour, day, month, weekday;
  bool with_seconds = false;

  std::string text() const {
    return (with_seconds ? second.text + " " : "") + minute.text + " " + hour.text + " " + day.text + " " + month.text +
           " " + weekday.text;
  }
  bool fixed() const { return !minute.step && !hour.step && !(with_seconds && second.step); }
  bool matches(const cctz::civil_second& wall) const {
    if (second.values.count(wall.second()) + minute.values.count(wall.minute()) + hour.values.count(wall.hour()) < 3) {
      return false;
    }
    if (month.values.count(wall.month()) == 0) return false;
    const int sunday_first =
        (static_cast<int>(cctz::get_weekday(cctz::civil_day(wall))) + 1) % 7;  // cctz begins on Monday
    const bool by_day = day.values.count(wall.day()) != 0;
    const bool by_week = weekday.values.count(sunday_first) + (sunday_first == 0 ? weekday.values.count(7) : 0) != 0;
    return day.star || weekday.star ? by_day && by_week : by_day || by_week;
  }
};

/// Expressions that fire now and then around any day: the hours are often few and the days often all.
Made made_cron(bool with_seconds) {
  Made made;
  made.with_seconds = with_seconds;
  made.second.values = {0};
  if (with_seconds) made.second = made_field(0, 59, false);
  made.minute = made_field(0, 59, with_seconds);
  made.hour = made_field(0, 23, false);
  if (*rc::gen::inRange(0, 2) == 0) {
    // Most clock changes are at night.
    made.hour = MadeField{"0-3", {0, 1, 2, 3}, false, false};
  }
  made.day = made_field(1, 31, true);
  made.month = made_field(1, 12, true);
  made.weekday = made_field(0, 6, true);
  return made;
}

std::int64_t seconds_of(const cctz::time_point<cctz::seconds>& at) { return at.time_since_epoch().count(); }

/// All firings in [from, until): candidates on the wall one by one, from a day and more around.
std::set<std::int64_t> model(const Made& made, const cctz::time_zone& zone, std::int64_t from, std::int64_t until) {
  std::set<std::int64_t> out;
  const auto add = [&](std::int64_t at) {
    if (at >= from && at < until) out.insert(at);
  };
  const std::int64_t around = 4 * 3600;
  const auto wall_of = [&](std::int64_t at) {
    return zone.lookup(cctz::time_point<cctz::seconds>(cctz::seconds(at))).cs;
  };
  const std::int64_t step = made.with_seconds ? 1 : 60;
  const cctz::civil_second last = wall_of(until + around);
  cctz::civil_second wall = cctz::civil_minute(wall_of(from - around));
  for (; wall <= last; wall += step) {
    if (!made.matches(wall)) continue;
    const auto found = zone.lookup(wall);
    if (found.kind == cctz::time_zone::civil_lookup::UNIQUE) {
      add(seconds_of(found.pre));
    } else if (found.kind == cctz::time_zone::civil_lookup::REPEATED) {
      add(seconds_of(found.pre));
      if (!made.fixed()) add(seconds_of(found.post));
    } else if (made.fixed() && found.pre - found.post <= std::chrono::hours(3)) {
      add(seconds_of(found.trans));
    }
  }
  return out;
}

Instant instant(std::int64_t s) { return Instant(std::chrono::seconds(s)); }

/// next, previous and count agree with the model on all of [from, until).
void check_window(const Cron& cron, const Zone& zone, const std::set<std::int64_t>& expected, std::int64_t from,
                  std::int64_t until) {
  const Instant before = instant(from) - Micros(1);
  const Instant last = instant(until) - Micros(1);
  Instant at = before;
  for (const std::int64_t s : expected) {
    const auto next = cron.next(at, zone);
    RC_ASSERT(next.has_value());
    RC_ASSERT(format_rfc3339(*next) == format_rfc3339(instant(s)));
    RC_ASSERT(*next > at);
    // previous is the inverse of next.
    RC_ASSERT(cron.previous(*next, zone) == next);
    if (at != before) RC_ASSERT(cron.previous(*next - Micros(1), zone) == std::optional(at));
    at = *next;
  }
  const auto beyond = cron.next(at, zone);
  RC_ASSERT((!beyond || *beyond > last));
  RC_ASSERT(cron.count(before, last, zone) == static_cast<std::int64_t>(expected.size()));
  // A part of the window: anything in the middle is exclusive below and inclusive above.
  const std::int64_t a = *rc::gen::inRange(from, until);
  const std::int64_t b = *rc::gen::inRange(from, until);
  const auto between = std::distance(expected.upper_bound(std::min(a, b)), expected.upper_bound(std::max(a, b)));
  RC_ASSERT(cron.count(instant(std::min(a, b)), instant(std::max(a, b)), zone) == between);
}

void check_against_model(bool with_seconds, std::int64_t around_s) {
  const Change change = any_change();
  const Made made = made_cron(with_seconds);
  const Result<Cron> cron = Cron::parse(made.text());
  RC_LOG() << made.text() << " in " << change.zone << " near " << change.near << "\n";
  RC_PRE(cron.ok());  // what can never fire is refused
  cctz::time_zone zone;
  RC_ASSERT(cctz::load_time_zone(change.zone, &zone));
  const std::int64_t middle = to_us(*parse_rfc3339(change.near)) / 1'000'000 + *rc::gen::inRange(-1800, 1800);
  const std::int64_t from = middle - around_s;
  const std::int64_t until = middle + around_s;
  check_window(*cron, *Zone::load(change.zone), model(made, zone, from, until), from, until);
}

RC_GTEST_PROP(CronLaws, AgreesWithAMinuteWalkAroundClockChanges, ()) { check_against_model(false, 36 * 3600); }
RC_GTEST_PROP(CronLaws, AgreesWithASecondWalkAroundClockChanges, ()) { check_against_model(true, 2 * 3600); }

RC_GTEST_PROP(CronLaws, ReadsBackWhatItPrints, ()) {
  const Made made = made_cron(*rc::gen::arbitrary<bool>());
  const Result<Cron> cron = Cron::parse(made.text());
  RC_PRE(cron.ok());
  const std::string text = cron->to_string();
  const Result<Cron> again = Cron::parse(text);
  RC_ASSERT(again.ok());
  RC_ASSERT(*again == *cron);
  RC_ASSERT(again->to_string() == text);
}

/// Any expression at any time, far from the windows above: the three searches agree with each other.
RC_GTEST_PROP(CronLaws, NextPreviousAndCountAgree, ()) {
  const Made made = made_cron(*rc::gen::arbitrary<bool>());
  const Result<Cron> cron = Cron::parse(made.text());
  RC_PRE(cron.ok());
  const Zone zone = *Zone::load(any_change().zone);
  const Instant after = from_us(*rc::gen::inRange<std::int64_t>(to_us(kFirstInstant), to_us(kEndInstant)));
  const auto next = cron->next(after, zone);
  if (!next) {
    RC_ASSERT(cron->count(after, kEndInstant, zone) == 0);
    return;
  }
  RC_ASSERT(*next > after);
  RC_ASSERT(cron->previous(*next, zone) == next);
  RC_ASSERT(cron->count(after, *next, zone) == 1);
  RC_ASSERT(cron->count(after, *next - Micros(1), zone) == 0);
  const auto previous = cron->previous(after, zone);
  RC_ASSERT((!previous || *previous <= after));
  RC_ASSERT(cron->previous(*next - Micros(1), zone) == previous);
  const Instant until =
      std::max(after, from_us(*rc::gen::inRange<std::int64_t>(to_us(kFirstInstant), to_us(kEndInstant))));
  RC_ASSERT(cron->count(after, until, zone) + cron->count(until, kEndInstant, zone) ==
            cron->count(after, kEndInstant, zone));
}

}  // namespace
}  // namespace eider::timing
