#include "wire/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <csignal>

namespace eider::wire {
namespace {

/// More than any environment that execve accepts by default (a quarter of an 8 MiB stack).
constexpr std::size_t kLargestEnvironment = 4 * 1024 * 1024;

/// Names of a folder that are numbers, as numbers; empty when the folder can't be read.
std::vector<int> numbered_entries(const std::string& folder) {
  std::vector<int> numbers;
  DIR* stream = ::opendir(folder.c_str());
  if (stream == nullptr) return numbers;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  ::closedir(stream);
  return numbers;
}

bool holds_file(int pid, const struct stat& file) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  for (const int fd : numbered_entries(folder)) {
    struct stat info {};
    if (::stat(fmt::format("{}/{}", folder, fd).c_str(), &info) != 0) continue;
    if (info.st_dev == file.st_dev && info.st_ino == file.st_ino) return true;
  }
  return false;
}

bool has_entry(std::string_view environment, std::string_view entry) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    if (environment.substr(0, end) == entry) return true;
    if (end == std::string_view::npos) return false;
    environment.remove_prefix(end + 1);
  }
  return false;
}

/// Field 4 of /proc/<pid>/stat; it follows the name, which may hold spaces and brackets.
int parent_of(int pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), 65536);
  if (!text) return 0;
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= text->size()) return 0;
  int parent = 0;
  std::from_chars(text->data() + name_end + 4, text->data() + text->size(), parent);
  return parent;
}

}  // namespace

bool environment_carries(int pid, const ProcessMarks& marks) {
  if (marks.run_id.empty()) return false;
  const auto environment = read_file(fmt::format("/proc/{}/environ", pid), kLargestEnvironment);
  if (!environment || !has_entry(*environment, "EIDER_RUN_ID=" + marks.run_id)) return false;
  if (marks.attempt != 0 && !has_entry(*environment, fmt::format("EIDER_ATTEMPT={}", marks.attempt))) return false;
  return marks.step.empty() || has_entry(*environment, "EIDER_STEP=" + marks.step);
}

std::vector<Process> find_processes(const ProcessMarks& marks) {
  struct stat lock {};
  const bool by_lock = !marks.lock_file.empty() && ::stat(marks.lock_file.c_str(), &lock) == 0;
  const auto belongs = [&](int pid) { return environment_carries(pid, marks) || (by_lock && holds_file(pid, lock)); };
  std::vector<Process> found;
  const int self = ::getpid();
  for (const int pid : numbered_entries("/proc")) {
    if (pid == self || !belongs(pid)) continue;
    // Held first, then looked at again: only so is the handle of the process that was seen.
    auto process = open_process(pid);
    if (process && belongs(pid)) found.push_back(std::move(*process));
  }
  return found;
}

Result<Process> open_process(int pid) {
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);  // pidfds are close-on-exec
  if (fd < 0) return io_error(fmt::format("process {}", pid), errno);
  return Process{pid, UniqueFd(static_cast<int>(fd))};
}

bool signal_process(const Process& process, int signal) {
  return ::syscall(SYS_pidfd_send_signal, process.handle.get(), signal, nullptr, 0) == 0;
}

std::vector<int> children_of_this_process() {
  std::vector<int> children;
  bool read_any = false;
  for (const int thread : numbered_entries("/proc/self/task")) {
    const auto list = read_file(fmt::format("/proc/self/task/{}/children", thread), 1 << 20);
    if (!list) continue;
    read_any = true;
    const char* at = list->data();
    const char* const end = at + list->size();
    int pid = 0;
    while (at < end) {
      const auto [next, error] = std::from_chars(at, end, pid);
      if (error == std::errc()) children.push_back(pid);
      at = next + 1;  // the separating space
    }
  }
  if (read_any) return children;
  // A kernel without CONFIG_PROC_CHILDREN: the long way.
  const int self = ::getpid();
  for (const int pid : numbered_entries("/proc")) {
    if (parent_of(pid) == self) children.push_back(pid);
  }
  return children;
}

}  // namespace eider::wire
