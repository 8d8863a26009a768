// Verbs about pipelines.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/data_views.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

/// What its file, its schedules and its triggers let it do.
Cell state_of(const json::value& pipeline) {
  if (flag_of(pipeline, "broken")) {
    return text_of(pipeline, "definition").empty() ? Cell("broken", Colour::red) : Cell("old version", Colour::yellow);
  }
  const auto active = number_of(pipeline, "active_schedules").value_or(0);
  const auto paused = number_of(pipeline, "paused_schedules").value_or(0);
  if (active + paused == 0) {
    const bool by_data = number_of(pipeline, "active_triggers").value_or(0) > 0;
    return by_data ? Cell("by data", Colour::green) : Cell("by hand", Colour::grey);
  }
  if (paused == 0) return {"active", Colour::green};
  return {active == 0 ? "paused" : fmt::format("{} of {} paused", paused, active + paused), Colour::yellow};
}

/// `1 running, 2 queued, 3 deliveries pending`
std::string open_work(const json::value& pipeline) {
  std::string out;
  for (const char* state : {"running", "queued"}) {
    const auto count = number_of(pipeline, state).value_or(0);
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, state);
  }
  const auto pending = number_of(pipeline, "pending_deliveries").value_or(0);
  if (pending > 0) out += fmt::format("{}{} pending", out.empty() ? "" : ", ", counted_deliveries(pending));
  return out;
}

int show_pipelines(Session& session, const json::value& body) {
  Table table({"PIPELINE", "STATE", "NEXT", "RUNS", "DESCRIPTION"});
  for (const json::value& pipeline : list_of(body, "items")) {
    const auto next = time_of(pipeline, "next");
    const std::string error = text_of(pipeline, "error");
    table.row({text_of(pipeline, "name"), state_of(pipeline), next ? relative(*next, session.now()) : "",
               open_work(pipeline),
               error.empty() ? Cell(text_of(pipeline, "description")) : Cell(first_line(error), Colour::red)});
  }
  if (table.empty()) {
    session.note("no pipelines: each is a file pipelines/NAME.yaml");
  } else {
    table.print(session.out());
  }
  return exit_done;
}

}  // namespace

int pipelines_list(Session& session) {
  return ask_and_show(session, get("/api/v1/pipelines"), Backend::Mode::server_or_files, show_pipelines);
}

}  // namespace eider::cli
