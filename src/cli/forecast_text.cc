#include "cli/forecast_text.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/table.h"
#include "cli/text.h"
#include "model/run.h"

namespace eider::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

double seconds(Micros time) { return static_cast<double>(time.count()) / 1e6; }

json::object spread_json(const sim::Spread& spread) {
  return {{"median", seconds(spread.median)}, {"p95", seconds(spread.p95)}, {"max", seconds(spread.most)}};
}

json::object use_json(const sim::UseForecast& use) {
  json::array hours;
  for (const auto& hour : use.hours) hours.emplace_back(json::object{{"mean", hour.mean}, {"max", hour.most}});
  json::object out{{"slots", use.all},
                   {"mean", use.mean},
                   {"max", use.most},
                   {"max_at", use.most > 0 ? json::value(format_rfc3339(use.most_at)) : json::value(nullptr)},
                   {"busiest_hour", use.busiest()}};
  out["hours"] = std::move(hours);
  return out;
}

const char* kind_of(sim::ClockSurprise::Kind kind) {
  return kind == sim::ClockSurprise::Kind::moved ? "moved" : "doubled";
}

std::string reasons_of(const sim::ScheduleForecast& schedule) {
  std::string out;
  for (const auto& [reason, count] : schedule.not_run) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, reason);
  }
  return out;
}

std::string shown(Micros time) { return time == Micros(0) ? "0" : took(time); }

/// 24 hours as 24 characters: how much of all was in use in the mean.
std::string bars(const sim::UseForecast& use) {
  constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (const auto& hour : use.hours) {
    const double part = use.all > 0 ? hour.mean / static_cast<double>(use.all) : 0;
    out += hour.most == 0 ? "·" : heights[std::clamp(static_cast<int>(part * 8), 0, 7)];
  }
  return out;
}

void add_use(Table& table, const std::string& name, const sim::UseForecast& use) {
  const double busiest = use.busiest();
  table.row({name,
             std::to_string(use.all),
             fmt::format("{:.2f}", use.mean),
             {std::to_string(use.most), use.most >= use.all ? Colour::yellow : Colour::none},
             {fmt::format("{:.0f} %", busiest * 100), busiest >= 0.8 ? Colour::red : Colour::none},
             bars(use)});
}

void show_schedules(Stream& out, const sim::Forecast& forecast) {
  Table table({"SCHEDULE", "RULE", "DUE", "RUN", "WAITED", "NOT RUN", "WHY"});
  for (const sim::ScheduleForecast& one : forecast.schedules) {
    const std::int64_t without = one.without_run();
    table.row({one.key,
               one.rule,
               std::to_string(one.due),
               std::to_string(one.ran),
               {one.late > 0 ? std::to_string(one.late) : "", Colour::yellow},
               {without > 0 ? std::to_string(without) : "", Colour::red},
               reasons_of(one)});
  }
  if (!table.empty()) table.print(out);
}

void show_pipelines(Stream& out, const sim::Forecast& forecast) {
  Table table({"PIPELINE", "RUNS", "A RUN TAKES", "WAIT: MEDIAN", "95 %", "LONGEST"});
  for (const auto& [name, one] : forecast.pipelines) {
    if (one.runs == 0) continue;
    table.row({name,
               std::to_string(one.runs),
               shown(one.takes.median) + (one.known ? "" : " (assumed)"),
               shown(one.wait.median),
               shown(one.wait.p95),
               {shown(one.wait.most), one.wait.most >= 1min ? Colour::yellow : Colour::none}});
  }
  if (table.empty()) return;
  out.line("");
  table.print(out);
}

void show_surprises(Stream& out, const sim::Forecast& forecast) {
  if (forecast.surprises.empty()) return;
  out.line("");
  Table table({"CLOCKS CHANGE", "SCHEDULE", "WHAT HAPPENS"});
  for (const sim::ClockSurprise& one : forecast.surprises) {
    const bool moved = one.kind == sim::ClockSurprise::Kind::moved;
    table.row({one.local, one.schedule,
               counted(one.count, "instant") +
                   (moved ? " in the gap: due when it is over" : " in the hour that comes twice: due both times")});
  }
  table.print(out);
}

