// Verbs about runs: what there is, one in full, and ending it.
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

std::string why(const json::value& run, Instant now) {
  if (text_of(run, "state") == "queued") {
    if (const std::string waiting = waiting_in_full(run, now); !waiting.empty()) return "waits for " + waiting;
    if (const auto at = time_of(run, "not_before"); at && *at > now) return "tried again " + relative(*at, now);
  }
  if (const std::string error = text_of(run, "error"); !error.empty()) return first_line(error);
  if (text_of(run, "state") == "cancelled") return text_of(run, "reason_text");
  if (field(run, "cancel_asked_at").is_string()) return "is being cancelled";
  return longer_than_usual(run);
}

int show_runs(Session& session, const json::value& body) {
  const json::array& items = list_of(body, "items");
  std::vector<std::string> ids;
  for (const json::value& run : items) ids.push_back(text_of(run, "id"));
  if (session.out().terminal()) ids = short_ids(ids);
  Table table({"RUN", "PIPELINE", "STATE", "CAUSE", "CREATED", "TOOK", "WHY"});
  for (std::size_t i = 0; i < items.size(); ++i) {
    const json::value& run = items[i];
    const std::string state = text_of(run, "state");
    const auto created = time_of(run, "created_at");
    const auto attempt = number_of(run, "attempt").value_or(0);
    table.row({ids[i],
               text_of(run, "pipeline"),
               {state + (attempt > 1 ? fmt::format(" ({})", attempt) : ""), colour_of(state)},
               cause_of(run),
               created ? relative(*created, session.now()) : "",
               run_took(run, session.now()),
               why(run, session.now())});
  }
  if (table.empty()) {
    const bool all = session.options.pipeline.empty() && session.options.state.empty();
    session.note(all ? "no runs" : "no runs match");
    return exit_done;
  }
  table.print(session.out());
  say_next_page(session, body);
  return exit_done;
}

void add_time(Facts& facts, const json::value& run, const char* title, const char* name, Instant now) {
  if (const auto at = time_of(run, name)) facts.add(title, with_relative(*at, now));
}

/// What a data run was made for, one event a line.
std::string events_text(const json::value& run) {
  std::string out;
  for (const json::value& event : list_of(run, "events")) {
    const std::string by = text_of(event, "run_id");
    out += fmt::format("{}{} by {}{}", out.empty() ? "" : "\n", event_in_words(event), maker_of(event),
                       by.empty() ? "" : " " + by.substr(0, short_id_length));
  }
  return flag_of(run, "more_events") ? out + "\n… more: `eider deliveries list --run " + text_of(run, "id") + "`" : out;
}

Facts facts_of(const json::value& run, Instant now) {
  Facts facts;
  const std::string state = text_of(run, "state");
  facts.add("run", text_of(run, "id"));
  facts.add("pipeline", text_of(run, "pipeline"));
  std::string state_text = state;
  if (const auto done = ratio_of(run, "progress")) state_text += fmt::format(", {:.0f} %", *done * 100);
  if (flag_of(run, "adopted")) state_text += ", taken over from an earlier server";
  if (const std::string longer = longer_than_usual(run); !longer.empty()) state_text += ", " + longer;
  facts.add("state", state_text, colour_of(state));
  facts.add("cause", cause_in_full(run));
  facts.add("events", events_text(run));
  facts.add("reason", text_of(run, "reason_text"));
  facts.add("waits for", waiting_in_full(run, now));
  // The rule's own instant, which may be finer than a second.
  if (const auto due = time_of(run, "scheduled_for"))
    facts.add("due", fmt::format("{} ({})", to_millis(format_rfc3339(*due)), relative(*due, now)));
  facts.add("partition", text_of(run, "partition"));
  if (field(run, "params").is_object()) facts.add("params", json::serialize(field(run, "params")));
  if (number_of(run, "priority").value_or(0) != 0) facts.add("priority", text_of(run, "priority"));
  add_time(facts, run, "created", "created_at", now);
  add_time(facts, run, "not before", "not_before", now);
  add_time(facts, run, "started", "started_at", now);
  add_time(facts, run, "cancel asked", "cancel_asked_at", now);
  add_time(facts, run, "finished", "finished_at", now);
  facts.add("took", run_took(run, now));
  facts.add("error", text_of(run, "error"), Colour::red);
  return facts;
}

/// How an attempt or a step ended, beyond its outcome.
std::string ending(const json::value& part) {
  if (const auto from = number_of(part, "kept_from")) return fmt::format("kept from attempt {}", *from);
  // An error says the exit code or the signal itself, unless it was Eider that ended the step.
  if (std::string error = first_line(text_of(part, "error")); !error.empty()) return error;
  if (const auto code = number_of(part, "exit_code"); code && *code != 0) return fmt::format("exit code {}", *code);
  if (const auto signal = number_of(part, "signal")) return fmt::format("signal {}", *signal);
  return {};
}

