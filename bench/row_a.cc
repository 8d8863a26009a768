// A: the measurement that this project exists for. A 5s schedule for a minute, alone and beside everything that may
// run, wait or die; how late each firing is committed and started.
#include <csignal>
#include <set>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "bench/floors.h"
#include "bench/hidden.h"
#include "bench/process.h"
#include "bench/served.h"
#include "store/store.h"
#include "workspace/load.h"

namespace eider::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* tick =
    "pool: quick\nschedules:\n  - {id: s, every: 5s}\nsteps:\n  - {id: step, run: [/bin/true]}\n";

/// Something that happens during the window. What it returns is told beside the figures.
struct Act {
  double at_s = 0;
  std::function<Result<std::string>(const Server&)> act;
};
struct Case {
  std::string name;
  std::string tick = bench::tick;
  std::function<Result<void>(const Folder&)> prepare = {};
  std::vector<Act> acts = {};
};

struct Window {
  int due = 0;
  int fired = 0;
  std::vector<double> decided, claimed, started;  ///< ms later than due, when it was committed (decided, claimed)
  FloorTimes floor;
  std::string note;
};

Act start(double at_s, const std::string& pipeline, int count = 1) {
  return {at_s, [pipeline, count](const Server& server) -> Result<std::string> {
            for (int i = 0; i < count; ++i) {
              if (auto id = server.start_run(pipeline); !id) return id.error();
            }
            return std::string();
          }};
}

/// How many queued runs say that they wait for this.
Act count_waiting(double at_s, const std::string& pipeline, const std::string& kind) {
  return {at_s, [pipeline, kind](const Server& server) -> Result<std::string> {
            auto queued = server.runs("queued", pipeline);
            if (!queued) return queued.error();
            int count = 0;
            std::string detail;
            for (const auto& run : *queued) {
              for (const auto& wait : run.at("waiting_for").as_array()) {
                if (wait.at("kind").as_string() != kind.c_str()) continue;
                ++count;
                detail = wait.at("detail").as_string().c_str();
              }
            }
            return fmt::format("{} of {} queued runs say that they wait for a {} ({})", count, queued->size(), kind,
                               detail);
          }};
}

/// What became of the newest run of a pipeline.
Act tell_state(double at_s, const std::string& pipeline) {
  return {at_s, [pipeline](const Server& server) -> Result<std::string> {
            auto list = server.get("/api/v1/runs", {{"pipeline", pipeline}, {"limit", "1"}});
            if (!list) return list.error();
            const auto& items = list->at("items").as_array();
            if (items.empty()) return fmt::format("{}: no run", pipeline);
            const auto& attempt = items.front().at("attempts").as_array().back();
            auto out = fmt::format("{}: {}", pipeline, items.front().at("state").as_string().c_str());
            auto from = parse_rfc3339(attempt.at("claimed_at").as_string().c_str());
            if (!from || !attempt.at("finished_at").is_string()) return out;
            auto to = parse_rfc3339(attempt.at("finished_at").as_string().c_str());
            return to ? fmt::format("{} after {:.1f} s", out, ms(*to - *from) / 1000) : out;
          }};
}

Act cancel(double at_s, const std::string& pipeline) {
  return {at_s, [pipeline](const Server& server) -> Result<std::string> {
            auto running = server.runs("running", pipeline);
            if (!running) return running.error();
            for (const auto& run : *running) {
              auto asked = server.post(fmt::format("/api/v1/runs/{}/cancel", run.at("id").as_string().c_str()), "{}");
              if (!asked) return asked.error();
            }
            return std::string();
          }};
}

Act kill_worker(double at_s, const std::string& pipeline) {
  return {at_s, [pipeline](const Server& server) -> Result<std::string> {
            auto busy = server.busy_workers(pipeline);
            if (!busy) return busy.error();
            for (const auto& [run, pid] : *busy) ::kill(pid, SIGKILL);
            return busy->empty() ? std::string("no busy worker to kill") : std::string();
          }};
}

/// Something outside has made data, so many times.
Act publish(double at_s, const std::string& asset, int count) {
  return {at_s, [asset, count](const Server& server) -> Result<std::string> {
            for (int i = 0; i < count; ++i) {
              auto made = server.post(fmt::format("/api/v1/assets/{}/materializations", asset), "{}");
              if (!made) return made.error();
            }
            return std::string();
          }};
}

