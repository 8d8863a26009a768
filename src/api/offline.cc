#include "api/offline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/cases.h"
#include "decide/admission.h"
#include "decide/due.h"
#include "wire/workspace_lock.h"
#include "workspace/catalog.h"
#include "workspace/rule.h"

namespace eider::api {
namespace {

constexpr int kMostCounted = 1000;

}  // namespace

Result<void> Offline::answer(engine::Command command) {
  const bool about_files =
      std::holds_alternative<engine::AskPools>(command) || std::holds_alternative<engine::AskSchedules>(command) ||
      std::holds_alternative<engine::AskTriggers>(command) || std::holds_alternative<engine::AskWorkspace>(command) ||
      std::holds_alternative<engine::AskPipelines>(command);
  if (about_files && !files_error_.empty()) return Error{ErrorCode::invalid, files_error_};
  const bool answered =
      std::visit(Cases{[&](engine::AskLive& ask) { return ask.reply(live(ask.run_ids)), true; },
                       [&](engine::AskPools& ask) { return ask.reply(pools()), true; },
                       [&](engine::AskSchedules& ask) { return ask.reply(schedules(ask.key)), true; },
                       [&](engine::AskTriggers& ask) { return ask.reply(triggers(ask.key)), true; },
                       [&](engine::AskWorkspace& ask) { return ask.reply(files()), true; },
                       [&](engine::AskPipelines& ask) { return ask.reply(pipelines()), true; },
                       [&](engine::AskStatus& ask) { return ask.reply(status()), true; }, [](auto&) { return false; }},
                 command);
  if (answered) return {};
  return Error{ErrorCode::no_server, "this needs a running server: start one with `eider serve`"};
}

/// `from: completion` counts from where its last run ended, which is where the cursor stands.
std::optional<Instant> Offline::next_after_completion(const timing::Rule& rule, const engine::ScheduleView& view,
                                                      const model::Cursor* cursor) {
  const auto open = reader_.runs({view.pipeline, std::nullopt, true}, kMostCounted, "");
  if (open && std::any_of(open->items.begin(), open->items.end(),
                          [&](const model::Run& run) { return run.trigger_id == view.key; })) {
    return std::nullopt;
  }
  const Instant now = clock_->now();
  const auto next = rule.next_after_completion(cursor ? cursor->decided_until : now);
  return next ? std::optional(std::max(*next, now)) : std::nullopt;
}

std::vector<engine::ScheduleView> Offline::schedules(const std::optional<std::string>& key) {
  std::vector<engine::ScheduleView> out;
  if (!workspace_) return out;
  std::map<std::string, model::Cursor> cursors;
  if (auto stored = reader_.cursors()) {
    for (model::Cursor& cursor : *stored) cursors.emplace(cursor.schedule, cursor);
  }
  for (const auto& [name, loaded] : workspace_->pipelines) {
    for (const model::Schedule& schedule : loaded.pipeline->schedules) {
      engine::ScheduleView view;
      view.key = model::schedule_key(name, schedule.id);
      if (key && *key != view.key) continue;
      view.pipeline = name;
      view.schedule = schedule;
      const auto cursor = cursors.find(view.key);
      if (cursor != cursors.end()) {
        view.paused = cursor->second.paused;
        view.paused_at = cursor->second.paused_at;
        view.note = cursor->second.note;
        view.reason = cursor->second.reason;
      } else if (schedule.paused) {
        view.paused = true;
        view.note = schedule.note;
        view.reason = model::reason::starts_paused;
      }
      view.delay = decide::jitter_delay(view.key, schedule.jitter);
      if (auto rule = workspace::make_rule(schedule.timing)) {
        view.description = rule->describe();
        if (auto exclusions = workspace::make_exclusions(schedule, workspace_->calendars, rule->zone())) {
          view.exclusions = *exclusions;
        }
        if (!view.paused && schedule.timing.from_completion) {
          view.next = next_after_completion(*rule, view, cursor == cursors.end() ? nullptr : &cursor->second);
        } else if (!view.paused && view.exclusions) {
          const auto found = view.exclusions->next(*rule, clock_->now() - view.delay);
          view.next = found.at;
          view.next_unknown = found.unknown;
        }
        if (view.next) *view.next += view.delay;
      }
      out.push_back(std::move(view));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

/// Without ownership: what is given outlives this object, and the answer is used at once.
std::shared_ptr<const workspace::Workspace> Offline::files() const {
  if (!workspace_) return std::make_shared<workspace::Workspace>();
  return {std::shared_ptr<const void>(), workspace_};
}

std::vector<engine::TriggerView> Offline::triggers(const std::optional<std::string>& key) {
  std::vector<engine::TriggerView> out;
  if (!workspace_) return out;
  std::map<std::string, std::int64_t> pending;
  if (auto counts = reader_.pending_counts()) pending.insert(counts->begin(), counts->end());
  std::map<std::string, int> open_runs;
  const auto open = reader_.runs({std::nullopt, std::nullopt, true}, kMostCounted, "");
  for (const model::Run& run : open ? open->items : std::vector<model::Run>()) {
    if (run.trigger == model::TriggerKind::data) ++open_runs[run.trigger_id];
  }
  const workspace::Catalog catalog = workspace::make_catalog(workspace_->settings, workspace_->pipelines);
  const std::string nobody = no_server();
  for (const auto& [name, loaded] : workspace_->pipelines) {
    for (const model::Trigger& trigger : loaded.pipeline->triggers) {
      engine::TriggerView view;
      view.key = model::schedule_key(name, trigger.id);
      if (key && *key != view.key) continue;
      view.pipeline = name;
      view.trigger = trigger;
      view.matches = workspace::matched_assets(catalog, trigger);
      view.pending = pending[view.key];
      view.open_runs = open_runs[view.key];
      if (view.pending > 0) view.waiting_for = "no server claims it: " + nobody;
      out.push_back(std::move(view));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

std::vector<engine::PipelineView> Offline::pipelines() {
  std::vector<engine::PipelineView> out;
  if (!workspace_) return out;
  for (const auto& [name, loaded] : workspace_->pipelines) {
    engine::PipelineView view;
    view.name = name;
    view.file = loaded.pipeline->file;
    view.description = loaded.pipeline->description;
    view.definition = loaded.hash;
    out.push_back(std::move(view));
  }
  for (const auto& [file, broken] : workspace_->broken) {
    engine::PipelineView view;
    view.name = broken.pipeline.empty() ? file : broken.pipeline;
    view.file = file;
    view.broken = true;
    for (const workspace::Diagnostic& diagnostic : workspace_->diagnostics) {
      if (diagnostic.file != file || diagnostic.severity != workspace::Severity::error) continue;
      view.error += (view.error.empty() ? "" : "\n") + workspace::format(diagnostic);
    }
    out.push_back(std::move(view));
  }
  const auto open = reader_.runs({std::nullopt, std::nullopt, true}, kMostCounted, "");
  for (const model::Run& run : open ? open->items : std::vector<model::Run>()) {
    const auto view = std::find_if(out.begin(), out.end(), [&](const auto& each) { return each.name == run.pipeline; });
    if (view != out.end()) ++(run.state == model::RunState::running ? view->running : view->queued);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

engine::LimitsView Offline::pools() {
  engine::LimitsView out;
  std::map<std::string, engine::PoolUse> uses;
  if (workspace_) {
    const model::Settings& settings = workspace_->settings;
    for (const auto& [name, pool] : settings.pools) uses[name] = {name, pool.slots, 0, 0, {}};
    out.workers.limit = settings.max_workers;
    out.data_workers.limit = decide::share_of(settings.max_workers, settings.data_share);
    out.backfill_workers.limit = decide::share_of(settings.max_workers, settings.backfill_share);
    out.memory.limit = settings.memory_bytes;
    out.temp.limit = settings.temp_bytes;
  }
  // Attempts outlive their server: what they took is in use all the same.
  if (auto live = reader_.live_attempts()) {
    for (const model::Attempt& attempt : *live) {
      ++out.workers.used;
      out.memory.used += attempt.taken.memory_bytes;
      out.temp.used += attempt.taken.temp_bytes;
      for (const auto& [name, slots] : attempt.taken.pools) {
        engine::PoolUse& use = uses[name];
        use.name = name;
        use.used += slots;
        use.holders.push_back(attempt.run_id);
      }
    }
  }
  for (auto& [name, use] : uses) out.pools.push_back(std::move(use));
  return out;
}

std::vector<engine::LiveRun> Offline::live(const std::vector<std::string>& run_ids) {
  std::vector<engine::LiveRun> out;
  for (const std::string& id : run_ids) {
    const auto run = reader_.run(id);
    if (!run || !*run || (*run)->state != model::RunState::queued) continue;
    engine::LiveRun view;
    view.run_id = id;
    view.waiting_for = waiting_for(**run);
    out.push_back(std::move(view));
  }
  return out;
}

/// A queued run waits for somebody who starts it, whatever else it lacks.
std::vector<engine::Waiting> Offline::waiting_for(const model::Run& run) {
  const auto holder = wire::workspace_holder(layout_);
  // It may be the very run that is in the foreground.
  if (holder && holder->pipeline == run.pipeline) return {};
  Instant since = run.created_at;
  if (const auto attempts = reader_.attempts(run.id); attempts && !attempts->empty()) {
    since = std::max(since, attempts->back().finished_at.value_or(since));
  }
  return {{"server", "", no_server(), since}};
}

/// Why nobody starts what is queued or pending.
std::string Offline::no_server() const {
  const auto holder = wire::workspace_holder(layout_);
  if (!holder) return "none is running; `eider serve` starts one";
  if (holder->pipeline.empty()) return "it is starting or stopping";
  return "none is running; " + wire::to_text(*holder);
}

engine::StatusView Offline::status() {
  engine::StatusView view;
  view.now = clock_->now();
  view.workspace = layout_.workspace;
  view.health = "stopped";
  view.health_detail = "no server is running; `eider serve` starts one";
  if (const auto holder = wire::workspace_holder(layout_); holder && holder->pipeline.empty()) {
    view.health_detail =
        fmt::format("the server (process {}) does not answer: it is starting or stopping", holder->pid);
  } else if (holder) {
    view.health_detail = "no server is running; " + wire::to_text(*holder);
    view.foreground = {holder->pid, holder->pipeline};
  }
  if (auto live = reader_.live_attempts()) view.running = static_cast<int>(live->size());
  if (auto queued = reader_.runs({std::nullopt, model::RunState::queued, false}, kMostCounted, ""))
    view.queued = static_cast<int>(queued->items.size());
  if (!workspace_) return view;
  view.pipelines = static_cast<int>(workspace_->pipelines.size());
  view.broken_files = static_cast<int>(workspace_->broken.size() + workspace_->broken_calendars.size());
  view.max_workers = workspace_->settings.max_workers;
  for (const engine::ScheduleView& schedule : schedules(std::nullopt)) {
    ++view.schedules;
    if (schedule.next && (!view.next_due || *schedule.next < *view.next_due)) view.next_due = schedule.next;
  }
  view.diagnostics = workspace_->diagnostics;
  return view;
}

}  // namespace eider::api
