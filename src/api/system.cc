// Handlers about the server and the workspace as a whole.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/data_shapes.h"
#include "api/json_parts.h"
#include "api/parameters.h"
#include "api/shapes.h"
#include "api/usual.h"
#include "model/pipeline.h"

namespace eider::api {
namespace {

namespace json = boost::json;

/// True: the request has no parameters and no body, as it should.
bool is_bare(const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  const BodyReader body(call.request, {});
  const auto& problem = query.problem() ? query.problem() : body.problem();
  if (problem) respond(problem_response(*problem));
  return !problem;
}

json::value steps_of(Context& context, const std::string& definition) {
  if (definition.empty()) return nullptr;
  auto text = context.reader().definition(definition);
  if (!text || !*text) return nullptr;
  auto pipeline = model::parse_definition(**text);
  if (!pipeline) return nullptr;
  json::array out;
  for (const model::Step& step : pipeline->steps) {
    out.push_back({{"id", step.id},
                   {"kind", step.kind == model::Step::Kind::sql ? "sql" : "run"},
                   {"needs", json::array(step.needs.begin(), step.needs.end())}});
  }
  return out;
}

using Schedules = std::vector<engine::ScheduleView>;
using Triggers = std::vector<engine::TriggerView>;
using Files = std::shared_ptr<const workspace::Workspace>;

/// The running runs that take longer than usual.
json::array longer_runs(Context& context) {
  json::array out;
  const auto live = context.reader().live_attempts();
  if (!live) return out;
  Usuals usuals(context.reader(), context.options().clock->now());
  for (const model::Attempt& attempt : *live) {
    const auto run = context.reader().run(attempt.run_id);
    if (!run || !*run || !usuals.is_long(**run, {attempt})) continue;
    out.push_back({{"run_id", attempt.run_id},
                   {"pipeline", (*run)->pipeline},
                   {"since", shapes::time_text(attempt.claimed_at)},
                   {"usually", short_duration(usuals.of((*run)->pipeline)->median)}});
  }
  return out;
}

/// How many deliveries are pending, by trigger. What cannot be read now is not shown.
std::map<std::string, std::int64_t> pending_of(Context& context) {
  auto counts = context.reader().pending_counts();
  if (!counts) return {};
  return {counts->begin(), counts->end()};
}

/// shapes::pipeline() with what its schedules say, and how many triggers it has with how much pending.
json::object shown_pipeline(const engine::PipelineView& view, const Schedules& schedules, std::size_t triggers,
                            const std::map<std::string, std::int64_t>& pending) {
  json::object out = shapes::pipeline(view);
  int active = 0;
  int paused = 0;
  std::optional<Instant> next;
  for (const engine::ScheduleView& schedule : schedules) {
    if (schedule.pipeline != view.name) continue;
    ++(schedule.paused ? paused : active);
    if (schedule.next && (!next || *schedule.next < *next)) next = schedule.next;
  }
  out["active_schedules"] = active;
  out["paused_schedules"] = paused;
  out["next"] = next ? json::value(format_rfc3339(*next)) : json::value(nullptr);
  std::int64_t owed = 0;
  const std::string own = view.name + "/";
  for (auto each = pending.lower_bound(own); each != pending.end() && each->first.starts_with(own); ++each)
    owed += each->second;
  out["active_triggers"] = triggers;
  out["pending_deliveries"] = owed;
  return out;
}

void respond_with_pipeline(Context& context, const engine::PipelineView& view, const Schedules& schedules,
                           const Triggers& triggers, const Respond& respond) {
  json::array own_schedules;
  for (const engine::ScheduleView& schedule : schedules) {
    if (schedule.pipeline == view.name) own_schedules.push_back(shapes::schedule(schedule, std::nullopt));
  }
  json::array own_triggers;
  for (const engine::TriggerView& trigger : triggers) {
    if (trigger.pipeline == view.name) own_triggers.push_back(shapes::trigger(trigger));
  }
  json::object out = shown_pipeline(view, schedules, own_triggers.size(), pending_of(context));
  out["schedules"] = std::move(own_schedules);
  out["triggers"] = std::move(own_triggers);
  // Known once a run has stored the definition.
  out["steps"] = steps_of(context, view.definition);
  respond(json_response(200, out));
}

void ask_and_respond_with_pipeline(Context& context, const engine::PipelineView& view, const Respond& respond) {
  context.send(engine::AskSchedules{}, respond, [&context, view, respond](const Schedules& schedules) {
    context.send(engine::AskTriggers{}, respond, [&context, view, schedules, respond](const Triggers& triggers) {
      respond_with_pipeline(context, view, schedules, triggers, respond);
    });
  });
}

}  // namespace

void show_health(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::AskStatus{}, respond, [respond](const engine::StatusView& view) {
    // One that drains is well; whether it takes work is /readyz's question.
    const bool well = view.health == "ok" || view.health == "draining";
    json::object body{{"status", view.health}};
    if (!view.health_detail.empty()) body["detail"] = view.health_detail;
    respond(json_response(well ? 200 : 503, body));
  });
}

