#include "base/time.h"

#include <rapidcheck/gtest.h>

namespace eider {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(FormatRfc3339, ShowsAFractionOnlyWhereThereIsOne) {
  EXPECT_EQ(format_rfc3339(from_us(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339(from_us(1'774'746'000'000'000)), "2026-03-29T01:00:00Z");
  EXPECT_EQ(format_rfc3339(from_us(1'774'746'000'250'000)), "2026-03-29T01:00:00.250Z");
  EXPECT_EQ(format_rfc3339(from_us(1'774'746'000'000'001)), "2026-03-29T01:00:00.000001Z");
  EXPECT_EQ(format_rfc3339(from_us(-1)), "1969-12-31T23:59:59.999999Z");
}

TEST(FormatRfc3339, ShowsLocalTimeAndOffset) {
  const Instant at = from_us(1'774'746'000'000'000);
  EXPECT_EQ(format_rfc3339(at, hours(2)), "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(format_rfc3339(at, -(hours(3) + minutes(30))), "2026-03-28T21:30:00-03:30");
  EXPECT_EQ(format_rfc3339(at, seconds(0)), "2026-03-29T01:00:00+00:00");
  // Brussels before 1892 was 17 min 30 s ahead: the text stays true without its seconds.
  EXPECT_EQ(format_rfc3339(at, seconds(1050)), "2026-03-29T01:17:00+00:17");
}

TEST(FormatRfc3339, StaysWithinFourDigitYears) {
  EXPECT_EQ(format_rfc3339(Instant::max()), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_rfc3339(Instant::min()), "0000-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339(Instant::max(), hours(14)).size(), std::string("9999-12-31T23:59:59.999999+14:00").size());
}

TEST(ParseRfc3339, ReadsEveryFormOfTheSameInstant) {
  for (const char* text : {"2026-03-29T01:00:00Z", "2026-03-29 01:00:00Z", "2026-03-29t01:00:00z",
                           "2026-03-29T03:00:00+02:00", "2026-03-28T21:30:00-03:30", "2026-03-29T01:00:00.000Z"}) {
    const Result<Instant> read = parse_rfc3339(text);
    ASSERT_TRUE(read.ok()) << text << ": " << read.error().message;
    EXPECT_EQ(to_us(*read), 1'774'746'000'000'000) << text;
  }
  EXPECT_EQ(to_us(*parse_rfc3339("1970-01-01T00:00:00.1234567891Z")), 123'456);
  EXPECT_EQ(to_us(*parse_rfc3339("1969-12-31T23:59:59.5Z")), -500'000);
}

TEST(ParseRfc3339, RefusesAnythingElseWithAnExample) {
  for (const char* text :
       {"", "now", "2026-03-29", "2026-03-29T01:00:00", "2026-03-29T01:00Z", "2026-3-29T01:00:00Z",
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z ", "2026-01-01T00:00:00+2:00",
        "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+02:60", "2026-01-01T00:00:00+0200", "+2026-01-01T00:00:00Z",
        "2026-01-01T-1:00:00Z"}) {
    const Result<Instant> read = parse_rfc3339(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid);
    EXPECT_NE(read.error().message.find("2026-03-29T01:00:00Z"), std::string::npos) << read.error().message;
  }
  EXPECT_NE(parse_rfc3339("2016-12-31T23:59:60Z").error().message.find("leap second"), std::string::npos);
}

RC_GTEST_PROP(ParseRfc3339, ReadsBackWhatFormatWrites, ()) {
  constexpr std::int64_t first = -62'167'219'200'000'000;
  const Instant at = from_us(first + *rc::gen::inRange<std::int64_t>(172'800'000'000, 315'569'000'000'000'000));
  const auto offset = minutes(*rc::gen::inRange(-1439, 1440));
  RC_ASSERT(*parse_rfc3339(format_rfc3339(at)) == at);
  RC_ASSERT(*parse_rfc3339(format_rfc3339(at, offset)) == at);
}

RC_GTEST_PROP(ParseRfc3339, NeverFailsInAnotherWay, (const std::string& text)) {
  const Result<Instant> read = parse_rfc3339(text);
  RC_ASSERT((read.ok() || read.error().code == ErrorCode::invalid));
}

TEST(ParseDuration, ReadsWholeNumbersWithUnits) {
  EXPECT_EQ(*parse_duration("500ms"), std::chrono::milliseconds(500));
  EXPECT_EQ(*parse_duration("5s"), seconds(5));
  EXPECT_EQ(*parse_duration("1h30m"), minutes(90));
  EXPECT_EQ(*parse_duration("7d"), hours(168));
  EXPECT_EQ(*parse_duration("1d2h3m4s5ms6us"), hours(26) + minutes(3) + seconds(4) + Micros(5006));
  EXPECT_EQ(*parse_duration("90m"), minutes(90));
  EXPECT_EQ(*parse_duration("0s"), Micros(0));
  EXPECT_EQ(*parse_duration("36525d"), hours(24 * 36525));
}

TEST(ParseDuration, RefusesAnythingElseWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {{"", "empty"},
                                                       {"-5s", "negative"},
                                                       {"5", "no unit"},
                                                       {"s", "number was expected"},
                                                       {"5x", "not a unit"},
                                                       {"5S", "not a unit"},
                                                       {"5 s", "not a unit"},
                                                       {"1.5h", "not a unit"},
                                                       {"30m1h", "largest"},
                                                       {"1h1h", "largest"},
                                                       {"36526d", "100 years"},
                                                       {"36525d1us", "100 years"},
                                                       {"5min", "not a unit"},
                                                       {"1h-5m", "not a unit"},
                                                       {"99999999999999999999d", "100 years"}};
  for (const auto& [text, reason] : cases) {
    const Result<Micros> read = parse_duration(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid);
    EXPECT_NE(read.error().message.find(reason), std::string::npos) << read.error().message;
  }
}

TEST(FormatDuration, IsShort) {
  EXPECT_EQ(format_duration(Micros(0)), "0s");
  EXPECT_EQ(format_duration(minutes(90)), "1h30m");
  EXPECT_EQ(format_duration(hours(24)), "1d");
  EXPECT_EQ(format_duration(Micros(1'500'000)), "1s500ms");
  EXPECT_EQ(format_duration(-seconds(61)), "-1m1s");
  EXPECT_EQ(format_duration(Micros::min()).front(), '-');
}

RC_GTEST_PROP(ParseDuration, ReadsBackWhatFormatWrites, ()) {
  const Micros duration(*rc::gen::inRange<std::int64_t>(0, 3'155'760'000'000'001));
  RC_ASSERT(*parse_duration(format_duration(duration)) == duration);
}

RC_GTEST_PROP(ParseDuration, NeverFailsInAnotherWay, (const std::string& text)) {
  const Result<Micros> read = parse_duration(text);
  RC_ASSERT((read.ok() ? read->count() >= 0 : read.error().code == ErrorCode::invalid));
}

}  // namespace
}  // namespace eider
