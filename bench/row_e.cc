// E: kill -9 with 5 running and 100 queued. What was lost, what ran twice at once, and how soon it goes on.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "bench/hidden.h"
#include "bench/process.h"
#include "bench/served.h"

namespace eider::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int running = 5;
constexpr int queued = 100;

/// A workspace with its queue, its server and the journal that its steps keep.
class Scene {
 public:
  explicit Scene(const Setup& setup) : setup_(setup), folder_(setup, "e") {}

  /// Serves until all that may run runs.
  Result<void> begin() {
    folder_.write("eider.yaml", fmt::format("workers: {{max: {}}}\n", running));
    folder_.pipeline(
        "work",
        fmt::format("max_active_runs: 0\nretry: {{max_attempts: 10, backoff: 0s}}\nsteps:\n  - {{id: step, run: {}}}\n",
                    step_command(setup_, journal())));
    auto ids = queue_runs(folder_, "work", running + queued);
    if (!ids) return ids.error();
    ids_ = *std::move(ids);
    if (auto served = serve(); !served) return served;
    const bool all = wait_for([&] { return started().size() >= running; }, seconds(60));
    if (!all) return Error{ErrorCode::io, "the first runs do not start"};
    first_ = started();
    return {};
  }
  Result<void> serve() {
    auto server = Server::start(setup_, folder_);
    if (!server) return server.error();
    server_ = *std::move(server);
    return {};
  }
  /// The steps may end, and those that follow end at once.
  void go() const { std::ofstream(journal() + ".go").put('\n'); }

  Server& server() { return *server_; }
  const Folder& folder() const { return folder_; }
  /// Runs that ran when the killing began.
  const std::map<std::string, JournalLine>& first() const { return first_; }

  /// The first start of each run in this or a later attempt.
  std::map<std::string, JournalLine> started(int attempt = 1) const {
    std::map<std::string, JournalLine> out;
    for (const JournalLine& line : read_journal(journal())) {
      if (line.what == "start" && line.attempt >= attempt) out.try_emplace(line.run_id, line);
    }
    return out;
  }
  bool wait_for_steps_to_end() const {
    const auto ended = [&] {
      const auto lines = read_journal(journal());
      return std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.what == "end"; }) >= running;
    };
    return wait_for(ended, seconds(60));
  }

  /// Lets everything run to its end and counts.
  Result<void> finish(Report& report, const std::string& how) {
    go();
    int succeeded = 0;
    std::optional<Error> failed;
    const auto all = [&] {
      auto count = count_runs(folder_.state_db(), model::RunState::succeeded);
      if (!count) failed = count.error();
      succeeded = count ? *count : 0;
      return failed || succeeded == running + queued;
    };
    wait_for(all, std::chrono::minutes(2), milliseconds(50));
    if (failed) return *failed;
    int twice = 0;
    std::map<std::string, int> ends;
    for (const JournalLine& line : read_journal(journal())) {
      if (line.what == "twice") ++twice;
      if (line.what == "end") ++ends[line.run_id];
    }
    const int lost = running + queued - succeeded;
    const auto repeated = std::count_if(ends.begin(), ends.end(), [](const auto& run) { return run.second > 1; });
    Figure f = figure("E", how + ": lost + twice at once", "runs", lost + twice);
    f.target = "0 and 0";
    f.reached = lost == 0 && twice == 0;
    f.note = fmt::format("{} of {} succeeded; {} ran at once with itself, {} ran to the end twice", succeeded,
                         running + queued, twice, repeated);
    report.add(std::move(f));
    if (lost > 0 || twice > 0 || repeated > 0) {
      report.broken("E", fmt::format("{}: {} lost, {} twice at once, {} to the end twice", how, lost, twice, repeated));
    }
    return {};
  }

 private:
  std::string journal() const { return folder_.path() + "/journal"; }
  const Setup& setup_;
  Folder folder_;
  std::vector<std::string> ids_;
  std::unique_ptr<Server> server_;
  std::map<std::string, JournalLine> first_;
};

void add_time(Report& report, const std::string& what, const std::vector<double>& times) {
  Figure f = figure("E", what, "ms", spread(times));
  f.p99.reset();
  f.target = "≤ 300";
  f.reached = !times.empty() && *f.max <= 300;
  report.add(std::move(f));
}

/// When the ends of the first runs were committed, after `from`.
std::vector<double> recorded_after(const Scene& scene, Instant from) {
  std::map<std::string, Instant> ended;
  const auto all = [&] {
    ended = event_times(scene.folder(), "ended");
    return std::all_of(scene.first().begin(), scene.first().end(),
                       [&](const auto& run) { return ended.contains(run.first); });
  };
  wait_for(all, seconds(60), milliseconds(20));
  std::vector<double> out;
  for (const auto& [id, line] : scene.first()) {
    if (ended.contains(id)) out.push_back(ms(ended.at(id) - from));
  }
  return out;
}

/// When the next attempt of each of these runs had started, after `from`.
std::vector<double> again_after(const Scene& scene, const std::set<std::string>& runs, Instant from) {
  std::map<std::string, JournalLine> again;
  const auto all = [&] {
    again = scene.started(2);
    return std::all_of(runs.begin(), runs.end(), [&](const auto& id) { return again.contains(id); });
  };
  wait_for(all, seconds(60));
  std::vector<double> out;
  for (const std::string& id : runs) {
    if (again.contains(id)) out.push_back(ms(again.at(id).at - from));
  }
  return out;
}

