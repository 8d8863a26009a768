#include "wire/workspace_lock.h"

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

namespace eider::wire {
namespace {

constexpr std::size_t kTextLimitBytes = 4096;
constexpr std::string_view kRun = "run ";

/// A record lock ends when its process closes any descriptor of the file: who has taken it never looks.
std::atomic<bool> taken_here = false;

struct flock whole_file() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

/// `4711`, then `serve` or `run PIPELINE`.
WorkspaceHolder parse(const std::string& text) {
  WorkspaceHolder holder;
  const std::size_t end = text.find('\n');
  holder.pid = std::atoi(text.substr(0, end).c_str());
  if (end == std::string::npos || !text.substr(end + 1).starts_with(kRun)) return holder;
  const std::string rest = text.substr(end + 1 + kRun.size());
  holder.pipeline = rest.substr(0, rest.find('\n'));
  return holder;
}

/// What the file says, of the process that the kernel names.
WorkspaceHolder read_holder(const Layout& layout, pid_t pid) {
  const auto text = read_file(layout.server_lock(), kTextLimitBytes);
  WorkspaceHolder holder = text ? parse(*text) : WorkspaceHolder{};
  // It may still be the text of the one before; in another namespace the kernel names nobody.
  if (pid > 0 && holder.pid != pid) return {static_cast<int>(pid), {}};
  return holder;
}

}  // namespace

/// A record lock is the process's own, while a flock goes with the descriptor: a worker that is being spawned has a
/// copy of ours until its exec, and would hold the flock of a server that was killed meanwhile.
Result<UniqueFd> take_workspace_lock(const Layout& layout, const std::string& pipeline) {
  const std::string path = layout.server_lock();
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return io_error(path, errno);
  struct flock whole = whole_file();
  if (::fcntl(file.get(), F_SETLK, &whole) != 0) {
    if (errno != EACCES && errno != EAGAIN) return io_error("lock " + path, errno);
    struct flock other = whole_file();
    const bool known = ::fcntl(file.get(), F_GETLK, &other) == 0 && other.l_type != F_UNLCK;
    const WorkspaceHolder holder = read_holder(layout, known ? other.l_pid : 0);
    return Error{ErrorCode::conflict,
                 to_text(holder) + (holder.pipeline.empty()
                                        ? "; `eider status` shows it, `eider stop` ends it"
                                        : "; wait for it, press Ctrl-C there, or, to run several at once, start "
                                          "`eider serve` when it is over")};
  }
  taken_here = true;
  if (::ftruncate(file.get(), 0) != 0) return io_error(path, errno);
  const std::string what = pipeline.empty() ? "serve" : std::string(kRun) + pipeline;
  if (auto written = write_all(file.get(), fmt::format("{}\n{}\n", ::getpid(), what)); !written) return written.error();
  return file;
}

std::optional<WorkspaceHolder> workspace_holder(const Layout& layout) {
  if (taken_here) return std::nullopt;
  const UniqueFd file(::open(layout.server_lock().c_str(), O_RDONLY | O_CLOEXEC));
  struct flock other = whole_file();
  if (!file || ::fcntl(file.get(), F_GETLK, &other) != 0 || other.l_type == F_UNLCK) return std::nullopt;
  return read_holder(layout, other.l_pid);
}

std::string to_text(const WorkspaceHolder& holder) {
  const std::string process = holder.pid > 0 ? fmt::format("process {}", holder.pid) : "process unknown";
  if (holder.pipeline.empty()) return fmt::format("a server runs on this workspace already ({})", process);
  return fmt::format("`eider run {}` ({}) holds this workspace while it runs", holder.pipeline, process);
}

}  // namespace eider::wire
