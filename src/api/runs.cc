#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/data_shapes.h"
#include "api/holders.h"
#include "api/log_stream.h"
#include "api/parameters.h"
#include "api/shapes.h"
#include "api/usual.h"
#include "base/ids.h"
#include "model/pipeline.h"
#include "workspace/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;

/// The definition that the run's newest attempt uses, where it is stored and readable.
std::optional<model::Pipeline> definition_of(Context& context, const model::Run& run) {
  if (run.definition.empty()) return std::nullopt;
  auto text = context.reader().definition(run.definition);
  if (!text || !*text) return std::nullopt;
  auto pipeline = model::parse_definition(**text);
  if (!pipeline) return std::nullopt;
  return *std::move(pipeline);
}

constexpr int kMostEventsShown = 100;

/// Adds what a data run was made for: `events`, newest first, each with its delivery; `more_events`: there are more,
/// which /api/v1/deliveries?run=ID lists.
Result<void> add_events(Context& context, const model::Run& run, json::object& shown) {
  json::array events;
  store::DeliveryFilter filter;
  filter.run_id = run.id;
  auto page = run.trigger == model::TriggerKind::data ? context.reader().deliveries(filter, kMostEventsShown, "")
                                                      : store::Page<model::Delivery>();
  if (!page) return page.error();
  for (const model::Delivery& delivery : page->items) {
    auto event = context.reader().materialization(delivery.event_id);
    if (!event) return event.error();
    if (!*event) continue;
    json::object entry = shapes::materialization(**event);
    entry["delivery_id"] = delivery.id;
    events.push_back(std::move(entry));
  }
  shown["events"] = std::move(events);
  shown["more_events"] = page->next.has_value();
  return {};
}

void respond_with_run(Context& context, const model::Run& run, int status, const Respond& respond) {
  const auto show = [&context, run, status, respond](const std::vector<engine::LiveRun>& live) {
    auto attempts = context.reader().attempts(run.id);
    if (!attempts) return respond(error_response(attempts.error()));
    const auto definition = definition_of(context, run);
    json::object shown = shapes::run_in_full(run, *attempts, live.empty() ? nullptr : &live.front(),
                                             definition ? &*definition : nullptr);
    Holders(context.reader()).add_to(shown);
    Usuals(context.reader(), context.options().clock->now()).add_to(shown, run, *attempts);
    if (auto added = add_events(context, run, shown); !added) return respond(error_response(added.error()));
    Response response = json_response(status, shown);
    if (status == 201) response.headers["Location"] = "/api/v1/runs/" + run.id;
    respond(std::move(response));
  };
  if (model::is_terminal(run.state)) return show({});
  context.send(engine::AskLive{{run.id}, {}}, respond, show);
}

/// A pipeline that is in no file and in no run is a slip of the pen, not an empty list.
void respond_with_no_runs(Context& context, const std::string& pipeline, const Respond& respond) {
  auto any = context.reader().runs({pipeline, std::nullopt, false}, 1, "");
  if (!any) return respond(error_response(any.error()));
  if (!any->items.empty()) return respond(json_response(200, shapes::list({}, std::nullopt)));
  context.send(engine::AskPipelines{}, respond, [pipeline, respond](const std::vector<engine::PipelineView>& views) {
    if (has_pipeline(views, pipeline)) return respond(json_response(200, shapes::list({}, std::nullopt)));
    respond(problem_response(unknown_pipeline("pipeline", pipeline, views)));
  });
}

/// The engine's `conflict` names the active run in its message.
std::string first_uuid(std::string_view text) {
  for (std::size_t at = 0; at + 36 <= text.size(); ++at) {
    if (is_uuid(text.substr(at, 36))) return std::string(text.substr(at, 36));
  }
  return {};
}

void respond_with_start_error(Context& context, const std::string& pipeline, const Error& error,
                              const Respond& respond) {
  const std::string active = error.code == ErrorCode::conflict ? first_uuid(error.message) : std::string();
  if (!active.empty()) return respond(problem_response({409, "active-run", error.message, {{"active_run", active}}}));
  if (error.code != ErrorCode::not_found) return respond(error_response(error));
  context.send(engine::AskPipelines{}, respond,
               [pipeline, error, respond](const std::vector<engine::PipelineView>& views) {
                 if (has_pipeline(views, pipeline)) return respond(error_response(error));
                 respond(problem_response(unknown_pipeline("pipeline", pipeline, views)));
               });
}

}  // namespace

void list_runs(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"pipeline", "state", "limit", "cursor"});
  store::RunFilter filter;
  if (call.request.query.contains("pipeline")) filter.pipeline = query.name("pipeline");
  filter.state = query.state();
  const int limit = query.limit();
  const std::string cursor = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  auto page = context.reader().runs(filter, limit, cursor);
  if (!page) return respond(error_response(page.error()));
  if (page->items.empty() && filter.pipeline && cursor.empty())
    return respond_with_no_runs(context, *filter.pipeline, respond);
  std::vector<std::string> open;
  for (const model::Run& run : page->items) {
    if (!model::is_terminal(run.state)) open.push_back(run.id);
  }
  const auto show = [&context, page = *std::move(page), respond](const std::vector<engine::LiveRun>& live) {
    json::array items;
    Holders holders(context.reader());
    Usuals usuals(context.reader(), context.options().clock->now());
    for (const model::Run& run : page.items) {
      auto attempts = context.reader().attempts(run.id);
      if (!attempts) return respond(error_response(attempts.error()));
      const auto found =
          std::find_if(live.begin(), live.end(), [&](const engine::LiveRun& each) { return each.run_id == run.id; });
      json::object shown = shapes::run(run, *attempts, found == live.end() ? nullptr : &*found);
      holders.add_to(shown);
      usuals.add_to(shown, run, *attempts);
      items.push_back(std::move(shown));
    }
    respond(json_response(200, shapes::list(std::move(items), page.next)));
  };
  if (open.empty()) return show({});
  context.send(engine::AskLive{std::move(open), {}}, respond, show);
}

