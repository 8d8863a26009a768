#include "api/idle.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_parts.h"
#include "api/parameters.h"
#include "api/usual.h"
#include "api/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;

/// `Pool` of `pool`.
std::string capital(std::string word) {
  if (!word.empty() && word.front() >= 'a' && word.front() <= 'z') word.front() = static_cast<char>(word.front() - 32);
  return word;
}

class Explainer {
 public:
  explicit Explainer(const IdleFacts& facts) : facts_(facts) {}

  IdleAnswer go() {
    server();
    file();
    runs();
    for (const engine::ScheduleView& schedule : facts_.snapshot.schedules) look_at(schedule);
    for (const engine::TriggerView& trigger : facts_.snapshot.triggers) look_at(trigger);
    if (facts_.snapshot.schedules.empty() && facts_.snapshot.triggers.empty() && good()) {
      add({.code = "NothingStartsIt",
           .keeps = facts_.snapshot.open.empty(),
           .name = facts_.pipeline.name,
           .text = "it has neither a schedule nor a trigger: only a person starts it",
           .remedy = "eider run " + facts_.pipeline.name});
    }
    if (!facts_.newest.empty()) {
      add({.code = "NewestRunFailed",
           .name = facts_.newest,
           .text = fmt::format("its newest run {} failed, and nothing has succeeded since", facts_.newest),
           .remedy = "eider explain " + facts_.newest});
    }
    answer_.text = summary();
    std::stable_partition(answer_.reasons.begin(), answer_.reasons.end(), [](const auto& each) { return each.keeps; });
    return std::move(answer_);
  }

 private:
  void add(IdleReason reason) { answer_.reasons.push_back(std::move(reason)); }
  /// Its definition is in force.
  bool good() const { return !facts_.pipeline.broken || !facts_.pipeline.definition.empty(); }

  void server() {
    const engine::StatusView& status = facts_.snapshot.status;
    if (status.health == "ok") return;
    IdleReason reason{.code = "ServerDegraded", .keeps = true, .text = status.health_detail};
    if (!facts_.snapshot.has_server()) reason.code = "NoServer", reason.remedy = "eider serve";
    if (status.health == "draining") reason.code = "ServerStopping", reason.text = "the server is stopping";
    add(std::move(reason));
  }

  void file() {
    if (!facts_.pipeline.broken) return;
    const bool in_force = good();
    add({.code = "FileBroken",
         .keeps = !in_force,
         .name = facts_.pipeline.file,
         .text =
             fmt::format("its file {} is wrong{}: {}", facts_.pipeline.file,
                         in_force ? ", and the last good version is in force" : "", first_line(facts_.pipeline.error)),
         .remedy = "eider validate"});
  }

  void runs() {
    for (const model::Run& run : facts_.snapshot.open) {
      if (run.state == model::RunState::running) {
        running(run);
      } else {
        queued(run);
      }
    }
  }

  void running(const model::Run& run) {
    ++running_;
    const auto longer = facts_.longer.find(run.id);
    const bool is_long = longer != facts_.longer.end();
    add({.code = is_long ? "LongerThanUsual" : "ActiveRun",
         .name = run.id,
         .since = run.started_at,
         .text = fmt::format("run {} is running{}", run.id, is_long ? ", " + longer->second : std::string()),
         .remedy = "eider runs show " + run.id});
  }

  void queued(const model::Run& run) {
    ++queued_;
    const engine::LiveRun* live = facts_.snapshot.live_of(run.id);
    if (!live || live->waiting_for.empty()) {
      return add(
          {.code = "RunQueued", .name = run.id, .since = run.created_at, .text = "run " + run.id + " is queued"});
    }
    for (const engine::Waiting& waiting : live->waiting_for) {
      add({.code = "WaitsFor" + capital(waiting.kind),
           .keeps = true,
           .name = run.id,
           .since = waiting.since,
           .text = fmt::format("run {} is queued, and waits for {}{}", run.id, awaited(waiting.kind, waiting.name),
                               waiting.detail.empty() ? "" : fmt::format(" ({})", waiting.detail)),
           .remedy = "eider runs show " + run.id});
    }
  }

  void look_at(const engine::ScheduleView& schedule) {
    if (schedule.paused) {
      add({.code = model::reason::paused,
           .keeps = true,
           .name = schedule.key,
           .since = schedule.paused_at,
           .text = fmt::format("schedule {} is paused{}", schedule.key,
                               schedule.note.empty() ? "" : ": " + first_line(schedule.note)),
           .remedy = "eider schedule resume " + schedule.key});
    } else if (schedule.next) {
      if (!next_ || *schedule.next < *next_) next_ = schedule.next;
      add({.code = model::reason::due,
           .name = schedule.key,
           .until = schedule.next,
           .text = fmt::format("schedule {} is due next at {}", schedule.key, format_rfc3339(*schedule.next))});
    } else if (schedule.schedule.timing.from_completion) {
      add({.code = "DueAfterRun",
           .name = schedule.key,
           .text = fmt::format("schedule {} is due when its run is over, and its delay after it", schedule.key)});
    } else {
      add({.code = "NeverDue",
           .keeps = true,
           .name = schedule.key,
           .text = fmt::format("schedule {} will never be due again", schedule.key)});
    }
    const auto last = facts_.last.find(schedule.key);
    if (last != facts_.last.end()) last_decision(last->second);
  }

