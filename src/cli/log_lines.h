// The log of a run as people read it: one line a line, with its time, step and text. One thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/screen.h"

namespace eider::cli {

class LogLines {
 public:
  enum class Form {
    people,  ///< `01:00:05Z build | text`, in UTC, always without control characters
    json,    ///< the lines as they are
    raw,     ///< bytes that are no lines of JSON; made safe where `out` is a terminal
  };
  LogLines(Stream& out, Form form) : out_(out), form_(form) {}

  /// The next bytes, cut anywhere. False: nobody reads any more.
  bool take(std::string_view bytes);
  /// What is left without a line end.
  void finish();
  bool any() const { return any_; }

 private:
  void line(std::string_view line);

  Stream& out_;
  Form form_;
  std::string partial_;
  std::size_t step_width_ = 5;  ///< of the longest name so far; `eider` may come at any time
  bool any_ = false;
};

}  // namespace eider::cli
