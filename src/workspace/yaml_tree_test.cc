#include "workspace/yaml_tree.h"

#include <rapidcheck/gtest.h>

namespace eider::workspace {
namespace {

using Kind = YamlValue::Kind;

YamlTree good(std::string_view text) {
  auto parsed = YamlTree::parse(text);
  if (auto* problem = std::get_if<YamlProblem>(&parsed)) {
    ADD_FAILURE() << text << ": " << problem->message;
    return std::get<YamlTree>(YamlTree::parse(""));
  }
  return std::get<YamlTree>(std::move(parsed));
}

std::string bad(std::string_view text, const YamlLimits& limits = {}) {
  auto parsed = YamlTree::parse(text, limits);
  const auto* problem = std::get_if<YamlProblem>(&parsed);
  if (problem == nullptr) return "accepted";
  return fmt::format("{}:{} {}", problem->mark.line, problem->mark.column, problem->message);
}

TEST(YamlTree, KeepsOrderMarksAndQuotes) {
  const YamlTree simple = good("a: 1\nb:\n  - 'x'\n  - {c: ~}\nd: |\n  text\né: \"2\"\n");
  const YamlValue root = simple.root();
  ASSERT_EQ(root.kind(), Kind::map);
  EXPECT_EQ(root.size(), 4u);
  EXPECT_EQ(root.first().key(), "a");
  EXPECT_FALSE(root.first().quoted());
  EXPECT_EQ(root.find("b").at(0).text(), "x");
  EXPECT_TRUE(root.find("b").at(0).quoted());
  EXPECT_EQ(root.find("b").at(1).mark(), (Mark{4, 5}));
  EXPECT_EQ(root.find("b").at(1).find("c").kind(), Kind::null);
  EXPECT_EQ(root.find("b").at(1).find("c").key_mark(), (Mark{4, 6}));
  EXPECT_EQ(root.find("d").first_line(), 6);
  EXPECT_EQ(root.find("d").text(), "text\n");
  EXPECT_EQ(root.find("é").text(), "2");
  EXPECT_EQ(root.find("é").mark(), (Mark{7, 4})) << "columns count characters";
  EXPECT_FALSE(root.find("no"));
  EXPECT_FALSE(root.find("b").at(2));
}

TEST(YamlTree, TextBeginsOnALineOfTheFileOnlyWhereItsLinesAreThoseOfTheFile) {
  struct Case {
    const char* text;
    int first_line;
  };
  for (const auto& [text, first_line] : std::initializer_list<Case>{
           {"a: x", 1},
           {"a:\n  x", 2},
           {"a: 'x'", 1},
           {"a: \"x\"", 1},
           {"# c\na: |\n  x\n  y\n", 3},
           {"a: |2-\n\n   x\n", 2},
           {"a: >\n  x\n  y\n", 0},
           {"a: >-\n  x\n", 0},
           {"a: x\n  y", 0},
           {"a: 'x\n  y'", 0},
           {"a: \"x\\\n  y\"", 0},
           {"a: \"x\\ny\"", 0},
           {"[{a: x}]", 1},
       }) {
    const YamlTree tree = good(text);
    const YamlValue map = tree.root().kind() == Kind::list ? tree.root().at(0) : tree.root();
    EXPECT_EQ(map.find("a").first_line(), first_line) << text;
  }
}

TEST(YamlTree, EmptyTextIsNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "~", "null", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(good(text).root().kind(), Kind::null) << text;
  }
  EXPECT_EQ(good("''").root().kind(), Kind::scalar);
  EXPECT_EQ(good("\xEF\xBB\xBF"
                 "a: b")
                .root()
                .find("a")
                .text(),
            "b");
}

TEST(YamlTree, AByteOrderMarkIsNoPartOfTheText) {
  const std::string mark = "\xEF\xBB\xBF";
  const YamlTree tree = good(mark + "pipeline: p\nsteps:\n  - id: s\n");
  EXPECT_EQ(tree.root().size(), 2u);
  EXPECT_EQ(tree.root().first().key(), "pipeline");
  EXPECT_EQ(tree.root().first().key_mark(), (Mark{1, 1}));
  EXPECT_EQ(tree.root().first().mark(), (Mark{1, 11}));
  EXPECT_EQ(tree.root().find("steps").key_mark(), (Mark{2, 1}));
  EXPECT_EQ(bad(mark + "a: &x 1\n"), "1:4 anchors (&x) are not supported: quote a text that begins with \"&\"");
  EXPECT_EQ(bad(mark + "a: \xFF\n"), "1:4 the file is not valid UTF-8 (byte 0xFF); save it as UTF-8");
  EXPECT_EQ(bad(mark + "%YAML 1.2\n"), "1:1 YAML directives (%) are not supported");
}

TEST(YamlTree, SaysInWordsWhatIsRefused) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a: 1\nb: 2\na: 3\n", "3:1 the key \"a\" is here twice; the first is on line 1"},
      {"a: {x: 1, y: 2, x: 3, y: 4}", "1:17 the key \"x\" is here twice; the first is on line 1"},
      {"a: &x 1\nb: *x\n", "1:4 anchors (&x) are not supported: quote a text that begins with \"&\""},
      {"b: *x\n", "1:4 aliases (*x) are not supported: write the value out, or quote a text that begins with \"*\""},
      {"c: */5 * * * *\n", "1:4 a value that begins with \"*\" must be quoted, as in cron: \"*/5 * * * *\""},
      {"c: * * * * *\n", "1:4 a value that begins with \"*\" must be quoted, as in cron: \"*/5 * * * *\""},
      {"c: @hourly\n", "1:4 a value that begins with \"@\" must be quoted, as in cron: \"@hourly\""},
      {"c: `x`\n", "1:4 a value that begins with \"`\" must be quoted"},
      {"a: !!str 1\n",
       "1:4 tags (!) are not supported: quote a value to make it text, also one that begins with \"!\""},
      {"a: 1\n---\nb: 2\n", "2:1 a second document begins; a file holds one"},
      {"%YAML 1.2\n---\na: 1\n", "1:1 YAML directives (%) are not supported"},
      {"a: 1\n...\n%TAG ! !\n", "3:1 a line can't begin with \"%\": YAML directives are not supported"},
      {"a:\n\tb: 1\n", "2:1 a tab is used for indentation; YAML allows only spaces there"},
      {"a:\n  b: 1\n\tc: 2\n", "3:1 a tab is used for indentation; YAML allows only spaces there"},
      {"a:\n  - x\n\t- y\n", "3:1 a tab is used for indentation; YAML allows only spaces there"},
      {"a: 1\n  b: 2\n",
       "2:4 a key is not allowed here; check the indentation, and quote a value that contains \": \""},
      {"a: x: y\n", "1:5 a key is not allowed here; check the indentation, and quote a value that contains \": \""},
      {"a:\n  b: 1\n c: 2\n", "3:2 the indentation does not fit the map that begins on line 1, or a \":\" is missing"},
      {"a: [1, 2\nb: 3\n", "2:2 expected \",\" or \"]\" in the list that begins on line 1"},
      {"a: {b: 1\nc: 3\n", "2:2 expected \",\" or \"}\" in the map that begins on line 1"},
      {"a: \"open\nb: 3\n", "3:1 the file ends inside the quoted text that begins on line 1"},
      {"a: 1\nb\n", "3:1 expected \": \" after the key that begins on line 2"},
      {"? [a]\n: 1\n", "1:3 a key must be a plain text, not a list or a map"},
      {"\"\": 1\n", "1:1 a key is missing before \":\""},
      {"a: \xFF\n", "1:4 the file is not valid UTF-8 (byte 0xFF); save it as UTF-8"},
      {"é: x\x01\n", "1:5 the character U+0001 is not allowed in a YAML file; in a quoted text write it as an escape"},
      {std::string_view("a: b\0c", 6),
       "1:5 the character U+0000 is not allowed in a YAML file; in a quoted text write it as an escape"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(bad(text), expected) << text;
}

