// Published files: staged, named, renamed after the commit point; and what a failed or killed attempt leaves.
#include "worker/publishing.h"

#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;

model::Pipeline renewing(std::vector<model::Step> steps, std::vector<model::Publish> publishes) {
  auto out = pipeline(std::move(steps));
  out.publishes = std::move(publishes);
  return out;
}

/// Names in a folder of the workspace.
std::vector<std::string> names_in(const Workspace& workspace, const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(workspace.path(folder))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Publishing, NamesAreTheLastPartAndTheWholeOfTheAsset) {
  const Publishing publishing_of(renewing({}, {file("marts.daily-delays", "out/d.parquet"),
                                               file("raw.daily-delays", "/abs/r/"),
                                               {"marts.table", "", "t", ""}}),
                                 "/w", "r", 3);
  const auto names = publishing_of.names();
  EXPECT_EQ(names, (std::map<std::string, std::string>{{"marts_daily_delays", "/w/out/.d.parquet.r.3.tmp"},
                                                       {"raw_daily_delays", "/abs/.r.r.3.tmp"}}))
      << "the last part means two of them";
}

TEST(Publishing, FilesAndFoldersAppearAtTheirTargets) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out/folder"));
  workspace.write("out/folder/old", "old");
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a",
                                         "echo new > \"$EIDER_OUT_ONE\"; mkdir \"$EIDER_OUT_MARTS_MANY\"; "
                                         "echo 1 > \"$EIDER_OUT_MANY/part=1\"; test ! -e out/new.txt")},
                                  {file("marts.one", "out/new.txt"), file("marts.many", "out/folder")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(workspace.read("out/new.txt"), "new\n");
  EXPECT_EQ(names_in(workspace, "out"), (std::vector<std::string>{"folder", "new.txt"}));
  EXPECT_EQ(names_in(workspace, "out/folder"), (std::vector<std::string>{"part=1"}));
  const auto renames = run.result_file().renames;
  ASSERT_EQ(renames.size(), 2U);
  EXPECT_EQ(renames[0].target, workspace.path("out/new.txt"));
  EXPECT_FALSE(renames[0].folder);
  EXPECT_TRUE(renames[1].folder);
  EXPECT_GT(renames[1].inode, 0U);
}

TEST(Publishing, WhatNoStepWroteIsAnErrorThatSaysHow) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a", "echo x > \"$EIDER_OUT_ONE\"")},
                                  {file("marts.one", "out/one"), file("marts.two", "out/two")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("publishes as marts.two"), std::string::npos) << result.error;
  EXPECT_NE(result.error.find("$EIDER_OUT_TWO"), std::string::npos) << result.error;
  EXPECT_TRUE(names_in(workspace, "out").empty());
}

TEST(Publishing, AFailedAttemptLeavesTheOldFileAndNothingElse) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out"));
  workspace.write("out/one", "old");
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a", "echo half > \"$EIDER_OUT_ONE\"; exit 1")}, {file("one", "out/one")}));
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::failed);
  EXPECT_EQ(workspace.read("out/one"), "old");
  EXPECT_EQ(names_in(workspace, "out"), std::vector<std::string>{"one"});
}

TEST(Publishing, WhatIsStagedIsListedUntilTheEnd) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace,
              renewing({shell("a", "cat .eider/staged/run-1.2 > seen; echo x > \"$EIDER_OUT_ONE\"")},
                       {file("marts.one", "out/one")}),
              2);
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
  EXPECT_EQ(workspace.read("seen"), workspace.path("out/.one.run-1.2.tmp") + std::string(1, '\0'));
  EXPECT_TRUE(names_in(workspace, ".eider/staged").empty());
}

TEST(Publishing, AFileThatCantTakeThePlaceOfAFolderPublishesNothing) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out/isdir"));
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a", "echo x > \"$EIDER_OUT_ONE\"; echo x > \"$EIDER_OUT_TWO\"")},
                                  {file("marts.one", "out/one"), file("marts.two", "out/isdir")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("can't publish marts.two as " + workspace.path("out/isdir") + ": a folder lies there"),
            std::string::npos)
      << result.error;
  EXPECT_TRUE(result.renames.empty());
  EXPECT_EQ(run.result_file().outcome, Outcome::failed);
  EXPECT_EQ(names_in(workspace, "out"), std::vector<std::string>{"isdir"});
  EXPECT_TRUE(names_in(workspace, ".eider/staged").empty());
}

TEST(Publishing, AFolderThatCantBeWrittenIsRefusedBeforeAStepRuns) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out"));
  ASSERT_EQ(::chmod(workspace.folder.c_str(), 0755), 0);
  const Publishing one(renewing({}, {file("marts.one", "out/one")}), workspace.folder, "run-1", 1);
  const auto before = static_cast<uid_t>(::setfsuid(65534));  // also when the tests run as root
  const auto prepared = one.prepare();
  ::setfsuid(before);
  ASSERT_FALSE(prepared.ok());
  EXPECT_NE(prepared.error().message.find("its folder can't be written: Permission denied"), std::string::npos)
      << prepared.error().message;
}

