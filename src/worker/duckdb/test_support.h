// For the tests of this folder: a workspace that is removed again, and a session on the real library.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "worker/duckdb/session.h"

namespace eider::worker::duck {

inline std::string library_path() {
  const char* named = std::getenv("EIDER_DUCKDB_LIBRARY");
  return named ? named : EIDER_TEST_DUCKDB_LIBRARY;
}

/// A run on a workspace of its own; what goes wrong in the set-up fails the test.
class DuckdbTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "eider it's XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    open_session({});
  }
  void TearDown() override {
    session_.reset();
    std::filesystem::remove_all(folder_);
  }

  void open_session(SessionOptions options) {
    session_.reset();
    auto opened = Session::open(library_path());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    session_ = std::move(*opened);
    options.workspace_folder = folder_;
    if (options.threads == 0) options.threads = 2;
    if (options.temp_folder.empty()) options.temp_folder = folder_ + "/temp";
    const auto configured = session_->configure(options);
    ASSERT_TRUE(configured.ok()) << configured.error().message;
  }

  std::unique_ptr<Connection> connect(const std::optional<DatabaseFile>& file = std::nullopt, const Facts& facts = {}) {
    auto connected = session_->connect(file, facts);
    EXPECT_TRUE(connected.ok()) << connected.error().message;
    if (!connected) return nullptr;
    EXPECT_FALSE(connected->held) << "held by " << connected->held->holder_pid;
    return std::move(connected->connection);
  }

  static ScriptRequest script(std::string sql, std::string run_id = "run-1") {
    ScriptRequest request;
    request.sql = std::move(sql);
    request.origin = {"pipelines/x.yaml", "sql/build.sql", 1};
    request.run_id = std::move(run_id);
    request.step_id = "build";
    return request;
  }

  ScriptOutcome run(Connection& connection, const ScriptRequest& request) {
    lines_.clear();
    return connection.run(request, [this](std::string_view line) { lines_.emplace_back(line); });
  }

  /// Names in a folder of the workspace, sorted.
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/" + folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  /// The one value of a query, as shown; runs outside of any receipt.
  std::string value(Connection& connection, const std::string& sql) {
    ScriptRequest request = script(sql);
    request.receipt = false;
    const ScriptOutcome outcome = run(connection, request);
    EXPECT_EQ(outcome.error, "");
    return lines_.size() == 4 ? lines_[2] : testing::PrintToString(lines_);
  }

  std::string folder_;
  std::unique_ptr<Session> session_;
  std::vector<std::string> lines_;
};

}  // namespace eider::worker::duck
