// What a worker keeps ready for its next run: used once each, missed by nobody when it is gone.
#include <sys/stat.h>

#include "worker/worker_folder.h"
#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

ino_t inode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

class WorkerFolderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(folder_.prepare(own_)); }
  std::string run(int n) const { return workspace_.path(fmt::format("run-{}", n)); }

  Workspace workspace_;
  const std::string own_ = workspace_.path("own");
  WorkerFolder folder_;
};

TEST_F(WorkerFolderTest, ASpareRunFolderIsLentOnce) {
  folder_.make_spares();
  const ino_t spare = inode_of(own_ + "/run");
  ASSERT_NE(spare, 0u);
  ASSERT_TRUE(folder_.lend_run_folder(run(1)));
  ASSERT_TRUE(folder_.lend_run_folder(run(2)));
  EXPECT_EQ(inode_of(run(1)), spare);
  EXPECT_NE(inode_of(run(2)), 0u);
  folder_.make_spares();
  EXPECT_NE(inode_of(own_ + "/run"), 0u);
}

TEST_F(WorkerFolderTest, AnEarlierAttemptsFolderStaysAsItIs) {
  folder_.make_spares();
  ASSERT_TRUE(make_folders(run(1)));
  ASSERT_TRUE(replace_file(run(1) + "/1.log", "said"));
  ASSERT_TRUE(folder_.lend_run_folder(run(1)));
  EXPECT_EQ(workspace_.read("run-1/1.log"), "said");
  ASSERT_TRUE(folder_.lend_run_folder(run(2))) << "the spare one is still there";
}

TEST_F(WorkerFolderTest, AFileIsPutWholeWithASpareOneOrWithout) {
  ASSERT_TRUE(folder_.lend_run_folder(run(1)));
  const std::string path = run(1) + "/1.result";
  for (const std::string& text : {std::string("first"), std::string(100'000, 'x'), std::string("last")}) {
    folder_.make_spares();
    ASSERT_TRUE(folder_.put_file(path, text));
    EXPECT_EQ(workspace_.read("run-1/1.result"), text);
    ASSERT_TRUE(folder_.put_file(path, text + "!"));
    EXPECT_EQ(workspace_.read("run-1/1.result"), text + "!");
  }
}

TEST_F(WorkerFolderTest, WhatSomebodyTookAwayIsMadeAnew) {
  folder_.make_spares();
  std::filesystem::remove_all(own_);
  ASSERT_TRUE(folder_.lend_run_folder(run(1)));
  ASSERT_TRUE(folder_.put_file(run(1) + "/1.result", "text"));
  EXPECT_EQ(workspace_.read("run-1/1.result"), "text");
  folder_.make_spares();
  ASSERT_TRUE(folder_.lend_run_folder(run(2)));
}

TEST_F(WorkerFolderTest, AFileThatCantBePutIsAnErrorAndLeavesNothing) {
  folder_.make_spares();
  const auto put = folder_.put_file(run(7) + "/1.result", "text");
  ASSERT_FALSE(put);
  EXPECT_NE(put.error().message.find("run-7"), std::string::npos) << put.error().message;
  ASSERT_TRUE(folder_.lend_run_folder(run(7)));
  folder_.make_spares();
  ASSERT_TRUE(folder_.put_file(run(7) + "/1.result", "text"));
  EXPECT_EQ(workspace_.read("run-7/1.result"), "text") << "what was written before is not in it";
}

}  // namespace
}  // namespace eider::worker
