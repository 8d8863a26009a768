// Verbs about what is owed to triggers.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/ids.h"
#include "cli/data_views.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

/// Why it is where it is.
std::string why(const json::value& delivery) {
  if (std::string waiting = text_of(delivery, "waiting_for"); !waiting.empty()) return waiting;
  if (const std::string error = text_of(delivery, "error"); !error.empty()) return first_line(error);
  return text_of(delivery, "reason_text");
}

int show_deliveries(Session& session, const json::value& body) {
  const json::array& items = list_of(body, "items");
  const bool terminal = session.out().terminal();
  std::vector<std::string> ids;
  for (const json::value& delivery : items) ids.push_back(text_of(delivery, "id"));
  if (terminal) ids = short_ids(ids);
  Table table({"DELIVERY", "TRIGGER", "ASSET", "PARTITION", "STATE", "RUN", "OWED", "WHY"});
  table.keep("RUN");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::value& delivery = items[i];
    const std::string state = text_of(delivery, "state");
    const auto created = time_of(delivery, "created_at");
    table.row({ids[i],
               text_of(delivery, "trigger"),
               text_of(delivery, "asset"),
               text_of(delivery, "partition"),
               {state, colour_of(state)},
               text_of(delivery, "run_id").substr(0, terminal ? short_id_length : std::string::npos),
               created ? relative(*created, session.now()) : "",
               why(delivery)});
  }
  if (table.empty()) {
    const Options& options = session.options;
    const bool all = options.trigger.empty() && options.pipeline.empty() && options.event.empty() &&
                     options.run.empty() && options.state.empty();
    session.note(all ? "no deliveries: nothing was published that a trigger waits for" : "no deliveries match");
    return exit_done;
  }
  table.drop_empty_columns();
  table.print(session.out());
  say_next_page(session, body);
  return exit_done;
}

int show_delivery(Session& session, const json::value& delivery) {
  const Instant now = session.now();
  const std::string state = text_of(delivery, "state");
  Facts facts;
  facts.add("delivery", text_of(delivery, "id"));
  facts.add("trigger", text_of(delivery, "trigger"));
  facts.add("asset", text_of(delivery, "asset"));
  facts.add("partition", text_of(delivery, "partition"));
  facts.add("of", text_of(delivery, "event_id"));
  facts.add("state", state, colour_of(state));
  facts.add("waits", text_of(delivery, "waiting_for"));
  facts.add("reason", text_of(delivery, "reason_text"));
  facts.add("run", text_of(delivery, "run_id"));
  if (const auto attempts = number_of(delivery, "attempts").value_or(0); attempts > 0)
    facts.add("attempts", std::to_string(attempts));
  facts.add("claimed by", text_of(delivery, "owner"));
  for (const auto& [title, name] :
       {std::pair{"owed", "created_at"}, {"claimed", "claimed_at"}, {"finished", "finished_at"}}) {
    if (const auto at = time_of(delivery, name)) facts.add(title, with_relative(*at, now));
  }
  facts.add("error", text_of(delivery, "error"), Colour::red);
  facts.print(session.out());
  session.note(fmt::format("`eider explain {}` shows what led to it and what followed", safe(text_of(delivery, "id"))));
  return exit_done;
}

/// What is selected, and asked to be done to it.
int change(Session& session, const char* deed, const char* done) {
  const Options& options = session.options;
  json::object body;
  for (const auto& [name, value] : {std::pair<const char*, const std::string*>{"id", &options.target},
                                    {"trigger", &options.trigger},
                                    {"pipeline", &options.pipeline},
                                    {"state", &options.state}}) {
    if (!value->empty()) body[name] = *value;
  }
  if (body.empty()) {
    return session.fail({ErrorCode::invalid, fmt::format("which deliveries? an id, --trigger, --pipeline or --state\n"
                                                         "`eider deliveries {} --help` shows examples",
                                                         deed)});
  }
  if (options.note) body["note"] = *options.note;
  return ask_and_show(
      session, post(fmt::format("/api/v1/deliveries/{}", deed), body), Backend::Mode::server_only,
      [done](Session& in, const json::value& answer) {
        const auto count = static_cast<std::int64_t>(list_of(answer, "ids").size());
        if (count == 0) {
          in.say("no deliveries match");
        } else {
          in.out().line(fmt::format("{} {} {}", counted_deliveries(count), count == 1 ? "is" : "are", done));
        }
        if (flag_of(answer, "more")) in.say("there are more: the same again goes on with them");
        return exit_done;
      });
}

}  // namespace

int deliveries_list(Session& session) {
  const Options& options = session.options;
  return ask_history(session,
                     get("/api/v1/deliveries", {{"trigger", options.trigger},
                                                {"pipeline", options.pipeline},
                                                {"event", options.event},
                                                {"run", options.run},
                                                {"state", options.state},
                                                {"limit", options.limit},
                                                {"cursor", options.cursor}}),
                     show_deliveries);
}

int deliveries_show(Session& session) {
  return ask_history(session, get("/api/v1/deliveries/" + api::encode_segment(session.options.target)), show_delivery);
}

int deliveries_retry(Session& session) { return change(session, "retry", "tried again"); }

int deliveries_skip(Session& session) { return change(session, "skip", "skipped"); }

}  // namespace eider::cli
