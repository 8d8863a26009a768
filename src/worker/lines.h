// A stream of bytes as lines, whatever the reads cut it into. Memory is bounded: of a long line only the beginning is
// kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace eider::worker {

/// One stream of one step. One thread.
class LineSplitter {
 public:
  static constexpr std::size_t kept_bytes = 64 * 1024;

  /// `line` has no newline (and no carriage return before it); `whole_bytes` is its full length where only the
  /// beginning was kept, else line.size(); `eol` is how it ended: "\n", "\r\n", or nothing at the end of the stream.
  /// The views are valid during the call.
  using OnLine = std::function<void(std::string_view line, std::int64_t whole_bytes, std::string_view eol)>;

  void feed(std::string_view bytes, const OnLine& on_line);
  /// The stream is at its end: what it holds without a newline is a line too.
  void finish(const OnLine& on_line);

 private:
  void emit(std::string_view line, std::int64_t whole_bytes, std::string_view eol, const OnLine& on_line);

  std::string partial_;             ///< the beginning of the line that is not at its end yet
  std::int64_t partial_bytes_ = 0;  ///< its length so far
};

}  // namespace eider::worker
