#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/context.h"
#include "api/parameters.h"
#include "api/shapes.h"
#include "api/upcoming.h"
#include "model/pipeline.h"

namespace eider::api {
namespace {

namespace json = boost::json;

constexpr int kUpcomingShown = 5;
constexpr std::int64_t kPreviewDefault = 10;
constexpr model::Misfire kCatchUps[] = {model::Misfire::skip, model::Misfire::latest, model::Misfire::all};

std::vector<std::string> keys_of(const std::vector<engine::ScheduleView>& views) {
  std::vector<std::string> keys;
  for (const engine::ScheduleView& view : views) keys.push_back(view.key);
  return keys;
}

/// `pipeline/id` from the path, or an answer that says what is wrong with it.
std::optional<std::string> key_from_path(const Call& call, const Respond& respond) {
  static constexpr const char* names[] = {"pipeline", "schedule"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto good = model::check_name(names[i], call.captures[i]); !good) {
      respond(problem_response(parameter_problem(names[i], good.error().message,
                                                 "a name in the path, as in /api/v1/schedules/flights_daily/nightly")));
      return std::nullopt;
    }
  }
  return model::schedule_key(call.captures[0], call.captures[1]);
}

void respond_unknown_schedule(Context& context, const std::string& key, const Respond& respond) {
  context.send(engine::AskSchedules{}, respond, [key, respond](const std::vector<engine::ScheduleView>& views) {
    respond(problem_response(unknown_name(
        {{}, fmt::format("there is no schedule `{}` in this workspace", key), key, "`eider schedule list` shows them"},
        keys_of(views))));
  });
}

using OnSchedule = std::function<void(const engine::ScheduleView&)>;

void with_schedule(Context& context, const std::string& key, const Respond& respond, OnSchedule then) {
  context.send(engine::AskSchedules{key, {}}, respond,
               [&context, key, respond, then = std::move(then)](const std::vector<engine::ScheduleView>& views) {
                 if (views.empty()) return respond_unknown_schedule(context, key, respond);
                 then(views.front());
               });
}

Result<json::object> shown_schedule(Context& context, const engine::ScheduleView& view) {
  auto newest = context.reader().occurrences({view.key, std::nullopt}, 1, "");
  if (!newest) return newest.error();
  return shapes::schedule(view, newest->items.empty() ? std::nullopt : std::optional(newest->items.front()));
}

void set_paused(Context& context, const Call& call, engine::PauseSchedule command, const Respond& respond) {
  const auto key = key_from_path(call, respond);
  if (!key) return;
  command.key = *key;
  context.send(std::move(command), respond, [&context, key = *key, respond](const Result<void>& done) {
    if (!done && done.error().code == ErrorCode::not_found) return respond_unknown_schedule(context, key, respond);
    if (!done) return respond(error_response(done.error()));
    with_schedule(context, key, respond, [&context, respond](const engine::ScheduleView& view) {
      auto shown = shown_schedule(context, view);
      respond(shown ? json_response(200, *shown) : error_response(shown.error()));
    });
  });
}

/// A schedule that is in no file and in no history is a slip of the pen, not an empty list.
void respond_with_no_occurrences(Context& context, const std::string& parameter, const std::string& name,
                                 const Respond& respond) {
  auto any = context.reader().occurrences({name, std::nullopt}, 1, "");
  if (!any) return respond(error_response(any.error()));
  if (!any->items.empty()) return respond(json_response(200, shapes::list({}, std::nullopt)));
  const auto show = [parameter, name, respond](const std::vector<engine::ScheduleView>& schedules,
                                               const std::vector<engine::PipelineView>& pipelines) {
    std::vector<std::string> known = keys_of(schedules);
    for (const engine::PipelineView& view : pipelines) known.push_back(view.name);
    if (std::find(known.begin(), known.end(), name) != known.end())
      return respond(json_response(200, shapes::list({}, std::nullopt)));
    const char* what = name.find('/') == std::string::npos ? "pipeline" : "schedule";
    respond(problem_response(unknown_name(
        {parameter, fmt::format("there is no {} `{}` in this workspace or its history", what, shown(name)), name,
         fmt::format("`eider {} list` shows them", what == std::string_view("pipeline") ? "pipelines" : what)},
        known)));
  };
  context.send(
      engine::AskSchedules{}, respond, [&context, respond, show](const std::vector<engine::ScheduleView>& schedules) {
        context.send(
            engine::AskPipelines{}, respond,
            [schedules, show](const std::vector<engine::PipelineView>& pipelines) { show(schedules, pipelines); });
      });
}

json::value then_of(const engine::ScheduleView& view) {
  return view.schedule.timing.from_completion ? json::value(view.description) : json::value(nullptr);
}

/// A page of schedules: those of `pipeline` (empty: all) after the key `after`.
void respond_with_schedules(Context& context, const std::vector<engine::ScheduleView>& views,
                            const std::string& pipeline, int limit, const std::string& after, const Respond& respond) {
  json::array items;
  std::optional<std::string> next;
  std::string last_key;
  for (const engine::ScheduleView& view : views) {
    if (view.key <= after || (!pipeline.empty() && view.pipeline != pipeline)) continue;
    if (static_cast<int>(items.size()) == limit) {
      next = last_key;
      break;
    }
    auto shown = shown_schedule(context, view);
    if (!shown) return respond(error_response(shown.error()));
    items.push_back(*std::move(shown));
    last_key = view.key;
  }
  if (!items.empty() || pipeline.empty() || !after.empty())
    return respond(json_response(200, shapes::list(std::move(items), next)));
  context.send(engine::AskPipelines{}, respond, [pipeline, respond](const std::vector<engine::PipelineView>& known) {
    respond(has_pipeline(known, pipeline) ? json_response(200, shapes::list({}, std::nullopt))
                                          : problem_response(unknown_pipeline("pipeline", pipeline, known)));
  });
}

}  // namespace

