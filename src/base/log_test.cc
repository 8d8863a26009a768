#include "base/log.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace eider {
namespace {

std::string written(log::Level level, std::string_view message) {
  testing::internal::CaptureStderr();
  log::write(level, message);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesOneLineWithTimeAndLevel) {
  const std::string line = written(log::Level::warning, "pool heavy is full");
  const std::size_t space = line.find(' ');
  ASSERT_NE(space, std::string::npos) << line;
  EXPECT_TRUE(parse_rfc3339(line.substr(0, space)).ok()) << line;
  EXPECT_EQ(line.substr(space), " warning    pool heavy is full\n");
}

TEST(Log, ForeignTextForgesNoLineAndSteersNoTerminal) {
  const std::string line = written(log::Level::error, "a\nb\x1b[31m");
  EXPECT_NE(line.find("a\\nb\\x1b[31m\n"), std::string::npos) << line;
}

TEST(Log, TakesTextAsItIs) {
  EXPECT_NE(written(log::Level::info, "100 % {} {0} %v é").find(" 100 % {} {0} %v é\n"), std::string::npos);
}

TEST(Log, LeavesOutWhatIsBelowTheLevel) {
  EXPECT_EQ(written(log::Level::debug, "x"), "");
  log::set_level(log::Level::debug);
  EXPECT_NE(written(log::Level::debug, "x"), "");
  log::set_level(log::Level::error);
  EXPECT_EQ(written(log::Level::warning, "x"), "");
  log::set_level(log::Level::info);
}

}  // namespace
}  // namespace eider