void show_run(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (const auto run = context.find_run(call.captures[0], respond)) respond_with_run(context, *run, 200, respond);
}

void start_run(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"pipeline", "params", "partition", "queue"});
  if (query.problem()) return respond(problem_response(*query.problem()));
  engine::StartRun command;
  command.pipeline = body.required_name("pipeline");
  command.params = body.object("params");
  command.partition = body.text("partition", 200);
  command.queue = body.flag("queue");
  if (body.problem()) return respond(problem_response(*body.problem()));
  auto key = idempotency_key(call.request);
  if (!key) return respond(error_response(key.error()));
  command.idempotency_key = *std::move(key);
  command.asked_by = asked_by(call.request);
  const std::string pipeline = command.pipeline;
  context.send(std::move(command), respond, [&context, pipeline, respond](const Result<std::string>& id) {
    if (!id) return respond_with_start_error(context, pipeline, id.error(), respond);
    auto run = context.reader().run(*id);
    if (!run) return respond(error_response(run.error()));
    if (!*run) return respond(error_response({ErrorCode::io, "the run " + *id + " is not in the store"}));
    respond_with_run(context, **run, 201, respond);
  });
}

void cancel_run(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  const BodyReader body(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (body.problem()) return respond(problem_response(*body.problem()));
  const auto run = context.find_run(call.captures[0], respond);
  if (!run) return;
  if (model::is_terminal(run->state)) {
    const bool cancelled = run->state == model::RunState::cancelled;
    return respond(error_response(
        {ErrorCode::conflict,
         fmt::format("the run {} {}", run->id,
                     cancelled ? "is cancelled already" : fmt::format("has {} already", model::to_text(run->state)))}));
  }
  const char* const who = asked_by(call.request) == "cli" ? "`eider cancel`" : "a request of the API";
  context.send(engine::CancelRun{run->id, who, {}}, respond,
               [id = run->id, respond](const Result<model::RunState>& state) {
                 if (!state) return respond(error_response(state.error()));
                 respond(json_response(202, json::object{{"id", id}, {"state", model::to_text(*state)}}));
               });
}

void retry_run(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"from_failed"});
  engine::RetryRun command;
  command.from_failed = body.flag("from_failed");
  command.asked_by = asked_by(call.request);
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (body.problem()) return respond(problem_response(*body.problem()));
  const auto run = context.find_run(call.captures[0], respond);
  if (!run) return;
  command.run_id = run->id;
  context.send(std::move(command), respond, [id = run->id, respond](const Result<engine::RetryRun::Answer>& answer) {
    if (!answer) return respond(error_response(answer.error()));
    json::array kept;
    json::array again;
    for (const decide::StepVerdict& step : answer->steps) {
      if (step.kept) {
        kept.push_back(json::value(step.step));
      } else {
        again.push_back({{"step", step.step}, {"why", step.why}});
      }
    }
    respond(json_response(202, json::object{{"id", id},
                                            {"state", model::to_text(model::RunState::queued)},
                                            {"kept", std::move(kept)},
                                            {"again", std::move(again)}}));
  });
}

void show_log(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"attempt", "step", "follow", "after", "raw"});
  LogRequest request;
  if (const auto attempt = query.number("attempt", 1, 1'000'000)) request.attempt = static_cast<int>(*attempt);
  request.step = query.name("step");
  request.follow = query.flag("follow");
  request.raw = query.flag("raw");
  request.after_bytes = query.number("after", 0, std::int64_t(1) << 40).value_or(0);
  if (query.problem()) return respond(problem_response(*query.problem()));
  const auto run = context.find_run(call.captures[0], respond);
  if (!run) return;
  if (request.attempt && *request.attempt > run->attempt) {
    const bool none = run->attempt == 0;
    return respond(problem_response(parameter_problem(
        "attempt",
        none ? std::string("the run has not started yet")
             : fmt::format("there is no attempt {}: the run has had {}", *request.attempt, run->attempt),
        none ? std::string("no number: the run has not started yet")
             : fmt::format("a number from 1 to {}", run->attempt))));
  }
  if (const auto definition = request.step.empty() ? std::nullopt : definition_of(context, *run)) {
    std::vector<std::string> steps;
    for (const model::Step& step : definition->steps) steps.push_back(step.id);
    if (std::find(steps.begin(), steps.end(), request.step) == steps.end()) {
      return respond(problem_response(
          unknown_name({"step", fmt::format("there is no step `{}` in {}", request.step, run->pipeline), request.step,
                        "its steps are " + workspace::join_words({steps.begin(), steps.end()}, " and ")},
                       steps)));
    }
  }
  request.run_id = run->id;
  Response response;
  response.content_type = request.raw ? "application/octet-stream" : "application/x-ndjson";
  response.stream = std::make_shared<LogStream>(context.reader(), context.options().layout, std::move(request));
  respond(std::move(response));
}

}  // namespace eider::api
