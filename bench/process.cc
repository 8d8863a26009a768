#include "bench/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/fd.h"

extern "C" char** environ;

namespace eider::bench {

Instant now() { return SystemClock().now(); }

void sleep_until(Instant at) {
  for (Micros left = at - now(); left.count() > 0; left = at - now()) std::this_thread::sleep_for(left);
}

bool wait_for(const std::function<bool()>& done, Micros limit, Micros gap) {
  const SystemClock clock;
  const Micros end = clock.boottime() + limit;
  while (!done()) {
    if (clock.boottime() > end) return false;
    std::this_thread::sleep_for(gap);
  }
  return true;
}

double ms(Micros duration) { return static_cast<double>(duration.count()) / 1e3; }

Result<int> spawn(const std::vector<std::string>& argv, const std::string& out_file, const std::string& err_file) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto to = [&](int fd, const std::string& file) {
    posix_spawn_file_actions_addopen(&actions, fd, file.empty() ? "/dev/null" : file.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  };
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  to(1, out_file);
  to(2, err_file);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return io_error("cannot start " + argv[0], failed);
  return pid;
}

std::optional<int> reap(int pid, Micros limit) {
  int status = 0;
  const bool ended = wait_for([&] { return ::waitpid(pid, &status, WNOHANG) != 0; }, limit);
  return ended ? std::optional(status) : std::nullopt;
}

Result<std::string> capture(const std::vector<std::string>& argv, const std::string& folder) {
  const std::string out = folder + "/captured.out";
  const std::string err = folder + "/captured.err";
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  auto pid = spawn(argv, out, err);
  if (!pid) return pid.error();
  const auto status = reap(*pid, std::chrono::minutes(5));
  auto text = read_file(out, 1 << 20);
  if (status && *status == 0 && text) return text;
  const auto why = read_file(err, 1 << 20);
  return Error{ErrorCode::io,
               fmt::format("{} {} failed: {}", argv[0], argv.size() > 1 ? argv[1] : "", why ? *why : "")};
}

std::vector<int> children_of(int pid) {
  std::vector<int> out;
  std::error_code failed;
  for (auto at = std::filesystem::directory_iterator("/proc", failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().filename();
    int child = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), child).ec != std::errc()) continue;
    const auto stat = read_file(at->path().string() + "/stat", 4096);
    if (!stat) continue;
    // pid (name) state ppid …; the name may hold anything.
    const std::size_t name_end = stat->rfind(") ");
    if (name_end == std::string::npos || name_end + 4 >= stat->size()) continue;
    int parent = 0;
    std::from_chars(stat->data() + name_end + 4, stat->data() + stat->size(), parent);
    if (parent == pid) out.push_back(child);
  }
  return out;
}

}  // namespace eider::bench
