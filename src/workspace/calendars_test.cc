// calendars/*.yaml, and what schedules say of them: each message with its place.
#include "workspace/reload.h"
#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

using Lines = std::vector<std::string>;

class Calendars : public ::testing::Test {
 protected:
  void SetUp() override { folder_.write("eider.yaml", ""); }

  /// One pipeline a schedule with these keys.
  void pipeline(const std::string& name, const std::string& keys) const {
    folder_.write("pipelines/" + name + ".yaml",
                  "pipeline: " + name + "\nschedules:\n  - {id: s, " + keys + "}\nsteps: [{id: a, run: [\"true\"]}]\n");
  }
  Workspace load() const {
    LoadOptions options;
    options.now = parse_rfc3339("2026-01-01T00:00:00Z").value();
    auto loaded = load_workspace(folder_.path(), options);
    EXPECT_TRUE(loaded.ok());
    return *std::move(loaded);
  }
  Lines lines() const { return lines_of(load().diagnostics); }
  /// The one message about a pipeline with these keys, without its place.
  std::string told(const std::string& keys) const {
    pipeline("p", keys);
    const Lines all = lines();
    EXPECT_LE(all.size(), 1u) << ::testing::PrintToString(all);
    if (all.empty()) return "";
    return all[0].substr(all[0].find(": ") + 2);
  }

  TestFolder folder_;
};

TEST_F(Calendars, AreReadByTheNameOfTheirFile) {
  folder_.write("calendars/holidays.yaml",
                "description: Days off\ntimezone: Europe/Brussels\ndates: [2026-12-25, 2027-01-01]\n"
                "ranges: [{from: 2026-07-01, to: 2026-07-15}]\n");
  folder_.write("calendars/nights.yml", "weekdays: [fri]\nhours: [\"22:00-06:00\"]\n");
  pipeline("p", "cron: '0 * * * *', exclude: [holidays, nights]");
  const Workspace loaded = load();
  EXPECT_EQ(lines_of(loaded.diagnostics), Lines{});
  ASSERT_TRUE(loaded.calendars.contains("holidays") && loaded.calendars.contains("nights"));
  const timing::Calendar& holidays = *loaded.calendars.at("holidays");
  const auto in = [&](const timing::Calendar& calendar, const char* at) {
    return calendar.contains(parse_rfc3339(at).value(), timing::Zone::utc());
  };
  EXPECT_TRUE(in(holidays, "2026-12-24T23:00:00Z")) << "midnight in Brussels";
  EXPECT_TRUE(in(holidays, "2026-07-15T21:59:59Z"));
  EXPECT_FALSE(in(holidays, "2026-07-15T22:00:00Z"));
  EXPECT_TRUE(in(*loaded.calendars.at("nights"), "2026-01-03T05:00:00Z"));
  EXPECT_FALSE(in(*loaded.calendars.at("nights"), "2026-01-02T05:00:00Z"));
}

TEST_F(Calendars, SayWhereTheyAreWrong) {
  folder_.write("calendars/x.yaml",
                "timezone: Europe/Brusels\ndates: [25.12.2026]\nranges: [{from: 2026-02-01, to: 2026-01-01}]\n"
                "weekdays: [sat, sonday]\nhours: [22-06]\ndays: []\n");
  folder_.write("calendars/y..yaml", "");
  const Lines all = lines();
  const auto has = [&](std::string_view text) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("calendars/x.yaml:1:11: error: timezone: ")) << ::testing::PrintToString(all);
  EXPECT_TRUE(has("calendars/x.yaml:2:9: error: dates[0]: \"25.12.2026\" is not a date"));
  EXPECT_TRUE(has("calendars/x.yaml:3:33: error: ranges[0].to: lies before from"));
  EXPECT_TRUE(has("calendars/x.yaml:4:17: error: weekdays[1]: \"sonday\" is not one of"));
  EXPECT_TRUE(has("calendars/x.yaml:5:9: error: hours[0]: \"22-06\" is no part of a day"));
  EXPECT_TRUE(has("calendars/x.yaml:6:1: error: days: "));
  EXPECT_TRUE(has("calendars/y..yaml: error: "));
}

TEST_F(Calendars, AWrongOneTakesOnlyThosePipelinesWithItThatNameIt) {
  folder_.write("calendars/bad.yaml", "weekdays: [sonday]\n");
  folder_.write("calendars/good.yaml", "weekdays: [sun]\n");
  pipeline("a", "cron: '0 * * * *', exclude: [bad]");
  pipeline("b", "cron: '0 * * * *', exclude: [good]");
  const Workspace loaded = load();
  EXPECT_TRUE(loaded.usable);
  EXPECT_EQ(loaded.pipelines.size(), 1u);
  EXPECT_TRUE(loaded.pipelines.contains("b"));
  ASSERT_EQ(loaded.diagnostics.size(), 2u);
  EXPECT_EQ(format(loaded.diagnostics[1]),
            "pipelines/a.yaml:3:42: error: schedules[0].exclude[0]: the calendar \"bad\" is not loaded: "
            "calendars/bad.yaml is wrong");
}

