#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>

namespace eider {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string pattern = testing::TempDir() + "eider_fd_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesOnceAndMoves) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(raw, 0);
  {
    UniqueFd first(raw);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): a moved one is empty
    EXPECT_EQ(second.get(), raw);
    UniqueFd third;
    third = std::move(second);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(UniqueFd, ReleaseGivesItAway) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  { EXPECT_EQ(UniqueFd(raw).release(), raw); }
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST_F(Files, APipeADeviceOrAFolderIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& special : {path("pipe"), std::string("/dev/zero"), folder_}) {
    const auto text = read_file(special, 100);
    ASSERT_FALSE(text.ok()) << special;
    EXPECT_EQ(text.error().code, ErrorCode::invalid);
    EXPECT_EQ(text.error().message, special + ": is no regular file");
  }
  ASSERT_EQ(::mkfifo(path("a.tmp").c_str(), 0600), 0);
  EXPECT_FALSE(replace_file(path("a"), "text").ok());
  EXPECT_TRUE(read_file("/proc/self/stat", 65536).ok());
}

TEST_F(Files, ReadsWhatWasWritten) {
  for (const auto& write : {write_file_durably, replace_file}) {
    ASSERT_TRUE(write(path("a"), "first").ok());
    ASSERT_TRUE(write(path("a"), std::string("sec\0nd", 6)).ok());
    EXPECT_EQ(*read_file(path("a"), 6), std::string("sec\0nd", 6));
    EXPECT_FALSE(std::filesystem::exists(path("a.tmp")));
    struct stat info {};
    ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    std::filesystem::remove(path("a"));
  }
}

TEST_F(Files, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(read_file(path("missing"), 10).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(path("missing/below"), 10).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(folder_, 10).error().code, ErrorCode::invalid);
  ASSERT_TRUE(write_file_durably(path("big"), std::string(100'000, 'x')).ok());
  EXPECT_EQ(read_file(path("big"), 99'999).error().code, ErrorCode::refused);
  EXPECT_EQ(read_file(path("big"), 100'000)->size(), 100'000U);
}

TEST_F(Files, KeepsTheOldContentWhenTheNewCannotBeWritten) {
  ASSERT_TRUE(write_file_durably(path("a"), "old").ok());
  ASSERT_TRUE(make_folders(path("a.tmp")).ok());  // what stands in the way of the file beside it
  EXPECT_EQ(write_file_durably(path("a"), "new").error().code, ErrorCode::io);
  EXPECT_EQ(*read_file(path("a"), 10), "old");
}

TEST_F(Files, ReportsAFullDisk) {
  UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  EXPECT_EQ(write_all(full.get(), "x").error().code, ErrorCode::io);
}

TEST_F(Files, MakesFoldersOnceAndSaysWhatStandsInTheWay) {
  EXPECT_TRUE(make_folders(path("x/y/z")).ok());
  EXPECT_TRUE(make_folders(path("x/y/z/")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(path("x/y/z")));
  ASSERT_TRUE(write_file_durably(path("file"), "").ok());
  EXPECT_FALSE(make_folders(path("file")).ok());
  EXPECT_FALSE(make_folders(path("file/below")).ok());
  EXPECT_EQ(sync_path(path("missing")).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace eider
