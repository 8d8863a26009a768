#include "worker/duckdb/file_held.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace eider::worker::duck {
namespace {

TEST(FileHeld, reads_the_pid_of_duckdbs_message) {
  const std::string message =
      "IO Error: Could not set lock on file \"/data/a (PID 1) b.duckdb\": Conflicting lock is held in /usr/bin/x "
      "(PID 4711) by user root. See also https://duckdb.org/docs/stable/connect/concurrency";
  EXPECT_TRUE(is_lock_error(message));
  EXPECT_EQ(pid_in_message(message), 4711);
  EXPECT_EQ(pid_in_message("Conflicting lock is held (PID x)"), 0);
  EXPECT_EQ(pid_in_message(""), 0);
  EXPECT_FALSE(is_lock_error("IO Error: Cannot open file"));
}

TEST(FileHeld, finds_the_inode_in_proc_locks) {
  const std::string path = testing::TempDir() + "eider_locks_test";
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  struct stat file {};
  ASSERT_EQ(fstat(fd, &file), 0);
  const std::string id = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  const std::string other = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino + 1);
  const auto line = [](int n, const char* kind, int pid, const std::string& inode) {
    return fmt::format("{}: {}  ADVISORY  WRITE {} {} 0 EOF\n", n, kind, pid, inode);
  };
  EXPECT_EQ(pid_in_locks(path, line(1, "POSIX", 5, other) + line(2, "POSIX", 77, id)), 77);
  EXPECT_EQ(pid_in_locks(path, line(1, "FLOCK", 78, id)), 0);
  EXPECT_EQ(pid_in_locks(path, "1: -> POSIX  ADVISORY  WRITE 79 " + id + " 0 EOF\n"), 0);
  EXPECT_EQ(pid_in_locks(path, line(1, "OFDLCK", -1, id)), 0);
  EXPECT_EQ(pid_in_locks(path, "garbage\n\n1:\n"), 0);
  EXPECT_EQ(pid_in_locks("/nowhere/at/all", line(1, "POSIX", 5, id)), 0);
  close(fd);
  unlink(path.c_str());
}

}  // namespace
}  // namespace eider::worker::duck
