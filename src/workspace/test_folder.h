// A workspace in a temporary folder, for tests; removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/load.h"

namespace eider::workspace {

class TestFolder {
 public:
  TestFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "eider-workspace-XXXXXX").string();
    root_ = std::filesystem::canonical(::mkdtemp(path.data())).string();
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& root() const { return root_; }
  std::string path(const std::string& name) const { return root_ + "/" + name; }

  void write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
  }

 private:
  std::string root_;
};

/// Each diagnostic of the load as one line.
inline std::vector<std::string> lines_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : diagnostics) lines.push_back(format(diagnostic));
  return lines;
}

}  // namespace eider::workspace
