// G: what a SQL step costs beside the same script in a process that does nothing else.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "bench/hidden.h"
#include "bench/process.h"
#include "bench/served.h"
#include "store/store.h"

namespace eider::bench {
namespace {

std::string pipeline(const std::string& sql) {
  std::string out = "steps:\n  - id: step\n    sql: |\n";
  bool new_line = true;
  for (const char c : sql) {
    if (new_line) out += "      ";
    new_line = c == '\n';
    out += c;
  }
  return out;
}

/// What the first query of a step can say of its own start: microseconds since 1970.
constexpr const char* light_sql = "select epoch_us(get_current_timestamp()) as at;\n";

struct Times {
  double noted_ms = 0;     ///< claimed → the start of the step that is stored
  double finished_ms = 0;  ///< claimed → step finished
  double step_ms = 0;
  Instant claimed_at{};
  std::string run_id;
};

/// When the first query of a light run had started, by DuckDB's own clock, after the claim.
Result<double> first_query_ms(const Server& server, const Times& times) {
  auto log = server.text(fmt::format("/api/v1/runs/{}/logs", times.run_id), {{"raw", "true"}});
  if (!log) return log.error();
  constexpr std::size_t digits = 16;
  for (std::size_t at = 0, length = 0; at <= log->size(); ++at) {
    const bool digit = at < log->size() && (*log)[at] >= '0' && (*log)[at] <= '9';
    if (!digit && length == digits) {
      return ms(from_us(std::stoll(log->substr(at - digits, digits))) - times.claimed_at);
    }
    length = digit ? length + 1 : 0;
  }
  return Error{ErrorCode::io, "the log of a light run does not show its time: " + *log};
}

Result<Times> run_once(const Server& server, const Folder& folder, const std::string& name) {
  auto reader = store::open_sqlite_reader(folder.state_db());
  if (!reader) return reader.error();
  auto id = server.start_run(name);
  if (!id) return id.error();
  std::optional<model::Run> run;
  const auto ended = [&] {
    auto found = (*reader)->run(*id);
    if (found) run = *std::move(found);
    return run && model::is_terminal(run->state);
  };
  // The times are the server's and the worker's own. Who asks often takes a processor from what is measured.
  constexpr Micros gap = std::chrono::milliseconds(20);
  sleep_until(now() + gap);
  if (!wait_for(ended, std::chrono::minutes(2), gap) || run->state != model::RunState::succeeded) {
    return Error{ErrorCode::io, fmt::format("the run of {} did not succeed: {}", name, run ? run->error : "")};
  }
  auto attempts = (*reader)->attempts(*id);
  if (!attempts) return attempts.error();
  const model::Attempt& attempt = attempts->back();
  boost::system::error_code failed;
  const auto steps = boost::json::parse(attempt.steps, failed);
  if (failed || !attempt.started_at) return Error{ErrorCode::io, "the attempt has no steps"};
  const auto& step = steps.as_array().front();
  auto from = parse_rfc3339(step.at("started_at").as_string().c_str());
  auto to = parse_rfc3339(step.at("finished_at").as_string().c_str());
  if (!from || !to) return Error{ErrorCode::io, "the step has no times"};
  return Times{ms(*from - attempt.claimed_at), ms(*to - attempt.claimed_at), ms(*to - *from), attempt.claimed_at, *id};
}

}  // namespace

Result<void> row_g(const Setup& setup, Report& report) {
  auto once_ms = heavy_ms(setup);
  if (!once_ms) return once_ms.error();
  const std::string heavy = heavy_sql(std::max(1, static_cast<int>((setup.quick ? 500 : 2'000) / *once_ms)));
  const Folder folder(setup, "g");
  folder.write("eider.yaml", "workers: {max: 2}\n");
  folder.pipeline("light", pipeline(light_sql));
  folder.pipeline("heavy", pipeline(heavy));
  auto server = Server::start(setup, folder);
  if (!server) return server.error();
  if (auto warmed = run_once(**server, folder, "light"); !warmed) return warmed.error();
  std::vector<double> noted, started, finished, bare_first;
  for (int i = 0; i < (setup.quick ? 5 : 40); ++i) {
    // The worker opens its next instance in the meantime, as between two real runs.
    sleep_until(now() + std::chrono::milliseconds(200));
    auto times = run_once(**server, folder, "light");
    if (!times) return times.error();
    auto first = first_query_ms(**server, *times);
    if (!first) return first.error();
    noted.push_back(times->noted_ms);
    started.push_back(*first);
    finished.push_back(times->finished_ms);
  }
  std::vector<double> in_step, bare, opened;
  for (int i = 0; i < (setup.quick ? 2 : 5); ++i) {
    auto light = run_bare_sql(setup, light_sql, 1);
    if (!light) return light.error();
    bare_first.push_back(light->script_ms.front());
    opened.push_back(light->open_ms);
    auto times = run_once(**server, folder, "heavy");
    if (!times) return times.error();
    in_step.push_back(times->step_ms);
    auto alone = run_bare_sql(setup, heavy, 1);
    if (!alone) return alone.error();
    bare.push_back(alone->script_ms.front());
    progress(fmt::format("         a step {:.0f} ms, bare {:.0f} ms", in_step.back(), bare.back()));
  }
  Figure first = figure("G", "warm worker: claim → first query started", "ms", spread(started));
  first.target = "≤ 5";
  first.reached = first.median <= 5;
  first.note = fmt::format("by the query's own clock; the step's stored start: {:.2f} ms", median(noted));
  report.add(std::move(first));
  Figure done = figure("G", "warm worker: claim → that query's step finished", "ms", spread(finished));
  done.floor = median(bare_first);
  done.floor_name = "bare";
  done.note = fmt::format("the bare process opens DuckDB first: {:.0f} ms", median(opened));
  report.add(std::move(done));
  Figure ratio = figure("G", "throughput of an aggregate in a step", "of bare", median(bare) / median(in_step));
  ratio.target = "≥ 0.95";
  ratio.reached = ratio.median >= 0.95;
  ratio.note = fmt::format("in a step {:.0f} ms, bare {:.0f} ms, medians of {} in turns", median(in_step), median(bare),
                           bare.size());
  report.add(std::move(ratio));
  return {};
}

}  // namespace eider::bench