  /// Of an instant that ran, the run tells.
  void last_decision(const model::Occurrence& last) {
    if (last.decision == model::Decision::run) return;
    std::string text = fmt::format("its last instant {} of {} was {}", format_rfc3339(last.scheduled_until),
                                   last.schedule, model::to_text(last.decision));
    if (!last.calendar.empty()) text += fmt::format(" by {}", last.calendar);
    if (!last.reason.empty()) text += ": " + model::reason_sentence(last.reason);
    add({.code = last.reason.empty() ? capital(model::to_text(last.decision)) : last.reason,
         .name = last.schedule,
         .since = last.decided_at,
         .text = std::move(text),
         .remedy = "eider explain " + last.id});
  }

  void look_at(const engine::TriggerView& trigger) {
    if (trigger.pending > 0) {
      add({.code = "DeliveriesWait",
           .keeps = true,
           .name = trigger.key,
           .until = trigger.looks_again_at,
           .text = fmt::format("{} pending deliver{} of trigger {}: {}", trigger.pending,
                               trigger.pending == 1 ? "y" : "ies", trigger.key,
                               trigger.waiting_for.empty() ? "looked at next" : trigger.waiting_for),
           .remedy = "eider deliveries list --trigger " + trigger.key});
      return;
    }
    std::string assets;
    for (const std::string& each : trigger.matches.empty() ? trigger.trigger.assets : trigger.matches) {
      assets += (assets.empty() ? "" : ", ") + each;
    }
    if (waits_for_.empty()) waits_for_ = assets;
    add({.code = trigger.matches.empty() ? "NothingPublishes" : "NothingPublished",
         .keeps = false,
         .name = trigger.key,
         .text = trigger.matches.empty()
                     ? fmt::format("trigger {} waits for {}, which nothing publishes", trigger.key, assets)
                     : fmt::format("trigger {} waits for {} to be published", trigger.key, assets)});
  }

  std::string summary() const {
    const std::string& name = facts_.pipeline.name;
    const auto first =
        std::find_if(answer_.reasons.begin(), answer_.reasons.end(), [](const IdleReason& each) { return each.keeps; });
    if (running_ > 0) return fmt::format("{} is running", name);
    if (first != answer_.reasons.end()) {
      const bool comes = next_ && facts_.snapshot.has_server() && queued_ == 0;
      return fmt::format("{} does not run: {}{}", name, first->text,
                         comes ? fmt::format("; it is due next at {}", format_rfc3339(*next_)) : "");
    }
    if (queued_ > 0) return fmt::format("{} is about to run", name);
    if (next_) return fmt::format("nothing keeps {} from running: it is due next at {}", name, format_rfc3339(*next_));
    return fmt::format("nothing keeps {} from running: it runs when {} is published", name, waits_for_);
  }

  const IdleFacts& facts_;
  IdleAnswer answer_;
  int running_ = 0;
  int queued_ = 0;
  std::optional<Instant> next_;
  std::string waits_for_;
};

/// The newest run, where it failed.
std::string newest_failed(Context& context, const std::string& pipeline) {
  const auto page = context.reader().runs({pipeline, std::nullopt, false}, 1, "");
  if (!page || page->items.empty() || page->items.front().state != model::RunState::failed) return {};
  return page->items.front().id;
}

std::map<std::string, model::Occurrence> last_decisions(Context& context, const Snapshot& snapshot) {
  std::map<std::string, model::Occurrence> out;
  for (const engine::ScheduleView& schedule : snapshot.schedules) {
    const auto page = context.reader().occurrences({schedule.key, std::nullopt}, 1, "");
    if (page && !page->items.empty()) out.emplace(schedule.key, page->items.front());
  }
  return out;
}

std::map<std::string, std::string> longer_runs(Context& context, const Snapshot& snapshot) {
  std::map<std::string, std::string> out;
  Usuals usuals(context.reader(), context.options().clock->now());
  for (const model::Run& run : snapshot.open) {
    if (run.state != model::RunState::running) continue;
    const auto attempts = context.reader().attempts(run.id);
    const std::string words = attempts ? usuals.words(run, *attempts) : std::string();
    if (!words.empty()) out.emplace(run.id, words);
  }
  return out;
}

}  // namespace

IdleAnswer explain_idle(const IdleFacts& facts) { return Explainer(facts).go(); }

json::object json_of(const std::string& pipeline, const IdleAnswer& answer) {
  json::array reasons;
  for (const IdleReason& each : answer.reasons) {
    reasons.push_back({{"code", each.code},
                       {"keeps", each.keeps},
                       {"name", shapes::text_or_null(each.name)},
                       {"since", shapes::time_or_null(each.since)},
                       {"until", shapes::time_or_null(each.until)},
                       {"text", each.text},
                       {"remedy", shapes::text_or_null(each.remedy)}});
  }
  return {{"kind", "pipeline"},     {"id", pipeline},    {"text", answer.text}, {"reasons", std::move(reasons)},
          {"links", json::array()}, {"truncated", false}};
}

void explain_pipeline(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  const std::string name = call.captures[0];
  if (auto good = model::check_name("pipeline", name); !good) {
    return respond(problem_response(parameter_problem("pipeline", good.error().message, "a name in the path")));
  }
  take_snapshot(context, name, respond, [&context, name, respond](const Snapshot& snapshot) {
    const auto view = std::find_if(snapshot.pipelines.begin(), snapshot.pipelines.end(),
                                   [&](const auto& each) { return each.name == name; });
    if (!snapshot.files_error.empty()) return respond(error_response({ErrorCode::invalid, snapshot.files_error}));
    if (view == snapshot.pipelines.end())
      return respond(problem_response(unknown_pipeline({}, name, snapshot.pipelines)));
    const auto last = last_decisions(context, snapshot);
    const auto longer = longer_runs(context, snapshot);
    const IdleAnswer answer = explain_idle(IdleFacts{snapshot, *view, last, longer, newest_failed(context, name)});
    respond(json_response(200, json_of(name, answer)));
  });
}

}  // namespace eider::api