/// `365 (was 730)`
std::string beside(std::int64_t now, std::int64_t then, const char* what) {
  return now == then ? std::string() : fmt::format("{} {}, was {}; ", now, what, then);
}

std::string changed_wait(const sim::Spread& now, const sim::Spread& then) {
  if (now.p95 == then.p95 && now.most == then.most) return {};
  return fmt::format("95 % of waits within {}, was {}; longest {}, was {}; ", shown(now.p95), shown(then.p95),
                     shown(now.most), shown(then.most));
}

void compare_schedules(const sim::Forecast& now, const sim::Forecast& then, std::vector<ForecastChange>& out) {
  std::map<std::string, const sim::ScheduleForecast*> before;
  for (const sim::ScheduleForecast& one : then.schedules) before[one.key] = &one;
  for (const sim::ScheduleForecast& one : now.schedules) {
    const auto found = before.extract(one.key);
    const std::string what = "schedule " + one.key;
    if (found.empty()) {
      out.push_back({"added", what, fmt::format("{}; {} runs, {} not run", one.rule, one.ran, one.without_run())});
      continue;
    }
    const sim::ScheduleForecast& was = *found.mapped();
    std::string text = one.rule == was.rule ? std::string() : fmt::format("{}, was {}; ", one.rule, was.rule);
    text += beside(one.ran, was.ran, "runs");
    text += beside(one.without_run(), was.without_run(), "not run");
    text += beside(one.late, was.late, "waited");
    if (!text.empty()) out.push_back({"changed", what, text.substr(0, text.size() - 2)});
  }
  for (const auto& [key, was] : before) {
    out.push_back({"removed", "schedule " + key,
                   fmt::format("{}; {} runs, {} not run", was->rule, was->ran, was->without_run())});
  }
}

void compare_use(const std::string& what, const sim::UseForecast& now, const sim::UseForecast& then,
                 std::vector<ForecastChange>& out) {
  std::string text = beside(now.all, then.all, "slots");
  if (std::abs(now.busiest() - then.busiest()) >= 0.01) {
    text += fmt::format("{:.0f} % used in the busiest hour, was {:.0f} %; ", now.busiest() * 100, then.busiest() * 100);
  }
  if (!text.empty()) out.push_back({"changed", what, text.substr(0, text.size() - 2)});
}

}  // namespace

std::vector<ForecastChange> compare(const sim::Forecast& now, const sim::Forecast& then) {
  std::vector<ForecastChange> out;
  compare_schedules(now, then, out);
  for (const auto& [name, one] : now.pipelines) {
    const auto was = then.pipelines.find(name);
    if (was == then.pipelines.end()) continue;
    const std::string text = beside(one.runs, was->second.runs, "runs") + changed_wait(one.wait, was->second.wait);
    if (!text.empty()) out.push_back({"changed", "pipeline " + name, text.substr(0, text.size() - 2)});
  }
  for (const auto& [name, use] : now.pools) {
    if (const auto was = then.pools.find(name); was != then.pools.end()) {
      compare_use("pool " + name, use, was->second, out);
    } else {
      out.push_back({"added", "pool " + name, fmt::format("{} slots", use.all)});
    }
  }
  for (const auto& [name, use] : then.pools) {
    if (!now.pools.contains(name)) out.push_back({"removed", "pool " + name, fmt::format("{} slots", use.all)});
  }
  compare_use("workers", now.workers, then.workers, out);
  return out;
}

