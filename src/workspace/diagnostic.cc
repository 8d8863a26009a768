#include "workspace/diagnostic.h"

#include <algorithm>

#include <fmt/format.h>

#include "workspace/words.h"

namespace eider::workspace {
namespace {

constexpr std::size_t kMostPerFile = 50;
constexpr std::size_t kLongestSourceLine = 160;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string place_of(const Diagnostic& diagnostic) {
  if (diagnostic.line <= 0) return diagnostic.file;
  return fmt::format("{}:{}:{}", diagnostic.file, diagnostic.line, diagnostic.column);
}

std::string said_by(const Diagnostic& diagnostic) {
  std::string out = diagnostic.key.empty() ? diagnostic.message : diagnostic.key + ": " + diagnostic.message;
  if (!diagnostic.suggestion.empty()) out += fmt::format("; did you mean \"{}\"?", diagnostic.suggestion);
  return out;
}

}  // namespace

const char* to_text(Severity value) { return value == Severity::error ? "error" : "warning"; }

std::string format(const Diagnostic& diagnostic) {
  return fmt::format("{}: {}: {}", place_of(diagnostic), to_text(diagnostic.severity), said_by(diagnostic));
}

std::string format_without_severity(const Diagnostic& diagnostic) {
  return fmt::format("{}: {}", place_of(diagnostic), said_by(diagnostic));
}

std::string format_with_source(const Diagnostic& diagnostic) {
  std::string out = format(diagnostic);
  if (diagnostic.line == 0 || diagnostic.source_line.empty()) return out;
  const std::string number = std::to_string(diagnostic.line);
  out += fmt::format("\n {} | {}", number, diagnostic.source_line);
  std::string below;
  int column = 0;
  for (const char c : diagnostic.source_line) {
    if (continues_character(c)) continue;
    if (++column >= diagnostic.column) break;
    below += c == '\t' ? '\t' : ' ';
  }
  if (column + 1 < diagnostic.column) return out;  // the place was cut off
  return out + fmt::format("\n {} | {}^", std::string(number.size(), ' '), below);
}

bool Complaints::full() const { return found_.size() >= kMostPerFile; }

void Complaints::add(Severity severity, Mark mark, std::string key, std::string message, std::string suggestion) {
  if (severity == Severity::error) ++errors_;
  if (full()) {
    ++left_off_;
    return;
  }
  found_.push_back(Diagnostic{file_, mark.line, mark.column, severity, std::move(key), std::move(message),
                              std::move(suggestion), line_text(mark.line)});
}

std::vector<Diagnostic> Complaints::take() {
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
  if (left_off_ > 0) {
    const Severity severity = errors_ > 0 ? Severity::error : Severity::warning;
    found_.push_back(
        Diagnostic{file_, 0, 0, severity, "", fmt::format("{} more like these are not shown", left_off_), "", ""});
  }
  return std::move(found_);
}

std::string Complaints::line_text(int line) const {
  if (line <= 0) return "";
  std::string_view rest = source_;
  for (; line > 1; --line) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return "";
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  if (rest.size() > kLongestSourceLine) {
    rest = rest.substr(0, kLongestSourceLine);
    while (!rest.empty() && continues_character(rest.back())) rest.remove_suffix(1);
    if (!rest.empty()) rest.remove_suffix(1);
  }
  // The line goes to a terminal and into JSON: bytes that are no text are not shown.
  for (const char c : rest) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return "";
  }
  return is_utf8_text(rest) ? std::string(rest) : "";
}

}  // namespace eider::workspace
