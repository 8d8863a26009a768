#include "supervise/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>

namespace eider::supervise {
namespace {

constexpr int kWorkerSocket = 3;

struct FileActions {
  FileActions() { ::posix_spawn_file_actions_init(&value); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t value;
};

struct Attributes {
  Attributes() { ::posix_spawnattr_init(&value); }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

}  // namespace

std::vector<std::string> worker_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with("EIDER_RUN_ID=") || text.starts_with("EIDER_ATTEMPT=") || text.starts_with("EIDER_STEP="))
      continue;
    out.emplace_back(text);
  }
  return out;
}

Result<wire::Process> spawn_worker(const std::string& program, const std::vector<std::string>& environment,
                                   const UniqueFd& socket) {
  FileActions actions;
  int error = ::posix_spawn_file_actions_adddup2(&actions.value, socket.get(), kWorkerSocket);
  if (error == 0) error = ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = ::posix_spawn_file_actions_addopen(&actions.value, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (error == 0) error = ::posix_spawn_file_actions_addclosefrom_np(&actions.value, kWorkerSocket + 1);
  if (error != 0) return io_error("can't start a worker", error);

  Attributes attributes;
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes.value, &none);
  ::posix_spawnattr_setsigdefault(&attributes.value, &all);
  ::posix_spawnattr_setflags(&attributes.value,
                             static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));

  std::string name = "eider";
  std::string verb = "worker";
  char* arguments[] = {name.data(), verb.data(), nullptr};
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);

  pid_t pid = 0;
  error = ::posix_spawn(&pid, program.c_str(), &actions.value, &attributes.value, arguments, variables.data());
  if (error != 0) return io_error("can't start a worker, " + program, error);
  // Its number is ours until we wait for it, so the handle is of this process, even if it has died already.
  auto process = wire::open_process(pid);
  if (process) return process;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return process;
}

}  // namespace eider::supervise