TEST_F(Calendars, AnUnknownOneIsAnErrorWithTheNearestName) {
  folder_.write("calendars/holidays.yaml", "dates: [2026-12-25]\n");
  EXPECT_EQ(told("cron: '0 * * * *', exclude: [holiday]"),
            "error: schedules[0].exclude[0]: there is no calendar \"holiday\"; it would be in calendars/holiday.yaml; "
            "did you mean \"holidays\"?");
}

TEST_F(Calendars, ThatHoldNothingOrEverythingAreWarnedOf) {
  folder_.write("calendars/all.yaml", "weekdays: [sun, mon, tue, wed, thu, fri, sat]\n");
  folder_.write("calendars/none.yaml", "");
  EXPECT_EQ(lines(), (Lines{"calendars/all.yaml: warning: holds every instant: exclude this calendar means never, only "
                            "changes nothing",
                            "calendars/none.yaml: warning: holds no instant: only this calendar means never, exclude "
                            "changes nothing"}));
}

TEST_F(Calendars, WhatContradictsIsRefusedWithADay) {
  folder_.write("calendars/weekends.yaml", "weekdays: [sat, sun]\n");
  EXPECT_EQ(told("cron: '30 2 * * *', only: [weekends], exclude: [weekends]"),
            "error: schedules[0].only: \"weekends\" is excluded as well, so that nothing is left: "
            "2026-01-03T02:30:00+00:00 lies in it, and is excluded; 2026-01-05T00:00:00+00:00 does not, and is no "
            "instant of only");
  EXPECT_EQ(told("cron: '30 2 * * MON', only: [weekends]"),
            "warning: schedules[0].only: nothing is left of its instants: 2026-01-05T02:30:00+00:00 is not in "
            "\"weekends\", and so is it as far as is looked ahead");
  EXPECT_EQ(told("cron: '30 2 * * *', start: 2026-02-01T00:00:00Z, end: 2026-01-01T12:00:00Z"),
            "error: schedules[0].end: 2026-01-01T12:00:00Z lies before start (2026-02-01T00:00:00Z): the schedule "
            "would be over before it begins");
  EXPECT_EQ(
      told("at: 2026-02-01T00:00:00Z, start: 2026-03-01T00:00:00Z"),
      "error: schedules[0].at: 2026-02-01T00:00:00Z lies before start (2026-03-01T00:00:00Z): it could never run");
  EXPECT_EQ(told("at: 2026-02-01T00:00:00Z, end: 2026-01-10T00:00:00Z"),
            "error: schedules[0].at: 2026-02-01T00:00:00Z lies after end (2026-01-10T00:00:00Z): it could never run");
  EXPECT_EQ(told("every: 5m, jitter: 10m"),
            "error: schedules[0].jitter: 10m is not shorter than the time between two instants: that of "
            "2026-01-01T00:05:00+00:00 may be due at 2026-01-01T00:15:00+00:00, when that of 2026-01-01T00:10:00+00:00 "
            "has come already");
  EXPECT_EQ(told("cron: '0,5 2 * * *', jitter: 5m"),
            "error: schedules[0].jitter: 5m is not shorter than the time between two instants: that of "
            "2026-01-01T02:00:00+00:00 may be due at 2026-01-01T02:05:00+00:00, when that of 2026-01-01T02:05:00+00:00 "
            "has come already");
  EXPECT_EQ(told("every: 5m, jitter: 4m"), "");
  EXPECT_EQ(told("cron: '0 2 * * *', end: 2025-12-01T00:00:00Z"),
            "warning: schedules[0].end: lies in the past: the schedule is never due again");
  EXPECT_EQ(told("cron: '0 2 * * *', note: why"), "warning: schedules[0].note: has no effect without paused: true");
  EXPECT_EQ(told("at: 2026-02-01T00:00:00Z, pause_after_failures: 3"),
            "warning: schedules[0].pause_after_failures: has no effect with at: it runs once");
}

TEST_F(Calendars, AReloadKeepsTheCalendarsOfWhatItKeeps) {
  folder_.write("calendars/weekends.yaml", "weekdays: [sat, sun]\n");
  pipeline("p", "cron: '0 * * * *', exclude: [weekends]");
  Workspace before = load();
  ASSERT_EQ(before.pipelines.size(), 1u);
  folder_.write("calendars/weekends.yaml", "weekdays: [sat, sonday]\n");
  Reloaded out = merge(before, load());
  EXPECT_EQ(out.kept, std::vector<std::string>{"p"});
  EXPECT_EQ(out.news.size(), 2u) << "what is wrong, and whom it keeps from being loaded";
  ASSERT_TRUE(out.workspace.calendars.contains("weekends"));
  EXPECT_EQ(*out.workspace.calendars.at("weekends"), *before.calendars.at("weekends"));
  before = out.workspace;
  EXPECT_EQ(merge(before, load()).news.size(), 0u) << "it has been said";
  folder_.write("calendars/weekends.yaml", "weekdays: [sun]\n");
  out = merge(before, load());
  EXPECT_TRUE(out.kept.empty());
  EXPECT_FALSE(*out.workspace.calendars.at("weekends") == *before.calendars.at("weekends"));
  EXPECT_TRUE(out.workspace.broken_calendars.empty());
  EXPECT_TRUE(out.calendars_changed);
  EXPECT_FALSE(merge(out.workspace, load()).calendars_changed);
}

}  // namespace
}  // namespace eider::workspace
