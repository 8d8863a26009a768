#include "worker/duckdb/file_held.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace eider::worker::duck {
namespace {

int leading_number(std::string_view text) {
  int value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  return bad == std::errc() && end != text.data() && value > 0 ? value : 0;
}

}  // namespace

bool is_lock_error(std::string_view message) {
  return message.find("Could not set lock on file") != std::string_view::npos;
}

int pid_in_message(std::string_view message) {
  // The last one: a path in front of it may hold the same words.
  const std::size_t found = message.rfind("(PID ");
  return found == std::string_view::npos ? 0 : leading_number(message.substr(found + 5));
}

int pid_in_locks(const std::string& path, std::string_view proc_locks) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return 0;
  // `1: POSIX  ADVISORY  WRITE 4711 08:01:1572869 0 EOF`, device in hexadecimal (proc(5)).
  const std::string wanted = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  std::istringstream lines{std::string(proc_locks)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, kind, how, access, pid, inode;
    words >> number >> kind;
    if (kind == "->") words >> kind;  // one that waits for the lock above it: no holder
    words >> how >> access >> pid >> inode;
    if (inode == wanted && kind != "FLOCK" && line.find("->") == std::string::npos) return leading_number(pid);
  }
  return 0;
}

int holder_of(const std::string& path, std::string_view message) {
  if (const int pid = pid_in_message(message)) return pid;
  std::ifstream file("/proc/locks");
  std::ostringstream text;
  text << file.rdbuf();
  return pid_in_locks(path, text.str());
}

}  // namespace eider::worker::duck
