#include "worker/log_file.h"

#include <rapidcheck/gtest.h>

#include "worker/lines.h"
#include "worker/text.h"
#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using Lines = std::vector<std::pair<std::string, std::int64_t>>;

Lines split(const std::vector<std::string>& reads) {
  Lines lines;
  LineSplitter splitter;
  const auto take = [&](std::string_view line, std::int64_t bytes, std::string_view) {
    lines.emplace_back(line, bytes);
  };
  for (const std::string& read : reads) splitter.feed(read, take);
  splitter.finish(take);
  return lines;
}

TEST(Lines, AreWhatIsBetweenNewlines) {
  EXPECT_EQ(split({"a\nb", "c\r\n", "\nlast"}), (Lines{{"a", 1}, {"bc", 2}, {"", 0}, {"last", 4}}));
  EXPECT_EQ(split({""}), Lines{});
  EXPECT_EQ(split({"a\n"}), (Lines{{"a", 1}}));
}

TEST(Lines, ALongOneKeepsItsBeginningAndItsLength) {
  const std::string long_line(LineSplitter::kept_bytes + 1, 'x');
  std::vector<std::string> reads(1, long_line.substr(0, 1000));
  reads.push_back(long_line.substr(1000) + "\nend");
  const auto lines = split(reads);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].first.size(), LineSplitter::kept_bytes);
  EXPECT_EQ(lines[0].second, static_cast<std::int64_t>(long_line.size()));
  EXPECT_EQ(lines[1].first, "end");
  // The cut does not split a character.
  const std::string almost(LineSplitter::kept_bytes - 1, 'x');
  const std::vector<std::string> one_read(1, almost + "éé");
  EXPECT_EQ(split(one_read).at(0).first, almost);
}

RC_GTEST_PROP(Lines, DoNotDependOnTheReads, (const std::vector<std::string>& parts, bool newlines)) {
  std::string whole;
  std::vector<std::string> reads;
  for (const std::string& part : parts) {
    reads.push_back(newlines ? part + "\n" : part);
    whole += reads.back();
  }
  RC_ASSERT(split(reads) == split({whole}));
}

RC_GTEST_PROP(Lines, WithTheirEndsAreTheBytes, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::element('a', '\r', '\n', '\xff'));
  std::string joined;
  LineSplitter splitter;
  const auto take = [&](std::string_view line, std::int64_t, std::string_view eol) {
    joined += std::string(line) + std::string(eol);
  };
  splitter.feed(bytes, take);
  splitter.finish(take);
  RC_ASSERT(joined == bytes);
}

RC_GTEST_PROP(Text, AnyBytesAreAJsonStringAndValidOnesComeBack, (const std::string& bytes)) {
  std::string text;
  const bool valid = append_json_string(text, bytes);
  const auto value = boost::json::parse(text);
  if (valid) RC_ASSERT(std::string(value.as_string()) == bytes);
}

TEST(Text, OverlongFormsAndSurrogatesAreNoUtf8) {
  for (const char* bad : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8", "\xc3", "\x80"}) {
    std::string out;
    EXPECT_FALSE(append_json_string(out, bad)) << bad;
  }
  std::string out;
  EXPECT_TRUE(append_json_string(out, "é\xe2\x82\xac\xf0\x9f\x98\x80\x01\"\\"));
  EXPECT_EQ(out, "\"é€😀\\u0001\\\"\\\\\"");
}

TEST(Text, Base64) {
  for (const auto& [plain, encoded] :
       std::map<std::string, std::string>{{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}}) {
    std::string out;
    append_base64(out, plain);
    EXPECT_EQ(out, encoded);
  }
}

TEST(LogFile, KeepsBeginningAndEndWithinItsLimit) {
  const Workspace workspace;
  const std::string path = workspace.path("log");
  constexpr std::int64_t limit = 100'000;
  LogFile log(path, limit);
  constexpr int kLines = 20'000;
  for (int i = 0; i < kLines; ++i) log.line(from_us(i), "s", Stream::out, fmt::format("line {}", i), 0);
  log.finish(from_us(0));
  EXPECT_EQ(log.error(), "");
  EXPECT_LE(static_cast<std::int64_t>(std::filesystem::file_size(path)), limit);
  std::vector<std::string> texts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    texts.emplace_back(boost::json::parse(line).as_object().at("text").as_string());
  }
  EXPECT_EQ(texts.front(), "line 0");
  EXPECT_EQ(texts.back(), fmt::format("line {}", kLines - 1));
  // What is there and what is said to be missing is all there was.
  const auto mark =
      std::find_if(texts.begin(), texts.end(), [](const auto& text) { return text.ends_with("were cut here"); });
  ASSERT_NE(mark, texts.end());
  EXPECT_EQ(std::stoi(*mark) + static_cast<int>(texts.size()) - 2, kLines);
}

TEST(LogFile, CanBeReadBeforeTheEnd) {
  const Workspace workspace;
  LogFile log(workspace.path("log"), 0);
  log.note(from_us(0), "s", "one\ntwo\n");
  EXPECT_TRUE(log.has_unflushed());
  log.flush();
  EXPECT_FALSE(log.has_unflushed());
  EXPECT_EQ(workspace.read("log"),
            "{\"at\":\"1970-01-01T00:00:00Z\",\"step\":\"s\",\"stream\":\"eider\",\"text\":\"one\"}\n"
            "{\"at\":\"1970-01-01T00:00:00Z\",\"step\":\"s\",\"stream\":\"eider\",\"text\":\"two\"}\n");
}

TEST(LogFile, ALongOneGoesToTheDiskInPieces) {
  const Workspace workspace;
  LogFile log(workspace.path("log"), 0);
  const std::string line(1000, 'x');
  for (int i = 0; i < 1500; ++i) log.line(from_us(0), "s", Stream::out, line, 0);
  int flushes = 0;
  for (; log.has_unflushed(); ++flushes) log.flush();
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(workspace.path("log")));
  EXPECT_EQ(flushes, bytes / LogFile::write_back_bytes) << "what is less than a piece is left to the kernel";
  EXPECT_EQ(log.error(), "");
}

TEST(LogFile, IsMadeByItsFirstLine) {
  const Workspace workspace;
  {
    LogFile silent(workspace.path("silent"), 0);
    silent.flush();
    silent.finish(from_us(0));
    EXPECT_EQ(silent.error(), "");
  }
  EXPECT_FALSE(workspace.has("silent"));
  LogFile nowhere(workspace.path("missing/log"), 0);
  EXPECT_EQ(nowhere.error(), "");
  nowhere.note(from_us(0), "s", "x");
  nowhere.flush();
  EXPECT_NE(nowhere.error().find("missing/log"), std::string::npos);
}

TEST(LogFile, AFullDiskIsAnErrorItRemembers) {
  LogFile log("/dev/full", 0);
  log.note(from_us(0), "s", "x");
  log.flush();
  EXPECT_NE(log.error().find("No space left on device"), std::string::npos);
}

}  // namespace
}  // namespace eider::worker
