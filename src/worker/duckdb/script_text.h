// The text of a SQL script: where its statements are, where an error is, and how to quote a value. Pure.
//
// DuckDB says how many statements a script has, but not where each one begins; this splitter does. It is only used to
// point at a place, and only where its count agrees with DuckDB's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eider::worker::duck {

/// One statement of the script, from its first token to before its semicolon. Bytes.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Splits at semicolons outside of '…', E'…', "…", $tag$…$tag$, -- and nested /* */ comments. Pieces that hold only
/// blanks and comments are left out. An unterminated one reaches to the end.
std::vector<Piece> split_script(std::string_view sql);
/// The first word of the piece in lower case; empty when it begins with no letter.
std::string first_word(std::string_view sql, Piece piece);
/// The one that follows it, after blanks and comments.
std::string second_word(std::string_view sql, Piece piece);

/// A place in a text, both from 1; the column counts characters (code points), not bytes.
struct Place {
  int line = 1;
  int column = 1;
};
Place place_of(std::string_view text, std::size_t byte);
/// The byte at which character number `characters` (from 0) begins; the size of the text when it has fewer.
std::size_t byte_of_character(std::string_view text, std::size_t characters);

/// The line that holds `byte` and, below it, a caret under that character; a line longer than 160 characters is cut
/// around the caret. Two lines, each with its newline and two blanks in front.
std::string excerpt(std::string_view text, std::size_t byte);

/// `'…'` with quotes doubled: DuckDB knows no escapes in it. For statements that take no parameters (ATTACH, SET).
/// The text must hold no NUL.
std::string quote_literal(std::string_view text);
/// `"…"` with quotes doubled. The text must hold no NUL.
std::string quote_identifier(std::string_view text);

/// What DuckDB says went wrong, from the message it gives under `errors_as_json`; any other text is a message only.
struct SqlError {
  std::string type;  ///< `Catalog`, `Out of Memory` …; empty when the text was not JSON
  std::string message;
  std::optional<std::size_t> position;  ///< byte in the whole script
  /// `Catalog Error: Table with name …`
  std::string text() const;
};
/// `sql` is the whole script: it turns the character count that syntax errors carry into bytes, and a position
/// outside of it is dropped.
SqlError parse_error(std::string_view text, std::string_view sql);

}  // namespace eider::worker::duck
