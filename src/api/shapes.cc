#include "api/shapes.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_parts.h"

namespace eider::api::shapes {
namespace {

json::array waiting_for(const engine::LiveRun* live) {
  json::array out;
  if (!live) return out;
  for (const engine::Waiting& waiting : live->waiting_for) {
    out.push_back({{"kind", waiting.kind},
                   {"name", waiting.name},
                   {"detail", waiting.detail},
                   {"since", time_text(waiting.since)},
                   {"held_by", json::array()}});
  }
  return out;
}

/// Every step has the same names, whether it runs or ended.
json::object with_all_names(json::object step) {
  for (const char* name :
       {"outcome", "started_at", "finished_at", "exit_code", "signal", "peak_memory_bytes", "rows", "error"}) {
    if (!step.contains(name)) step[name] = nullptr;
  }
  // What only a retry asks.
  for (const char* name : {"said", "content", "unpublished"}) step.erase(name);
  return step;
}

json::array steps_of(const std::vector<model::Attempt>& attempts, const engine::LiveRun* live) {
  json::value ended = nullptr;
  if (live) {
    ended = stored_json(wire::steps_json(live->steps));
  } else if (!attempts.empty()) {
    ended = stored_json(attempts.back().steps);
  }
  json::array out;
  if (ended.is_array()) {
    for (json::value& step : ended.get_array()) {
      if (!step.is_object()) continue;
      json::object shown = with_all_names(std::move(step.get_object()));
      shown["progress"] = 1.0;
      out.push_back(std::move(shown));
    }
  }
  if (!live) return out;
  for (const wire::StepStarted& step : live->running) {
    json::object shown{{"step", step.step}, {"started_at", time_text(step.at)}};
    const auto progress = live->progress.find(step.step);
    shown["progress"] = progress == live->progress.end() ? json::value(nullptr) : json::value(progress->second);
    if (step.pid != 0) shown["pid"] = step.pid;
    out.push_back(with_all_names(std::move(shown)));
  }
  return out;
}

/// The names of the steps that are not done again.
json::array kept_of(const model::Run& run) {
  json::array out;
  const json::value kept = stored_json(run.kept);
  for (const json::value& step : kept.is_array() ? kept.get_array() : json::array()) {
    const json::object* fields = step.if_object();
    if (const json::value* name = fields ? fields->if_contains("step") : nullptr) out.push_back(*name);
  }
  return out;
}

json::value progress_of(const json::array& steps, std::size_t step_count) {
  if (step_count == 0) return nullptr;
  double done = 0;
  for (const json::value& step : steps) {
    if (const json::value& part = step.as_object().at("progress"); part.is_double()) done += part.get_double();
  }
  return std::min(1.0, done / static_cast<double>(step_count));
}

struct LogLine {
  json::value value;
  const json::object* object = nullptr;
  std::string_view text(const char* name) const {
    const json::value* found = object ? object->if_contains(name) : nullptr;
    return found && found->is_string() ? std::string_view(found->get_string().data(), found->get_string().size())
                                       : std::string_view();
  }
  bool has(const char* name) const { return object && object->contains(name); }
};

LogLine parse_log_line(std::string_view line) {
  LogLine out;
  boost::system::error_code error;
  out.value = json::parse({line.data(), line.size()}, error);
  if (!error && out.value.is_object()) out.object = &out.value.get_object();
  return out;
}

std::string decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    std::uint32_t value = 0;
    if (c >= 'A' && c <= 'Z')
      value = static_cast<std::uint32_t>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      value = static_cast<std::uint32_t>(c - 'a' + 26);
    else if (c >= '0' && c <= '9')
      value = static_cast<std::uint32_t>(c - '0' + 52);
    else if (c == '+')
      value = 62;
    else if (c == '/')
      value = 63;
    else
      break;
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

}  // namespace

json::object attempt(const model::Attempt& attempt) {
  json::object out;
  out["number"] = attempt.number;
  out["outcome"] = attempt.outcome ? json::value(model::to_text(*attempt.outcome)) : json::value(nullptr);
  out["claimed_at"] = time_text(attempt.claimed_at);
  out["started_at"] = time_or_null(attempt.started_at);
  out["finished_at"] = time_or_null(attempt.finished_at);
  out["worker_pid"] = number_or_null(attempt.worker_pid);
  out["exit_code"] = number_or_null(attempt.exit_code);
  out["signal"] = number_or_null(attempt.signal);
  out["peak_memory_bytes"] = number_or_null(attempt.peak_memory_bytes);
  out["definition"] = text_or_null(attempt.definition);
  out["error"] = text_or_null(attempt.error);
  return out;
}

json::object run(const model::Run& run, const std::vector<model::Attempt>& attempts, const engine::LiveRun* live) {
  json::object out;
  out["id"] = run.id;
  out["pipeline"] = run.pipeline;
  out["trigger"] = {{"kind", model::to_text(run.trigger)}, {"id", text_or_null(run.trigger_id)}};
  out["parent"] = text_or_null(run.parent);
  out["depth"] = run.depth;
  out["state"] = model::to_text(run.state);
  out["attempt"] = run.attempt;
  out["scheduled_for"] = time_or_null(run.scheduled_for);
  out["partition"] = text_or_null(run.partition);
  out["params"] = stored_json(run.params);
  out["priority"] = run.priority;
  out["created_at"] = time_text(run.created_at);
  out["started_at"] = time_or_null(run.started_at);
  out["finished_at"] = time_or_null(run.finished_at);
  out["definition"] = text_or_null(run.definition);
  out["waiting_for"] = waiting_for(live);
  out["reason"] = text_or_null(run.reason);
  out["reason_text"] = reason_text(run.reason);
  out["error"] = text_or_null(run.error);
  out["occurrence_id"] = text_or_null(run.occurrence_id);
  out["failures"] = run.failures;
  out["interruptions"] = run.interruptions;
  // A time in the past says nothing: only a backoff is shown.
  out["not_before"] =
      run.state == model::RunState::queued && run.not_before > run.created_at ? time_text(run.not_before) : nullptr;
  out["cancel_asked_at"] = time_or_null(run.cancel_asked_at);
  out["kept"] = kept_of(run);
  json::array list;
  for (const model::Attempt& each : attempts) list.push_back(attempt(each));
  // A live attempt's worker is known to memory before it is stored.
  if (live && live->worker_pid != 0 && !list.empty() && !attempts.back().outcome) {
    list.back().as_object()["worker_pid"] = live->worker_pid;
  }
  out["attempts"] = std::move(list);
  return out;
}

json::object run_in_full(const model::Run& run, const std::vector<model::Attempt>& attempts,
                         const engine::LiveRun* live, const model::Pipeline* definition) {
  json::object out = shapes::run(run, attempts, live);
  const bool running = run.state == model::RunState::running;
  json::array steps = steps_of(attempts, running ? live : nullptr);
  out["progress"] = running && definition ? progress_of(steps, definition->steps.size()) : json::value(nullptr);
  out["max_attempts"] = definition ? json::value(definition->retry.max_attempts) : json::value(nullptr);
  out["steps"] = std::move(steps);
  out["adopted"] = live && live->adopted;
  return out;
}

json::object occurrence(const model::Occurrence& occurrence) {
  const std::chrono::seconds offset(occurrence.offset_s);
  json::object out;
  out["id"] = occurrence.id;
  out["schedule"] = occurrence.schedule;
  out["pipeline"] = occurrence.pipeline;
  out["scheduled_for"] = time_text(occurrence.scheduled_for);
  out["scheduled_until"] = time_text(occurrence.scheduled_until);
  out["count"] = occurrence.count;
  out["timezone"] = occurrence.timezone;
  out["local"] = format_rfc3339(occurrence.scheduled_for, offset);
  out["offset"] = offset_text(offset);
  out["shifted"] = occurrence.shifted;
  out["decided_at"] = time_text(occurrence.decided_at);
  out["decision"] = model::to_text(occurrence.decision);
  out["reason"] = text_or_null(occurrence.reason);
  out["reason_text"] = reason_text(occurrence.reason);
  out["run_id"] = text_or_null(occurrence.run_id);
  out["calendar"] = text_or_null(occurrence.calendar);
  return out;
}

json::object schedule(const engine::ScheduleView& view, const std::optional<model::Occurrence>& last) {
  const model::Schedule& schedule = view.schedule;
  json::object out;
  out["key"] = view.key;
  out["pipeline"] = view.pipeline;
  out["id"] = schedule.id;
  out["rule"] = rule_text(schedule.timing);
  out["description"] = text_or_null(view.description);
  out["timezone"] = schedule.timing.timezone;
  out["overlap"] = model::to_text(schedule.overlap);
  out["misfire"] = model::to_text(schedule.misfire);
  out["grace"] = format_duration(schedule.grace);
  out["max_catchup"] = schedule.max_catchup;
  out["catchup_window"] = format_duration(schedule.catchup_window);
  out["queue_limit"] = schedule.queue_limit;
  out["exclude"] = json::array(schedule.exclude.begin(), schedule.exclude.end());
  out["only"] = json::array(schedule.only.begin(), schedule.only.end());
  out["start"] = time_or_null(schedule.start);
  out["end"] = time_or_null(schedule.end);
  out["jitter"] = format_duration(schedule.jitter);
  out["delay"] = format_duration(view.delay);
  out["pause_after_failures"] = schedule.pause_after_failures;
  out["paused"] = view.paused;
  out["paused_at"] = time_or_null(view.paused_at);
  out["paused_reason"] = text_or_null(view.reason);
  out["paused_reason_text"] = view.reason.empty() ? json::value(nullptr) : json::value(reason_text(view.reason));
  out["note"] = text_or_null(view.note);
  out["next"] = time_or_null(view.next);
  out["next_unknown"] = view.next_unknown;
  out["last"] = last ? time_text(last->scheduled_until) : json::value(nullptr);
  out["last_decision"] = last ? json::value(model::to_text(last->decision)) : json::value(nullptr);
  out["last_run_id"] = last ? text_or_null(last->run_id) : json::value(nullptr);
  return out;
}

json::object cursor(const model::Cursor& cursor) {
  return {{"decided_until", time_text(cursor.decided_until)},
          {"rule", cursor.rule},
          {"paused", cursor.paused},
          {"note", text_or_null(cursor.note)},
          {"paused_at", time_or_null(cursor.paused_at)}};
}

json::object preview(Instant at, std::string_view timezone, std::chrono::seconds offset, bool shifted) {
  return {{"scheduled_for", time_text(at)},
          {"timezone", timezone},
          {"local", format_rfc3339(at, offset)},
          {"offset", offset_text(offset)},
          {"shifted", shifted}};
}

json::object pool(const engine::PoolUse& use) {
  json::value rate = nullptr;
  if (use.rate) {
    rate = {{"starts", use.rate->limit.starts},
            {"per", format_duration(use.rate->limit.per)},
            {"started", use.rate->started},
            {"waiting", use.rate->waiting},
            {"next", time_or_null(use.rate->next)}};
  }
  return {{"name", use.name},
          {"slots", use.slots},
          {"used", use.used},
          {"waiting", use.waiting},
          {"holders", json::array(use.holders.begin(), use.holders.end())},
          {"rate", std::move(rate)}};
}

json::object pipeline(const engine::PipelineView& view) {
  return {{"name", view.name},
          {"file", view.file},
          {"description", text_or_null(view.description)},
          {"definition", text_or_null(view.definition)},
          {"broken", view.broken},
          {"error", text_or_null(view.error)},
          {"queued", view.queued},
          {"running", view.running}};
}

json::object status(const engine::StatusView& view) {
  json::object counters;
  for (const auto& [name, count] : view.counters) counters[name] = count;
  json::value foreground = nullptr;
  if (view.foreground) foreground = {{"pipeline", view.foreground->pipeline}, {"pid", view.foreground->pid}};
  return {{"now", time_text(view.now)},
          {"foreground_run", std::move(foreground)},
          {"started_at", view.started_at == Instant{} ? json::value(nullptr) : time_text(view.started_at)},
          {"version", view.version},
          {"workspace", view.workspace},
          {"pid", view.pid == 0 ? json::value(nullptr) : json::value(view.pid)},
          {"health", view.health},
          {"health_detail", text_or_null(view.health_detail)},
          {"pipelines", view.pipelines},
          {"schedules", view.schedules},
          {"broken_files", view.broken_files},
          {"queued", view.queued},
          {"running", view.running},
          {"max_workers", view.max_workers},
          {"next_due", time_or_null(view.next_due)},
          {"stale_results", view.stale_results},
          {"counters", std::move(counters)},
          {"diagnostics", diagnostics(view.diagnostics)}};
}

json::object diagnostic(const workspace::Diagnostic& diagnostic) {
  return {{"file", diagnostic.file},
          {"line", diagnostic.line == 0 ? json::value(nullptr) : json::value(diagnostic.line)},
          {"column", diagnostic.column == 0 ? json::value(nullptr) : json::value(diagnostic.column)},
          {"severity", workspace::to_text(diagnostic.severity)},
          {"key", text_or_null(diagnostic.key)},
          {"message", diagnostic.message},
          {"suggestion", text_or_null(diagnostic.suggestion)},
          {"source", text_or_null(diagnostic.source_line)},
          {"text", workspace::format(diagnostic)}};
}

json::array diagnostics(const std::vector<workspace::Diagnostic>& list) {
  json::array out;
  for (const workspace::Diagnostic& each : list) out.push_back(diagnostic(each));
  return out;
}

json::object list(json::array items, const std::optional<std::string>& next) {
  json::object out;
  out["items"] = std::move(items);
  out["next"] = next ? json::value(*next) : json::value(nullptr);
  return out;
}

std::string rule_text(const model::Timing& timing) {
  if (!timing.cron.empty()) return timing.cron;
  if (timing.at) return "at " + format_rfc3339(*timing.at);
  if (!timing.every) return {};
  return "every " + format_duration(*timing.every) + (timing.from_completion ? " from completion" : "");
}

std::string offset_text(std::chrono::seconds offset) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(std::chrono::abs(offset)).count();
  return fmt::format("{}{:02}:{:02}", offset.count() < 0 && minutes > 0 ? '-' : '+', minutes / 60, minutes % 60);
}

bool log_line_is_of(std::string_view line, std::string_view step) { return parse_log_line(line).text("step") == step; }

std::string raw_log_bytes(std::string_view line, std::string_view step) {
  const LogLine parsed = parse_log_line(line);
  const std::string_view stream = parsed.text("stream");
  if ((stream != "stdout" && stream != "stderr") || (!step.empty() && parsed.text("step") != step)) return {};
  std::string out = parsed.has("raw") ? decode_base64(parsed.text("raw")) : std::string(parsed.text("text"));
  // `eol` says how the line ended where it was not by a plain line feed.
  out += parsed.has("eol") ? parsed.text("eol") : "\n";
  return out;
}

}  // namespace eider::api::shapes
