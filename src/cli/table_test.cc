#include "cli/table.h"

#include <gtest/gtest.h>

#include "cli/text.h"

namespace eider::cli {
namespace {

struct CapturedTable {
  std::string text;
  Stream stream;
  explicit CapturedTable(Stream::Kind kind)
      : stream([this](std::string_view bytes) { return text += bytes, 0; }, kind) {}
};

TEST(Table, AlignsColumnsAndLeavesNoTrailingSpaces) {
  Table table({"NAME", "STATE", "WHY"});
  table.row({"a", "succeeded", ""});
  table.row({"long-name", "x", "because"});
  CapturedTable to({});
  table.print(to.stream);
  EXPECT_EQ(to.text,
            "NAME       STATE      WHY\n"
            "a          succeeded\n"
            "long-name  x          because\n");
}

TEST(Table, CutsTheWidestColumnsToTheTerminal) {
  Table table({"ID", "TEXT"});
  table.row({"12345678", std::string(100, 'x')});
  CapturedTable to({true, false, 30});
  table.print(to.stream);
  const std::string row = to.text.substr(to.text.find('\n') + 1);
  EXPECT_EQ(row, "12345678  " + std::string(19, 'x') + "…\n");
}

TEST(Table, TheFirstColumnIsNeverCut) {
  Table table({"ID", "TEXT"});
  table.row({std::string(36, 'i'), std::string(36, 'x')});
  CapturedTable to({true, false, 30});
  table.print(to.stream);
  const std::string row = fmt::format("{:i<36}  {:x<7}…\n", "", "");
  EXPECT_NE(to.text.find(row), std::string::npos) << to.text;
}

TEST(Table, AKeptColumnIsNeverCut) {
  Table table({"A", "ID", "TEXT"});
  table.row({"a", std::string(18, 'i'), std::string(18, 'x')});
  table.keep("ID");
  CapturedTable to({true, false, 32});
  table.print(to.stream);
  EXPECT_NE(to.text.find("a  " + std::string(18, 'i') + "  " + std::string(8, 'x') + "…\n"), std::string::npos)
      << to.text;
}

TEST(Table, DropsColumnsInWhichNothingStands) {
  Table table({"A", "B", "C", "D"});
  table.row({"1", "", "", ""});
  table.row({"2", "", "x", ""});
  table.drop_empty_columns();
  CapturedTable to({});
  table.print(to.stream);
  EXPECT_EQ(to.text, "A  C\n1\n2  x\n");
}

TEST(Table, PaintsOnlyTheTextAndOnlyWithColours) {
  Table table({"A", "B"});
  table.row({{"ok", Colour::green}, "b"});
  CapturedTable with({true, true, 80});
  table.print(with.stream);
  EXPECT_NE(with.text.find("\033[32mok\033[0m  b"), std::string::npos) << with.text;
  CapturedTable without({});
  table.print(without.stream);
  EXPECT_EQ(without.text.find('\033'), std::string::npos);
}

TEST(Table, CellsAreMadeSafe) {
  Table table({"A"});
  table.row({"\x1b]0;owned\x07"});
  CapturedTable to({true, false, 80});
  table.print(to.stream);
  EXPECT_EQ(to.text, "A\n\\x1b]0;owned\\x07\n");
}

TEST(Facts, AlignsAndIndentsSeveralLines) {
  Facts facts;
  facts.add("run", "x");
  facts.add("nothing", "");
  facts.add("error", "line 1\n  ^\x1b");
  CapturedTable to({});
  facts.print(to.stream);
  EXPECT_EQ(to.text, "run    x\nerror  line 1\n         ^\\x1b\n");
}

}  // namespace
}  // namespace eider::cli
