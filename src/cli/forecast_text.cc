#include "cli/forecast_text.h"

#include <cmath>

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

/// What a thing is counted in.
const char* unit_of(decide::Kind kind) {
  switch (kind) {
    case decide::Kind::rate:
      return "starts";
    case decide::Kind::lock:
    case decide::Kind::database:
      return "holders";
    case decide::Kind::memory:
    case decide::Kind::temp:
      return "bytes";
    default:
      return "slots";
  }
}

std::string amount(decide::Kind kind, double count) {
  if (kind == decide::Kind::memory || kind == decide::Kind::temp) return bytes(static_cast<std::int64_t>(count));
  return count == std::floor(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.2f}", count);
}

json::object use_json(decide::Kind kind, const sim::UseForecast& use) {
  json::array hours;
  for (const auto& hour : use.hours) hours.emplace_back(json::object{{"mean", hour.mean}, {"max", hour.most}});
  json::object out{{unit_of(kind), use.all},
                   {"mean", use.mean},
                   {"max", use.most},
                   {"max_at", use.most > 0 ? json::value(format_rfc3339(use.most_at)) : json::value(nullptr)},
                   {"busiest_hour", use.busiest()}};
  out["hours"] = std::move(hours);
  return out;
}

/// `pools`, `rates`, `locks`, `files`: by name; the workers, memory and temporary space: themselves.
void add_uses(json::object& out, const sim::Forecast& forecast) {
  for (const char* key : {"pools", "rates", "locks", "files"}) out[key] = json::object();
  for (const auto& [thing, use] : forecast.uses) {
    json::object shown = use_json(thing.kind, use);
    switch (thing.kind) {
      case decide::Kind::pool:
        out["pools"].as_object()[thing.name] = std::move(shown);
        break;
      case decide::Kind::rate:
        out["rates"].as_object()[thing.name] = std::move(shown);
        break;
      case decide::Kind::lock:
        out["locks"].as_object()[thing.name] = std::move(shown);
        break;
      case decide::Kind::database:
        out["files"].as_object()[thing.name] = std::move(shown);
        break;
      default:
        out[thing.kind == decide::Kind::worker ? "workers" : thing.name] = std::move(shown);
    }
  }
}

json::value limit_json(const std::optional<Micros>& limit) {
  return limit ? json::value(seconds(*limit)) : json::value(nullptr);
}

json::object missed_json(const sim::FreshnessForecast::Missed& missed) {
  return {{"times", missed.times},
          {"seconds", seconds(missed.lasted)},
          {"first_at", missed.first ? json::value(format_rfc3339(*missed.first)) : json::value(nullptr)}};
}

