#include "workspace/scaffold.h"

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
