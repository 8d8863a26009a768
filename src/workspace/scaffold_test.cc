#include "workspace/scaffold.h"

#include <sys/stat.h>

#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

TEST(Scaffold, LoadsWithoutAWord) {
  const TestFolder folder;
  const auto written = write_scaffold(folder.path("new/place"));
  ASSERT_TRUE(written.ok()) << written.error().message;
  const auto loaded = load_workspace(folder.path("new/place"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_TRUE(loaded->diagnostics.empty()) << format(loaded->diagnostics.front());
  ASSERT_TRUE(loaded->pipelines.contains("hello"));
  EXPECT_EQ(loaded->pipelines.at("hello").pipeline->schedules.size(), 2u);
  EXPECT_EQ(written->back(), ".gitignore");
  std::ifstream ignored(folder.path("new/place/.gitignore"));
  EXPECT_NE(std::string(std::istreambuf_iterator<char>(ignored), {}).find(".eider/\n"), std::string::npos);
}

TEST(Scaffold, FoldersAreWhatTheUmaskSaysAndAGitignoreStays) {
  const TestFolder folder;
  folder.write("new/.gitignore", "mine");
  const mode_t before = ::umask(022);
  const auto written = write_scaffold(folder.path("new"));
  ::umask(before);
  ASSERT_TRUE(written.ok()) << written.error().message;
  struct stat info {};
  ASSERT_EQ(::stat(folder.path("new/pipelines").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0755u);
  EXPECT_EQ(std::filesystem::file_size(folder.path("new/.gitignore")), 4u);
}

TEST(Scaffold, RefusesToOverwrite) {
  const TestFolder folder;
  folder.write("sql/hello.sql", "mine");
  const auto written = write_scaffold(folder.path());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::conflict);
  EXPECT_EQ(written.error().message, folder.path("sql/hello.sql") + ": exists already; nothing was written");
  EXPECT_FALSE(std::filesystem::exists(folder.path("eider.yaml")));
}

}  // namespace
}  // namespace eider::workspace
