// What people ask of a loop: `eider run` without a server (requested_only), and pauses.
#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using namespace std::chrono_literals;
using model::RunState;

/// A server that went away with one run going on and one queued behind it; then a loop that is alone.
class Alone : public testing::Test {
 protected:
  void SetUp() override {
    bench_.add_pipeline("p");
    bench_.add_pipeline("q");
    bench_.boot();
    goes_on_ = bench_.start("p").value();
    queued_ = bench_.start("p", true).value();
    bench_.start("q").value();
    other_ = bench_.start("q", true).value();
    bench_.options.schedules = false;
    bench_.options.requested_only = true;
  }
  void alone_with(bool worker_lives) {
    bench_.traces[goes_on_] = {false, worker_lives, worker_lives};
    bench_.clock.advance(1ms);  // ids of one millisecond are in order only where one process made them
    bench_.crash_and_boot();
  }
  TestBench bench_;
  std::string goes_on_, queued_, other_;
};

TEST_F(Alone, WhoQueuesMovesTheLineOfItsPipelineAndNoOther) {
  alone_with(true);
  const std::string id = bench_.start("p", true).value();
  EXPECT_EQ(bench_.row(queued_).state, RunState::queued) << "the one before it is not over";
  for (const std::string& next : {goes_on_, queued_, id}) {
    ASSERT_EQ(bench_.row(next).state, RunState::running) << "oldest first";
    bench_.workers->over(next, 1, model::Outcome::succeeded);
    bench_.settle();
  }
  EXPECT_EQ(bench_.row(id).state, RunState::succeeded);
  EXPECT_EQ(bench_.row(other_).state, RunState::queued) << "nobody asked for it here";
}

TEST_F(Alone, TheRefusalNamesTheWaysThatAreOpen) {
  alone_with(true);
  const auto behind_a_live_one = bench_.start("p");
  ASSERT_FALSE(behind_a_live_one.ok());
  EXPECT_EQ(behind_a_live_one.error().code, ErrorCode::conflict);
  EXPECT_NE(behind_a_live_one.error().message.find("goes on from an earlier server: `eider run p --queue` waits"),
            std::string::npos)
      << behind_a_live_one.error().message;
  bench_.workers->over(goes_on_, 1, model::Outcome::succeeded);
  bench_.settle();
  EXPECT_EQ(bench_.row(queued_).state, RunState::queued);
  const auto behind_a_queued_one = bench_.start("p");
  ASSERT_FALSE(behind_a_queued_one.ok());
  EXPECT_NE(behind_a_queued_one.error().message.find("no server is running to start it: `eider serve` starts it"),
            std::string::npos)
      << behind_a_queued_one.error().message;
}

TEST_F(Alone, AKeyOfAQueuedRunStartsIt) {
  const std::string keyed = bench_.start("p", true, "key").value();
  alone_with(true);
  EXPECT_EQ(bench_.start("p", false, "key").value(), keyed);
  bench_.workers->over(goes_on_, 1, model::Outcome::succeeded);
  bench_.settle();
  EXPECT_EQ(bench_.row(queued_).state, RunState::running);
}

TEST(Pause, OnceMoreKeepsSinceWhenAndWhyUnlessToldAnew) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  const auto pause = [&](const std::optional<std::string>& note) {
    std::optional<Result<void>> answer;
    bench.inbox->post(PauseSchedule{"p/s", true, note, [&](const Result<void>& done) { answer.emplace(done); }});
    bench.settle();
    EXPECT_TRUE(answer && answer->ok());
    return bench.ask<AskSchedules, std::vector<ScheduleView>>({}).front();
  };
  EXPECT_EQ(pause("maintenance").note, "maintenance");
  bench.advance(10min);
  const ScheduleView again = pause(std::nullopt);
  EXPECT_EQ(again.note, "maintenance");
  EXPECT_EQ(again.paused_at, at("2026-01-01T10:00:00Z"));
  EXPECT_EQ(pause("moved").note, "moved");
  EXPECT_EQ(pause("").note, "") << "told to say nothing";
  EXPECT_EQ(bench.reader()->cursor("p/s").value()->paused_at, at("2026-01-01T10:00:00Z"));
}

}  // namespace
}  // namespace eider::engine
