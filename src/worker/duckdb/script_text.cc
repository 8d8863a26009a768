#include "worker/duckdb/script_text.h"

#include <charconv>

#include <boost/json.hpp>

namespace eider::worker::duck {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0; }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '$'; }

/// Reads the script token by token; each skip_ function starts at the token and returns the byte after it.
class Scanner {
 public:
  explicit Scanner(std::string_view sql) : sql_(sql) {}

  char at(std::size_t i) const { return i < sql_.size() ? sql_[i] : '\0'; }

  /// The byte after the blank, comment, string, word or single character at `i`.
  std::size_t skip_token(std::size_t i) const {
    const char c = sql_[i];
    if (c == '\'') return skip_quoted(i, '\'', false);
    if (c == '"') return skip_quoted(i, '"', false);
    if (c == '$') return skip_dollar(i);
    if (is_comment(i)) return skip_comment(i);
    if ((c == 'e' || c == 'E') && at(i + 1) == '\'') return skip_quoted(i + 1, '\'', true);
    if (is_letter(c)) {
      while (i < sql_.size() && is_word(sql_[i])) ++i;
      return i;
    }
    return i + 1;
  }

  bool is_comment(std::size_t i) const {
    return (at(i) == '-' && at(i + 1) == '-') || (at(i) == '/' && at(i + 1) == '*');
  }

 private:
  std::size_t skip_quoted(std::size_t i, char quote, bool backslash) const {
    for (++i; i < sql_.size(); ++i) {
      if (backslash && sql_[i] == '\\') {
        ++i;
      } else if (sql_[i] == quote) {
        if (at(i + 1) != quote) return i + 1;
        ++i;
      }
    }
    return sql_.size();
  }

  std::size_t skip_dollar(std::size_t i) const {
    std::size_t end = i + 1;
    while (end < sql_.size() && sql_[end] != '$' && is_word(sql_[end])) ++end;
    const char first = at(i + 1);
    if (at(end) != '$' || (first >= '0' && first <= '9')) return i + 1;  // $1 or $name: a parameter
    const std::string_view tag = sql_.substr(i, end + 1 - i);
    const std::size_t close = sql_.find(tag, end + 1);
    return close == std::string_view::npos ? sql_.size() : close + tag.size();
  }

  std::size_t skip_comment(std::size_t i) const {
    if (sql_[i] == '-') {
      const std::size_t end = sql_.find_first_of("\r\n", i);
      return end == std::string_view::npos ? sql_.size() : end + 1;
    }
    int depth = 0;
    while (i < sql_.size()) {
      if (sql_[i] == '/' && at(i + 1) == '*') {
        ++depth;
        i += 2;
      } else if (sql_[i] == '*' && at(i + 1) == '/') {
        i += 2;
        if (--depth == 0) return i;
      } else {
        ++i;
      }
    }
    return sql_.size();
  }

  std::string_view sql_;
};

std::string quote(std::string_view text, char mark) {
  std::string quoted(1, mark);
  for (const char c : text) {
    if (c == mark) quoted += mark;
    quoted += c;
  }
  return quoted += mark;
}

const boost::json::string* text_field(const boost::json::object& object, std::string_view name) {
  const boost::json::value* field = object.if_contains(name);
  return field ? field->if_string() : nullptr;
}

}  // namespace

std::vector<Piece> split_script(std::string_view sql) {
  const Scanner scanner(sql);
  std::vector<Piece> pieces;
  std::optional<Piece> open;
  for (std::size_t i = 0; i < sql.size();) {
    const std::size_t next = std::min(scanner.skip_token(i), sql.size());
    if (sql[i] == ';') {
      if (open) pieces.push_back(*open);
      open.reset();
    } else if (!is_blank(sql[i]) && !scanner.is_comment(i)) {
      if (!open) open = Piece{i, next};
      open->end = next;
    }
    i = next;
  }
  if (open) pieces.push_back(*open);
  return pieces;
}

std::string first_word(std::string_view sql, Piece piece) {
  std::string word;
  for (std::size_t i = piece.begin; i < piece.end && is_letter(sql[i]); ++i) {
    const char c = sql[i];
    word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

std::string second_word(std::string_view sql, Piece piece) {
  sql = sql.substr(piece.begin, piece.end - piece.begin);
  sql.remove_prefix(first_word(sql, {0, sql.size()}).size());
  const std::vector<Piece> rest = split_script(sql);
  return rest.empty() ? std::string() : first_word(sql, rest.front());
}

Place place_of(std::string_view text, std::size_t byte) {
  Place place;
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (!is_continuation(text[i])) {
      ++place.column;
    }
  }
  return place;
}

std::size_t byte_of_character(std::string_view text, std::size_t characters) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_continuation(text[i])) continue;
    if (characters-- == 0) return i;
  }
  return text.size();
}

std::string excerpt(std::string_view text, std::size_t byte) {
  byte = std::min(byte, text.size());
  const std::size_t before = byte == 0 ? std::string_view::npos : text.rfind('\n', byte - 1);
  std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::size_t end = std::min(text.find('\n', byte), text.size());
  if (end > begin && text[end - 1] == '\r' && byte < end) --end;

  constexpr std::size_t keep_before = 60, keep_after = 100;  // bytes, widened to whole characters
  std::string line = "  ", caret = "  ";
  if (byte - begin > keep_before) {
    begin = byte - keep_before;
    while (is_continuation(text[begin])) --begin;
    line += "…";
    caret += ' ';
  }
  const bool cut = end - byte > keep_after;
  if (cut) {
    end = byte + keep_after;
    while (is_continuation(text[end])) --end;
  }
  line += text.substr(begin, end - begin);
  if (cut) line += "…";
  for (std::size_t i = begin; i < byte; ++i) {
    if (!is_continuation(text[i])) caret += text[i] == '\t' ? '\t' : ' ';  // a tab is as wide below as above
  }
  return line + "\n" + caret + "^\n";
}

std::string quote_literal(std::string_view text) { return quote(text, '\''); }
std::string quote_identifier(std::string_view text) { return quote(text, '"'); }

std::string SqlError::text() const { return type.empty() ? message : type + " Error: " + message; }

SqlError parse_error(std::string_view text, std::string_view sql) {
  SqlError error;
  error.message = text;
  const std::size_t brace = text.find('{');  // the parser puts "Parser Error: " in front
  if (brace == std::string_view::npos || brace > 40) return error;
  boost::json::error_code failed;
  const boost::json::value parsed = boost::json::parse(text.substr(brace), failed);
  const boost::json::object* object = failed ? nullptr : parsed.if_object();
  const boost::json::string* type = object ? text_field(*object, "exception_type") : nullptr;
  const boost::json::string* message = object ? text_field(*object, "exception_message") : nullptr;
  if (!type || !message) return error;
  error.type = *type;
  error.message = *message;
  if (const boost::json::string* position = text_field(*object, "position")) {
    std::size_t value = 0;
    const auto [end, bad] = std::from_chars(position->data(), position->data() + position->size(), value);
    const boost::json::string* subtype = text_field(*object, "error_subtype");
    // The grammar counts characters, the binder bytes (measured on 1.5.6).
    if (subtype && *subtype == "SYNTAX_ERROR") value = byte_of_character(sql, value);
    if (bad == std::errc() && end == position->data() + position->size() && value <= sql.size()) {
      error.position = value;
    }
  }
  return error;
}

}  // namespace eider::worker::duck
