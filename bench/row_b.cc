// B: a thousand instants in ten seconds, none lost, none doubled, and how late each is.
#include <map>

#include <fmt/format.h>

#include "bench/floors.h"
#include "bench/process.h"
#include "bench/served.h"

namespace eider::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int schedules = 10;  // each every 100 ms

/// `spread_out`: the ten schedules are 10 ms apart; otherwise ten instants fall together.
void write_workspace(const Folder& folder, bool spread_out) {
  folder.write("eider.yaml", "workers: {max: 16}\n");
  for (int i = 0; i < schedules; ++i) {
    folder.pipeline(
        fmt::format("p{}", i),
        fmt::format("schedules:\n  - {{id: s, every: 100ms, overlap: allow, anchor: '2026-01-01T00:00:00.{:03}Z'}}\n"
                    "steps:\n  - {{id: step, run: [/bin/true]}}\n",
                    spread_out ? i * 10 : 0));
  }
}

struct Instants {
  std::vector<double> claimed, started;
  int due = 0;
  int lost = 0;  ///< not decided, or their run did not succeed
  int doubled = 0;
  int open = 0;  ///< their run waits or runs still
};

Result<Instants> collect(const Folder& folder, Instant from, Instant to) {
  Instants out;
  out.due = static_cast<int>((to - from) / milliseconds(100)) * schedules;
  const auto committed = event_times(folder, "started");
  int covered = 0;
  for (int i = 0; i < schedules; ++i) {
    auto found = firings(folder, fmt::format("p{}/s", i), from, to);
    if (!found) return found.error();
    std::map<Instant, int> runs;
    for (const Firing& firing : *found) {
      const Instant due = firing.occurrence.scheduled_for;
      if (firing.occurrence.decision != model::Decision::run || !firing.run) continue;
      if (!model::is_terminal(firing.run->state)) {
        ++out.open;
        continue;
      }
      if (firing.run->state != model::RunState::succeeded || !firing.attempts.front().started_at) continue;
      out.doubled += (runs[due]++ > 0 ? 1 : 0) + static_cast<int>(firing.attempts.size() - 1);
      if (const auto at = claim_committed(firing, committed)) out.claimed.push_back(ms(*at - due));
      out.started.push_back(ms(*firing.attempts.front().started_at - due));
    }
    covered += static_cast<int>(runs.size());
  }
  out.lost = out.due - covered - out.open;
  return out;
}

Result<Instants> measure(const Setup& setup, bool spread_out, Micros window) {
  const Folder folder(setup, "b");
  write_workspace(folder, spread_out);
  auto server = Server::start(setup, folder);
  if (!server) return server.error();
  const Instant from = std::chrono::ceil<seconds>(now() + milliseconds(700));
  sleep_until(from + window);
  // A machine that is too slow for a hundred runs a second is behind now: no more are added.
  for (int i = 0; i < schedules; ++i) {
    auto paused = (*server)->post(fmt::format("/api/v1/schedules/p{}/s/pause", i), R"({"note":"measured"})");
    if (!paused) return paused.error();
  }
  Result<Instants> out = Instants{};
  const auto all_ended = [&] {
    out = collect(folder, from, from + window);
    return !out || out->open == 0;
  };
  (void)wait_for(all_ended, std::chrono::minutes(1), milliseconds(500));
  return out;
}

void add(Report& report, const std::string& how, const Instants& got, const FloorTimes& floor, bool headline) {
  Figure count = figure("B", how + ": run once", fmt::format("of {}", got.due), got.due - got.lost - got.open);
  count.target = "0 lost, 0 doubled";
  count.reached = got.lost == 0 && got.doubled == 0 && got.open == 0;
  if (got.open > 0) count.note = fmt::format("{} wait or run still: this machine cannot run so many", got.open);
  report.add(std::move(count));
  if (got.lost > 0 || got.doubled > 0) {
    report.broken("B", fmt::format("{}: {} of {} instants lost, {} doubled", how, got.lost, got.due, got.doubled));
  }
  Figure claimed = figure("B", "  due → claim committed", "ms", spread(got.claimed));
  claimed.floor = median(floor.commit);
  claimed.floor_name = "timer + commit";
  claimed.ratio = claimed.median / *claimed.floor;
  claimed.ratio_to = "floor";
  Figure started = figure("B", "  due → step's process started", "ms", spread(got.started));
  started.floor = median(floor.started);
  started.floor_name = "+ spawn";
  started.ratio = started.median / *started.floor;
  started.ratio_to = "floor";
  if (headline) {
    claimed.target = "≤ 1.5, p99 ≤ 5";
    claimed.reached = claimed.median <= 1.5 && *claimed.p99 <= 5;
    started.target = "p99 ≤ 20";
    started.reached = *started.p99 <= 20;
  }
  report.add(std::move(claimed));
  report.add(std::move(started));
}

}  // namespace

Result<void> row_b(const Setup& setup, Report& report) {
  auto store = BareStore::open(setup.scratch);
  if (!store) return store.error();
  const Micros window = setup.quick ? seconds(3) : seconds(10);
  const Instant from = now() + milliseconds(50);
  const FloorTimes floor = floor_times(**store, from, from + window / 2, milliseconds(10));
  for (const bool spread_out : {true, false}) {
    auto got = measure(setup, spread_out, window);
    if (!got) return got.error();
    add(report, spread_out ? "an instant every 10 ms" : "ten instants every 100 ms", *got, floor, spread_out);
  }
  Figure timer = figure("B", "  floor: a bare timer every 10 ms", "ms", spread(floor.timer));
  report.add(std::move(timer));
  report.say("B", fmt::format("ten schedules `every: 100ms`, overlap allow, /bin/true, {} s, workers.max 16",
                              window.count() / 1'000'000));
  return {};
}

}  // namespace eider::bench
