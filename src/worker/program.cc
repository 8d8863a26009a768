#include "worker/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace eider::worker {
namespace {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return io_error("a pipe for a program's output", errno);
  Pipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // The reader's end only: a program does not expect a non-blocking output.
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return io_error("a pipe for a program's output", errno);
  return pipe;
}

/// The two tables that posix_spawn wants, destroyed at the end.
class SpawnTables {
 public:
  SpawnTables() {
    EIDER_CHECK(::posix_spawn_file_actions_init(&actions) == 0, "no memory");
    EIDER_CHECK(::posix_spawnattr_init(&attributes) == 0, "no memory");
  }
  ~SpawnTables() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnTables(const SpawnTables&) = delete;
  SpawnTables& operator=(const SpawnTables&) = delete;

  /// Order matters: the sources are all above 2, so that 0 to 2 can be filled first; then the lock; then all else goes.
  void set_files(int out, int err, int lock, const std::string& folder) {
    int failed = ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    failed |= ::posix_spawn_file_actions_adddup2(&actions, out, 1);
    failed |= ::posix_spawn_file_actions_adddup2(&actions, err, 2);
    if (lock >= 0) failed |= ::posix_spawn_file_actions_adddup2(&actions, lock, lock_fd_of_programs);
    for (int fd = 3; fd <= lock_fd_of_programs; ++fd) {
      if (fd != lock_fd_of_programs || lock < 0) failed |= ::posix_spawn_file_actions_addclose(&actions, fd);
    }
    failed |= ::posix_spawn_file_actions_addclosefrom_np(&actions, lock_fd_of_programs + 1);
    failed |= ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    EIDER_CHECK(failed == 0, "no memory");
  }

  /// A group of its own; no signal blocked or ignored, whatever the worker does for itself.
  void set_attributes() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// The program a script asks for in its first line, for the message when that one is missing.
std::string interpreter_of(const std::string& file) {
  UniqueFd script(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  char line[256];
  const ssize_t n = script ? ::read(script.get(), line, sizeof line) : 0;
  const std::string_view text(line, n > 0 ? static_cast<std::size_t>(n) : 0);
  if (!text.starts_with("#!")) return "";
  const std::string_view asked =
      text.substr(2, text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') - 2);
  return std::string(asked.substr(std::min(asked.find_first_not_of(" \t"), asked.size())));
}

Error not_started(const ProgramRequest& request, int error) {
  std::string hint;
  if (error == ENOENT) {
    const std::string interpreter = interpreter_of(request.file);
    hint = interpreter.empty() ? "; check that it and the working folder " + request.folder + " are there"
                               : "; its first line asks for " + interpreter + ", which is not there";
  } else if (error == ENOEXEC) {
    hint = "; it is no program: a script needs a first line like #!/bin/sh";
  } else if (error == E2BIG) {
    hint = "; its arguments or `env:` are too long";
  } else if (error == EAGAIN) {
    hint = "; the limit of processes (ulimit -u) is reached";
  }
  return Error{ErrorCode::io, fmt::format("can't start {}: {}{}", request.file, std::strerror(error), hint)};
}

}  // namespace

Result<Program> start_program(ProgramRequest& request) {
  auto out = make_pipe();
  if (!out) return out.error();
  auto err = make_pipe();
  if (!err) return err.error();
  SpawnTables tables;
  tables.set_files(out->write.get(), err->write.get(), request.lock_fd, request.folder);
  tables.set_attributes();
  const std::vector<char*> argv = pointers(request.argv);
  const std::vector<char*> environment = pointers(request.environment);
  Program program;
  const int error = ::posix_spawn(&program.pid, request.file.c_str(), &tables.actions, &tables.attributes, argv.data(),
                                  environment.data());
  if (error != 0) return not_started(request, error);
  program.out = std::move(out->read);
  program.err = std::move(err->read);
  return program;
}

bool has_no_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

ChildEnd reap_one() {
  ChildEnd end;
  struct rusage usage {};
  const pid_t pid = ::wait4(-1, &end.status, WNOHANG, &usage);
  if (pid <= 0) return end;
  end.pid = pid;
  end.peak_memory_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return end;
}

}  // namespace eider::worker
