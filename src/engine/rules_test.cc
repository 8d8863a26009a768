// A rule that is new, changed, taken out of the files or put back: from when on it counts.
#include <gtest/gtest.h>

#include "engine/test_bench.h"

namespace eider::engine {
namespace {

using namespace std::chrono_literals;

// What was taken out of the files was not missed while it was away, whether the server ran or not; a pause stays.
TEST(Rules, AScheduleThatComesBackStartsFromThen) {
  for (const bool restarts : {false, true}) {
    for (const bool schedule_only : {false, true}) {
      TestBench bench;
      const auto write = [&](bool there) {
        bench.add_pipeline("p", [&](model::Pipeline& p) {
          if (there) p.schedules = {TestBench::every_minute("s"), TestBench::every_minute("paused")};
        });
        if (!there && !schedule_only) bench.workspace_value.pipelines.erase("p");
      };
      const auto read = [&] {
        if (restarts) return bench.crash_and_boot();
        bench.inbox->post(Reload{[](const auto&) {}});
        bench.settle();
      };
      write(true);
      bench.boot();
      bench.inbox->post(PauseSchedule{"p/paused", true, "for now", [](const Result<void>&) {}});
      bench.settle();
      write(false);
      read();
      bench.advance(72h);
      write(true);
      read();
      EXPECT_TRUE(bench.runs().empty()) << "never from the past";
      EXPECT_TRUE(bench.occurrences().empty()) << "nothing was missed";
      bench.advance(1min);
      ASSERT_EQ(bench.occurrences().size(), 1u) << "one runs, one is paused still";
      EXPECT_EQ(bench.occurrences()[0].scheduled_for, at("2026-01-04T10:01:00Z"));
    }
  }
}

// One whose file is wrong for a while was there all the time: what it missed, it missed.
TEST(Rules, AScheduleWhoseFileIsMendedGoesOn) {
  for (const char* name : {"p", ""}) {
    TestBench bench;
    bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
    bench.boot();
    const auto good = bench.workspace_value;
    bench.workspace_value.pipelines.erase("p");
    bench.workspace_value.broken["pipelines/p.yaml"] = {name, "wrong"};
    bench.crash_and_boot();
    bench.advance(72h);
    bench.workspace_value = good;
    bench.inbox->post(Reload{[](const auto&) {}});
    bench.settle();
    ASSERT_EQ(bench.runs().size(), 1u) << "misfire: latest";
    EXPECT_EQ(bench.runs()[0].scheduled_for, at("2026-01-04T10:00:00Z"));
  }
}

TEST(Rules, AChangedRuleStartsFromNow) {
  TestBench bench;
  bench.add_pipeline("p", [](model::Pipeline& p) { p.schedules = {TestBench::every_minute()}; });
  bench.boot();
  bench.loop.reset();
  bench.clock.advance(24h);
  bench.add_pipeline("p", [](model::Pipeline& p) {
    p.schedules = {TestBench::every_minute()};
    p.schedules[0].timing.cron = "0 * * * *";
  });
  bench.crash_and_boot();
  EXPECT_TRUE(bench.runs().empty()) << "never from the past";
  EXPECT_EQ(bench.settle().wake_at, at("2026-01-02T11:00:00Z"));
}

}  // namespace
}  // namespace eider::engine
