// D: real processes from one queue, two at a time.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/fd.h"
#include "bench/floors.h"
#include "bench/process.h"
#include "bench/served.h"
#include "store/store.h"

namespace eider::bench {
namespace {

/// How many events of a kind the server has printed. Only what is new is looked at, and nothing is parsed: on two
/// processors, who counts takes from what is measured.
class EventCount {
 public:
  EventCount(const Folder& folder, std::string_view event)
      : lines_(folder.events()), mark_(fmt::format("\"event\":\"{}\"", event)) {}

  std::size_t now() {
    while (true) {
      const std::streampos begin = lines_.tellg();
      std::string line;
      if (!std::getline(lines_, line) || lines_.eof()) {  // not written to its end yet
        lines_.clear();
        lines_.seekg(begin);
        return count_;
      }
      if (line.find(mark_) != std::string::npos) ++count_;
    }
  }

 private:
  std::ifstream lines_;
  std::string mark_;
  std::size_t count_ = 0;
};

/// From the first claim to the last end that was recorded.
Result<double> measure(const Setup& setup, Report& report, int runs) {
  const Folder folder(setup, "d");
  folder.write("eider.yaml", "workers: {max: 2}\n");
  folder.pipeline("work", "max_active_runs: 0\nsteps:\n  - {id: step, run: [/bin/true]}\n");
  auto queued = queue_runs(folder, "work", runs);
  if (!queued) return queued.error();
  auto server = Server::start(setup, folder);
  if (!server) return server.error();
  EventCount ended(folder, "ended");
  const auto all_ended = [&] { return ended.now() == queued->size(); };
  const bool done = wait_for(all_ended, std::chrono::minutes(2), std::chrono::milliseconds(250));
  auto succeeded = count_runs(folder.state_db(), model::RunState::succeeded);
  if (!succeeded) return succeeded.error();
  if (!done || *succeeded != runs)
    report.broken("D", fmt::format("{} of {} runs ended, {} succeeded", ended.now(), runs, *succeeded));
  const auto first = event_times(folder, "started");
  const auto last = event_times(folder, "ended");
  if (first.empty() || last.empty()) return Error{ErrorCode::io, "no run was executed"};
  const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
  const Instant from = std::min_element(first.begin(), first.end(), earlier)->second;
  const Instant to = std::max_element(last.begin(), last.end(), earlier)->second;
  return static_cast<double>(last.size()) / ms(to - from) * 1000;
}

/// The same with a workspace in memory: what is left is the machine's processes and ours, what is gone is its disk.
Result<void> measure_without_disk(const Setup& setup, Report& report, int runs, double floor) {
  Setup in_memory = setup;
  in_memory.scratch = "/dev/shm/eider-bench-XXXXXX";
  if (::mkdtemp(in_memory.scratch.data()) == nullptr) return io_error("a folder in /dev/shm", errno);
  auto rate = measure(in_memory, report, runs);
  std::error_code ignored;
  std::filesystem::remove_all(in_memory.scratch, ignored);
  if (!rate) return rate.error();
  Figure f = figure("D", "the same in memory (/dev/shm)", "runs/s", *rate);
  f.floor = floor;
  f.floor_name = "bare spawns/s";
  f.ratio = f.median / floor;
  f.ratio_to = "floor";
  report.add(std::move(f));
  return {};
}

}  // namespace

Result<void> row_d(const Setup& setup, Report& report) {
  const int runs = setup.quick ? 300 : 3'000;
  const int rounds = setup.quick ? 1 : 3;
  std::vector<double> rates, floors;
  for (int i = 0; i < rounds; ++i) {
    floors.push_back(spawns_per_second(2, 1));
    auto rate = measure(setup, report, runs);
    if (!rate) return rate.error();
    rates.push_back(*rate);
  }
  Figure f = figure("D", "runs of /bin/true, two at a time", "runs/s", median(rates));
  f.floor = median(floors);
  f.floor_name = "bare spawns/s";
  f.ratio = f.median / *f.floor;
  f.ratio_to = "floor";
  f.target = "≥ 800 (aim 1,200)";
  f.reached = f.median >= 800;
  const double floor = *f.floor;
  report.add(std::move(f));
  report.say("D", fmt::format("{} runs in the queue, workers.max 2, first claim to last recorded end, median of {}; "
                              "each run with lock, log and result file",
                              runs, rounds));
  return measure_without_disk(setup, report, runs, floor);
}

}  // namespace eider::bench
