// C: the queue core: durable runs asked for, claimed, ended and recorded, without processes.
#include <fmt/format.h>

#include "bench/floors.h"
#include "bench/queue_core.h"
#include "bench/rows.h"
#include "bench/served.h"

namespace eider::bench {

Result<void> row_c(const Setup& setup, Report& report) {
  auto bare = BareStore::open(setup.scratch);
  if (!bare) return bare.error();
  const double floor = (*bare)->commits_per_second(1);
  const int runs = setup.quick ? 2'000 : 10'000;
  const int rounds = setup.quick ? 1 : 3;
  for (const int workers : {16, 4, 64, 500}) {
    std::vector<double> rates;
    for (int i = 0; i < rounds; ++i) {
      const Folder folder(setup, "c");
      auto core = QueueCore::open(folder.path(), workers);
      if (!core) return core.error();
      auto rate = (*core)->settle(runs);
      if (!rate) return rate.error();
      rates.push_back(*rate);
      auto settled = count_runs(folder.path() + "/state.db", model::RunState::succeeded);
      if (!settled) return settled.error();
      if (*settled != runs) report.broken("C", fmt::format("{} of {} runs are recorded", *settled, runs));
    }
    Figure f = figure("C", fmt::format("settled, workers.max {}{}", workers, workers == 16 ? " (the default)" : ""),
                      "runs/s", median(rates));
    f.floor = floor;
    f.floor_name = "bare commits/s";
    f.ratio = f.median / floor;
    f.ratio_to = "floor";
    if (workers == 16) {
      f.target = "≥ 10,000 (aim 25,000)";
      f.reached = f.median >= 10'000;
    }
    report.add(std::move(f));
  }
  report.say("C", fmt::format("{} runs asked for through the inbox, each queued, claimed and ended durably, with "
                              "attempt, fence and history; "
                              "median of {}; the floor commits one row at a time, FULL",
                              runs, rounds));
  return {};
}

}  // namespace eider::bench
