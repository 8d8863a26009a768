// The fingerprint of a published file or folder.
#include "worker/content.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "worker/worker_test_support.h"

namespace eider::worker {
namespace {

const std::function<bool()> kNever = [] { return false; };

TEST(Content, AFoldersFingerprintIsOfNamesAndBytesOnly) {
  const Workspace workspace;
  const auto make = [&](const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files) {
    for (const auto& [name, text] : files) {
      const std::string file = fmt::format("{}/{}", folder, name);
      std::filesystem::create_directories(std::filesystem::path(workspace.path(file)).parent_path());
      workspace.write(file, text);
    }
    auto content = read_content(workspace.path(folder), kNever);
    EXPECT_TRUE(content.ok());
    return *content;
  };
  const Content one = make("one", {{"b/x", "1"}, {"a", "22"}});
  EXPECT_EQ(one.bytes, 3);
  EXPECT_EQ(one.files, (std::vector<std::string>{"a", "b/x"}));
  std::filesystem::create_directories(workspace.path("same/empty"));
  EXPECT_EQ(make("same", {{"a", "22"}, {"b/x", "1"}}).fingerprint, one.fingerprint);
  EXPECT_NE(make("bytes", {{"a", "23"}, {"b/x", "1"}}).fingerprint, one.fingerprint);
  EXPECT_NE(make("names", {{"a", "22"}, {"b/y", "1"}}).fingerprint, one.fingerprint);
  EXPECT_NE(make("moved", {{"a", "221"}, {"b/x", ""}}).fingerprint, one.fingerprint);
}

TEST(Content, ItStopsWhenToldTo) {
  const Workspace workspace;
  workspace.write("large", std::string(3 << 20, 'x'));
  int asked = 0;
  const auto content = read_content(workspace.path("large"), [&] { return ++asked == 2; });
  ASSERT_FALSE(content.ok());
  EXPECT_EQ(content.error().code, ErrorCode::unavailable);
  EXPECT_EQ(asked, 2);
}

TEST(Content, AFilesFingerprintIsTheHashOfItsBytes) {
  const Workspace workspace;
  const std::string text(3 * 1024 * 1024 + 7, 'x');
  workspace.write("file", text);
  const auto content = read_content(workspace.path("file"), kNever);
  ASSERT_TRUE(content.ok()) << content.error().message;
  EXPECT_EQ(content->bytes, static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(content->fingerprint, content_hash(text));
  EXPECT_EQ(content->files, std::vector<std::string>{workspace.path("file")});
}

}  // namespace
}  // namespace eider::worker
