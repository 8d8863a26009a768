#include "cli/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

#include "base/fd.h"

namespace eider::cli {
namespace {

Stream stream_of(int fd) {
  Stream::Kind kind;
  kind.terminal = ::isatty(fd) == 1;
  winsize size{};
  if (kind.terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0) kind.columns = size.ws_col;
  return Stream([fd](std::string_view bytes) { return write_all(fd, bytes).ok() ? 0 : errno; }, kind);
}

}  // namespace

void Stream::print(std::string_view bytes) {
  if (closed_) return;
  const int error = write_(bytes);
  closed_ = error != 0;
  if (error != EPIPE) failure_ = error;
}

std::string Stream::paint(Colour colour, std::string_view text) const {
  if (!kind_.colour || colour == Colour::none || text.empty()) return std::string(text);
  constexpr const char* codes[] = {"0", "1", "90", "32", "31", "33", "34"};
  return "\033[" + std::string(codes[static_cast<std::size_t>(colour)]) + "m" + std::string(text) + "\033[0m";
}

Screen process_screen() { return {stream_of(STDOUT_FILENO), stream_of(STDERR_FILENO)}; }

}  // namespace eider::cli
