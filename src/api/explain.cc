// The handler that says why something did or did not run.
#include <algorithm>

#include <boost/json.hpp>

#include "api/context.h"
#include "api/history.h"
#include "api/json_parts.h"
#include "api/parameters.h"
#include "api/trace.h"
#include "api/usual.h"
#include "api/words.h"
#include "base/cases.h"

namespace eider::api {
namespace {

namespace json = boost::json;

using Lives = std::vector<engine::LiveRun>;
using Triggers = std::vector<engine::TriggerView>;

const char* kind_of(const Thing& thing) {
  static constexpr const char* kinds[] = {"occurrence", "run", "materialization", "delivery"};
  return kinds[thing.index()];
}

const char* to_text(Link::Part part) {
  static constexpr const char* parts[] = {"cause", "asked", "effect"};
  return parts[static_cast<std::size_t>(part)];
}

Instant time_of(const Thing& thing) {
  return std::visit(Cases{[](const model::Occurrence& each) { return each.scheduled_for; },
                          [](const model::Run& each) { return each.created_at; },
                          [](const model::Materialization& each) { return each.committed_at; },
                          [](const model::Delivery& each) { return each.created_at; }},
                    thing);
}

std::string state_of(const Thing& thing) {
  return std::visit(
      Cases{[](const model::Occurrence& each) { return std::string(model::to_text(each.decision)); },
            [](const model::Run& each) { return std::string(model::to_text(each.state)); },
            [](const model::Materialization& each) { return std::string(each.unchanged ? "unchanged" : "changed"); },
            [](const model::Delivery& each) { return std::string(model::to_text(each.state)); }},
      thing);
}

std::string reason_of(const Thing& thing) {
  return std::visit(
      Cases{[](const model::Materialization&) { return std::string(); }, [](const auto& each) { return each.reason; }},
      thing);
}

json::object shown_link(const Link& link, const Lives& lives, const Triggers& triggers) {
  const std::string& id = id_of(link.thing);
  const auto live = std::find_if(lives.begin(), lives.end(), [&](const auto& each) { return each.run_id == id; });
  std::string waiting_for;
  if (const auto* delivery = std::get_if<model::Delivery>(&link.thing)) {
    const auto trigger =
        std::find_if(triggers.begin(), triggers.end(), [&](const auto& each) { return each.key == delivery->trigger; });
    if (trigger != triggers.end()) waiting_for = trigger->waiting_of(delivery->partition);
  }
  json::object out;
  out["part"] = to_text(link.part);
  out["level"] = link.level;
  out["kind"] = kind_of(link.thing);
  out["id"] = id;
  out["at"] = shapes::time_text(time_of(link.thing));
  out["state"] = state_of(link.thing);
  out["text"] = in_words(link, live == lives.end() ? nullptr : &*live, waiting_for);
  out["reason"] = shapes::text_or_null(reason_of(link.thing));
  out["others"] = link.others;
  out["more"] = link.more;
  return out;
}

/// What was decided about the run that was asked for; of anything else its link says all.
json::array history_of(Context& context, const Thing& thing, const Lives& lives) {
  const auto* run = std::get_if<model::Run>(&thing);
  const auto attempts = run ? context.reader().attempts(run->id) : std::vector<model::Attempt>();
  if (!run || !attempts) return {};
  const auto live = std::find_if(lives.begin(), lives.end(), [&](const auto& each) { return each.run_id == run->id; });
  const Instant now = context.options().clock->now();
  const std::string longer = Usuals(context.reader(), now).words(*run, *attempts);
  return json_of(history(*run, *attempts, live == lives.end() ? nullptr : &*live, longer, now));
}

void respond_with(Context& context, const Trace& trace, const Lives& lives, const Triggers& triggers,
                  const Respond& respond) {
  json::array links;
  json::object out;
  for (const Link& link : trace.links) {
    links.push_back(shown_link(link, lives, triggers));
    if (link.part != Link::Part::asked) continue;
    out["kind"] = kind_of(link.thing);
    out["id"] = id_of(link.thing);
    out["history"] = history_of(context, link.thing, lives);
  }
  out["links"] = std::move(links);
  out["truncated"] = trace.truncated;
  respond(json_response(200, out));
}

Result<std::optional<Thing>> thing_of(store::Reader& reader, const Context::Named& named) {
  const auto wrapped = [](auto row) -> Result<std::optional<Thing>> {
    if (!row) return row.error();
    return *row ? std::optional<Thing>(**row) : std::nullopt;
  };
  switch (named.kind) {
    case Context::Named::Kind::run:
      return wrapped(reader.run(named.id));
    case Context::Named::Kind::materialization:
      return wrapped(reader.materialization(named.id));
    case Context::Named::Kind::delivery:
      return wrapped(reader.delivery(named.id));
    case Context::Named::Kind::occurrence:
      return wrapped(reader.occurrence(named.id));
  }
  return std::optional<Thing>();
}

void explain_thing(Context& context, const std::string& id, const Respond& respond) {
  const auto named = context.find_any(id, respond);
  if (!named) return;
  auto thing = thing_of(context.reader(), *named);
  if (!thing) return respond(error_response(thing.error()));
  if (!*thing) return respond(error_response({ErrorCode::not_found, "there is nothing with the id " + named->id}));
  auto traced = trace(context.reader(), **std::move(thing));
  if (!traced) return respond(error_response(traced.error()));
  std::vector<std::string> open;
  bool pending = false;
  for (const Link& link : traced->links) {
    if (const auto* run = std::get_if<model::Run>(&link.thing); run && !model::is_terminal(run->state))
      open.push_back(run->id);
    const auto* delivery = std::get_if<model::Delivery>(&link.thing);
    pending = pending || (delivery && delivery->state == model::DeliveryState::pending);
  }
  const auto with_lives = [&context, trace = *std::move(traced), pending, respond](const Lives& lives) {
    if (!pending) return respond_with(context, trace, lives, {}, respond);
    // What has happened is explained also where the files cannot be used.
    context.send(
        engine::AskTriggers{}, [=, &context](const Response&) { respond_with(context, trace, lives, {}, respond); },
        [=, &context](const Triggers& triggers) { respond_with(context, trace, lives, triggers, respond); });
  };
  if (open.empty()) return with_lives({});
  context.send(engine::AskLive{std::move(open), {}}, respond, with_lives);
}

}  // namespace

/// A name that is a pipeline's means the pipeline: an id can be given at more length.
void explain_id(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  const std::string target = call.captures[0];
  const auto by_id = [&context, target, respond](const Response&) { explain_thing(context, target, respond); };
  // Where the files can't be used, no name is known, and history is explained all the same.
  context.send(engine::AskPipelines{}, by_id, [=, &context](const std::vector<engine::PipelineView>& views) {
    if (has_pipeline(views, target)) return explain_pipeline(context, call, respond);
    std::vector<std::string> names;
    for (const engine::PipelineView& view : views) names.push_back(view.name);
    const bool no_id = target.find_first_not_of("0123456789abcdef-") != std::string::npos;
    if (no_id && !nearest(target, names).empty())
      return respond(problem_response(unknown_pipeline("id", target, names)));
    explain_thing(context, target, respond);
  });
}

}  // namespace eider::api
