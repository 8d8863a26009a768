#include "base/utf8.h"

#include <gtest/gtest.h>

namespace eider {
namespace {

std::string encoded(char32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80U | (point >> shift & 0x3FU)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xC0U | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xE0U | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointAndNoSurrogate) {
  for (char32_t point = 0; point <= 0x110000; ++point) {
    const std::string text = encoded(point) + "x";
    const bool valid = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
    const Utf8Character found = first_character(text);
    ASSERT_EQ(found.length, valid ? text.size() - 1 : 0) << static_cast<unsigned>(point);
    ASSERT_EQ(found.point, valid ? point : 0);
    ASSERT_EQ(is_utf8(text), valid) << static_cast<unsigned>(point);
  }
}

TEST(Utf8, WhatIsNoCharacter) {
  const std::string_view none[] = {
      "\x80", "\xBF", "\xC0\x80", "\xC1\xBF",     "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF5\x80\x80\x80",
      "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3\x28",     "\xE2\x28\xA1",     "\xF0\x9F\x28\x80"};
  for (const std::string_view text : none) {
    EXPECT_EQ(first_character(text).length, 0U) << testing::PrintToString(std::string(text));
    EXPECT_FALSE(is_utf8(text));
    EXPECT_TRUE(is_utf8(made_utf8(text)));
  }
}

TEST(Utf8, EachWrongByteIsReplacedAndTheRestStays) {
  EXPECT_EQ(made_utf8("a\xC3\xA9\xFF\xE2\x82z"), "a\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(made_utf8(""), "");
  EXPECT_TRUE(is_utf8(""));
}

}  // namespace
}  // namespace eider
