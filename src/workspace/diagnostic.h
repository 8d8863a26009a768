// What is wrong with a file of the workspace: where, what was expected, and how to mend it. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/yaml_tree.h"

namespace eider::workspace {

enum class Severity {
  error,    ///< the pipeline (or the whole workspace, for eider.yaml) is not loaded from this file
  warning,  ///< it is loaded, and probably not what was meant
};
const char* to_text(Severity value);

struct Diagnostic {
  std::string file;  ///< workspace-relative
  int line = 0;      ///< from 1; 0: the file as a whole
  int column = 0;    ///< from 1, in characters
  Severity severity = Severity::error;
  std::string key;          ///< `schedules[0].overlap`, or empty
  std::string message;      ///< without the key and the suggestion
  std::string suggestion;   ///< what was probably meant, or empty
  std::string source_line;  ///< the line of the file, cut after 160 characters; empty when there is none

  bool operator==(const Diagnostic&) const = default;
};

/// `pipelines/x.yaml:12:7: error: schedules[0].overlap: "skipp" is not one of …; did you mean "skip"?`
std::string format(const Diagnostic& diagnostic);
/// The same without the severity, for lines that show it themselves.
std::string format_without_severity(const Diagnostic& diagnostic);
/// The same, with the source line and a caret below it, for terminals.
std::string format_with_source(const Diagnostic& diagnostic);

/// Collects what is wrong with one file, at most 50 things (the rest is counted in a last line). One thread.
class Complaints {
 public:
  /// `source` must outlive this object.
  Complaints(std::string file, std::string_view source) : file_(std::move(file)), source_(source) {}

  void add(Severity severity, Mark mark, std::string key, std::string message, std::string suggestion = "");
  bool has_errors() const { return errors_ > 0; }
  /// What is added from now on is only counted.
  bool full() const;
  /// All of them, by line. Ends the collection.
  std::vector<Diagnostic> take();

 private:
  std::string line_text(int line) const;

  std::string file_;
  std::string_view source_;
  std::vector<Diagnostic> found_;
  std::size_t errors_ = 0;
  std::size_t left_off_ = 0;
};

}  // namespace eider::workspace