TEST(YamlTree, StopsAtItsLimits) {
  // Without the limits, libyaml spends minutes on each of these.
  EXPECT_EQ(bad(std::string(200'000, '[')), "1:65 nested deeper than 64 levels");
  std::string maps;
  for (int i = 0; i < 100'000; ++i) maps += "{a: ";
  EXPECT_EQ(bad(maps), "1:257 nested deeper than 64 levels");
  std::string lists;
  for (int i = 0; i < 100'000; ++i) lists += "- ";
  EXPECT_EQ(bad(lists), "1:129 nested deeper than 64 levels");
  std::string directives;
  for (int i = 0; i < 200'000; ++i) directives += "%TAG !" + std::to_string(i) + "! x\n";
  EXPECT_EQ(bad(directives), "1:1 YAML directives (%) are not supported");
  EXPECT_EQ(bad("[1, 2, 3]", YamlLimits{.depth = 64, .nodes = 3}), "1:8 the file has more than 3 values");
  EXPECT_EQ(bad("[1, 2]", YamlLimits{.depth = 64, .nodes = 3}), "accepted");
}

TEST(YamlTree, ManyKeysInOneMap) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += fmt::format("k{}: {}\n", i, i);
  EXPECT_EQ(good(text).root().size(), 50'000u);
  EXPECT_EQ(bad(text + "k7: 1\n"), "50001:1 the key \"k7\" is here twice; the first is on line 8");
}

void walk(YamlValue value, std::size_t& count) {
  ++count;
  std::size_t inner = 0;
  for (YamlValue child = value.first(); child; child = child.next()) {
    walk(child, count);
    ++inner;
    RC_ASSERT(child.mark().line >= 1 && child.mark().column >= 1);
  }
  RC_ASSERT(inner == value.size());
}

RC_GTEST_PROP(YamlTreeProperty, AnyPiecesEndInATreeOrAPlaceInTheText, ()) {
  // Pieces that mean something to YAML find more than bytes alone.
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::oneOf(rc::gen::elementOf(std::vector<std::string>{"a",
                                                                 ": ",
                                                                 "- ",
                                                                 "\n",
                                                                 "  ",
                                                                 "\n  ",
                                                                 "\n- ",
                                                                 "[",
                                                                 "]",
                                                                 "{",
                                                                 "}",
                                                                 ",",
                                                                 "'",
                                                                 "\"",
                                                                 "|\n",
                                                                 ">",
                                                                 "&x ",
                                                                 "*x",
                                                                 "!",
                                                                 "#",
                                                                 "? ",
                                                                 "%",
                                                                 "---\n",
                                                                 "...\n",
                                                                 "\t",
                                                                 "~",
                                                                 "\\x41",
                                                                 "é",
                                                                 "\r",
                                                                 "\xC3",
                                                                 std::string(1, '\0')}),
                     rc::gen::container<std::string>(rc::gen::arbitrary<char>())));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  auto parsed = YamlTree::parse(text);
  if (const auto* tree = std::get_if<YamlTree>(&parsed)) {
    std::size_t count = 0;
    walk(tree->root(), count);
    RC_ASSERT(count <= text.size() + 1);
  } else {
    const auto& problem = std::get<YamlProblem>(parsed);
    RC_ASSERT(!problem.message.empty());
    RC_ASSERT(problem.mark.line >= 1);
    RC_ASSERT(problem.mark.line <= 2 + static_cast<int>(text.size()));
  }
}

}  // namespace
}  // namespace eider::workspace
