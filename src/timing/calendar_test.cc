#include "timing/calendar.h"

#include <rapidcheck/gtest.h>

#include "timing/exclusions.h"
#include "timing/test_support.h"

namespace eider::timing {
namespace {

Day day(const char* text) { return parse_day(text).value(); }

constexpr std::uint8_t kWeekend = 0b1000001;
constexpr std::uint8_t kFriday = 0b0100000;

using Days = std::optional<std::vector<DayRange>>;
using Hours = std::optional<std::vector<DayHours>>;

Calendar weekends() { return {std::nullopt, kWeekend, std::nullopt, std::nullopt}; }
Calendar nights() { return {std::nullopt, std::nullopt, Hours({{22 * 60, 6 * 60}}), std::nullopt}; }

TEST(Day, IsReadAsADate) {
  EXPECT_EQ(day("2026-12-25"), Day(std::chrono::year(2026) / 12 / 25));
  EXPECT_EQ(day("2024-02-29"), Day(std::chrono::year(2024) / 2 / 29));
  for (const char* bad : {"", "2026-13-01", "2025-02-29", "2026-1-1", "26-12-25", "2026/12/25", "1969-12-31",
                          "2201-01-01", "2026-12-25T00:00:00Z", "-026-12-25", "2026-12-2x"}) {
    EXPECT_FALSE(parse_day(bad)) << bad;
  }
}

TEST(DayHours, AreReadAsTwoTimes) {
  EXPECT_EQ(parse_hours("22:00-06:00").value(), (DayHours{1320, 360}));
  EXPECT_EQ(parse_hours("00:00-24:00").value(), (DayHours{0, 1440}));
  for (const char* bad : {"", "22-06", "24:00-06:00", "08:00-08:00", "8:00-09:00", "08:60-09:00", "08:00-25:00",
                          "08:00", "08:00-09:00-10:00", "-1:00-02:00"}) {
    EXPECT_FALSE(parse_hours(bad)) << bad;
  }
}

struct Row {
  const char* instant;
  bool in;
};

void expect_rows(const Calendar& calendar, const Zone& zone, std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(calendar.contains(at(row.instant), zone), row.in) << row.instant;
    const Piece piece = calendar.piece(at(row.instant), zone);
    EXPECT_EQ(piece.in, row.in) << row.instant;
    EXPECT_LE(piece.begin, at(row.instant));
    EXPECT_GT(piece.end, at(row.instant));
  }
}

TEST(Calendar, DatesRangesAndWeekdaysAreDaysOnTheWall) {
  const Calendar holidays(Days({{day("2026-12-25"), day("2026-12-25")}, {day("2026-12-31"), day("2027-01-02")}}),
                          std::nullopt, std::nullopt, std::nullopt);
  expect_rows(holidays, brussels(),
              {{"2026-12-24T22:59:59Z", false},  // 23:59:59 on the 24th in Brussels
               {"2026-12-24T23:00:00Z", true},
               {"2026-12-25T22:59:59Z", true},
               {"2026-12-25T23:00:00Z", false},
               {"2027-01-02T22:59:59Z", true},
               {"2027-01-02T23:00:00Z", false}});
  expect_rows(weekends(), Zone::utc(),
              {{"2026-01-02T23:59:59Z", false},  // Friday
               {"2026-01-03T00:00:00Z", true},
               {"2026-01-04T23:59:59Z", true},
               {"2026-01-05T00:00:00Z", false}});
  const Calendar both(Days({{day("2026-01-07"), day("2026-01-07")}}), kWeekend, std::nullopt, std::nullopt);
  expect_rows(both, Zone::utc(),
              {{"2026-01-06T12:00:00Z", false}, {"2026-01-07T12:00:00Z", true}, {"2026-01-10T12:00:00Z", true}});
}

TEST(Calendar, ItsOwnZoneCountsBeforeThatOfTheSchedule) {
  const Calendar there(std::nullopt, kWeekend, std::nullopt, Zone::load("Asia/Tokyo").value());
  expect_rows(there, brussels(), {{"2026-01-02T14:59:59Z", false}, {"2026-01-02T15:00:00Z", true}});
}

// C3: what goes on past midnight belongs to the day on which it began.
TEST(Calendar, HoursPastMidnightBelongToTheirFirstDay) {
  expect_rows(nights(), Zone::utc(),
              {{"2026-01-01T21:59:59Z", false},
               {"2026-01-01T22:00:00Z", true},
               {"2026-01-02T05:59:59Z", true},
               {"2026-01-02T06:00:00Z", false}});
  const Calendar friday_night(std::nullopt, kFriday, Hours({{22 * 60, 6 * 60}}), std::nullopt);
  expect_rows(friday_night, Zone::utc(),
              {{"2026-01-02T03:00:00Z", false},  // Friday morning
               {"2026-01-02T22:00:00Z", true},
               {"2026-01-03T05:59:59Z", true},  // Saturday morning
               {"2026-01-03T06:00:00Z", false},
               {"2026-01-03T22:30:00Z", false}});
}

// C4: in Brussels 02:00 to 03:00 is skipped on 2026-03-29 and shown twice on 2026-10-25.
TEST(Calendar, AnHourThatIsShownTwiceLiesInItTwice) {
  const Calendar two(std::nullopt, std::nullopt, Hours({{120, 180}}), std::nullopt);
  expect_rows(two, brussels(),
              {{"2026-03-29T00:59:59Z", false},
               {"2026-03-29T01:00:00Z", false},
               {"2026-10-25T00:00:00Z", true},
               {"2026-10-25T01:00:00Z", true},
               {"2026-10-25T02:00:00Z", false}});
}

TEST(Calendar, WhatHoldsNothingOrEverythingIsKnown) {
  EXPECT_FALSE(Calendar(std::nullopt, std::nullopt, std::nullopt, std::nullopt).ever()) << "an empty file";
  EXPECT_FALSE(Calendar().ever());
  EXPECT_FALSE(Calendar().always());
  EXPECT_FALSE(Calendar().contains(at("2026-03-29T01:00:00Z"), brussels()));
  EXPECT_FALSE(Calendar(Days(std::vector<DayRange>()), std::nullopt, Hours({{0, 60}}), std::nullopt).ever());
  EXPECT_FALSE(Calendar(std::nullopt, std::nullopt, Hours(std::vector<DayHours>()), std::nullopt).ever());
  EXPECT_TRUE(weekends().ever());
  EXPECT_FALSE(weekends().always());
  EXPECT_TRUE(Calendar(std::nullopt, 0x7f, std::nullopt, std::nullopt).always());
  EXPECT_TRUE(Calendar(std::nullopt, std::nullopt, Hours({{0, 720}, {720, 1440}}), std::nullopt).always());
  EXPECT_FALSE(nights().always());
}

TEST(Calendar, OneThatIsEmptyIsOnePieceAnOffset) {
  const Calendar empty(Days(std::vector<DayRange>()), std::nullopt, std::nullopt, std::nullopt);
  const Piece piece = empty.piece(at("2026-01-01T00:00:00Z"), Zone::utc());
  EXPECT_EQ(piece.begin, kFirstInstant);
  EXPECT_EQ(piece.end, kEndInstant);
}

Calendar any_calendar() {
  Days days;
  if (*rc::gen::arbitrary<bool>()) {
    days.emplace();
    for (int n = *rc::gen::inRange(0, 5); n > 0; --n) {
      const Day first = day("2026-01-01") + std::chrono::days(*rc::gen::inRange(0, 400));
      days->push_back({first, first + std::chrono::days(*rc::gen::inRange(-1, 20))});
    }
  }
  std::optional<std::uint8_t> weekdays;
  if (*rc::gen::arbitrary<bool>()) weekdays = static_cast<std::uint8_t>(*rc::gen::inRange(0, 128));
  Hours hours;
  if (*rc::gen::arbitrary<bool>()) {
    hours.emplace();
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
      hours->push_back({*rc::gen::inRange(0, 1440), *rc::gen::inRange(0, 1441)});
      if (hours->back().from == hours->back().to) hours->pop_back();
    }
  }
  return {days, weekdays, hours, std::nullopt};
}