/// How soon a trigger is served: from the request that says so to the start of its run's step.
Act serve_event(double at_s, const std::string& asset, const std::string& pipeline) {
  return {at_s, [asset, pipeline](const Server& server) -> Result<std::string> {
            const Instant from = now();
            auto made = server.post(fmt::format("/api/v1/assets/{}/materializations", asset), "{}");
            if (!made) return made.error();
            sleep_until(from + milliseconds(700));
            auto list = server.get("/api/v1/runs", {{"pipeline", pipeline}, {"limit", "1"}});
            if (!list) return list.error();
            const auto& items = list->at("items").as_array();
            if (items.empty()) return std::string("an event has not been served");
            const auto& attempts = items.front().at("attempts").as_array();
            if (attempts.empty() || !attempts.back().at("started_at").is_string()) {
              return std::string("an event has not been served");
            }
            auto started = parse_rfc3339(attempts.back().at("started_at").as_string().c_str());
            if (!started || *started < from) return std::string("an event has not been served");
            return fmt::format("event → step started {:.1f} ms", ms(*started - from));
          }};
}

/// What is owed to a trigger and has no run yet.
Act count_pending(double at_s, const std::string& trigger) {
  return {
      at_s, [trigger](const Server& server) -> Result<std::string> {
        auto list = server.get("/api/v1/deliveries", {{"trigger", trigger}, {"state", "pending"}, {"limit", "100"}});
        if (!list) return list.error();
        return fmt::format("{} deliveries wait for it", list->at("items").as_array().size());
      }};
}

/// The server was down for a hundred instants of a schedule: its cursor stands that far back.
Result<void> fall_behind(const Folder& folder, const std::string& pipeline, Micros by) {
  auto loaded = workspace::load_workspace(folder.path());
  if (!loaded) return loaded.error();
  const model::Schedule& schedule = loaded->pipelines.at(pipeline).pipeline->schedules.front();
  if (auto made = queue_runs(folder, pipeline, 0); !made) return made.error();
  auto store = store::open_sqlite_store({folder.state_db(), true});
  if (!store) return store.error();
  model::Cursor cursor;
  cursor.schedule = model::schedule_key(pipeline, schedule.id);
  cursor.rule = model::rule_hash(schedule.timing);
  cursor.decided_until = now() - by;
  if (auto begun = (*store)->begin(); !begun) return begun;
  if (auto applied = (*store)->apply({model::CursorPlaced{cursor}}); !applied) return applied.error();
  return (*store)->commit();
}

std::function<Result<void>(const Folder&)> with(std::vector<std::pair<std::string, std::string>> pipelines) {
  return [pipelines = std::move(pipelines)](const Folder& folder) -> Result<void> {
    for (const auto& [name, text] : pipelines) folder.pipeline(name, text);
    return {};
  };
}

Case beside_catch_up() {
  Case out{.name = "beside a catch-up of 100 missed occurrences"};
  out.prepare = [](const Folder& folder) -> Result<void> {
    folder.pipeline("missed",
                    "schedules:\n  - {id: s, every: 1m, misfire: all, overlap: queue, max_catchup: 100}\n"
                    "steps:\n  - {id: step, run: [/bin/sleep, '0.5']}\n");
    return fall_behind(folder, "missed", std::chrono::minutes(101));
  };
  out.acts = {{58, [](const Server& server) -> Result<std::string> {
                 auto left = server.runs("queued", "missed");
                 if (!left) return left.error();
                 return fmt::format("{} of 100 caught up", 100 - left->size());
               }}};
  return out;
}

