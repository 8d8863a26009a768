#include "wire/publish.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/fd.h"

namespace eider::wire {
namespace {

namespace fs = std::filesystem;

class Publish : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/eider-publish-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    folder_ = path;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    auto text = read_file(path, 1 << 20);
    return text ? *text : "(nothing)";
  }
  static std::uint64_t inode(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
  }
  /// A staged file, or a folder with one file, that holds "new".
  Rename stage(const std::string& name, bool folder) const {
    Rename out{at("." + name + ".run-1"), at(name), 0, folder, ""};
    if (folder) {
      fs::create_directory(out.staged);
      write(out.staged + "/part", "new");
    } else {
      write(out.staged, "new");
    }
    out.inode = inode(out.staged);
    return out;
  }
  void old_folder(const std::string& name) const {
    fs::create_directories(at(name) + "/deep");
    write(at(name) + "/deep/part", "old");
  }
  /// What lies in the folder, apart from the targets: must be nothing when all is done.
  std::vector<std::string> left_behind() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string()[0] == '.') out.push_back(entry.path());
    }
    return out;
  }
  std::string folder_;
};

/// File access of this thread as nobody, also when the tests run as root.
class AsNobody {
 public:
  AsNobody() : before_(::setfsuid(65534)) {}
  ~AsNobody() { ::setfsuid(static_cast<uid_t>(before_)); }

 private:
  int before_;
};

TEST_F(Publish, AFileReplacesItsTargetAndRepeatingIsHarmless) {
  const Rename rename = stage("out.parquet", false);
  write(rename.target, "old");
  for (int again = 0; again < 3; ++again) {
    const auto applied = apply_renames({rename});
    ASSERT_TRUE(applied.ok()) << applied.error().message;
    EXPECT_EQ(read(rename.target), "new");
    EXPECT_TRUE(left_behind().empty());
  }
}

TEST_F(Publish, AFirstFile) {
  const Rename rename = stage("out.parquet", false);
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target), "new");
}

TEST_F(Publish, WhatIsDoneIsNotDoneOverANewerFile) {
  const Rename rename = stage("out.parquet", false);
  ASSERT_TRUE(apply_renames({rename}).ok());
  const Rename newer = stage("newer", false);  // made while the first inode is in use, so that it has another
  fs::rename(newer.staged, rename.target);
  write(rename.target, "newer");
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target), "newer");
}

TEST_F(Publish, AHardLinkOfTheTargetIsRemoved) {
  const Rename rename = stage("out.parquet", false);
  fs::create_hard_link(rename.staged, rename.target);
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target), "new");
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Publish, ALinkAtTheTargetIsReplacedNotFollowed) {
  const Rename rename = stage("out.parquet", false);
  write(at("elsewhere"), "untouched");
  fs::create_symlink(at("elsewhere"), rename.target);
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(at("elsewhere")), "untouched");
  EXPECT_FALSE(fs::is_symlink(rename.target));
  EXPECT_EQ(read(rename.target), "new");
}

TEST_F(Publish, AFolderChangesPlacesAndTheOldOneGoes) {
  const Rename rename = stage("out", true);
  old_folder("out");
  for (int again = 0; again < 3; ++again) {
    const auto applied = apply_renames({rename});
    ASSERT_TRUE(applied.ok()) << applied.error().message;
    EXPECT_EQ(read(rename.target + "/part"), "new");
    EXPECT_FALSE(fs::exists(rename.target + "/deep"));
    EXPECT_TRUE(left_behind().empty());
  }
}

TEST_F(Publish, AnOldFolderThatCantBeRemovedStopsNothing) {
  const Rename first = stage("a", true);
  const Rename second = stage("b", false);
  old_folder("a");
  ASSERT_EQ(::chmod(at("a").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  {
    const AsNobody nobody;
    const auto applied = apply_renames({first, second});
    ASSERT_TRUE(applied.ok()) << applied.error().message;
  }
  EXPECT_EQ(read(first.target + "/part"), "new");
  EXPECT_EQ(read(second.target), "new");
  EXPECT_EQ(left_behind(), std::vector<std::string>{first.staged});
}

TEST_F(Publish, AFirstFolder) {
  const Rename rename = stage("out", true);
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target + "/part"), "new");
}

