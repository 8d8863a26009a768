// H: large workspaces and a long history.
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/ids.h"
#include "bench/floors.h"
#include "bench/process.h"
#include "bench/queue_core.h"
#include "bench/served.h"
#include "store/store.h"

namespace eider::bench {
namespace {

constexpr int schedules_a_file = 10;

void write_schedules(const Folder& folder, int count) {
  folder.write("eider.yaml", "");
  const auto hour = std::chrono::floor<std::chrono::hours>(now()).time_since_epoch() / std::chrono::hours(1) % 24;
  for (int file = 0; file < count / schedules_a_file; ++file) {
    std::string text = "schedules:\n";
    for (int i = 0; i < schedules_a_file; ++i) {
      text +=
          fmt::format("  - {{id: s{}, cron: '{} {} * * *'}}\n", i, (file + i) % 60, (hour + 3 + (file + i) % 20) % 24);
    }
    folder.pipeline(fmt::format("p{}", file), text + "steps:\n  - {id: step, run: [/bin/true]}\n");
  }
}

Result<void> measure_boot(const Setup& setup, Report& report, int count, double limit_s) {
  progress(fmt::format("         {} schedules", count));
  const Folder folder(setup, "h");
  write_schedules(folder, count);
  std::vector<double> first, again;
  for (int i = 0; i < (setup.quick ? 2 : 4); ++i) {
    auto server = Server::start(setup, folder);
    if (!server) return server.error();
    (i == 0 ? first : again).push_back(ms((*server)->ready_after()) / 1000);
  }
  for (const bool is_first : {true, false}) {
    Figure f = figure("H", fmt::format("{} schedules: exec → ready, {}", count, is_first ? "the first time" : "again"),
                      "s", median(is_first ? first : again));
    f.target = fmt::format("≤ {}", limit_s);
    f.reached = f.median <= limit_s;
    report.add(std::move(f));
  }
  return {};
}

/// Finished runs of the pipeline `work`, in few big transactions.
Result<void> fill_history(store::Store& store, int count) {
  SystemRandom random;
  IdMaker ids(random);
  const std::string definition(32, 'd');
  for (int at = 0; at < count;) {
    if (auto begun = store.begin(); !begun) return begun;
    for (int i = 0; i < 20'000 && at < count; ++i, ++at) {
      model::Run run;
      run.id = ids.make(now());
      run.pipeline = "work";
      run.trigger_id = "bench";
      run.created_at = run.not_before = now();
      run.reason = model::reason::requested;
      model::AttemptEnded end;
      end.attempt.run_id = run.id;
      end.attempt.number = 1;
      end.attempt.outcome = model::Outcome::succeeded;
      end.attempt.started_at = end.attempt.finished_at = end.at = run.created_at;
      end.event = model::RunEvent::succeed;
      const model::RunClaimed claim{run.id, 1, run.created_at, definition, {}};
      for (const model::Change& change : model::ChangeSet{model::RunQueued{run}, claim, end}) {
        auto applied = store.apply({change});
        if (!applied) return applied.error();
        if (!*applied) return Error{ErrorCode::io, "a finished run can't be written"};
      }
    }
    if (auto committed = store.commit(); !committed) return committed;
    auto aside = store.checkpoint_aside();
    if (aside && *aside) (void)store.finish_checkpoint();
  }
  return {};
}

/// Claims, one durable commit each, of runs that were put into the queue before; per second.
Result<double> claims_per_second(store::Store& store, int count) {
  SystemRandom random;
  IdMaker ids(random);
  std::vector<std::string> queued;
  const auto turn = [&](const auto& body) -> Result<void> {
    if (auto begun = store.begin(); !begun) return begun;
    if (auto done = body(); !done) return done.error();
    return store.commit();
  };
  const auto put = [&]() -> Result<bool> {
    for (int i = 0; i < count; ++i) {
      model::Run run;
      run.id = ids.make(now());
      run.pipeline = "work";
      run.created_at = run.not_before = now();
      queued.push_back(run.id);
      if (auto applied = store.apply({model::RunQueued{std::move(run)}}); !applied) return applied;
    }
    return true;
  };
  if (auto done = turn(put); !done) return done.error();
  const double from = monotonic_ms();
  for (const std::string& id : queued) {
    auto done = turn([&] { return store.apply({model::RunClaimed{id, 1, now(), "definition", {}}}); });
    if (!done) return done.error();
  }
  const double rate = count / (monotonic_ms() - from) * 1000;
  const auto end_all = [&]() -> Result<bool> {
    for (const std::string& id : queued) {
      model::AttemptEnded end;
      end.attempt.run_id = id;
      end.attempt.number = 1;
      end.attempt.outcome = model::Outcome::succeeded;
      end.attempt.finished_at = end.at = now();
      if (auto applied = store.apply({end}); !applied) return applied;
    }
    return true;
  };
  if (auto done = turn(end_all); !done) return done.error();
  return rate;
}

Result<void> measure_history(const Setup& setup, Report& report) {
  const int finished = setup.quick ? 50'000 : 1'000'000;
  const int count = setup.quick ? 300 : 1'500;
  const Folder small(setup, "h0");
  const Folder large(setup, "h1");
  std::vector<double> claims[2], settled[2];
  {
    progress(fmt::format("         filling a history of {} runs", finished));
    auto store = store::open_sqlite_store({large.path() + "/state.db", true});
    if (!store) return store.error();
    if (auto filled = fill_history(**store, finished); !filled) return filled;
  }
  std::unique_ptr<QueueCore> cores[2];
  for (int i = 0; i < 2; ++i) {
    auto core = QueueCore::open((i == 0 ? small : large).path(), 16);
    if (!core) return core.error();
    cores[i] = *std::move(core);
  }
  progress("         claiming beside it");
  for (int round = 0; round < (setup.quick ? 3 : 7); ++round) {
    for (int turn = 0; turn < 2; ++turn) {
      const int i = (round + turn) % 2;  // who is second finds the disk busier
      auto rate = claims_per_second(cores[i]->store(), count);
      if (!rate) return rate.error();
      claims[i].push_back(*rate);
      auto loop_rate = cores[i]->settle(count * 2);
      if (!loop_rate) return loop_rate.error();
      settled[i].push_back(*loop_rate);
    }
  }
  const auto add = [&](const char* what, const std::vector<double>& without, const std::vector<double>& beside,
                       bool judged) {
    Figure f = figure("H", fmt::format("{} beside {} finished runs", what, finished), "per s", median(beside));
    f.floor = median(without);
    f.floor_name = "without history";
    f.ratio = median(without) / median(beside);
    f.ratio_to = "slower";
    if (judged) {
      f.target = "≤ 1.1 × slower";
      f.reached = *f.ratio <= 1.1;
    }
    report.add(std::move(f));
  };
  add("claims, one commit each,", claims[0], claims[1], true);
  add("runs through the loop", settled[0], settled[1], false);
  return {};
}

}  // namespace

Result<void> row_h(const Setup& setup, Report& report) {
  if (auto done = measure_boot(setup, report, setup.quick ? 1'000 : 10'000, 0.5); !done) return done;
  if (auto done = measure_boot(setup, report, setup.quick ? 5'000 : 100'000, 2); !done) return done;
  if (auto done = measure_history(setup, report); !done) return done;
  report.say(
      "H",
      fmt::format(
          "{} schedules a file; ready is /readyz answering 200; history and queue in the same store, rounds in turns",
          schedules_a_file));
  return {};
}

}  // namespace eider::bench