std::vector<Case> cases(int heavy_times) {
  std::string sql = "pool: heavy\nsteps:\n  - id: step\n    sql: |\n";
  for (std::size_t from = 0; const char c : heavy_sql(heavy_times)) {
    if (from++ == 0 || sql.back() == '\n') sql += "      ";
    sql += c;
  }
  Case killed{.name = "beside a worker that is killed again and again"};
  killed.prepare = with(
      {{"victim", "retry: {max_attempts: 100, backoff: 1ms}\nsteps:\n  - {id: step, run: [/bin/sleep, '300']}\n"}});
  killed.acts = {start(0.2, "victim")};
  for (const double at : {4.0, 9.0, 14.0, 19.5, 24.5, 31.0, 38.0, 44.4, 49.4, 56.0})
    killed.acts.push_back(kill_worker(at, "victim"));
  const std::string deaf =
      "pool: heavy\nsteps:\n  - {id: step, shell: true, run: \"trap '' INT TERM; while :; do sleep 1; done\"}\n";
  // Both ways at once: a slow consumer with a queue of events, slow runs, and beside them a clock and a quick trigger.
  Case data{.name = "beside slow deliveries and a quick trigger"};
  data.prepare =
      with({{"consumer", "triggers:\n  - {id: on, assets: [raw.x]}\n" + sql},
            {"quick", "triggers:\n  - {id: on, assets: [raw.y]}\nsteps:\n  - {id: step, run: [/bin/true]}\n"},
            {"sleeper", "steps:\n  - {id: step, run: [/bin/sleep, '300']}\n"}});
  data.acts = {start(0.1, "sleeper"), publish(0.2, "raw.x", 20)};
  for (const double at : {3.0, 13.0, 23.0, 33.0, 48.0}) data.acts.push_back(serve_event(at, "raw.y", "quick"));
  data.acts.push_back(count_pending(58, "consumer/on"));
  Case taken{.name = "every worker taken by long runs"};
  taken.tick =
      "pool: quick\nmax_active_runs: 0\nschedules:\n  - {id: s, every: 5s, overlap: allow}\nsteps:\n  - {id: step, "
      "run: [/bin/true]}\n";
  taken.prepare = with({{"long", "max_active_runs: 0\nsteps:\n  - {id: step, run: [/bin/sleep, '300']}\n"}});
  taken.acts = {start(0.2, "long", 4), count_waiting(58, "tick", "worker")};
  return {
      {.name = "alone"},
      {.name = "beside one slow run",
       .prepare = with({{"slow", sql}}),
       .acts = {start(0.2, "slow"), tell_state(58, "slow")}},
      {.name = "beside a full one-slot pool, 20 waiting",
       .prepare =
           with({{"holder", "pool: single\nmax_active_runs: 0\nsteps:\n  - {id: step, run: [/bin/sleep, '300']}\n"}}),
       .acts = {start(0.2, "holder", 21), count_waiting(30, "holder", "pool")}},
      beside_catch_up(),
      killed,
      {.name = "beside steps that ignore SIGTERM, cancelled",
       .prepare = with({{"deaf", deaf}}),
       .acts = {start(0.2, "deaf"), cancel(4, "deaf"), start(25, "deaf"), cancel(29, "deaf"), tell_state(58, "deaf")}},
      {.name = "beside a program that floods its log",
       .prepare = with({{"flood", "pool: heavy\nsteps:\n  - {id: step, run: [/usr/bin/yes]}\n"}}),
       .acts = {start(0.2, "flood"), tell_state(58, "flood")}},
      data,
      taken,
  };
}

/// The next instant that lies between two firings, far enough away to begin.
Instant next_window() {
  constexpr std::int64_t five = 5'000'000;
  const std::int64_t next = to_us(now() + milliseconds(2800)) / five * five + five;
  return from_us(next) - milliseconds(2500);
}

