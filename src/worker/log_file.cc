#include "worker/log_file.h"

#include <fcntl.h>
#include <cerrno>

#include "worker/text.h"

namespace eider::worker {
namespace {

constexpr std::int64_t kDefaultLimitBytes = 64LL * 1024 * 1024;
constexpr std::size_t kBufferBytes = 64 * 1024;
/// A log of the default limit is at the disk after so many flushes; of a longer one, more is asked for at each.
constexpr std::int64_t kPieces = kDefaultLimitBytes / LogFile::write_back_bytes;
/// Kept free of the limit for the marks of a cut.
constexpr std::int64_t kMarksBytes = 1024;

const char* name_of(Stream stream) {
  return stream == Stream::out ? "stdout" : stream == Stream::err ? "stderr" : "eider";
}

std::string entry_of(Instant at, std::string_view step, Stream stream, std::string_view line, std::int64_t whole_bytes,
                     std::string_view eol = "\n") {
  std::string out;
  out.reserve(line.size() + 96);
  out += "{\"at\":\"";
  out += format_rfc3339(at);
  out += "\",\"step\":";
  append_json_string(out, step);
  out += ",\"stream\":\"";
  out += name_of(stream);
  out += "\",\"text\":";
  bool valid = append_json_string(out, line);
  if (whole_bytes > static_cast<std::int64_t>(line.size())) {
    out.pop_back();
    out += fmt::format(" … [cut: the line has {} bytes]\"", whole_bytes);
  }
  if (!valid) {
    out += ",\"raw\":\"";
    append_base64(out, line);
    out += '"';
  }
  if (eol != "\n") {
    out += ",\"eol\":";
    append_json_string(out, eol);
  }
  out += "}\n";
  return out;
}

}  // namespace

LogFile::LogFile(std::string path, std::int64_t limit_bytes) : path_(std::move(path)) {
  const std::int64_t limit = limit_bytes > 0 ? limit_bytes : kDefaultLimitBytes;
  tail_limit_ = std::min(tail_limit_bytes, limit / 4);
  head_limit_bytes_ = std::max<std::int64_t>(0, limit - tail_limit_ - kMarksBytes);
}

void LogFile::line(Instant at, std::string_view step, Stream stream, std::string_view line, std::int64_t whole_bytes,
                   std::string_view eol) {
  add(entry_of(at, step, stream, line, whole_bytes, eol), at);
}

void LogFile::note(Instant at, std::string_view step, std::string_view text) {
  while (true) {
    const std::size_t newline = text.find('\n');
    const std::string_view part = text.substr(0, newline);
    line(at, step, Stream::eider, part, static_cast<std::int64_t>(part.size()));
    if (newline == std::string_view::npos || newline + 1 == text.size()) return;
    text.remove_prefix(newline + 1);
  }
}

void LogFile::add(std::string entry, Instant at) {
  const auto bytes = static_cast<std::int64_t>(entry.size());
  if (!cut_ && written_bytes_ + bytes <= head_limit_bytes_) {
    written_bytes_ += bytes;
    buffer_ += entry;
    if (buffer_.size() >= kBufferBytes) write_buffer();
    return;
  }
  if (!cut_) {
    cut_ = true;
    buffer_ +=
        entry_of(at, "", Stream::eider,
                 "the log has reached its limit: from here on only its end is kept, and written when the run ends", 0);
    write_buffer();
  }
  tail_bytes_ += bytes;
  tail_.push_back(std::move(entry));
  while (tail_bytes_ > tail_limit_ && tail_.size() > 1) {
    const auto first = static_cast<std::int64_t>(tail_.front().size());
    tail_bytes_ -= first;
    dropped_bytes_ += first;
    ++dropped_lines_;
    tail_.pop_front();
  }
}

void LogFile::flush() {
  write_buffer();
  write_back();
}

void LogFile::write_buffer() {
  if (buffer_.empty()) return;
  if (!path_.empty()) {
    file_.reset(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!file_) error_ = io_error(path_, errno).message;
    path_.clear();
  }
  if (file_) {
    if (auto written = write_all(file_.get(), buffer_); !written && error_.empty()) error_ = written.error().message;
    file_bytes_ += static_cast<std::int64_t>(buffer_.size());
  }
  buffer_.clear();
}

/// Left to the kernel, a long log goes to the disk half a minute later in one piece, and a commit of the server waits
/// behind it. A piece at each flush is at the disk before that. Where the file can't be asked for it, it is as it was.
void LogFile::write_back() {
  if (!owes_the_disk()) return;
  const std::int64_t owed = file_bytes_ - asked_bytes_;
  const std::int64_t bytes = std::max(write_back_bytes, owed / kPieces);
  (void)::sync_file_range(file_.get(), asked_bytes_, bytes, SYNC_FILE_RANGE_WRITE);
  asked_bytes_ += bytes;
}

void LogFile::finish(Instant at) {
  if (dropped_lines_ > 0) {
    buffer_ += entry_of(at, "", Stream::eider,
                        fmt::format("{} lines ({} bytes) were cut here", dropped_lines_, dropped_bytes_), 0);
  }
  for (const std::string& entry : tail_) {
    buffer_ += entry;
    if (buffer_.size() >= kBufferBytes) write_buffer();
  }
  write_buffer();
  tail_.clear();
  file_.reset();
}

}  // namespace eider::worker