json::object forecast_json(const sim::Forecast& forecast) {
  json::array schedules;
  for (const sim::ScheduleForecast& one : forecast.schedules) {
    json::object not_run;
    for (const auto& [reason, count] : one.not_run) not_run[reason] = count;
    schedules.emplace_back(json::object{{"schedule", one.key},
                                        {"rule", one.rule},
                                        {"due", one.due},
                                        {"run", one.ran},
                                        {"waited", one.late},
                                        {"not_run", std::move(not_run)}});
  }
  json::array pipelines;
  for (const auto& [name, one] : forecast.pipelines) {
    pipelines.emplace_back(json::object{{"pipeline", name},
                                        {"runs", one.runs},
                                        {"wait_seconds", spread_json(one.wait)},
                                        {"run_seconds", spread_json(one.takes)},
                                        {"run_times_from", one.known ? "history" : "assumption"}});
  }
  json::object pools;
  for (const auto& [name, use] : forecast.pools) pools[name] = use_json(use);
  json::array surprises;
  for (const sim::ClockSurprise& one : forecast.surprises) {
    surprises.emplace_back(json::object{{"schedule", one.schedule},
                                        {"at", format_rfc3339(one.at)},
                                        {"local", one.local},
                                        {"timezone", one.timezone},
                                        {"count", one.count},
                                        {"kind", kind_of(one.kind)}});
  }
  const auto days = std::chrono::duration<double, std::ratio<86400>>(forecast.until - forecast.from).count();
  return {{"from", format_rfc3339(forecast.from)},
          {"until", format_rfc3339(forecast.until)},
          {"timezone", forecast.timezone},
          {"runs", forecast.runs},
          {"runs_a_day", json::object{{"mean", days > 0 ? static_cast<double>(forecast.runs) / days : 0},
                                      {"max", forecast.most_runs_a_day},
                                      {"max_on", forecast.most_runs_day}}},
          {"not_run", forecast.without_run()},
          {"not_ended", forecast.left_over},
          {"schedules", std::move(schedules)},
          {"pipelines", std::move(pipelines)},
          {"pools", std::move(pools)},
          {"workers", use_json(forecast.workers)},
          {"clock_changes", std::move(surprises)}};
}

json::array changes_json(const std::vector<ForecastChange>& changes) {
  json::array out;
  for (const ForecastChange& one : changes) {
    out.emplace_back(json::object{{"kind", one.kind}, {"what", one.what}, {"text", one.text}});
  }
  return out;
}

void show_forecast(Stream& out, const sim::Forecast& forecast) {
  show_schedules(out, forecast);
  show_pipelines(out, forecast);
  out.line("");
  Table table({"IN USE", "SLOTS", "MEAN", "MOST", "BUSIEST HOUR", "0 TO 23 h " + forecast.timezone});
  for (const auto& [name, use] : forecast.pools) add_use(table, name, use);
  add_use(table, "workers", forecast.workers);
  table.print(out);
  show_surprises(out, forecast);
  const auto days = std::chrono::duration<double, std::ratio<86400>>(forecast.until - forecast.from).count();
  out.line("");
  out.line(fmt::format("{} in {:.0f} days, {:.1f} a day; most on {}: {}", counted(forecast.runs, "run"), days,
                       days > 0 ? static_cast<double>(forecast.runs) / days : 0,
                       forecast.most_runs_day.empty() ? "no day" : forecast.most_runs_day, forecast.most_runs_a_day));
  if (forecast.left_over > 0) {
    out.line(fmt::format("{} had not ended when the time was over", counted(forecast.left_over, "run")));
  }
}

void show_changes(Stream& out, const std::vector<ForecastChange>& changes) {
  if (changes.empty()) return out.line("nothing changes");
  Table table({"", "", "CHANGE"});
  for (const ForecastChange& one : changes) {
    const Colour colour = one.kind == "added" ? Colour::green : one.kind == "removed" ? Colour::red : Colour::yellow;
    table.row({{one.kind, colour}, one.what, one.text});
  }
  table.print(out);
}

}  // namespace eider::cli