TEST(Publishing, AMountPointIsRefusedBeforeAStepRuns) {
  const Workspace workspace;
  // One that every machine has, by way of a link, which is its owner's wish.
  std::filesystem::create_directory_symlink("/", workspace.path("root"));
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a", "touch ran; mkdir \"$EIDER_OUT_ONE\"")}, {file("one", "root/proc")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("it is a mount point"), std::string::npos) << result.error;
  EXPECT_FALSE(workspace.has("ran"));
}

TEST(Publishing, WhenARenameFailsTheAttemptFailedAndCanStillBeRepeated) {
  const Workspace workspace;
  TestWorker worker(workspace);
  // The first target is where the second file is staged: after that rename, the second can't be done.
  TestRun run(workspace, renewing({shell("a", "echo 1 > \"$EIDER_OUT_ONE\"; echo 2 > \"$EIDER_OUT_TWO\"")},
                                  {file("one", "out/.y.run-1.1.tmp"), file("two", "out/y")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("can't publish " + workspace.path("out/y")), std::string::npos) << result.error;
  EXPECT_EQ(run.result_file().outcome, Outcome::succeeded);
  EXPECT_EQ(run.result_file().renames.size(), 2U);
  EXPECT_EQ(names_in(workspace, "out"), std::vector<std::string>{".y.run-1.1.tmp"});
  EXPECT_EQ(names_in(workspace, ".eider/staged"), std::vector<std::string>{"run-1.1"});
}

TEST(Publishing, NoLinkLeadsIntoEidersOwnFolder) {
  const Workspace workspace;
  workspace.write(".eider/state.db", "precious");
  std::filesystem::create_directory_symlink(".eider", workspace.path("lnk"));
  std::filesystem::create_directory_symlink(".", workspace.path("here"));
  for (const char* path : {"lnk/state.db", "lnk/new/x", "here/.eider", "here/lnk/runs"}) {
    const Publishing one(renewing({}, {file("marts.one", path)}), workspace.folder, "run-1", 1);
    const auto prepared = one.prepare();
    ASSERT_FALSE(prepared.ok()) << path;
    EXPECT_NE(prepared.error().message.find("lies in Eider's own folder"), std::string::npos)
        << prepared.error().message;
  }
  EXPECT_EQ(names_in(workspace, ".eider"), (std::vector<std::string>{"locks", "state.db"}));
}

TEST(Publishing, ALinkMayLeadOutOfTheWorkspace) {
  const Workspace workspace;
  const Workspace elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.folder, workspace.path("data"));
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a", "echo x > \"$EIDER_OUT_ONE\"")}, {file("one", "data/deep/one")}));
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.error;
  EXPECT_EQ(elsewhere.read("deep/one"), "x\n");
}

TEST(Publishing, AFolderIsSyncedWithAllThatIsInIt) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out/deep/empty"));
  workspace.write("out/deep/part", "1");
  std::filesystem::create_symlink("deep", workspace.path("out/link"));
  ASSERT_EQ(::mkfifo(workspace.path("out/pipe").c_str(), 0600), 0);
  auto all = all_to_sync(workspace.path("out"));
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->size(), 4U);
  EXPECT_EQ(all->back(), workspace.path("out"));
  EXPECT_EQ((*all)[2], workspace.path("out/deep"));
  std::sort(all->begin(), all->end());
  EXPECT_EQ(*all, (std::vector<std::string>{workspace.path("out"), workspace.path("out/deep"),
                                            workspace.path("out/deep/empty"), workspace.path("out/deep/part")}));
}

TEST(Publishing, WithoutACommitPointNothingIsPublished) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, renewing({shell("a", "echo new > \"$EIDER_OUT_ONE\"")}, {file("one", "out/one")}));
  // A folder lies where the result is first written.
  std::filesystem::create_directories(wire::Layout::attempt_result(run.job.folder, 1) + ".tmp");
  const auto result = run.run_on(worker);
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_NE(result.error.find("nothing was published, because the result can't be written"), std::string::npos);
  EXPECT_TRUE(result.renames.empty());
  EXPECT_TRUE(names_in(workspace, "out").empty());
}

TEST(Publishing, AFullDiskFailsTheStepAndLeavesTheOldFile) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out"));
  if (::mount("tmpfs", workspace.path("out").c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  }
  workspace.write("out/one", "old");
  TestWorker worker(workspace);
  model::Step copy =
      sql("copy", "COPY (SELECT random() AS x FROM range(1000000)) TO (getvariable('out_one')) (FORMAT parquet)");
  for (const model::Step& step : {shell("a", "head -c 1000000 /dev/zero > \"$EIDER_OUT_ONE\""), copy}) {
    TestRun run(workspace, renewing({step}, {file("one", "out/one")}), 1, "run-" + step.id);
    const auto result = run.run_on(worker);
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_NE(result.error.find("No space left on device"), std::string::npos) << result.error;
    EXPECT_EQ(workspace.read("out/one"), "old");
    EXPECT_EQ(names_in(workspace, "out"), std::vector<std::string>{"one"});
  }
  ::umount2(workspace.path("out").c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace eider::worker