void show_readiness(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::AskStatus{}, respond, [respond](const engine::StatusView& view) {
    const bool ready = view.health == "ok";
    json::object body{{"status", ready ? "ready" : view.health}};
    if (!view.health_detail.empty()) body["detail"] = view.health_detail;
    respond(json_response(ready ? 200 : 503, body));
  });
}

void show_status(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::AskStatus{}, respond, [&context, respond](const engine::StatusView& view) {
    const auto show = [&context, view, respond](const Files& files) {
      json::object out = shapes::status(view);
      std::size_t triggers = 0;
      for (const auto& [name, loaded] : files->pipelines) triggers += loaded.pipeline->triggers.size();
      std::int64_t pending = 0;
      for (const auto& [trigger, count] : pending_of(context)) pending += count;
      out["triggers"] = triggers;
      out["longer_than_usual"] = longer_runs(context);
      out["pending_deliveries"] = pending;
      respond(json_response(200, out));
    };
    // Without a server and with files that cannot be used there is a status all the same.
    context.send(
        engine::AskWorkspace{}, [show](const Response&) { show(std::make_shared<workspace::Workspace>()); }, show);
  });
}

void list_pipelines(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  using Views = std::vector<engine::PipelineView>;
  context.send(engine::AskPipelines{}, respond, [&context, respond](const Views& views) {
    context.send(engine::AskSchedules{}, respond, [&context, views, respond](const Schedules& schedules) {
      context.send(engine::AskWorkspace{}, respond, [&context, views, schedules, respond](const Files& files) {
        std::map<std::string, Schedules> by_pipeline;
        for (const engine::ScheduleView& view : schedules) by_pipeline[view.pipeline].push_back(view);
        const auto pending = pending_of(context);
        json::array items;
        for (const engine::PipelineView& view : views) {
          const auto loaded = files->pipelines.find(view.name);
          const std::size_t triggers = loaded == files->pipelines.end() ? 0 : loaded->second.pipeline->triggers.size();
          items.push_back(shown_pipeline(view, by_pipeline[view.name], triggers, pending));
        }
        respond(json_response(200, shapes::list(std::move(items), std::nullopt)));
      });
    });
  });
}

void show_pipeline(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  const std::string& name = call.captures[0];
  if (auto good = model::check_name("pipeline", name); !good) {
    return respond(problem_response(parameter_problem("pipeline", good.error().message, "a name in the path")));
  }
  context.send(engine::AskPipelines{}, respond,
               [&context, name, respond](const std::vector<engine::PipelineView>& views) {
                 for (const engine::PipelineView& view : views) {
                   if (view.name == name) return ask_and_respond_with_pipeline(context, view, respond);
                 }
                 respond(problem_response(unknown_pipeline({}, name, views)));
               });
}

void reload(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::Reload{}, respond, [respond](const Result<std::vector<workspace::Diagnostic>>& found) {
    if (!found) return respond(error_response(found.error()));
    respond(json_response(200, json::object{{"diagnostics", shapes::diagnostics(*found)}}));
  });
}

void stop(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"leave_running", "now"});
  engine::Stop command;
  command.leave_running = body.flag("leave_running");
  command.now = body.flag("now");
  if (command.leave_running && command.now)
    body.fail("now", "not both `leave_running` and `now`: one hands over, the other interrupts");
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (body.problem()) return respond(problem_response(*body.problem()));
  context.send(std::move(command), respond, [respond](const Result<void>& done) {
    respond(done ? json_response(202, json::object{{"status", "draining"}}) : error_response(done.error()));
  });
}

void turn_clock(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"advance", "step_to"});
  engine::TurnClock command;
  command.advance = body.duration("advance");
  command.step_to = body.time("step_to");
  if (command.advance.has_value() == command.step_to.has_value())
    body.fail("advance", "one of `advance` and `step_to`");
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (body.problem()) return respond(problem_response(*body.problem()));
  context.send(std::move(command), respond, [respond](const Result<Instant>& now) {
    respond(now ? json_response(200, json::object{{"now", format_rfc3339(*now)}}) : error_response(now.error()));
  });
}

}  // namespace eider::api