TEST_F(Publish, CrashAfterTheExchangeBeforeTheOldFolderIsGone) {
  const Rename rename = stage("out", true);
  old_folder("out");
  ASSERT_EQ(::renameat2(AT_FDCWD, rename.staged.c_str(), AT_FDCWD, rename.target.c_str(), RENAME_EXCHANGE), 0);
  fs::remove(rename.staged + "/deep/part");  // removal was under way
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target + "/part"), "new");
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Publish, CrashOnAFileSystemWithoutExchange) {
  // The old folder was put aside, the new one is not at its place yet.
  const Rename rename = stage("out", true);
  old_folder("out");
  fs::rename(rename.target, rename.staged + ".old");
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target + "/part"), "new");
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Publish, CrashBetweenTwoRenames) {
  const Rename first = stage("a", false);
  const Rename second = stage("b", true);
  old_folder("b");
  ASSERT_TRUE(apply_renames({first}).ok());
  ASSERT_TRUE(apply_renames({first, second}).ok());
  EXPECT_EQ(read(first.target), "new");
  EXPECT_EQ(read(second.target + "/part"), "new");
}

TEST_F(Publish, AFolderTakesTheNameOfAFile) {
  const Rename rename = stage("out", true);
  write(rename.target, "old");
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target + "/part"), "new");
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Publish, AFileNeverRemovesAFolder) {
  const Rename rename = stage("out", false);
  old_folder("out");
  const auto applied = apply_renames({rename});
  ASSERT_FALSE(applied.ok());
  EXPECT_NE(applied.error().message.find("a folder lies there"), std::string::npos) << applied.error().message;
  EXPECT_EQ(read(rename.target + "/deep/part"), "old");
  EXPECT_EQ(read(rename.staged), "new");
}

TEST_F(Publish, AStagedFileOfUnknownOriginIsLeftAlone) {
  Rename rename = stage("out", false);
  write(rename.target, "old");
  rename.inode += 1'000'000;
  const auto applied = apply_renames({rename});
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(read(rename.target), "old");
  EXPECT_EQ(read(rename.staged), "new");
}

TEST_F(Publish, AMissingFolderIsSaidInWords) {
  Rename rename = stage("out", false);
  rename.target = at("gone/out");
  const auto applied = apply_renames({rename});
  ASSERT_FALSE(applied.ok());
  EXPECT_NE(applied.error().message.find("can't publish " + rename.target), std::string::npos);
  EXPECT_NE(applied.error().message.find("No such file or directory"), std::string::npos) << applied.error().message;
  EXPECT_EQ(read(rename.staged), "new");
}

TEST_F(Publish, NothingIsLeftToDoWhenTheTargetsFolderWasRemovedSince) {
  fs::create_directory(at("sub"));
  Rename rename = stage("out", false);
  rename.target = at("sub/out");
  ASSERT_TRUE(apply_renames({rename}).ok());
  fs::remove_all(at("sub"));
  EXPECT_TRUE(apply_renames({rename}).ok());
}

TEST_F(Publish, NoPermissionIsSaidInWordsAndCanBeRepeatedLater) {
  const Rename rename = stage("out", false);
  write(rename.target, "old");
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  {
    const AsNobody nobody;
    const auto applied = apply_renames({rename});
    ASSERT_FALSE(applied.ok());
    EXPECT_NE(applied.error().message.find("Permission denied"), std::string::npos) << applied.error().message;
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(read(rename.target), "old");
  ASSERT_TRUE(apply_renames({rename}).ok());
  EXPECT_EQ(read(rename.target), "new");
}

}  // namespace
}  // namespace eider::wire
