// Published files: staged, named, renamed after the commit point; and what a failed or killed attempt leaves.
#include "worker/publishing.h"

#include <sys/mount.h>

#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

using model::Outcome;

model::Pipeline publishing(std::vector<model::Step> steps, std::vector<model::Publish> publishes) {
  auto out = pipeline(std::move(steps));
  out.publishes = std::move(publishes);
  return out;
}
model::Publish file(const std::string& asset, const std::string& path) { return {asset, path, "", ""}; }

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
  const Publishing publishing_of(publishing({}, {file("marts.daily-delays", "out/d.parquet"),
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
  TestRun run(workspace, publishing({shell("a",
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
  TestRun run(workspace, publishing({shell("a", "echo x > \"$EIDER_OUT_ONE\"")},
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
  TestRun run(workspace, publishing({shell("a", "echo half > \"$EIDER_OUT_ONE\"; exit 1")}, {file("one", "out/one")}));
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::failed);
  EXPECT_EQ(workspace.read("out/one"), "old");
  EXPECT_EQ(names_in(workspace, "out"), std::vector<std::string>{"one"});
}

TEST(Publishing, TheNextAttemptRemovesWhatAKilledOneLeft) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("out/.one.run-1.1.tmp"));
  workspace.write("out/.one.run-1.1.tmp/half", "half");
  workspace.write("out/.one.run-2.1.tmp", "another run's");
  TestWorker worker(workspace);
  TestRun run(workspace, publishing({shell("a", "echo new > \"$EIDER_OUT_ONE\"")}, {file("one", "out/one")}), 2);
  EXPECT_EQ(run.run_on(worker).outcome, Outcome::succeeded);
  EXPECT_EQ(names_in(workspace, "out"), (std::vector<std::string>{".one.run-2.1.tmp", "one"}));
}

TEST(Publishing, WithoutACommitPointNothingIsPublished) {
  const Workspace workspace;
  TestWorker worker(workspace);
  TestRun run(workspace, publishing({shell("a", "echo new > \"$EIDER_OUT_ONE\"")}, {file("one", "out/one")}));
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
    TestRun run(workspace, publishing({step}, {file("one", "out/one")}), 1, "run-" + step.id);
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
