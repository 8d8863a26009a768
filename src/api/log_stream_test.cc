#include "api/log_stream.h"

#include <fstream>

#include "api/test_support.h"

namespace eider::api {
namespace {

class LogStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    layout_.workspace = folder_.path();
    std::filesystem::create_directories(layout_.run_folder(kRunId));
  }
  void append(int attempt, const std::string& bytes) {
    std::ofstream(wire::Layout::attempt_log(layout_.run_folder(kRunId), attempt), std::ios::app | std::ios::binary)
        << bytes;
  }
  static std::string line(const char* step, const char* text) {
    return fmt::format(R"({{"at":"2026-03-29T01:00:00Z","step":"{}","stream":"stdout","text":"{}"}})"
                       "\n",
                       step, text);
  }
  void state(model::RunState state, int attempt) { reader_.put(a_run(kRunId, state, attempt)); }
  LogRequest request(bool follow) const {
    LogRequest out;
    out.run_id = kRunId;
    out.follow = follow;
    return out;
  }
  /// All that is there now.
  static std::pair<std::string, bool> drain(LogStream& stream) {
    std::string all;
    while (true) {
      const auto chunk = stream.read();
      EXPECT_TRUE(chunk) << chunk.error().message;
      if (!chunk) return {all, true};
      all += chunk->bytes;
      if (chunk->done || chunk->bytes.empty()) return {all, chunk->done};
    }
  }

  TestFolder folder_;
  wire::Layout layout_;
  FakeReader reader_;
};

TEST_F(LogStreamTest, WithoutFollowItIsWhatIsThere) {
  state(model::RunState::running, 1);
  append(1, line("a", "one") + "{\"torn");
  LogStream stream(reader_, layout_, request(false));
  EXPECT_EQ(drain(stream), std::pair(line("a", "one"), true));
}

TEST_F(LogStreamTest, NoLogYetIsAnEmptyBody) {
  state(model::RunState::queued, 0);
  LogStream stream(reader_, layout_, request(false));
  EXPECT_EQ(drain(stream), std::pair(std::string(), true));
}

TEST_F(LogStreamTest, FollowsFromTheQueueThroughARetryToTheEnd) {
  state(model::RunState::queued, 0);
  LogStream stream(reader_, layout_, request(true));
  EXPECT_EQ(drain(stream), std::pair(std::string(), false));
  state(model::RunState::running, 1);
  EXPECT_EQ(drain(stream), std::pair(std::string(), false)) << "claimed, but its worker has no log yet";
  append(1, line("a", "one") + "{\"at\":\"2026\",\"text\":\"\xc3");
  EXPECT_EQ(drain(stream), std::pair(line("a", "one"), false));
  append(1, "\xa9\"}\n");
  EXPECT_EQ(drain(stream), std::pair(std::string("{\"at\":\"2026\",\"text\":\"é\"}\n"), false));
  append(1, line("a", "last words"));
  state(model::RunState::queued, 1);  // backs off
  EXPECT_EQ(drain(stream), std::pair(line("a", "last words"), false));
  append(2, line("a", "second try"));
  state(model::RunState::running, 2);
  EXPECT_EQ(drain(stream), std::pair(line("a", "second try"), false));
  state(model::RunState::succeeded, 2);
  EXPECT_EQ(drain(stream), std::pair(std::string(), true));
}

TEST_F(LogStreamTest, AnAttemptThatIsNamedIsFollowedAlone) {
  state(model::RunState::running, 1);
  append(1, line("a", "one"));
  LogRequest wanted = request(true);
  wanted.attempt = 1;
  LogStream stream(reader_, layout_, wanted);
  EXPECT_EQ(drain(stream), std::pair(line("a", "one"), false));
  state(model::RunState::running, 2);
  append(2, line("a", "two"));
  EXPECT_EQ(drain(stream), std::pair(std::string(), true));
}

TEST_F(LogStreamTest, CancelledWhileQueuedEnds) {
  state(model::RunState::queued, 0);
  LogStream stream(reader_, layout_, request(true));
  EXPECT_FALSE(drain(stream).second);
  state(model::RunState::cancelled, 0);
  EXPECT_TRUE(drain(stream).second);
}

TEST_F(LogStreamTest, StepAndOffset) {
  state(model::RunState::succeeded, 1);
  const std::string a = line("a", "one"), b = line("b", "two"), c = line("a", "three");
  append(1, a + b + c);
  LogRequest wanted = request(false);
  wanted.step = "a";
  LogStream of_step(reader_, layout_, wanted);
  EXPECT_EQ(drain(of_step).first, a + c);
  for (const std::size_t after : {a.size(), a.size() - 1, std::size_t(3)}) {
    wanted = request(false);
    wanted.after_bytes = static_cast<std::int64_t>(after);
    LogStream rest(reader_, layout_, wanted);
    EXPECT_EQ(drain(rest).first, b + c) << after;
  }
  wanted.after_bytes = 1'000'000;
  LogStream past(reader_, layout_, wanted);
  EXPECT_EQ(drain(past), std::pair(std::string(), true));
}

TEST_F(LogStreamTest, ALongLogComesInPieces) {
  state(model::RunState::succeeded, 1);
  std::string all;
  for (int i = 0; i < 5000; ++i) all += line("a", std::string(100, 'x').c_str());
  append(1, all);
  LogStream stream(reader_, layout_, request(false));
  const auto first = stream.read();
  ASSERT_TRUE(first);
  EXPECT_LE(first->bytes.size(), 64u * 1024);
  EXPECT_EQ(first->bytes + drain(stream).first, all);
}

TEST_F(LogStreamTest, WhatIsNoLogEndsInAnError) {
  state(model::RunState::succeeded, 1);
  append(1, std::string(5 * 1024 * 1024, 'x'));
  LogStream stream(reader_, layout_, request(false));
  const auto chunk = stream.read();
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code, ErrorCode::corrupt);
}

TEST_F(LogStreamTest, ALinkIsNotFollowed) {
  state(model::RunState::succeeded, 1);
  std::filesystem::create_symlink("/etc/passwd", wire::Layout::attempt_log(layout_.run_folder(kRunId), 1));
  LogStream stream(reader_, layout_, request(false));
  EXPECT_EQ(drain(stream), std::pair(std::string(), true));
}

}  // namespace
}  // namespace eider::api