Zone any_zone() {
  return Zone::load(*rc::gen::element<std::string>("UTC", "Europe/Brussels", "Australia/Lord_Howe", "America/Santiago",
                                                   "Asia/Kathmandu"))
      .value();
}

RC_GTEST_PROP(Law, APieceHoldsOneAnswer, ()) {
  const Calendar calendar = any_calendar();
  const Zone zone = any_zone();
  const Instant instant = at("2025-12-20T00:00:00Z") + std::chrono::seconds(*rc::gen::inRange(0, 500 * 86'400));
  const Piece piece = calendar.piece(instant, zone);
  RC_ASSERT(piece.begin <= instant && instant < piece.end);
  RC_ASSERT(piece.in == calendar.contains(instant, zone));
  const auto length = std::chrono::floor<std::chrono::seconds>(piece.end - piece.begin).count();
  for (int probe = 0; probe < 20; ++probe) {
    const auto step = *rc::gen::inRange<std::int64_t>(0, length);
    RC_ASSERT(calendar.contains(piece.begin + std::chrono::seconds(step), zone) == piece.in);
  }
  RC_ASSERT(calendar.contains(piece.end - Micros(1), zone) == piece.in);
}

/// What exclusions say of each firing, one by one.
struct Walked {
  std::optional<Instant> first;
  std::optional<Instant> last;
};

RC_GTEST_PROP(Law, ExclusionsFindWhatAWalkFinds, ()) {
  const Zone zone = any_zone();
  const auto named = [](const char* name) {
    return NamedCalendar{name, std::make_shared<const Calendar>(any_calendar())};
  };
  std::vector<NamedCalendar> exclude, only;
  for (int n = *rc::gen::inRange(0, 3); n > 0; --n) exclude.push_back(named("x"));
  for (int n = *rc::gen::inRange(0, 3); n > 0; --n) only.push_back(named("o"));
  const Instant from = at("2026-03-20T00:00:00Z") + std::chrono::minutes(*rc::gen::inRange(0, 30'000));
  const Instant until = from + std::chrono::minutes(*rc::gen::inRange(0, 30'000));
  std::optional<Instant> start, end;
  if (*rc::gen::inRange(0, 4) == 0) start = from + std::chrono::minutes(*rc::gen::inRange(-100, 20'000));
  if (*rc::gen::inRange(0, 4) == 0) end = from + std::chrono::minutes(*rc::gen::inRange(-100, 40'000));
  const Exclusions exclusions(start, end, exclude, only, zone);
  const Rule rule =
      Rule::every(Interval::make(std::chrono::minutes(*rc::gen::element(7, 60, 24 * 60)), from).value(), zone);
  Walked walked;
  for (auto each = rule.next(from); each && *each <= until; each = rule.next(*each)) {
    const bool excluded = exclusions.at(*each).why.kind != Exclusion::Kind::none;
    bool expected = (start && *each < *start) || (end && *each > *end);
    for (const NamedCalendar& one : exclude) expected = expected || one.calendar->contains(*each, zone);
    bool in = only.empty();
    for (const NamedCalendar& one : only) in = in || one.calendar->contains(*each, zone);
    RC_ASSERT(excluded == (expected || !in));
    if (excluded) continue;
    if (!walked.first) walked.first = each;
    walked.last = each;
  }
  RC_ASSERT(exclusions.previous(rule, from, until) == walked.last);
  const Exclusions::Found found = exclusions.next(rule, from);
  if (walked.first) RC_ASSERT(found.at == walked.first);
  if (!walked.first && found.at) RC_ASSERT(*found.at > until);
}

// O-33: a rule of every second that a calendar leaves nothing of costs a few steps, not one a second.
TEST(Exclusions, LookingAheadIsBounded) {
  const auto empty =
      std::make_shared<const Calendar>(Days(std::vector<DayRange>()), std::nullopt, std::nullopt, std::nullopt);
  const Rule every_second = Rule::cron(Cron::parse("* * * * * *").value(), brussels());
  const Exclusions never({}, {}, {}, {{"empty", empty}}, brussels());
  const auto nothing = never.next(every_second, at("2026-01-01T00:00:00Z"));
  EXPECT_FALSE(nothing.at);
  EXPECT_FALSE(nothing.unknown) << "there is none until the end of time";
  EXPECT_FALSE(never.previous(every_second, at("2026-01-01T00:00:00Z"), at("2031-01-01T00:00:00Z")));

  const auto far = std::make_shared<const Calendar>(Days({{day("2060-01-01"), day("2060-01-01")}}), std::nullopt,
                                                    std::nullopt, std::nullopt);
  EXPECT_EQ(Exclusions({}, {}, {}, {{"far", far}}, brussels()).next(every_second, at("2026-01-01T00:00:00Z")).at,
            at("2059-12-31T23:00:00Z"));

  // At 03:00 each day, and each night excluded: no day ever answers, and the search gives up.
  const Exclusions always({}, {}, {{"nights", std::make_shared<const Calendar>(nights())}}, {}, brussels());
  const auto unknown =
      always.next(Rule::cron(Cron::parse("0 3 * * *").value(), brussels()), at("2026-01-01T00:00:00Z"));
  EXPECT_FALSE(unknown.at);
  EXPECT_TRUE(unknown.unknown);
}

TEST(Exclusions, StartAndEndAreIncluded) {
  const Rule minutes = Rule::cron(Cron::parse("* * * * *").value(), Zone::utc());
  const Exclusions bounds(at("2026-01-01T10:00:00Z"), at("2026-01-01T10:02:00Z"), {}, {}, Zone::utc());
  EXPECT_EQ(bounds.next(minutes, at("2026-01-01T00:00:00Z")).at, at("2026-01-01T10:00:00Z"));
  EXPECT_EQ(bounds.previous(minutes, at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z")),
            at("2026-01-01T10:02:00Z"));
  EXPECT_FALSE(bounds.next(minutes, at("2026-01-01T10:02:00Z")).at);
  EXPECT_EQ(bounds.at(at("2026-01-01T09:59:59Z")).why, (Exclusion{Exclusion::Kind::before_start, "start"}));
  EXPECT_EQ(bounds.at(at("2026-01-01T10:03:00Z")).why, (Exclusion{Exclusion::Kind::after_end, "end"}));
}

}  // namespace
}  // namespace eider::timing
