#include "api/log_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

#include "api/shapes.h"

namespace eider::api {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
/// A line is cut by the worker long before this; what is longer is no log of ours.
constexpr std::size_t kLineLimitBytes = 4 * 1024 * 1024;

}  // namespace

LogStream::LogStream(store::Reader& reader, wire::Layout layout, LogRequest request)
    : reader_(reader), layout_(std::move(layout)), request_(std::move(request)) {}

Result<BodyStream::Chunk> LogStream::read() {
  Chunk chunk;
  while (true) {
    auto chosen = choose_attempt();
    if (!chosen) return chosen.error();
    if (!*chosen) {
      auto over = run_is_over();
      if (!over) return over.error();
      chunk.done = !request_.follow || *over;
      // A claim may have come between the two looks.
      if (chunk.done && request_.follow) {
        auto again = choose_attempt();
        if (!again) return again.error();
        if (*again) continue;
      }
      return chunk;
    }
    auto progress = read_lines(chunk.bytes);
    if (!progress) return progress.error();
    if (*progress != Progress::end) return chunk;
    if (request_.attempt || !request_.follow) {
      chunk.done = true;
      return chunk;
    }
    // This attempt is told; the next one, if any, begins at its first line.
    file_.reset();
    torn_.clear();
    offset_ = 0;
    over_ = false;
    request_.after_bytes = 0;
    told_ = attempt_;
    attempt_ = 0;
  }
}

/// False: there is no attempt to read (yet).
Result<bool> LogStream::choose_attempt() {
  if (attempt_ > 0) return true;
  int number = request_.attempt.value_or(0);
  if (number == 0) {
    auto run = reader_.run(request_.run_id);
    if (!run) return run.error();
    if (!*run) return Error{ErrorCode::not_found, "the run " + request_.run_id + " is gone"};
    if ((*run)->attempt <= told_) return false;
    number = told_ == 0 ? (*run)->attempt : told_ + 1;
  }
  attempt_ = number;
  offset_ = request_.after_bytes;
  over_ = !request_.follow;
  return true;
}

Result<bool> LogStream::run_is_over() {
  auto run = reader_.run(request_.run_id);
  if (!run) return run.error();
  return !*run || model::is_terminal((*run)->state);
}

Result<bool> LogStream::attempt_is_over() {
  auto run = reader_.run(request_.run_id);
  if (!run) return run.error();
  if (!*run || (*run)->attempt > attempt_) return true;
  return (*run)->attempt == attempt_ && (*run)->state != model::RunState::running;
}

void LogStream::open_file() {
  if (file_) return;
  const std::string path = wire::Layout::attempt_log(layout_.run_folder(request_.run_id), attempt_);
  file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file_ || offset_ == 0) return;
  // At the first byte of a line, or within one? The byte before tells.
  --offset_;
  skip_line_ = true;
}

Result<LogStream::Progress> LogStream::read_lines(std::string& out) {
  while (true) {
    open_file();
    ssize_t size = 0;
    if (file_) {
      const std::size_t kept = torn_.size();
      torn_.resize(kept + kReadBytes);
      do size = ::pread(file_.get(), torn_.data() + kept, kReadBytes, offset_);
      while (size < 0 && errno == EINTR);
      const int failure = errno;
      torn_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
      if (size < 0) return io_error("the log of run " + request_.run_id, failure);
      offset_ += size;
    }
    if (size > 0) {
      take_lines(out);
      if (torn_.size() > kLineLimitBytes)
        return Error{ErrorCode::corrupt, "the log of run " + request_.run_id + " holds no lines"};
      if (!out.empty()) return Progress::lines;
      continue;
    }
    if (over_) return Progress::end;
    // Asked before the last look at the file, so that nothing is written between the two.
    auto over = attempt_is_over();
    if (!over) return over.error();
    if (!*over) return Progress::end_for_now;
    over_ = true;
  }
}

void LogStream::take_lines(std::string& out) {
  std::size_t begin = 0;
  for (std::size_t end = torn_.find('\n'); end != std::string::npos; end = torn_.find('\n', begin)) {
    const std::string_view line = std::string_view(torn_).substr(begin, end - begin);
    begin = end + 1;
    if (std::exchange(skip_line_, false)) continue;
    if (request_.raw) {
      out += shapes::raw_log_bytes(line, request_.step);
    } else if (request_.step.empty() || shapes::log_line_is_of(line, request_.step)) {
      out.append(line).append("\n");
    }
  }
  torn_.erase(0, begin);
}

}  // namespace eider::api
