#include "workspace/words.h"

#include "workspace/diagnostic.h"
#include "workspace/files.h"

namespace eider::workspace {
namespace {

TEST(Words, ClosestFindsSlipsAndNothingElse) {
  const std::vector<std::string_view> words = {"skip", "queue", "replace", "allow"};
  EXPECT_EQ(closest("skipp", words), "skip");
  EXPECT_EQ(closest("SKIP", words), "skip");
  EXPECT_EQ(closest("quueue", words), "queue");
  EXPECT_EQ(closest("queeu", words), "queue") << "a swap is one slip";
  EXPECT_EQ(closest("forbid", words), "");
  EXPECT_EQ(closest("", words), "");
  EXPECT_EQ(closest(std::string(100'000, 'a'), words), "");
}

TEST(Words, ShownIsSafeAndShort) {
  EXPECT_EQ(shown("é\n\x01\xFF"), "é\\n\\x01\\xFF");
  EXPECT_EQ(shown(std::string(61, 'x')), fmt::format("{:x<60}…", ""));
}

TEST(Words, Utf8) {
  for (const std::string_view good : {"", "a", "é", "€", "\U0001F986", "\uFFFD"})
    EXPECT_TRUE(is_utf8_text(good)) << good;
  for (const std::string_view bad : {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                                     "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8_text(bad)) << shown(bad);
  }
  EXPECT_FALSE(is_utf8_text(std::string_view("a\0b", 3)));
}

TEST(Paths, NormalForm) {
  const std::pair<const char*, const char*> cases[] = {{"./a//b/../c/", "a/c"}, {"a/../../b", "../b"},
                                                       {"/../a", "/a"},         {".", ""},
                                                       {"../../x", "../../x"},  {"a/..b", "a/..b"}};
  for (const auto& [path, normal] : cases) EXPECT_EQ(normal_path(path), normal) << path;
}

TEST(Paths, Inside) {
  for (const char* good : {"a", "a/b", "..a", "a/../b", "./x"}) EXPECT_TRUE(check_inside(good).ok()) << good;
  for (const char* bad : {"", ".", "..", "../a", "a/../../b", "/a", "a/.."})
    EXPECT_FALSE(check_inside(bad).ok()) << bad;
  EXPECT_TRUE(is_within("/w/a", "/w"));
  EXPECT_TRUE(is_within("/a", "/"));
  EXPECT_FALSE(is_within("/abc", "/ab"));
}

TEST(Diagnostics, TextAndCaret) {
  Complaints complaints("pipelines/x.yaml", "a: 1\n\té: skipp\n");
  complaints.add(Severity::error, {2, 5}, "schedules[0].overlap", "\"skipp\" is not one of skip, queue", "skip");
  const Diagnostic one = complaints.take().front();
  EXPECT_EQ(format(one),
            "pipelines/x.yaml:2:5: error: schedules[0].overlap: \"skipp\" is not one of skip, queue; did you mean "
            "\"skip\"?");
  EXPECT_EQ(format_with_source(one), format(one) + "\n 2 | \té: skipp\n   | \t   ^");
}

TEST(Diagnostics, FollowTheLinesAndAreBounded) {
  Complaints complaints("f", "");
  for (int i = 60; i > 0; --i) complaints.add(Severity::warning, {i, 1}, "", "m");
  EXPECT_FALSE(complaints.has_errors());
  const auto all = complaints.take();
  ASSERT_EQ(all.size(), 51u);
  EXPECT_EQ(all[0].line, 11);
  EXPECT_EQ(format(all[50]), "f: warning: 10 more like these are not shown");
}

}  // namespace
}  // namespace eider::workspace