std::string span(const json::value& part, Instant now) {
  const auto started = time_of(part, "started_at");
  if (!started) return {};
  return took(time_of(part, "finished_at").value_or(now) - *started);
}

std::string memory(const json::value& part) {
  const auto peak = number_of(part, "peak_memory_bytes");
  return peak ? bytes(*peak) : std::string();
}

/// `rows=1000 note=ok`: what a step wrote to $EIDER_OUTPUT.
std::string facts_text(const json::value& facts) {
  const json::object* fields = facts.if_object();
  if (!fields) return facts.is_string() ? std::string(facts.get_string()) : json::serialize(facts);
  std::string out;
  for (const auto& [name, value] : *fields) {
    const bool word = value.is_string() && value.get_string().find_first_of(" \t\n=\"") == std::string::npos &&
                      !value.get_string().empty();
    out += (out.empty() ? "" : " ") + std::string(name) + "=" +
           (word ? std::string(value.get_string()) : json::serialize(value));
  }
  return out;
}

int show_run(Session& session, const json::value& run) {
  const Instant now = session.now();
  facts_of(run, now).print(session.out());
  Table steps({"STEP", "STATE", "TOOK", "ROWS", "MEMORY", "HOW"});
  Table facts({"STEP", "FACTS"});
  for (const json::value& step : list_of(run, "steps")) {
    std::string state = text_of(step, "outcome");
    if (state.empty()) {
      const auto done = ratio_of(step, "progress");
      state = done ? fmt::format("running {:.0f} %", *done * 100) : "running";
    }
    const Colour colour = colour_of(state.substr(0, state.find(' ')));
    // Rows are those that a step says it made: a query that only reads makes none.
    const auto rows = number_of(step, "rows").value_or(0);
    steps.row({text_of(step, "step"),
               {state, colour},
               span(step, now),
               rows > 0 ? std::to_string(rows) : "",
               memory(step),
               ending(step)});
    if (const json::value& told = field(step, "facts"); !told.is_null())
      facts.row({text_of(step, "step"), facts_text(told)});
  }
  Table attempts({"ATTEMPT", "OUTCOME", "STARTED", "TOOK", "WORKER", "MEMORY", "HOW"});
  for (const json::value& attempt : list_of(run, "attempts")) {
    const std::string outcome = field(attempt, "outcome").is_string() ? text_of(attempt, "outcome") : "running";
    const auto started = time_of(attempt, "started_at");
    attempts.row({text_of(attempt, "number"),
                  {outcome, colour_of(outcome)},
                  started ? to_seconds(*started) : "",
                  span(attempt, now),
                  text_of(attempt, "worker_pid"),
                  memory(attempt),
                  ending(attempt)});
  }
  for (Table* table : {&steps, &facts, &attempts}) {
    if (table->empty()) continue;
    table->drop_empty_columns();
    session.out().line("");
    table->print(session.out());
  }
  return exit_done;
}

int show_cancelled(Session& session, const json::value& body) {
  const std::string id = safe(text_of(body, "id"));
  if (text_of(body, "state") == "cancelled") {
    session.out().line(fmt::format("{} is cancelled", id));
  } else {
    session.out().line(fmt::format("{} is asked to end; `eider runs show {}` shows when it has", id, id));
  }
  return exit_done;
}

int show_retried(Session& session, const json::value& body) {
  Stream& out = session.out();
  const std::string id = safe(text_of(body, "id"));
  out.line(fmt::format("{} is queued again; `eider logs -f {}` follows it", id, id));
  std::string kept;
  for (const json::value& step : list_of(body, "kept")) {
    if (step.is_string()) kept += (kept.empty() ? "" : ", ") + safe(std::string(step.get_string()));
  }
  if (!kept.empty()) out.line("kept: " + kept);
  for (const json::value& step : list_of(body, "again")) {
    out.line(fmt::format("done again: {} ({})", safe(text_of(step, "step")), safe(text_of(step, "why"))));
  }
  return exit_done;
}

}  // namespace

int runs_list(Session& session) {
  const Options& options = session.options;
  return ask_history(session,
                     get("/api/v1/runs", {{"pipeline", options.pipeline},
                                          {"state", options.state},
                                          {"limit", options.limit},
                                          {"cursor", options.cursor}}),
                     show_runs);
}

int runs_show(Session& session) {
  return ask_history(session, get("/api/v1/runs/" + api::encode_segment(session.options.target)), show_run);
}

int cancel(Session& session) {
  return ask_and_show(session,
                      post("/api/v1/runs/" + api::encode_segment(session.options.target) + "/cancel", json::object{}),
                      Backend::Mode::server_only, show_cancelled);
}

int retry(Session& session) {
  json::object how;
  if (session.options.from_failed) how["from_failed"] = true;
  return ask_and_show(session, post("/api/v1/runs/" + api::encode_segment(session.options.target) + "/retry", how),
                      Backend::Mode::server_only, show_retried);
}

}  // namespace eider::cli
