// Handlers about triggers, and what is owed to them.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/data_shapes.h"
#include "api/parameters.h"
#include "api/shapes.h"
#include "engine/limits.h"

namespace eider::api {
namespace {

namespace json = boost::json;

using Triggers = std::vector<engine::TriggerView>;

constexpr std::size_t kNoteLimitBytes = 1000;
constexpr std::size_t kIdLimitBytes = 100;

std::vector<std::string> keys_of(const Triggers& triggers) {
  std::vector<std::string> keys;
  for (const engine::TriggerView& view : triggers) keys.push_back(view.key);
  return keys;
}

/// A trigger or pipeline that is in no file and in no history is a slip of the pen: it is said. Else `otherwise`.
void respond_with_none(Context& context, const std::string& trigger, const std::string& pipeline,
                       const Response& otherwise, const Respond& respond) {
  store::DeliveryFilter filter;
  if (!trigger.empty()) filter.trigger = trigger;
  if (trigger.empty() && !pipeline.empty()) filter.pipeline = pipeline;
  if (!filter.trigger && !filter.pipeline) return respond(otherwise);
  auto any = context.reader().deliveries(filter, 1, "");
  if (!any) return respond(error_response(any.error()));
  if (!any->items.empty()) return respond(otherwise);
  if (filter.trigger) {
    return context.send(engine::AskTriggers{}, respond, [trigger, otherwise, respond](const Triggers& triggers) {
      const std::vector<std::string> known = keys_of(triggers);
      if (std::find(known.begin(), known.end(), trigger) != known.end()) return respond(otherwise);
      respond(problem_response(
          unknown_name({"trigger", fmt::format("there is no trigger `{}` in this workspace or its history", trigger),
                        trigger, "`eider pipelines list` shows the pipelines that have some"},
                       known)));
    });
  }
  context.send(
      engine::AskPipelines{}, respond, [pipeline, otherwise, respond](const std::vector<engine::PipelineView>& views) {
        respond(has_pipeline(views, pipeline) ? otherwise
                                              : problem_response(unknown_pipeline("pipeline", pipeline, views)));
      });
}

json::object shown_delivery(const model::Delivery& delivery, const Triggers& triggers) {
  const auto found = std::find_if(triggers.begin(), triggers.end(),
                                  [&](const engine::TriggerView& view) { return view.key == delivery.trigger; });
  return shapes::delivery(delivery, found == triggers.end() ? std::string() : found->waiting_of(delivery.partition));
}

/// Calls `then` with what the triggers of pending deliveries wait for. Where none is pending, and where the files
/// cannot be used, with nothing: history is shown all the same.
void with_triggers(Context& context, const std::vector<model::Delivery>& deliveries,
                   const std::function<void(const Triggers&)>& then) {
  std::set<std::string> keys;
  for (const model::Delivery& each : deliveries) {
    if (each.state == model::DeliveryState::pending) keys.insert(each.trigger);
  }
  if (keys.empty()) return then({});
  const auto key = keys.size() == 1 ? std::optional(*keys.begin()) : std::nullopt;
  context.send(
      engine::AskTriggers{key, {}}, [then](const Response&) { then({}); }, then);
}

/// What a body selects, checked as far as it can be without the store; none: answered.
std::optional<engine::DeliverySelection> selection_of(BodyReader& body, const Respond& respond) {
  engine::DeliverySelection which;
  which.id = body.text("id", kIdLimitBytes);
  which.trigger = body.trigger("trigger");
  which.pipeline = body.name("pipeline");
  which.state = body.delivery_state("state");
  if (body.problem()) return respond(problem_response(*body.problem())), std::nullopt;
  const int named = !which.id.empty() + !which.trigger.empty() + !which.pipeline.empty();
  if (named == 0 && !which.state) {
    constexpr const char* expected = "one of `id`, `trigger`, `pipeline` or `state`";
    respond(problem_response(
        {400, "invalid-parameter", fmt::format("which deliveries? expected {}", expected), {{"expected", expected}}}));
    return std::nullopt;
  }
  if (named > 1 || (!which.id.empty() && which.state)) {
    constexpr const char* expected = "an `id` alone, or one of `trigger` and `pipeline`, perhaps with a `state`";
    respond(problem_response({400,
                              "invalid-parameter",
                              fmt::format("the selection contradicts itself: expected {}", expected),
                              {{"expected", expected}}}));
    return std::nullopt;
  }
  return which;
}

/// What may be done to deliveries in some states only.
struct Deed {
  std::vector<model::DeliveryState> from;
  const char* expected;  ///< `failed`
  const char* refusal;   ///< "only a failed one can be tried again"
};

/// The whole id of what is selected, and whether the deed can be done to it; false: answered.
bool can_be_done(Context& context, engine::DeliverySelection& which, const Deed& deed, const Respond& respond) {
  const auto allowed = [&](model::DeliveryState state) {
    return std::find(deed.from.begin(), deed.from.end(), state) != deed.from.end();
  };
  if (which.state && !allowed(*which.state)) {
    respond(problem_response(
        parameter_problem("state", wrong_value(model::to_text(*which.state), deed.expected), deed.expected)));
    return false;
  }
  if (which.id.empty()) return true;
  const auto delivery = context.find_delivery(which.id, respond);
  if (!delivery) return false;
  which.id = delivery->id;
  if (allowed(delivery->state)) return true;
  respond(error_response({ErrorCode::conflict, fmt::format("the delivery {} is {}: {}", delivery->id,
                                                           model::to_text(delivery->state), deed.refusal)}));
  return false;
}

/// `more`: the command was bounded, and asking again goes on.
Response ids_response(const std::vector<std::string>& ids) {
  const bool more = ids.size() >= engine::limits::deliveries_per_command;
  return json_response(200, json::object{{"ids", json::array(ids.begin(), ids.end())}, {"more", more}});
}

/// What both deeds answer.
auto reply_with_ids(Context& context, const engine::DeliverySelection& which, const Respond& respond) {
  return [&context, which, respond](const Result<std::vector<std::string>>& ids) {
    const bool unknown = !ids && ids.error().code == ErrorCode::not_found;
    if (!ids && !unknown) return respond(error_response(ids.error()));
    if (ids && !ids->empty()) return respond(ids_response(*ids));
    respond_with_none(context, which.trigger, which.pipeline, unknown ? error_response(ids.error()) : ids_response({}),
                      respond);
  };
}

}  // namespace

void list_triggers(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"pipeline", "limit", "cursor"});
  const std::string pipeline = query.name("pipeline");
  // A person wants to see all of them; a page is bounded all the same.
  const int limit = call.request.query.contains("limit") ? query.limit() : kLargestPage;
  const std::string after = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  context.send(engine::AskTriggers{}, respond, [&context, pipeline, limit, after, respond](const Triggers& triggers) {
    json::array items;
    std::optional<std::string> next;
    std::string last;
    for (const engine::TriggerView& view : triggers) {
      if (view.key <= after || (!pipeline.empty() && view.pipeline != pipeline)) continue;
      if (static_cast<int>(items.size()) == limit) {
        next = last;
        break;
      }
      items.push_back(shapes::trigger(view));
      last = view.key;
    }
    const bool none = items.empty() && after.empty();
    const Response response = json_response(200, shapes::list(std::move(items), next));
    if (none) return respond_with_none(context, {}, pipeline, response, respond);
    respond(response);
  });
}

