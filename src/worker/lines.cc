#include "worker/lines.h"

#include "worker/text.h"

namespace eider::worker {
namespace {

constexpr std::string_view kCrLf = "\r\n";

}  // namespace

void LineSplitter::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    if (newline != std::string_view::npos && partial_bytes_ == 0) {
      emit(part, static_cast<std::int64_t>(part.size()), kCrLf.substr(1), on_line);
    } else {
      // A few bytes more than are kept, so that the cut can be made between two characters.
      const std::size_t room = kept_bytes + 4 - partial_.size();
      partial_.append(part.substr(0, room));
      partial_bytes_ += static_cast<std::int64_t>(part.size());
      if (newline != std::string_view::npos) {
        emit(partial_, partial_bytes_, kCrLf.substr(1), on_line);
        partial_.clear();
        partial_bytes_ = 0;
      }
    }
    if (newline == std::string_view::npos) return;
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::finish(const OnLine& on_line) {
  if (partial_bytes_ > 0) emit(partial_, partial_bytes_, "", on_line);
  partial_ = std::string();
  partial_bytes_ = 0;
}

void LineSplitter::emit(std::string_view line, std::int64_t whole_bytes, std::string_view eol, const OnLine& on_line) {
  if (!eol.empty() && static_cast<std::int64_t>(line.size()) == whole_bytes && line.ends_with('\r')) {
    line.remove_suffix(1);
    --whole_bytes;
    eol = kCrLf;
  }
  on_line(cut_at_character(line, kept_bytes), whole_bytes, eol);
}

}  // namespace eider::worker
