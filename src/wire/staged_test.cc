#include "wire/staged.h"

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

class StagedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/eider-staged-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    layout_.workspace = path;
    fs::create_directories(layout_.workspace + "/out");
  }
  void TearDown() override { fs::remove_all(layout_.workspace); }

  std::string at(const std::string& name) const { return layout_.workspace + "/" + name; }
  std::string write(const std::string& path) const {
    std::ofstream(path) << "half";
    return path;
  }
  bool has_list(const AttemptId& id) const { return fs::exists(layout_.staged_list(id.run_id, id.attempt)); }

  Layout layout_;
  const AttemptId id_{"run-1", 2};
};

TEST_F(StagedFiles, LieBesideTheirTargets) {
  EXPECT_EQ(staged_path("/w/out/d.parquet", id_), "/w/out/.d.parquet.run-1.2.tmp");
}

TEST_F(StagedFiles, AreRemovedWithTheirList) {
  const std::string file = staged_path(at("out/file\nof two lines"), id_);
  const std::string folder = staged_path(at("out/folder"), id_);
  const std::string never_made = staged_path(at("out/gone/x"), id_);
  ASSERT_TRUE(list_staged(layout_, id_, {file, never_made, folder}).ok());
  EXPECT_EQ(staged_lists(layout_), std::vector<AttemptId>{id_});
  write(file);
  fs::create_directories(folder + "/deep");
  write(folder + "/deep/part");
  fs::create_directories(folder + ".old");
  const std::string temporary = write(at("out/tmp_.folder.run-1.2.tmp"));
  write(at("out/file"));
  const auto removed = remove_staged(layout_, id_);
  ASSERT_TRUE(removed.ok()) << removed.error().message;
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_FALSE(fs::exists(folder + ".old"));
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_TRUE(fs::exists(at("out/file")));
  EXPECT_FALSE(has_list(id_));
  EXPECT_TRUE(remove_staged(layout_, id_).ok()) << "again";
  EXPECT_TRUE(staged_lists(layout_).empty());
}

TEST_F(StagedFiles, NothingStagedNeedsNoList) {
  ASSERT_TRUE(list_staged(layout_, id_, {}).ok());
  EXPECT_FALSE(fs::exists(layout_.staged_folder()));
  EXPECT_TRUE(staged_lists(layout_).empty());
}

TEST_F(StagedFiles, AListIsBelievedOnlyAboutItsOwnAttempt) {
  const std::vector<std::string> others = {write(at("out/precious")), write(staged_path(at("out/d"), {"run-1", 1})),
                                           write(staged_path(at("out/d"), {"run-2", 2})),
                                           write(at("out/no.dot.run-1.2.tmp")),
                                           write(staged_path(at("out/d"), id_) + "x")};
  const std::string own = write(staged_path(at("out/d"), id_));
  std::vector<std::string> listed = others;
  listed.insert(listed.end(), {own, "out/.d.run-1.2.tmp", "", "/", ".."});
  ASSERT_TRUE(list_staged(layout_, id_, listed).ok());
  ASSERT_TRUE(remove_staged(layout_, id_).ok());
  EXPECT_FALSE(fs::exists(own));
  for (const std::string& other : others) EXPECT_TRUE(fs::exists(other)) << other;
}

TEST_F(StagedFiles, WhatCantBeRemovedStaysOnTheListAndIsSaid) {
  const std::string first = staged_path(at("out/first"), id_);
  const std::string second = write(staged_path(at("out/second"), id_));
  fs::create_directories(first);
  write(first + "/kept");
  ASSERT_TRUE(list_staged(layout_, id_, {first, second}).ok());
  // Who owns all of it, and is not root, can't empty a folder that may not be written.
  ASSERT_EQ(::chmod(first.c_str(), 0555), 0);
  constexpr uid_t nobody = 65534;
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(layout_.workspace.c_str(), nobody, nobody), 0);
    for (const auto& entry : fs::recursive_directory_iterator(layout_.workspace)) {
      ASSERT_EQ(::lchown(entry.path().c_str(), nobody, nobody), 0);
    }
  }
  const auto before = static_cast<uid_t>(::setfsuid(nobody));
  const auto removed = remove_staged(layout_, id_);
  ::setfsuid(before);
  ASSERT_EQ(::chmod(first.c_str(), 0755), 0);
  ASSERT_FALSE(removed.ok());
  EXPECT_NE(removed.error().message.find("can't remove " + first), std::string::npos) << removed.error().message;
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(has_list(id_));
  ASSERT_TRUE(remove_staged(layout_, id_).ok());
  EXPECT_FALSE(fs::exists(first));
  EXPECT_FALSE(has_list(id_));
}

TEST_F(StagedFiles, APipeIsNoListAndIsNotWaitedFor) {
  ASSERT_TRUE(make_folders(layout_.staged_folder()).ok());
  ASSERT_EQ(::mkfifo(layout_.staged_list("run-1", 2).c_str(), 0600), 0);
  const auto removed = remove_staged(layout_, id_);
  ASSERT_FALSE(removed.ok());
  EXPECT_NE(removed.error().message.find("is no regular file"), std::string::npos) << removed.error().message;
}

TEST_F(StagedFiles, ForeignNamesAreNoLists) {
  ASSERT_TRUE(make_folders(layout_.staged_folder()).ok());
  for (const char* name : {"x", "run-1.", "run-1.2x", ".tmp", "run-1.2.tmp"})
    write(layout_.staged_folder() + "/" + name);
  EXPECT_TRUE(staged_lists(layout_).empty());
}

}  // namespace
}  // namespace eider::wire