json::array freshness_json(const sim::Forecast& forecast) {
  json::array out;
  for (const auto& [name, one] : forecast.freshness) {
    out.emplace_back(json::object{{"pipeline", name},
                                  {"warn_after_seconds", limit_json(one.wanted.warn_after)},
                                  {"error_after_seconds", limit_json(one.wanted.error_after)},
                                  {"oldest_seconds", seconds(one.oldest)},
                                  {"oldest_at", format_rfc3339(one.oldest_at)},
                                  {"warn", missed_json(one.warn)},
                                  {"error", missed_json(one.error)}});
  }
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

std::string taken(Micros time) { return time == Micros(0) ? "0" : took(time); }

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

void show_uses(Stream& out, const sim::Forecast& forecast) {
  out.line("");
  Table table({"IN USE", "OF", "MEAN", "MOST", "BUSIEST HOUR", "0 TO 23 h " + forecast.timezone});
  for (const auto& [thing, use] : forecast.uses) {
    const double busiest = use.busiest();
    const auto shown = [&, kind = thing.kind](double count) { return amount(kind, count); };
    table.row({name_of(thing),
               shown(static_cast<double>(use.all)),
               shown(use.mean),
               {shown(static_cast<double>(use.most)), use.most >= use.all ? Colour::yellow : Colour::none},
               {fmt::format("{:.0f} %", busiest * 100), busiest >= 0.8 ? Colour::red : Colour::none},
               bars(use)});
  }
  table.print(out);
}

void show_freshness(Stream& out, const sim::Forecast& forecast) {
  if (forecast.freshness.empty()) return;
  out.line("");
  Table table({"DATA OF", "OLDEST", "MAY BE", "OLDER: TIMES", "IN ALL", "FIRST"});
  for (const auto& [name, one] : forecast.freshness) {
    const auto row = [&, &pipeline = name, &oldest = one.oldest](const std::optional<Micros>& limit, Colour colour,
                                                                 const sim::FreshnessForecast::Missed& missed) {
      if (!limit) return;
      const bool late = missed.times > 0;
      table.row({pipeline,
                 took(oldest),
                 took(*limit),
                 {std::to_string(missed.times), late ? colour : Colour::none},
                 late ? took(missed.lasted) : "",
                 missed.first ? to_seconds(*missed.first) : ""});
    };
    row(one.wanted.warn_after, Colour::yellow, one.warn);
    row(one.wanted.error_after, Colour::red, one.error);
  }
  table.print(out);
}

void forecast_schedules(Stream& out, const sim::Forecast& forecast) {
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

void forecast_pipelines(Stream& out, const sim::Forecast& forecast) {
  Table table({"PIPELINE", "RUNS", "A RUN TAKES", "WAIT: MEDIAN", "95 %", "LONGEST"});
  for (const auto& [name, one] : forecast.pipelines) {
    if (one.runs == 0) continue;
    table.row({name,
               std::to_string(one.runs),
               taken(one.takes.median) + (one.known ? "" : " (assumed)"),
               taken(one.wait.median),
               taken(one.wait.p95),
               {taken(one.wait.most), one.wait.most >= 1min ? Colour::yellow : Colour::none}});
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
  return fmt::format("95 % of waits within {}, was {}; longest {}, was {}; ", taken(now.p95), taken(then.p95),
                     taken(now.most), taken(then.most));
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

void compare_use(const decide::Thing& thing, const sim::UseForecast& now, const sim::UseForecast& then,
                 std::vector<ForecastChange>& out) {
  std::string text;
  if (now.all != then.all) {
    text += fmt::format("{} {}, was {}; ", amount(thing.kind, static_cast<double>(now.all)), unit_of(thing.kind),
                        amount(thing.kind, static_cast<double>(then.all)));
  }
  if (std::abs(now.busiest() - then.busiest()) >= 0.01) {
    text += fmt::format("{:.0f} % used in the busiest hour, was {:.0f} %; ", now.busiest() * 100, then.busiest() * 100);
  }
  if (!text.empty()) out.push_back({"changed", name_of(thing), text.substr(0, text.size() - 2)});
}

void compare_uses(const sim::Forecast& now, const sim::Forecast& then, std::vector<ForecastChange>& out) {
  const auto has = [](const decide::Thing& thing, const sim::UseForecast& use) {
    return fmt::format("{} {}", amount(thing.kind, static_cast<double>(use.all)), unit_of(thing.kind));
  };
  for (const auto& [thing, use] : now.uses) {
    if (const auto was = then.uses.find(thing); was != then.uses.end()) {
      compare_use(thing, use, was->second, out);
    } else {
      out.push_back({"added", name_of(thing), has(thing, use)});
    }
  }
  for (const auto& [thing, use] : then.uses) {
    if (!now.uses.contains(thing)) out.push_back({"removed", name_of(thing), has(thing, use)});
  }
}

void compare_freshness(const sim::Forecast& now, const sim::Forecast& then, std::vector<ForecastChange>& out) {
  for (const auto& [name, one] : now.freshness) {
    const auto was = then.freshness.find(name);
    if (was == then.freshness.end()) continue;
    const std::string text = beside(one.warn.times, was->second.warn.times, "times older than warn_after") +
                             beside(one.error.times, was->second.error.times, "times older than error_after");
    if (!text.empty()) out.push_back({"changed", "freshness of " + name, text.substr(0, text.size() - 2)});
  }
}

}  // namespace

std::string name_of(const decide::Thing& thing) {
  switch (thing.kind) {
    case decide::Kind::worker:
      return "workers";
    case decide::Kind::memory:
      return "memory";
    case decide::Kind::temp:
      return "temporary space";
    case decide::Kind::database:
      return "file " + thing.name;
    default:
      return fmt::format("{} {}", decide::to_text(thing.kind), thing.name);
  }
}

std::vector<ForecastChange> compare(const sim::Forecast& now, const sim::Forecast& then) {
  std::vector<ForecastChange> out;
  compare_schedules(now, then, out);
  const auto runs_of = [](const sim::PipelineForecast& one) { return counted(one.runs, "run"); };
  for (const auto& [name, was] : then.pipelines) {
    if (!now.pipelines.contains(name)) out.push_back({"removed", "pipeline " + name, runs_of(was)});
  }
  for (const auto& [name, one] : now.pipelines) {
    const auto was = then.pipelines.find(name);
    if (was == then.pipelines.end()) {
      out.push_back({"added", "pipeline " + name, runs_of(one)});
      continue;
    }
    const std::string text = beside(one.runs, was->second.runs, "runs") + changed_wait(one.wait, was->second.wait);
    if (!text.empty()) out.push_back({"changed", "pipeline " + name, text.substr(0, text.size() - 2)});
  }
  compare_uses(now, then, out);
  compare_freshness(now, then, out);
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
  json::object out{{"from", format_rfc3339(forecast.from)},
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
                   {"freshness", freshness_json(forecast)},
                   {"clock_changes", std::move(surprises)}};
  add_uses(out, forecast);
  return out;
}

json::array changes_json(const std::vector<ForecastChange>& changes) {
  json::array out;
  for (const ForecastChange& one : changes) {
    out.emplace_back(json::object{{"kind", one.kind}, {"what", one.what}, {"text", one.text}});
  }
  return out;
}

void show_forecast(Stream& out, const sim::Forecast& forecast) {
  forecast_schedules(out, forecast);
  forecast_pipelines(out, forecast);
  show_uses(out, forecast);
  show_freshness(out, forecast);
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
