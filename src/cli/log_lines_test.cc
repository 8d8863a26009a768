#include "cli/log_lines.h"

#include <gtest/gtest.h>

namespace eider::cli {
namespace {

struct Capture {
  std::string text;
  Stream stream;
  explicit Capture(bool terminal)
      : stream([this](std::string_view bytes) { return text += bytes, 0; }, {terminal, false, 80}) {}
};

constexpr const char* kLines = R"({"at":"2026-03-29T01:00:05.5Z","step":"build","stream":"stdout","text":"one\tA"})"
                               "\n"
                               R"({"at":"2026-03-29T01:00:06Z","step":"b","stream":"stderr","text":"\u001b[2Jgone\r"})"
                               "\n";

TEST(LogLines, ShowsTimeStepAndText) {
  Capture to(false);
  LogLines lines(to.stream, LogLines::Form::people);
  lines.take(kLines);
  EXPECT_EQ(to.text, "01:00:05Z build | one\tA\n01:00:06Z b     | \\x1b[2Jgone\\x0d\n");
}

TEST(LogLines, WhatConcernsTheRunItselfIsEidersAndMovesNothing) {
  Capture to(false);
  LogLines lines(to.stream, LogLines::Form::people);
  lines.take(R"({"at":"2026-03-29T01:00:05Z","step":"a","stream":"stdout","text":"x"})"
             "\n"
             R"({"at":"2026-03-29T01:00:06Z","step":"","stream":"eider","text":"timed out after 2h"})"
             "\n");
  EXPECT_EQ(to.text, "01:00:05Z a     | x\n01:00:06Z eider | timed out after 2h\n");
}

TEST(LogLines, BytesMayBeCutAnywhere) {
  Capture to(false);
  LogLines lines(to.stream, LogLines::Form::people);
  for (const char c : std::string(kLines)) lines.take({&c, 1});
  EXPECT_EQ(to.text, "01:00:05Z build | one\tA\n01:00:06Z b     | \\x1b[2Jgone\\x0d\n");
}

TEST(LogLines, WhatIsNoLineOfJsonIsShownAsItIs) {
  Capture to(false);
  LogLines lines(to.stream, LogLines::Form::people);
  lines.take("not json \x1b[1m\n[1]\n{\"text\":7}\n");
  EXPECT_EQ(to.text, "not json \\x1b[1m\n[1]\n      | 7\n");
}

TEST(LogLines, JsonPassesThrough) {
  Capture to(false);
  LogLines lines(to.stream, LogLines::Form::json);
  lines.take(kLines);
  EXPECT_EQ(to.text, kLines);
}

TEST(LogLines, RawBytesAreKeptInAFileAndMadeSafeOnATerminal) {
  const std::string bytes("a\x1b[1m\xff\0b", 8);
  Capture file(false);
  LogLines to_file(file.stream, LogLines::Form::raw);
  to_file.take(bytes);
  to_file.finish();
  EXPECT_EQ(file.text, bytes);
  Capture screen(true);
  LogLines to_screen(screen.stream, LogLines::Form::raw);
  to_screen.take(bytes);
  to_screen.finish();
  EXPECT_EQ(screen.text, "a\\x1b[1m\\xff\\x00b\n");
}

}  // namespace
}  // namespace eider::cli
