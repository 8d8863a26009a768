// What the guide shows must load as it is shown.
#include "workspace/test_support.h"

namespace eider::workspace {
namespace {

std::filesystem::path guide() {
  return (std::filesystem::path(EIDER_TEST_DATA) / "../../../docs/guide").lexically_normal();
}

/// Writes each block that begins with "```yaml" and a comment with the file's name; how many.
int write_examples(const std::filesystem::path& page, const TestFolder& folder) {
  std::ifstream file(page);
  std::string name;
  std::string content;
  int count = 0;
  bool within = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```yaml") {
      within = true;
      name.clear();
      content.clear();
    } else if (within && line.starts_with("```")) {
      within = false;
      EXPECT_FALSE(name.empty()) << page << ": an example does not say which file it is:\n" << content;
      if (!name.empty()) folder.write(name, content);
      ++count;
    } else if (within) {
      if (name.empty() && line.starts_with("# ")) name = line.substr(2);
      content += line + "\n";
    }
  }
  return count;
}

TEST(Guide, ExamplesOfDataTriggersLoadWithoutAWord) {
  const TestFolder folder;
  EXPECT_EQ(write_examples(guide() / "data-triggers.md", folder), 5);
  const auto loaded = load_workspace(folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(lines_of(loaded->diagnostics), std::vector<std::string>{});
  EXPECT_EQ(loaded->pipelines.size(), 4u);
}

TEST(Guide, ExamplesOfFailureLoadWithoutAWord) {
  const TestFolder folder;
  EXPECT_EQ(write_examples(guide() / "failure.md", folder), 1);
  folder.write("eider.yaml", "");
  const auto loaded = load_workspace(folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(lines_of(loaded->diagnostics), std::vector<std::string>{});
  EXPECT_EQ(loaded->pipelines.size(), 1u);
}

}  // namespace
}  // namespace eider::workspace
