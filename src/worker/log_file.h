// The log of one attempt, `<attempt>.log`: NDJSON lines `{at, step, stream, text}`, with `raw` (base64) where the
// bytes were not UTF-8 (design section 9), and `eol` where the line did not end with a plain line feed. Streams:
// stdout, stderr, and `eider` for the worker's own notes.
//
// Its size is bounded: the first part is written as it comes; from the limit on the newest megabyte is held in memory
// and written at the end, with a mark that says how much is missing. A reader is never behind more than the owner's
// flush() interval. Nothing is synced: the log is no part of the commit point. Who says nothing has no log: the file is
// made with the first line, because making files is what a short run's time goes into.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"

namespace eider::worker {

enum class Stream { out, err, eider };

/// One thread. A log that can't be written (full disk) does not fail the run: error() says so once it happened.
class LogFile {
 public:
  /// The longest end that is kept of a log that was cut.
  static constexpr std::int64_t tail_limit_bytes = 1024 * 1024;

  /// A flush asks for so much at least to be written to the disk: what a disk takes in a millisecond or two.
  static constexpr std::int64_t write_back_bytes = 256 * 1024;

  /// `limit_bytes` 0 or less: the default of 64 MiB.
  LogFile(std::string path, std::int64_t limit_bytes);

  /// `whole_bytes` over line.size(): the line was cut, and says so. `eol` is how the line ended; it is stored where it
  /// is not a plain line feed, so that the bytes can be given back as they were.
  void line(Instant at, std::string_view step, Stream stream, std::string_view line, std::int64_t whole_bytes,
            std::string_view eol = "\n");
  /// A note of the worker's own; several lines of text are several lines of the log.
  void note(Instant at, std::string_view step, std::string_view text);
  /// Whether flush() has something to do; the owner calls it at intervals then.
  bool has_unflushed() const { return !buffer_.empty() || owes_the_disk(); }
  void flush();
  /// Writes the kept end and closes the file.
  void finish(Instant at);
  const std::string& error() const { return error_; }

 private:
  void add(std::string entry, Instant at);
  void write_buffer();
  void write_back();
  bool owes_the_disk() const { return file_bytes_ - asked_bytes_ >= write_back_bytes; }

  std::string path_;  ///< empty once the file was made, or could not be
  UniqueFd file_;
  std::int64_t head_limit_bytes_;
  std::int64_t tail_limit_;
  std::int64_t written_bytes_ = 0;  ///< of the head, buffered ones included
  std::int64_t file_bytes_ = 0;
  std::int64_t asked_bytes_ = 0;  ///< of file_bytes_: the kernel was asked to write them to the disk
  std::string buffer_;
  bool cut_ = false;
  std::deque<std::string> tail_;
  std::int64_t tail_bytes_ = 0;
  std::int64_t dropped_lines_ = 0;
  std::int64_t dropped_bytes_ = 0;
  std::string error_;
};

}  // namespace eider::worker
