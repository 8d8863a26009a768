// Handlers about the server and the workspace as a whole.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/parameters.h"
#include "api/shapes.h"
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

void respond_with_pipeline(Context& context, const engine::PipelineView& view, const Respond& respond) {
  context.send(engine::AskSchedules{}, respond,
               [&context, view, respond](const std::vector<engine::ScheduleView>& schedules) {
                 json::object out = shapes::pipeline(view);
                 json::array own;
                 for (const engine::ScheduleView& schedule : schedules) {
                   if (schedule.pipeline == view.name) own.push_back(shapes::schedule(schedule, std::nullopt));
                 }
                 out["schedules"] = std::move(own);
                 // Known once a run has stored the definition.
                 out["steps"] = steps_of(context, view.definition);
                 respond(json_response(200, out));
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
  context.send(engine::AskStatus{}, respond,
               [respond](const engine::StatusView& view) { respond(json_response(200, shapes::status(view))); });
}

void list_pipelines(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::AskPipelines{}, respond, [respond](const std::vector<engine::PipelineView>& views) {
    json::array items;
    for (const engine::PipelineView& view : views) items.push_back(shapes::pipeline(view));
    respond(json_response(200, shapes::list(std::move(items), std::nullopt)));
  });
}

void show_pipeline(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  const std::string& name = call.captures[0];
  if (auto good = model::check_name("pipeline", name); !good) {
    return respond(problem_response(parameter_problem("pipeline", "a name in the path: " + good.error().message)));
  }
  context.send(
      engine::AskPipelines{}, respond, [&context, name, respond](const std::vector<engine::PipelineView>& views) {
        std::vector<std::string> names;
        for (const engine::PipelineView& view : views) {
          if (view.name == name) return respond_with_pipeline(context, view, respond);
          names.push_back(view.name);
        }
        Problem problem{404, "not-found", fmt::format("there is no pipeline `{}` in this workspace", name), {}};
        if (const std::string meant = nearest(name, names); !meant.empty()) {
          problem.extensions["suggestion"] = meant;
          problem.detail += fmt::format("; did you mean `{}`?", meant);
        }
        respond(problem_response(problem));
      });
}

void list_pools(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::AskPools{}, respond, [respond](const std::vector<engine::PoolUse>& uses) {
    json::array items;
    for (const engine::PoolUse& use : uses) items.push_back(shapes::pool(use));
    respond(json_response(200, shapes::list(std::move(items), std::nullopt)));
  });
}

void reload(Context& context, const Call& call, const Respond& respond) {
  if (!is_bare(call, respond)) return;
  context.send(engine::Reload{}, respond, [respond](const Result<std::vector<std::string>>& diagnostics) {
    if (!diagnostics) return respond(error_response(diagnostics.error()));
    respond(json_response(200, json::object{{"diagnostics", json::array(diagnostics->begin(), diagnostics->end())}}));
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