/// The steps end while no server is there: their results are found.
Result<void> server_killed(const Setup& setup, Report& report) {
  Scene scene(setup);
  if (auto begun = scene.begin(); !begun) return begun;
  scene.server().kill();
  scene.go();
  if (!scene.wait_for_steps_to_end()) return Error{ErrorCode::io, "steps do not outlive their server"};
  sleep_until(now() + milliseconds(300));
  if (auto served = scene.serve(); !served) return served;
  const auto times = recorded_after(scene, scene.server().executed_at());
  if (auto finished = scene.finish(report, "server killed, steps end meanwhile"); !finished) return finished;
  add_time(report, "  server is back → results recorded", times);
  return {};
}

/// The steps are still at work when the server is back: they are adopted.
Result<void> server_killed_and_back(const Setup& setup, Report& report) {
  Scene scene(setup);
  if (auto begun = scene.begin(); !begun) return begun;
  scene.server().kill();
  sleep_until(now() + milliseconds(200));
  if (auto served = scene.serve(); !served) return served;
  std::vector<double> adopted;
  for (const auto& [id, line] : scene.first()) {
    const auto is_adopted = [&scene, path = "/api/v1/runs/" + id] {
      auto run = scene.server().get(path);
      return run && run->at("adopted").is_bool() && run->at("adopted").as_bool();
    };
    if (!wait_for(is_adopted, seconds(10))) break;
    adopted.push_back(ms(now() - scene.server().executed_at()));
  }
  const bool repeated = !scene.started(2).empty();
  const Instant go_at = now();
  scene.go();
  const auto times = recorded_after(scene, go_at);
  if (auto finished = scene.finish(report, "server killed, steps outlive it"); !finished) return finished;
  if (adopted.size() < running || repeated) {
    report.broken("E", fmt::format("{} of {} running runs were adopted; {}", adopted.size(), running,
                                   repeated ? "some were repeated" : "none repeated"));
  }
  add_time(report, "  server is back → runs adopted (as the API says)", adopted);
  add_time(report, "  step may end → its result recorded", times);
  return {};
}

Result<void> workers_killed(const Setup& setup, Report& report, std::size_t count) {
  Scene scene(setup);
  if (auto begun = scene.begin(); !begun) return begun;
  std::vector<std::pair<std::string, int>> workers;
  const auto all_known = [&] {
    auto busy = scene.server().busy_workers();
    if (busy) workers = *std::move(busy);
    return workers.size() == running;
  };
  if (!wait_for(all_known, seconds(10))) return Error{ErrorCode::io, "the API does not name the workers"};
  std::set<std::string> runs;
  const Instant killed_at = now();
  for (std::size_t i = 0; i < count; ++i) {
    ::kill(workers[i].second, SIGKILL);
    runs.insert(workers[i].first);
  }
  const auto times = again_after(scene, runs, killed_at);
  const std::string how = count == 1 ? "one worker killed" : "all workers killed";
  if (auto finished = scene.finish(report, how); !finished) return finished;
  if (times.size() < runs.size())
    report.broken("E", fmt::format("{}: {} of {} runs ran again", how, times.size(), runs.size()));
  add_time(report, "  kill → running again", times);
  return {};
}

Result<void> all_killed(const Setup& setup, Report& report) {
  Scene scene(setup);
  if (auto begun = scene.begin(); !begun) return begun;
  std::set<std::string> runs;
  const std::vector<int> workers = children_of(scene.server().pid());
  scene.server().kill();
  for (const int worker : workers) ::kill(worker, SIGKILL);
  for (const auto& [id, line] : scene.first()) {
    ::kill(line.pid, SIGKILL);
    runs.insert(id);
  }
  sleep_until(now() + milliseconds(300));
  if (auto served = scene.serve(); !served) return served;
  const auto times = again_after(scene, runs, scene.server().executed_at());
  if (auto finished = scene.finish(report, "server, workers and steps killed"); !finished) return finished;
  if (times.size() < runs.size()) report.broken("E", fmt::format("{} of {} runs ran again", times.size(), runs.size()));
  add_time(report, "  server is back → running again", times);
  return {};
}

}  // namespace

Result<void> row_e(const Setup& setup, Report& report) {
  const std::pair<const char*, std::function<Result<void>()>> scenes[] = {
      {"server killed, steps end meanwhile", [&] { return server_killed(setup, report); }},
      {"server killed, steps outlive it", [&] { return server_killed_and_back(setup, report); }},
      {"one worker killed", [&] { return workers_killed(setup, report, 1); }},
      {"all workers killed", [&] { return workers_killed(setup, report, running); }},
      {"server, workers and steps killed", [&] { return all_killed(setup, report); }},
  };
  for (const auto& [name, play] : scenes) {
    progress(std::string("         ") + name);
    if (auto done = play(); !done) report.broken("E", fmt::format("{}: {}", name, done.error().message));
  }
  report.say("E",
             "workers.max 5, retry with backoff 0s; a step notes its start and end in a journal, and a lock of its "
             "run's file tells when two "
             "of one run live at once. `server is back`: its exec.");
  return {};
}

}  // namespace eider::bench
