#include "timing/zone.h"
#include "timing/test_support.h"

#include <gtest/gtest.h>

namespace eider::timing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::string load_message(std::string_view name) {
  const Result<Zone> loaded = Zone::load(name);
  return loaded ? "loaded" : loaded.error().message;
}

TEST(Zone, ShowsTheWall) {
  const Zone brussels = zone("Europe/Brussels");
  EXPECT_EQ(brussels.name(), "Europe/Brussels");
  EXPECT_EQ(brussels.offset_at(at("2026-03-29T00:59:59.999999Z")), hours(1));
  EXPECT_EQ(brussels.offset_at(at("2026-03-29T01:00:00Z")), hours(2));
  EXPECT_EQ(brussels.format(at("2026-03-29T01:00:00Z")), "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(brussels.wall_at(at("1970-01-01T00:00:00.25Z")).time_since_epoch(), hours(1) + Micros(250'000));
  EXPECT_EQ(zone("Asia/Kathmandu").offset_at(at("2026-01-01T00:00:00Z")), hours(5) + minutes(45));
  // Outside the span of searches too, and far ahead within it.
  EXPECT_EQ(brussels.offset_at(at("1900-01-01T00:00:00Z")), hours(0));
  EXPECT_EQ(brussels.offset_at(at("2199-07-01T00:00:00Z")), hours(2));
  EXPECT_EQ(brussels.offset_at(Instant::max()), hours(1));
}

TEST(Zone, FindsTheFirstInstantOfAWallTime) {
  const Zone brussels = zone("Europe/Brussels");
  const auto wall = [](int month, int day, int hour, int minute) {
    return std::chrono::local_days(std::chrono::year(2026) / month / day) + hours(hour) + minutes(minute) + seconds(0);
  };
  EXPECT_EQ(brussels.first_instant(wall(7, 1, 12, 0)), at("2026-07-01T10:00:00Z"));
  EXPECT_EQ(brussels.first_instant(wall(3, 29, 2, 30)), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(brussels.first_instant(wall(10, 25, 2, 30)), at("2026-10-25T00:30:00Z"));
}

TEST(Zone, FindsTransitions) {
  const Zone brussels = zone("Europe/Brussels");
  EXPECT_EQ(brussels.next_transition(at("2026-01-01T00:00:00Z")), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(brussels.next_transition(at("2026-03-29T01:00:00Z")), at("2026-10-25T01:00:00Z"));
  EXPECT_EQ(brussels.next_transition(Instant::max()), std::nullopt);
  EXPECT_EQ(Zone::utc().next_transition(Instant::min()), std::nullopt);
  EXPECT_EQ(zone("America/New_York").next_transition(at("2150-01-01T00:00:00Z")), at("2150-03-08T07:00:00Z"));
}

TEST(Zone, StretchesHaveNoHoles) {
  for (const char* name : {"UTC", "Europe/Brussels", "Pacific/Apia", "Africa/Casablanca", "Australia/Lord_Howe"}) {
    std::int64_t end_s = 0;
    for (const Stretch& stretch : zone(name).stretches()) {
      EXPECT_EQ(stretch.begin_s, end_s) << name;
      EXPECT_LT(stretch.begin_s, stretch.end_s) << name;
      EXPECT_LE(stretch.gap_wall_s, stretch.wall_begin_s()) << name;
      EXPECT_GE(stretch.fresh_wall_s, stretch.wall_begin_s()) << name;
      end_s = stretch.end_s;
    }
    EXPECT_EQ(Instant(seconds(end_s)), kEndInstant) << name;
  }
}

TEST(Zone, LoadsOnceAndCompares) {
  EXPECT_EQ(zone("Europe/Brussels"), zone("Europe/Brussels"));
  EXPECT_NE(zone("Europe/Brussels"), zone("Europe/Paris"));
  EXPECT_EQ(zone("UTC"), Zone::utc());
  EXPECT_EQ(Zone(), Zone::utc());
  EXPECT_EQ(zone("Etc/GMT+5").offset_at(at("2026-01-01T00:00:00Z")), -hours(5));
}

TEST(Zone, SuggestsTheNearestName) {
  EXPECT_EQ(load_message("Europe/Brusels"), "unknown time zone \"Europe/Brusels\": did you mean Europe/Brussels?");
  EXPECT_EQ(load_message("europe/brussels"), "unknown time zone \"europe/brussels\": did you mean Europe/Brussels?");
  EXPECT_EQ(load_message("Brussels"), "unknown time zone \"Brussels\": did you mean Europe/Brussels?");
  EXPECT_EQ(load_message("America/New York"), "unknown time zone \"America/New York\": did you mean America/New_York?");
  EXPECT_EQ(load_message("utc"), "unknown time zone \"utc\": did you mean UTC?");
  EXPECT_NE(load_message("Middle-earth/Hobbiton").find("expected a name of tzdata like Europe/Brussels"),
            std::string::npos);
}

TEST(Zone, RefusesWhatIsNoZoneName) {
  for (const char* name :
       {"", "/etc/localtime", "../../etc/passwd", "Europe/../Europe/Brussels", "file:Europe/Brussels", "localtime",
        "posix/Europe/Brussels", "right/Europe/Brussels", "tzdata.zi", "Europe", "Europe/", "Fixed/UTC+01:00:00",
        "+01:00", "Europe/Brussels\n", "leapseconds", "posixrules"}) {
    const Result<Zone> loaded = Zone::load(name);
    ASSERT_FALSE(loaded.ok()) << name;
    EXPECT_EQ(loaded.error().code, ErrorCode::invalid);
    EXPECT_NE(loaded.error().message.find("unknown time zone"), std::string::npos);
  }
  EXPECT_FALSE(Zone::load(std::string("UTC\0x", 5)).ok());
  EXPECT_LT(load_message(std::string(100'000, 'A')).size(), 200U);
}

TEST(Zone, KnowsTheVersionOfTzdata) {
  const std::string version = tzdata_version();
  ASSERT_GE(version.size(), 5U) << version;
  EXPECT_EQ(version.substr(0, 2), "20");
}

}  // namespace
}  // namespace eider::timing