void list_deliveries(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"trigger", "pipeline", "event", "run", "state", "limit", "cursor"});
  query.only_one_of({"trigger", "pipeline", "event", "run"});
  const std::string trigger = query.trigger("trigger");
  const std::string pipeline = query.name("pipeline");
  const std::string event = query.text("event");
  const std::string run = query.text("run");
  store::DeliveryFilter filter;
  filter.state = query.delivery_state();
  const int limit = query.limit();
  const std::string cursor = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (!trigger.empty()) filter.trigger = trigger;
  if (!pipeline.empty()) filter.pipeline = pipeline;
  if (call.request.query.contains("event")) {
    const auto found = context.find_materialization(event, respond, "event");
    if (!found) return;
    filter.event_id = found->id;
  }
  if (call.request.query.contains("run")) {
    const auto found = context.find_run(run, respond, "run");
    if (!found) return;
    filter.run_id = found->id;
  }
  auto page = context.reader().deliveries(filter, limit, cursor);
  if (!page) return respond(error_response(page.error()));
  if (page->items.empty() && cursor.empty()) {
    return respond_with_none(context, trigger, pipeline, json_response(200, shapes::list({}, std::nullopt)), respond);
  }
  with_triggers(context, page->items, [page = *page, respond](const Triggers& triggers) {
    json::array items;
    for (const model::Delivery& delivery : page.items) items.push_back(shown_delivery(delivery, triggers));
    respond(json_response(200, shapes::list(std::move(items), page.next)));
  });
}

void show_delivery(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  const auto delivery = context.find_delivery(call.captures[0], respond);
  if (!delivery) return;
  with_triggers(context, {*delivery}, [delivery = *delivery, respond](const Triggers& triggers) {
    respond(json_response(200, shown_delivery(delivery, triggers)));
  });
}

void retry_deliveries(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"id", "trigger", "pipeline", "state"});
  if (query.problem()) return respond(problem_response(*query.problem()));
  auto which = selection_of(body, respond);
  const Deed retry{{model::DeliveryState::failed}, "failed", "only a failed one can be tried again"};
  if (!which || !can_be_done(context, *which, retry, respond)) return;
  context.send(engine::RetryDeliveries{*which, asked_by(call.request), {}}, respond,
               reply_with_ids(context, *which, respond));
}

void skip_deliveries(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"id", "trigger", "pipeline", "state", "note"});
  if (query.problem()) return respond(problem_response(*query.problem()));
  const std::string note = body.text("note", kNoteLimitBytes);
  auto which = selection_of(body, respond);
  const Deed skip{{model::DeliveryState::pending, model::DeliveryState::failed},
                  "pending or failed",
                  "only a pending or failed one can be skipped"};
  if (!which || !can_be_done(context, *which, skip, respond)) return;
  context.send(engine::SkipDeliveries{*which, note, asked_by(call.request), {}}, respond,
               reply_with_ids(context, *which, respond));
}

}  // namespace eider::api
