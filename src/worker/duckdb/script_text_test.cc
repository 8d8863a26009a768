#include "worker/duckdb/script_text.h"

#include <rapidcheck/gtest.h>

namespace eider::worker::duck {
namespace {

std::vector<std::string> pieces_of(std::string_view sql) {
  std::vector<std::string> texts;
  for (const Piece& piece : split_script(sql)) texts.emplace_back(sql.substr(piece.begin, piece.end - piece.begin));
  return texts;
}

TEST(SplitScript, knows_strings_identifiers_dollar_quotes_and_comments) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(pieces_of("select 1; select 2"), (Texts{"select 1", "select 2"}));
  EXPECT_EQ(pieces_of(" ;; -- a;b\n /* c; /* d; */ e; */ ;"), Texts{});
  EXPECT_EQ(pieces_of("-- a\nselect 'x;''y'; select \"a;\"\"b\" -- end"),
            (Texts{"select 'x;''y'", "select \"a;\"\"b\""}));
  EXPECT_EQ(pieces_of("select $$;$$; select $q$ $$ ; $q$; select $1; select e'\\';'"),
            (Texts{"select $$;$$", "select $q$ $$ ; $q$", "select $1", "select e'\\';'"}));
  EXPECT_EQ(pieces_of("select 'a\\'; select 'b'"), (Texts{"select 'a\\'", "select 'b'"}));
  EXPECT_EQ(pieces_of("select 'open; select 2"), (Texts{"select 'open; select 2"}));
  EXPECT_EQ(pieces_of("select 4-2/2; select 1"), (Texts{"select 4-2/2", "select 1"}));
}

RC_GTEST_PROP(SplitScript, pieces_are_in_order_inside_of_any_text, (const std::string& noise)) {
  std::size_t last = 0;
  for (const Piece& piece : split_script(noise)) {
    RC_ASSERT(piece.begin >= last && piece.end > piece.begin && piece.end <= noise.size());
    last = piece.end;
  }
}

TEST(FirstWord, is_in_lower_case) {
  EXPECT_EQ(first_word("  BeGin work", {2, 12}), "begin");
  EXPECT_EQ(first_word("(select 1)", {0, 10}), "");
  EXPECT_EQ(second_word("  Force /* ; */ -- x\nCheckPoint db", {2, 34}), "checkpoint");
  EXPECT_EQ(second_word("force install x", {0, 5}), "");
}

TEST(PlaceOf, counts_characters) {
  const std::string text = "a\näöü x";
  const Place place = place_of(text, text.find('x'));
  EXPECT_EQ(place.line, 2);
  EXPECT_EQ(place.column, 5);
  EXPECT_EQ(byte_of_character(text, 6), text.find('x'));
  EXPECT_EQ(byte_of_character(text, 700), text.size());
}

TEST(Excerpt, puts_the_caret_below_the_character) {
  const std::string text = "select 1;\n\tselect äö, nosuch;\r\nselect 2";
  EXPECT_EQ(excerpt(text, text.find("nosuch")), "  \tselect äö, nosuch;\n  \t           ^\n");
  EXPECT_EQ(excerpt("a", 1), "  a\n   ^\n");
  EXPECT_EQ(excerpt("", 0), "  \n  ^\n");
}

TEST(Excerpt, cuts_a_long_line_around_the_caret) {
  const std::string text = std::string(500, 'a') + "X" + std::string(500, 'b');
  const std::string shown = excerpt(text, 500);
  EXPECT_EQ(shown, "  …" + std::string(60, 'a') + "X" + std::string(99, 'b') + "…\n   " + std::string(60, ' ') + "^\n");
}

RC_GTEST_PROP(Excerpt, is_two_lines_for_any_text, (const std::string& noise, std::size_t byte)) {
  const std::string shown = excerpt(noise, byte % (noise.size() + 1));
  RC_ASSERT(std::count(shown.begin(), shown.end(), '\n') == 2);
  RC_ASSERT(shown.ends_with("^\n"));
}

TEST(ParseError, reads_position_as_bytes_or_for_syntax_errors_as_characters) {
  const std::string sql = "select 'ü' where from";
  const SqlError syntax = parse_error(
      R"(Parser Error: {"exception_type":"Parser","exception_message":"bad","error_subtype":"SYNTAX_ERROR","position":"17"})",
      sql);
  EXPECT_EQ(syntax.text(), "Parser Error: bad");
  EXPECT_EQ(syntax.position, sql.find("from"));
  const SqlError binder = parse_error(R"({"exception_type":"Binder","exception_message":"x","position":"9"})", sql);
  EXPECT_EQ(binder.position, 9U);
  EXPECT_FALSE(parse_error(R"({"exception_type":"Binder","exception_message":"x","position":"900"})", sql).position);
}

TEST(ParseError, keeps_what_is_not_json) {
  EXPECT_EQ(parse_error("Invalid Input Error: {no json", "x").text(), "Invalid Input Error: {no json");
  EXPECT_EQ(parse_error("{\"a\":1}", "x").text(), "{\"a\":1}");
  EXPECT_EQ(parse_error("", "").text(), "");
}

TEST(Quote, doubles_the_mark) {
  EXPECT_EQ(quote_literal("it's"), "'it''s'");
  EXPECT_EQ(quote_identifier("a\"b"), "\"a\"\"b\"");
}

}  // namespace
}  // namespace eider::worker::duck