Result<Window> watch(const Setup& setup, const Case& what, BareStore& floor) {
  const Folder folder(setup, "a");
  folder.write("eider.yaml", "workers: {max: 4}\npools: {quick: 2, heavy: 1, single: 1}\nassets: {raw.x: , raw.y: }\n");
  folder.pipeline("tick", what.tick);
  if (what.prepare) {
    if (auto prepared = what.prepare(folder); !prepared) return prepared.error();
  }
  auto server = Server::start(setup, folder);
  if (!server) return server.error();
  const Instant from = next_window();
  const Instant to = from + seconds(setup.quick ? 20 : 60);
  // The floor is taken between two firings, so that neither disturbs the other.
  FloorProbe probe(floor, from + milliseconds(500), to, seconds(5));
  Window out;
  for (const Act& act : what.acts) {
    const Instant at = from + Micros(static_cast<std::int64_t>(act.at_s * (setup.quick ? 1.0 / 3 : 1.0) * 1e6));
    sleep_until(at);
    auto done = act.act(**server);
    if (!done) return done.error();
    if (!done->empty()) out.note += (out.note.empty() ? "" : "; ") + *done;
  }
  sleep_until(to + seconds(1));
  out.floor = probe.times();
  auto found = firings(folder, "tick/s", from, to);
  if (!found) return found.error();
  const auto queued = event_times(folder, "queued");
  const auto claimed = event_times(folder, "started");
  out.due = static_cast<int>((to - from) / seconds(5));
  std::set<Instant> instants;
  for (const Firing& firing : *found) {
    const Instant due = firing.occurrence.scheduled_for;
    if (firing.occurrence.decision != model::Decision::run) continue;
    instants.insert(due);
    if (const auto at = queued.find(firing.occurrence.run_id); at != queued.end())
      out.decided.push_back(ms(at->second - due));
    if (const auto at = claim_committed(firing, claimed)) out.claimed.push_back(ms(*at - due));
    if (firing.attempts.empty() || !firing.attempts.front().started_at) continue;
    out.started.push_back(ms(*firing.attempts.front().started_at - due));
  }
  out.fired = static_cast<int>(instants.size());
  return out;
}

/// `alone` is what the same took in the first window; none: this is the first.
void add_lateness(Report& report, const std::string& what, const std::vector<double>& late,
                  const std::vector<double>* alone, const std::vector<double>& floor, const char* floor_name) {
  Figure f = figure("A", what, "ms", spread(late));
  f.floor = median(floor);
  f.floor_name = floor_name;
  f.p99.reset();  // of twelve it is the largest
  if (alone && !alone->empty() && !late.empty()) {
    f.ratio = f.median / std::max(0.001, median(*alone));
    f.ratio_to = "alone";
    f.target = "≤ 10 ms later than alone";
    f.reached = f.median - median(*alone) <= 10 && *f.max - spread(*alone).max <= 10;
  }
  report.add(std::move(f));
}

void add_window(Report& report, const std::string& name, const Window& window, const Window* alone) {
  const bool blocked = window.started.empty();
  Figure count =
      figure("A", name + (blocked ? ": decided" : ": fired"), fmt::format("of {}", window.due), window.fired);
  count.target = fmt::format("{} of {}", window.due, window.due);
  count.reached = window.fired == window.due && (blocked || static_cast<int>(window.started.size()) == window.due);
  count.note = window.note;
  report.add(std::move(count));
  const char* decided = "  due → decision committed";
  if (blocked) {
    return add_lateness(report, decided, window.decided, alone ? &alone->decided : nullptr, window.floor.commit,
                        "timer + commit");
  }
  add_lateness(report, "  due → claim committed", window.claimed, alone ? &alone->claimed : nullptr,
               window.floor.commit, "timer + commit");
  add_lateness(report, "  due → step started", window.started, alone ? &alone->started : nullptr, window.floor.started,
               "+ spawn");
}

}  // namespace

Result<void> row_a(const Setup& setup, Report& report) {
  auto floor = BareStore::open(setup.scratch);
  if (!floor) return floor.error();
  auto once_ms = heavy_ms(setup);
  if (!once_ms) return once_ms.error();
  const int times = static_cast<int>((setup.quick ? 8'000 : 25'000) / *once_ms);
  std::optional<Window> alone;
  for (const Case& each : cases(times)) {
    progress("         " + each.name);
    auto window = watch(setup, each, **floor);
    if (!window) {
      report.broken("A", each.name + ": " + window.error().message);
      if (!alone) return {};
      continue;
    }
    add_window(report, each.name, *window, alone ? &*alone : nullptr);
    if (!alone) alone = *std::move(window);
  }
  report.say(
      "A", fmt::format(
               "a schedule `every: 5s` of /bin/true, workers.max 4, pools quick 2, heavy 1, single 1; {} s a window. "
               "Claim committed: "
               "read after the commit, as `eider serve --json` prints it. Step started: by the worker. Slow run: {} "
               "aggregates over "
               "5,000,000 rows on all of DuckDB's threads. Floors: a bare timer, commit and spawn in the same window.",
               setup.quick ? 20 : 60, times));
  return {};
}

}  // namespace eider::bench