void list_schedules(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"pipeline", "limit", "cursor"});
  const std::string pipeline = query.name("pipeline");
  // A person wants to see all of them; a page is bounded all the same.
  const int limit = call.request.query.contains("limit") ? query.limit() : kLargestPage;
  const std::string after = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  context.send(engine::AskSchedules{}, respond,
               [&context, pipeline, limit, after, respond](const std::vector<engine::ScheduleView>& views) {
                 respond_with_schedules(context, views, pipeline, limit, after, respond);
               });
}

void show_schedule(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  const auto key = key_from_path(call, respond);
  if (!key) return;
  with_schedule(context, *key, respond, [&context, respond](const engine::ScheduleView& view) {
    auto shown = shown_schedule(context, view);
    if (!shown) return respond(error_response(shown.error()));
    auto cursor = context.reader().cursor(view.key);
    if (!cursor) return respond(error_response(cursor.error()));
    (*shown)["cursor"] = *cursor ? json::value(shapes::cursor(**cursor)) : json::value(nullptr);
    auto instants = upcoming(view, {context.options().clock->now() - view.delay, std::nullopt, kUpcomingShown});
    if (!instants) return respond(error_response(instants.error()));
    (*shown)["upcoming"] = *std::move(instants);
    (*shown)["then"] = then_of(view);
    respond(json_response(200, *shown));
  });
}

void pause_schedule(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"note"});
  std::optional<std::string> note;
  if (body.has("note")) note = body.text("note", 1000);
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (body.problem()) return respond(problem_response(*body.problem()));
  set_paused(context, call, {{}, true, std::move(note), {}}, respond);
}

void resume_schedule(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  BodyReader body(call.request, {"catch_up"});
  engine::PauseSchedule command;
  command.paused = false;
  if (body.has("catch_up")) {
    const std::string written = body.text("catch_up", 10);
    const auto found = std::find_if(std::begin(kCatchUps), std::end(kCatchUps),
                                    [&](model::Misfire each) { return written == model::to_text(each); });
    if (found == std::end(kCatchUps)) {
      body.fail("catch_up", "skip, latest or all");
    } else {
      command.catch_up = *found;
    }
  }
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (body.problem()) return respond(problem_response(*body.problem()));
  set_paused(context, call, std::move(command), respond);
}

void preview_schedule(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"from", "to", "count"});
  const auto from = query.time("from");
  const auto to = query.time("to");
  const auto count = query.number("count", 1, kLargestPage);
  if (query.problem()) return respond(problem_response(*query.problem()));
  const Instant now = context.options().clock->now();
  if (to && *to < from.value_or(now)) {
    constexpr const char* expected = "a time that is not before `from`";
    return respond(problem_response(parameter_problem("to", wrong_value(format_rfc3339(*to), expected), expected)));
  }
  const auto key = key_from_path(call, respond);
  if (!key) return;
  // With an end and no number, all up to the end are wanted.
  const auto most = static_cast<int>(count.value_or(to ? kLargestPage : kPreviewDefault));
  with_schedule(context, *key, respond, [from, now, to, most, respond](const engine::ScheduleView& view) {
    // What jitter holds back is still to come.
    const Instant after = from.value_or(now - view.delay);
    auto items = upcoming(view, {after, to, most});
    auto next = next_run(view, after);
    if (!items || !next) return respond(error_response(items ? next.error() : items.error()));
    json::object body = shapes::list(*std::move(items), std::nullopt);
    body.insert(next->begin(), next->end());
    body["then"] = then_of(view);
    body["paused"] = view.paused;
    respond(json_response(200, body));
  });
}

void list_occurrences(Context& context, const Call& call, const Respond& respond) {
  QueryReader query(call.request, {"schedule", "pipeline", "decision", "limit", "cursor"});
  const std::string schedule = query.schedule("schedule");
  const std::string pipeline = query.name("pipeline");
  store::OccurrenceFilter filter;
  filter.decision = query.decision();
  const int limit = query.limit();
  const std::string cursor = query.cursor();
  if (query.problem()) return respond(problem_response(*query.problem()));
  if (!schedule.empty() && !pipeline.empty() && schedule != pipeline && !schedule.starts_with(pipeline + "/")) {
    const std::string expected = "a schedule of the pipeline `" + pipeline + "`, which is given too";
    return respond(problem_response(parameter_problem("schedule", wrong_value(schedule, expected), expected)));
  }
  const std::string& name = schedule.empty() ? pipeline : schedule;
  if (!name.empty()) filter.schedule = name;
  auto page = context.reader().occurrences(filter, limit, cursor);
  if (!page) return respond(error_response(page.error()));
  if (page->items.empty() && !name.empty() && cursor.empty()) {
    return respond_with_no_occurrences(context, schedule.empty() ? "pipeline" : "schedule", name, respond);
  }
  json::array items;
  for (const model::Occurrence& occurrence : page->items) items.push_back(shapes::occurrence(occurrence));
  respond(json_response(200, shapes::list(std::move(items), page->next)));
}

}  // namespace eider::api
