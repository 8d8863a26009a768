#include "cli/text.h"

#include <rapidcheck/gtest.h>
#include <boost/json.hpp>

namespace eider::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Text, ShowsWhatWouldSteerATerminal) {
  EXPECT_EQ(safe("plain über 日本 ✓"), "plain über 日本 ✓");
  EXPECT_EQ(safe("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(safe("a\nb\tc\r"), "a\\nb c\\x0d");
  EXPECT_EQ(safe("\xc2\x9b"
                 "31m"),
            "\\x9b31m");
  EXPECT_EQ(safe("evil\xe2\x80\xaetxt"), "evil\\u{202e}txt");
  EXPECT_EQ(safe("\xff\xc0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(safe("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate is no character";
  EXPECT_EQ(safe(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(safe_lines("a\n\tb\x07"), "a\n\tb\\x07");
}

TEST(Text, SafeJsonIsTheSameJson) {
  const std::string json = "{\"a\":\"\xc2\x9bx\x7f\xe2\x80\xae\"}\n";
  const std::string made = safe_json(json);
  EXPECT_EQ(made, "{\"a\":\"\\u009bx\\u007f\\u202e\"}\n");
  EXPECT_EQ(boost::json::parse(made), boost::json::parse(json));
}

RC_GTEST_PROP(TextLaws, SafeTextHasNoControlCharacters, (const std::string& text)) {
  const std::string made = safe(text);
  for (const char c : made) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  RC_ASSERT(safe(made) == made);
}

RC_GTEST_PROP(TextLaws, CutTextFits, (const std::string& text)) {
  const std::string made = safe(text);
  const auto columns = *rc::gen::inRange<std::size_t>(0, 40);
  const std::string shorter = cut(made, columns);
  RC_ASSERT(columns_of(shorter) <= columns);
  RC_ASSERT(columns_of(made) > columns || shorter == made);
}

TEST(Text, CountsColumns) {
  EXPECT_EQ(columns_of("über"), 4u);
  EXPECT_EQ(columns_of("日本"), 4u);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1u) << "a combining accent";
  EXPECT_EQ(cut("日本語", 4), "日…") << "half of a wide character does not fit";
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab…");
}

TEST(Text, RelativeTimes) {
  const Instant now = from_us(1'800'000'000'000'000);
  EXPECT_EQ(relative(now, now), "now");
  EXPECT_EQ(relative(now + seconds(3), now), "in 3 s");
  EXPECT_EQ(relative(now - seconds(59), now), "59 s ago");
  EXPECT_EQ(relative(now - minutes(2), now), "2 min ago");
  EXPECT_EQ(relative(now + hours(47), now), "in 47 h");
  EXPECT_EQ(relative(now - hours(48), now), "2 d ago");
  EXPECT_EQ(relative(now - hours(24 * 8), now), format_rfc3339(now - hours(24 * 8)).substr(0, 10));
}

TEST(Text, TimesOfTheServerAreShownInSeconds) {
  const Instant at = from_us(1'774'746'000'123'456);
  EXPECT_EQ(to_seconds(at), "2026-03-29T01:00:00Z");
  EXPECT_EQ(with_relative(at, at + seconds(5)), "2026-03-29T01:00:00Z (5 s ago)");
  EXPECT_EQ(to_millis("2026-03-29T01:00:00.123456+02:00"), "2026-03-29T01:00:00.123+02:00");
  EXPECT_EQ(to_millis("2026-03-29T01:00:00.123456"), "2026-03-29T01:00:00.123");
  for (const char* text : {"2026-03-29T01:00:00.500Z", "2026-03-29T01:00:00Z", ""}) EXPECT_EQ(to_millis(text), text);
}

TEST(Text, DurationsAndSizes) {
  EXPECT_EQ(took(milliseconds(850)), "850 ms");
  EXPECT_EQ(took(milliseconds(3250)), "3.2 s");
  EXPECT_EQ(took(seconds(125)), "2 min 5 s");
  EXPECT_EQ(took(minutes(200)), "3 h 20 min");
  EXPECT_EQ(took(hours(52)), "2 d 4 h");
  EXPECT_EQ(took(-seconds(5)), "0 ms") << "clocks are set back";
  EXPECT_EQ(counted(1, "schedule") + ", " + counted(2, "run"), "1 schedule, 2 runs");
  EXPECT_EQ(bytes(512), "512 B");
  EXPECT_EQ(bytes(1536 * 1024), "1.5 MiB");
  EXPECT_EQ(bytes(std::int64_t(45) << 20), "45 MiB");
}

}  // namespace
}  // namespace eider::cli
