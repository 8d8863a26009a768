#include "timing/cron.h"
#include "timing/test_support.h"

#include <chrono>

#include <rapidcheck/gtest.h>

namespace eider::timing {
namespace {

std::string message(std::string_view text) {
  const Result<Cron> read = Cron::parse(text);
  return read ? "accepted" : read.error().message;
}

std::string printed(std::string_view text) {
  const Result<Cron> read = Cron::parse(text);
  return read ? read->to_string() : read.error().message;
}

/// Days of the year (UTC) on which the expression fires, as MM-DD.
std::string days(std::string_view text, int year) {
  const Result<Cron> cron = Cron::parse(text);
  if (!cron) return cron.error().message;
  std::string out;
  const Instant begin = std::chrono::sys_days(std::chrono::year(year) / 1 / 1);
  for (auto next = cron->next(begin - Micros(1), Zone::utc()); next && *next < begin + std::chrono::days(365);
       next = cron->next(*next, Zone::utc())) {
    out += (out.empty() ? "" : " ") + format_rfc3339(*next).substr(5, 5);
  }
  return out;
}

TEST(CronParse, ErrorsNameFieldValueAndWhatWasExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {"61 * * * *", "cron field \"minute\": 61 is outside 0-59"},
      {"0 24 * * *", "cron field \"hour\": 24 is outside 0-23"},
      {"60 0 0 * * *", "cron field \"second\": 60 is outside 0-59"},
      {"0 0 0 * *", "cron field \"day of month\": 0 is outside 1-31"},
      {"0 0 * 13 *", "cron field \"month\": 13 is outside 1-12"},
      {"0 0 * * 8", "cron field \"day of week\": 8 is outside 0-7"},
      {"0 0 0 1 1 * 1969", "cron field \"year\": 1969 is outside 1970-2200"},
      {"123456 * * * *", "cron field \"minute\": 123456 is outside 0-59"},
      {"1,,2 * * * *", "cron field \"minute\": an item of the list is empty"},
      {"1, * * * *", "an item of the list is empty"},
      {"*/0 * * * *", "a step of 0 never moves on"},
      {"*/90 * * * *", "larger than the 60 values of the field"},
      {"*/x * * * *", "\"x\" is not a step"},
      {"5/15 * * * *", "did you mean 5-59/15?"},
      {"/15 * * * *", "did you mean */15?"},
      {"5-1 * * * *", "the range 5-1 runs backward; did you mean 5-59,0-1?"},
      {"5- * * * *", "a value is missing"},
      {"-5 * * * *", "a value is missing"},
      {"? * * * *", "\"?\" is not a value"},
      {"0 0 * MONDAY *", "expected 1-12 or JAN-DEC"},
      {"0 0 * January *", "did you mean JAN?"},
      {"0 0 * * MON_FRI", "did you mean MON-FRI?"},
      {"0 0 * * TUS", "did you mean TUE?"},
      {"0 0 * * 5#6", "\"5#6\": expected 1-5 or L after the #"},
      {"0 0 * * L", "cron field \"day of week\": \"L\" is not a value"},
      {"0 0 1-15W * *", "not a range"},
      {"0 0 1W,15 * *", "can't be part of a list"},
      {"0 0 32W * *", "32 is outside 1-31"},
      {"0 0 +1 * MON", "cron field \"day of month\": \"+1\" is not a value"},
      {"* * * *", "has 4 fields; expected 5"},
      {"* * * * * * * *", "has 8 fields"},
      {"", "has 0 fields"},
      {"@dayly", "did you mean @daily?"},
      {"@Daily", "did you mean @daily?"},
      {"@daily 0 0 * * *", "is unknown"},
      {"@reboot", "is not a time"},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_NE(message(text).find(part), std::string::npos) << text << " gave: " << message(text);
  }
}

TEST(CronParse, ForeignBytesStayOutOfMessages) {
  EXPECT_NE(message("\x1b[31m\xff * * * *").find("\"?[31m?\""), std::string::npos) << message("\x1b[31m\xff * * * *");
  EXPECT_LT(message(std::string(1000, 'x') + " * * * *").size(), 200U);
  EXPECT_NE(message(std::string(2000, '1')).find("longer than 1024"), std::string::npos);
}

TEST(CronParse, RefusesWhatCanNeverFire) {
  for (const char* text : {"0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6 *", "0 0 31W 2 *", "0 0 0 29 2 * 2023",
                           "0 0 0 29 2 * 2100", "0 0 30 2 +MON", "0 0 1 * +MON#2"}) {
    EXPECT_NE(message(text).find("can never fire"), std::string::npos) << text << " gave: " << message(text);
  }
  // Possible, if only just.
  EXPECT_EQ(message("0 0 0 29 2 * 2024"), "accepted");
  EXPECT_EQ(message("0 0 30 2 1"), "accepted");
  EXPECT_EQ(message("0 0 29 2 +MON"), "accepted");
}

TEST(CronParse, YearsInThePastAreNoError) {
  const Cron cron = *Cron::parse("0 0 12 1 1 * 2020-2021");
  EXPECT_EQ(cron.next(at("2021-01-01T11:00:00Z"), Zone::utc()), at("2021-01-01T12:00:00Z"));
  EXPECT_EQ(cron.next(at("2021-01-01T12:00:00Z"), Zone::utc()), std::nullopt);
  EXPECT_EQ(cron.previous(at("2026-01-01T00:00:00Z"), Zone::utc()), at("2021-01-01T12:00:00Z"));
  EXPECT_EQ(cron.previous(at("2019-12-31T00:00:00Z"), Zone::utc()), std::nullopt);
}

TEST(CronPrint, IsShortAndUsual) {
  const std::pair<const char*, const char*> cases[] = {
      {"  30\t2  *  *   * ", "30 2 * * *"},
      {"@hourly", "0 * * * *"},
      {"@weekly", "0 0 * * 0"},
      {"@annually", "0 0 1 1 *"},
      {"0 0 ? * mon-Fri", "0 0 * * 1-5"},
      {"0 0 * JAN,dec SUN", "0 0 * 1,12 0"},
      {"0 0 * * 5-7", "0 0 * * 0,5,6"},
      {"0 0 * * 7,0", "0 0 * * 0"},
      {"30,0,15,15 * * * *", "0,15,30 * * * *"},
      {"0,30 * * * *", "0,30 * * * *"},
      {"*/30 * * * *", "*/30 * * * *"},
      {"0-59 * * * *", "0-59 * * * *"},
      {"0-59/1 * * * *", "* * * * *"},
      {"1,*/20 * * * *", "*/20,1 * * * *"},
      {"2-23/4 * * * *", "2-22/4 * * * *"},
      {"7-7/3 * * * *", "7-7/1 * * * *"},
      {"0 0 1-31 * 1", "0 0 1-31 * 1"},
      {"0 0 1,* * 1", "0 0 1-31 * 1"},
      {"0 0 */10,5 * 1", "0 0 */10,5 * 1"},
      {"0 0 * */3 *", "0 0 * */3 *"},
      {"0 0 * 1-12 *", "0 0 * * *"},
      {"0 0 L,15 * *", "0 0 15,L * *"},
      {"0 0 lw * *", "0 0 LW * *"},
      {"0 0 15w * *", "0 0 15W * *"},
      {"0 0 * * FRI#L,mon#2,5L", "0 0 * * 1#2,5#L"},
      {"0 0 1 * +MON", "0 0 1 * +1"},
      {"0 0 * * +MON", "0 0 * * 1"},
      {"0 * * * * *", "* * * * *"},
      {"0/5 * * * * *", "cron field \"second\": \"0/5\" has a step but no range; did you mean 0-59/5?"},
      {"*/5 * * * * *", "*/5 * * * * *"},
      {"0 0 0 1 1 * 2030-2032", "0 0 0 1 1 * 2030-2032"},
      {"0 0 0 1 1 * *", "0 0 1 1 *"},
      {"0 0 0 1 1 * */2", "0 0 0 1 1 * */2"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(printed(text), expected) << text;
}

TEST(CronDays, NthLastAndNearestFollowTheSpecification) {
  EXPECT_EQ(days("0 0 L 1-4 *", 2025), "01-31 02-28 03-31 04-30");
  EXPECT_EQ(days("0 0 LW 1-8 *", 2025), "01-31 02-28 03-31 04-30 05-30 06-30 07-31 08-29");
  EXPECT_EQ(days("0 12 15W 6 *", 2025), "06-16");          // a Sunday
  EXPECT_EQ(days("0 12 15W 2,3 *", 2025), "02-14 03-14");  // Saturdays
  EXPECT_EQ(days("0 12 1W 2,6 *", 2025), "02-03 06-02");   // never into the month before
  EXPECT_EQ(days("0 12 31W 5,8 *", 2025), "05-30 08-29");  // nor into the one after
  EXPECT_EQ(days("0 12 31W 4,8 *", 2025), "08-29");        // and no day where the month has none
  EXPECT_EQ(days("0 0 * 1-3 FRI#L", 2025), "01-31 02-28 03-28");
  EXPECT_EQ(days("0 0 * 1-3 5L", 2025), "01-31 02-28 03-28");
  EXPECT_EQ(days("0 0 * 6 TUE#3", 2025), "06-17");
  EXPECT_EQ(days("0 0 * 1-6 4#5", 2025), "01-30 05-29");
  EXPECT_EQ(days("0 0 * 1 7#1,MON#1", 2025), "01-05 01-06");
  EXPECT_EQ(days("0 12 1 9,10 MON", 2025), "09-01 09-08 09-15 09-22 09-29 10-01 10-06 10-13 10-20 10-27");
  EXPECT_EQ(days("0 12 1 9,10 +MON", 2025), "09-01");
  EXPECT_EQ(days("0 12 13 * +FRI", 2026), "02-13 03-13 11-13");
}

TEST(CronSearch, SecondsTakePartInTheRules) {
  const Zone brussels = zone("Europe/Brussels");
  const Cron fixed = *Cron::parse("15,45 30 2 * * *");
  // Both lie in the gap: one firing at its end, marked.
  EXPECT_EQ(fixed.next(at("2026-03-28T12:00:00Z"), brussels), at("2026-03-29T01:00:00Z"));
  EXPECT_EQ(fixed.next(at("2026-03-29T01:00:00Z"), brussels), at("2026-03-30T00:30:15Z"));
  EXPECT_TRUE(fixed.shifted(at("2026-03-29T01:00:00Z"), brussels));
  EXPECT_FALSE(fixed.shifted(at("2026-03-30T00:30:15Z"), brussels));
  EXPECT_FALSE(fixed.shifted(at("2026-03-29T01:00:00.5Z"), brussels));
  // A step in the seconds alone makes an interval: the gap swallows it, the overlap doubles it.
  const Cron interval = *Cron::parse("*/30 30 2 * * *");
  EXPECT_EQ(interval.next(at("2026-03-28T12:00:00Z"), brussels), at("2026-03-30T00:30:00Z"));
  EXPECT_EQ(interval.count(at("2026-10-24T12:00:00Z"), at("2026-10-25T12:00:00Z"), brussels), 4);
  EXPECT_EQ(fixed.count(at("2026-10-24T12:00:00Z"), at("2026-10-25T12:00:00Z"), brussels), 2);
}

TEST(CronSearch, AMovedFiringAndOneOfItsOwnAreOne) {
  const Zone paris = zone("Europe/Paris");
  const Cron cron = *Cron::parse("0 2,3 * * *");
  EXPECT_EQ(cron.count(at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z"), paris), 1);
  EXPECT_FALSE(cron.shifted(at("2026-03-29T01:00:00Z"), paris));
}

TEST(CronSearch, CountsAMovedFiringFromTheSecondBefore) {
  const Zone paris = zone("Europe/Paris");
  const Cron cron = *Cron::parse("30 2 * * *");
  EXPECT_EQ(cron.count(at("2026-03-29T00:59:59Z"), at("2026-03-29T01:00:00Z"), paris), 1);
  EXPECT_EQ(cron.count(at("2026-03-29T01:00:00Z"), at("2026-03-29T12:00:00Z"), paris), 0);
}

TEST(CronSearch, AGapOfThreeHoursStillMoves) {
  const Zone casey = zone("Antarctica/Casey");  // went from +08 to +11 at 00:01 on 2020-10-04
  EXPECT_EQ(Cron::parse("30 1 * * *")->next(at("2020-10-03T12:00:00Z"), casey), at("2020-10-03T16:01:00Z"));
}

TEST(CronSearch, ASkippedDayIsNotMadeUp) {
  const Zone apia = zone("Pacific/Apia");  // had no 2011-12-30
  const Cron cron = *Cron::parse("0 12 * * *");
  EXPECT_EQ(cron.count(at("2011-12-29T12:00:00Z"), at("2011-12-31T12:00:00Z"), apia), 2);
  EXPECT_EQ(*Cron::parse("0 0 12 30 12 * 2011")->next(at("2011-01-01T00:00:00Z"), Zone::utc()),
            at("2011-12-30T12:00:00Z"));
  EXPECT_EQ(Cron::parse("0 0 12 30 12 * 2011")->next(at("2011-01-01T00:00:00Z"), apia), std::nullopt);
}

TEST(CronSearch, TakesAnyInstantAndStaysInBounds) {
  const Cron cron = *Cron::parse("* * * * *");
  const Zone brussels = zone("Europe/Brussels");
  EXPECT_EQ(cron.next(Instant::min(), Zone::utc()), kFirstInstant);
  EXPECT_EQ(cron.previous(Instant::max(), Zone::utc()), at("2200-12-31T23:59:00Z"));
  EXPECT_EQ(cron.next(Instant::max(), brussels), std::nullopt);
  EXPECT_EQ(cron.previous(Instant::min(), brussels), std::nullopt);
  EXPECT_EQ(cron.count(Instant::max(), Instant::min(), brussels), 0);
  EXPECT_EQ(cron.count(Instant::min(), Instant::max(), Zone::utc()),
            (kEndInstant - kFirstInstant) / std::chrono::minutes(1));
  EXPECT_EQ(cron.next(at("2026-01-01T00:00:00.000001Z"), brussels), at("2026-01-01T00:01:00Z"));
  EXPECT_EQ(cron.next(at("2025-12-31T23:59:59.999999Z"), brussels), at("2026-01-01T00:00:00Z"));
  EXPECT_EQ(cron.previous(at("2026-01-01T00:00:00Z"), brussels), at("2026-01-01T00:00:00Z"));
  EXPECT_EQ(cron.previous(at("2025-12-31T23:59:59.999999Z"), brussels), at("2025-12-31T23:59:00Z"));
}

TEST(CronSearch, CountsYearsOfMinutes) {
  const Cron cron = *Cron::parse("* * * * *");
  // Real minutes pass, whatever the wall shows.
  EXPECT_EQ(cron.count(at("2021-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"), zone("Europe/Brussels")), 1826 * 1440);
  EXPECT_EQ(cron.count(at("2021-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"), zone("Australia/Lord_Howe")),
            1826 * 1440);
}

RC_GTEST_PROP(CronParse, NeverFailsInAnotherWayOnRandomBytes, (const std::string& text)) {
  const Result<Cron> read = Cron::parse(text);
  RC_ASSERT((read.ok() || (read.error().code == ErrorCode::invalid && read.error().message.size() < 400)));
}

RC_GTEST_PROP(CronParse, NeverFailsInAnotherWayOnCronLikeText, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789 \t*/,-LW#?+@MONFRIjandaily")));
  const Result<Cron> read = Cron::parse(text + " * * * *");
  RC_ASSERT((read.ok() || read.error().code == ErrorCode::invalid));
  if (read) RC_ASSERT(*Cron::parse(read->to_string()) == *read);
}

}  // namespace
}  // namespace eider::timing
