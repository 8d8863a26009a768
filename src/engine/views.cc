// Answers to questions, from memory; nothing here is stored.
#include <unistd.h>

#include "base/cases.h"
#include "base/log.h"
#include "decide/due.h"
#include "decide/overlap.h"
#include "engine/loop.h"

namespace eider::engine {
void Loop::answer(Command& question) {
  std::visit(
      Cases{[&](AskLive& ask) {
              std::vector<LiveRun> out;
              for (const std::string& id : ask.run_ids) out.push_back(live_view(id));
              ask.reply(std::move(out));
            },
            [&](AskPools& ask) { ask.reply(limits_view()); },
            [&](AskSchedules& ask) { ask.reply(schedule_views(ask.key)); },
            [&](AskPipelines& ask) { ask.reply(pipeline_views()); }, [&](AskStatus& ask) { ask.reply(status_view()); },
            [&](AskWorkspace& ask) { ask.reply(state_.share_workspace()); },
            [&](AskTriggers& ask) { ask.reply(trigger_views(ask.key)); },
            [](auto&) { EIDER_CHECK(false, "a command among the questions"); }},
      question);
}

LiveRun Loop::live_view(const std::string& run_id) const {
  LiveRun view;
  if (const auto live = live_.find(run_id); live != live_.end()) view = live->second;
  view.run_id = run_id;
  if (const model::Run* run = state_.run(run_id)) view.waiting_for = waiting_for(*run);
  return view;
}

std::vector<ScheduleView> Loop::schedule_views(const std::optional<std::string>& key) const {
  std::vector<ScheduleView> out;
  for (const auto& [name, entry] : state_.schedules()) {
    if (key && *key != name) continue;
    ScheduleView view;
    view.key = name;
    view.pipeline = entry.pipeline->name;
    view.schedule = entry.schedule();
    if (const auto cursor = state_.cursors().find(name); cursor != state_.cursors().end()) {
      view.paused = cursor->second.paused;
      view.paused_at = cursor->second.paused_at;
      view.note = cursor->second.note;
      view.reason = cursor->second.reason;
      const auto active = state_.active(entry);
      const auto next = decide::next_run(state_.facts(entry, active));
      view.next = next.at;
      view.next_unknown = next.unknown;
      const auto verdict = decide::decide_overlap(*entry.pipeline, entry.schedule(), name, active);
      if (!verdict.run) view.blocked_reason = verdict.reason;
      view.blocked_by = verdict.active_run_id;
    }
    view.delay = entry.delay;
    view.exclusions = entry.exclusions;
    view.description = entry.rule().describe();
    out.push_back(std::move(view));
  }
  std::sort(out.begin(), out.end(), [](const ScheduleView& a, const ScheduleView& b) { return a.key < b.key; });
  return out;
}

std::vector<TriggerView> Loop::trigger_views(const std::optional<std::string>& key) {
  std::vector<TriggerView> out;
  const Subscriptions& subscriptions = state_.subscriptions();
  for (const auto& [name, entry] : subscriptions.triggers()) {
    if (key && *key != name) continue;
    TriggerView view;
    view.key = name;
    view.pipeline = entry.pipeline->name;
    view.trigger = entry.trigger();
    view.matches = entry.matches;
    view.pending = subscriptions.pending(name);
    view.open_runs = subscriptions.open_runs(name);
    view.looks_again_at = subscriptions.look_of(name);
    if (view.pending > 0) {
      Result<void> asked;
      auto verdict = judge_trigger(entry, 1, asked);
      view.waiting_for = std::move(verdict.waiting);
      view.waiting_by_partition = std::move(verdict.waiting_by_partition);
      if (!asked) view.waiting_for = "not known: " + asked.error().message;
    }
    out.push_back(std::move(view));
  }
  for (const auto& [name, count] : subscriptions.pending()) {
    if (subscriptions.find(name) || (key && *key != name)) continue;
    TriggerView away;
    away.key = name;
    away.pipeline = name.substr(0, name.find('/'));
    away.trigger.id = name.substr(name.find('/') + 1);
    away.pending = count;
    away.waiting_for = "the pipeline's file is wrong, and no good version is known: `eider validate` says where";
    out.push_back(std::move(away));
  }
  return out;
}

std::vector<PipelineView> Loop::pipeline_views() const {
  std::map<std::string, PipelineView> views;
  for (const auto& [name, loaded] : state_.workspace().pipelines) {
    PipelineView& view = views[name];
    view.name = name;
    view.file = loaded.pipeline->file;
    view.description = loaded.pipeline->description;
    view.definition = loaded.hash;
    view.freshness = loaded.pipeline->freshness;
  }
  for (const auto& [file, broken] : state_.workspace().broken) {
    const std::string& name = broken.pipeline.empty() ? file : broken.pipeline;
    PipelineView& view = views[name];
    view.name = name;
    view.file = file;
    view.broken = true;
    for (const workspace::Diagnostic& diagnostic : state_.workspace().diagnostics) {
      if (diagnostic.file == file && view.error.empty()) view.error = workspace::format(diagnostic);
    }
  }
  for (const auto& [id, run] : state_.runs()) {
    const auto view = views.find(run.pipeline);
    if (view == views.end()) continue;
    ++(run.state == model::RunState::queued ? view->second.queued : view->second.running);
  }
  std::vector<PipelineView> out;
  for (auto& [name, view] : views) out.push_back(std::move(view));
  return out;
}

StatusView Loop::status_view() const {
  StatusView view;
  view.now = parts_.clock.now();
  view.started_at = started_at_;
  view.version = options_.version;
  view.workspace = state_.workspace().root;
  view.pid = static_cast<int>(getpid());
  view.health = !trouble_.empty() || !start_trouble_.empty() || !refused_.why.empty() ? "degraded"
                : draining_                                                           ? "draining"
                                                                                      : "ok";
  if (!trouble_.empty()) {
    view.health_detail = "the store cannot be written since " + format_rfc3339(trouble_since_) + ": " + trouble_;
  } else if (!start_trouble_.empty()) {
    view.health_detail = "runs can't be started since " + format_rfc3339(start_trouble_since_) + ": " + start_trouble_;
  } else if (!refused_.why.empty()) {
    view.health_detail =
        "the store refuses something since " + format_rfc3339(refused_.since) + ", it is tried again: " + refused_.why;
  }
  view.pipelines = static_cast<int>(state_.workspace().pipelines.size());
  view.schedules = static_cast<int>(state_.schedules().size());
  view.triggers = static_cast<int>(state_.subscriptions().triggers().size());
  for (const auto& [trigger, count] : state_.subscriptions().pending()) view.pending_deliveries += count;
  view.broken_files = static_cast<int>(state_.workspace().broken.size() + state_.workspace().broken_calendars.size());
  view.running = static_cast<int>(state_.live().size());
  view.queued = state_.queued_count();
  view.max_workers = state_.workspace().settings.max_workers;
  if (const auto due = state_.first_due()) view.next_due = due->first;
  view.stale_results = stale_results_;
  view.diagnostics = state_.workspace().diagnostics;
  return view;
}

}  // namespace eider::engine
