// Verbs about schedules and what was decided for them.
#include <charconv>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/shapes.h"
#include "api/upcoming.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"
#include "model/pipeline.h"
#include "workspace/words.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

constexpr int kMostPreviewed = 1000;
constexpr int kPreviewDefault = 10;

/// `flights_daily/nightly` as a path of the API.
Result<std::string> schedule_path(const std::string& key) {
  const auto slash = key.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == key.size() ||
      key.find('/', slash + 1) != std::string::npos) {
    return Error{ErrorCode::invalid,
                 fmt::format("`{}` names no schedule: expected pipeline/id, such as flights_daily/nightly\n"
                             "`eider schedule list` shows them",
                             shown(key))};
  }
  return "/api/v1/schedules/" + api::encode_segment(key.substr(0, slash)) + "/" +
         api::encode_segment(key.substr(slash + 1));
}

int show_schedules(Session& session, const json::value& body) {
  Table table({"SCHEDULE", "RULE", "ZONE", "NEXT", "LAST", "DECISION", "NOTE"});
  for (const json::value& each : list_of(body, "items")) {
    const auto next = time_of(each, "next");
    const auto last = time_of(each, "last");
    const std::string decision = text_of(each, "last_decision");
    const auto since = time_of(each, "paused_at");
    const Cell when = flag_of(each, "paused")
                          ? Cell(since ? "paused " + relative(*since, session.now()) : "paused", Colour::yellow)
                          : Cell(next                            ? relative(*next, session.now())
                                 : flag_of(each, "next_unknown") ? "unknown"
                                                                 : "never");
    table.row({text_of(each, "key"),
               text_of(each, "rule"),
               text_of(each, "timezone"),
               when,
               last ? relative(*last, session.now()) : "",
               {decision, colour_of(decision)},
               text_of(each, "note").empty() ? text_of(each, "paused_reason_text") : text_of(each, "note")});
  }
  if (table.empty()) {
    session.note("no schedules");
    return exit_done;
  }
  table.print(session.out());
  say_next_page(session, body);
  return exit_done;
}

/// What is unusual about an instant of a preview: `moved by a clock change; excluded: weekends`.
Cell remarks(const json::value& item) {
  std::string said;
  const auto add = [&said](const std::string& remark) { said += (said.empty() ? "" : "; ") + remark; };
  if (flag_of(item, "shifted")) add("moved by a clock change");
  const std::string decision = text_of(item, "decision");
  if (decision == "excluded") {
    add(fmt::format("excluded: {}{}", text_of(item, "reason") == model::reason::not_in_calendar ? "not in " : "",
                    text_of(item, "calendar")));
  } else if (decision != "run" && !decision.empty()) {
    const std::string by = text_of(item, "run_id");
    add(fmt::format("would be {}: {}{}", decision, text_of(item, "reason_text"), by.empty() ? "" : " (" + by + ")"));
  }
  const auto due = time_of(item, "due_at");
  const auto at = time_of(item, "scheduled_for");
  if (due && at && *due != *at && decision != "excluded") {
    add(fmt::format("due {} later, at {}", format_duration(*due - *at), to_millis(format_rfc3339(*due))));
  }
  return {said, Colour::yellow};
}

/// What comes: the instants that are known, and the rule after them where it has no instants of its own.
bool show_coming(Session& session, const json::array& items, const std::string& then) {
  Table table({"DUE (UTC)", "LOCAL", "ZONE", ""});
  for (const json::value& each : items) {
    table.row({to_millis(text_of(each, "scheduled_for")), to_millis(text_of(each, "local")), text_of(each, "timezone"),
               remarks(each)});
  }
  if (!table.empty()) table.print(session.out());
  if (!then.empty()) session.out().line(safe(table.empty() ? then : "then " + then));
  return !table.empty() || !then.empty();
}

int show_preview(Session& session, const json::value& body) {
  if (!show_coming(session, list_of(body, "items"), text_of(body, "then")))
    session.say("it does not fire in that time");
  const json::array& items = list_of(body, "items");
  const bool none_runs = !items.empty() && std::all_of(items.begin(), items.end(), [](const json::value& item) {
    return text_of(item, "decision") == "excluded";
  });
  if (none_runs) {
    const auto next = time_of(body, "next_run");
    session.say(next ? "it runs next for " + with_relative(*next, session.now())
                : flag_of(body, "next_run_unknown")
                    ? "when it runs next is not known: its calendars leave nothing as far as is looked ahead"
                    : "it never runs: its calendars, start and end leave nothing");
  }
  if (flag_of(body, "paused")) {
    session.error().line("the schedule is paused: none of these is due before `eider schedule resume`");
  }
  return exit_done;
}

std::string names_of(const json::value& body, std::string_view key) {
  std::string out;
  for (const json::value& name : list_of(body, key)) {
    if (name.is_string()) out += (out.empty() ? "" : ", ") + std::string(name.get_string());
  }
  return out;
}

int show_schedule(Session& session, const json::value& body) {
  const Instant now = session.now();
  const bool paused = flag_of(body, "paused");
  Facts facts;
  facts.add("schedule", text_of(body, "key"));
  facts.add("rule", text_of(body, "rule"));
  facts.add("in words", text_of(body, "description"));
  facts.add("timezone", text_of(body, "timezone"));
  const auto since = time_of(body, "paused_at");
  facts.add("state",
            !paused ? "active"
            : since ? "paused since " + with_relative(*since, now)
                    : "paused",
            paused ? Colour::yellow : Colour::green);
  facts.add("paused by", text_of(body, "paused_reason_text"));
  facts.add("note", text_of(body, "note"));
  facts.add("overlap", text_of(body, "overlap"));
  facts.add("misfire", fmt::format("{}, later than {} is late", text_of(body, "misfire"), text_of(body, "grace")));
  if (text_of(body, "misfire") == "all") {
    facts.add("catch-up",
              fmt::format("at most {}, within {}", text_of(body, "max_catchup"), text_of(body, "catchup_window")));
  }
  if (text_of(body, "overlap") == "queue") facts.add("queue limit", text_of(body, "queue_limit"));
  facts.add("exclude", names_of(body, "exclude"));
  facts.add("only", names_of(body, "only"));
  facts.add("start", text_of(body, "start"));
  facts.add("end", text_of(body, "end"));
  if (const std::string jitter = text_of(body, "jitter"); !jitter.empty() && jitter != "0s") {
    facts.add("jitter", fmt::format("up to {}; always {} later", jitter, text_of(body, "delay")));
  }
  if (const auto failures = number_of(body, "pause_after_failures").value_or(0); failures > 0) {
    facts.add("pauses after", counted(failures, "failed run") + " in a row");
  }
  if (const auto next = time_of(body, "next")) facts.add("next", with_relative(*next, now));
  if (const auto last = time_of(body, "last")) {
    const std::string run = text_of(body, "last_run_id");
    facts.add("last", fmt::format("{}: {}{}", with_relative(*last, now), text_of(body, "last_decision"),
                                  run.empty() ? "" : " " + run));
  }
  facts.print(session.out());
  const json::array& coming = list_of(body, "upcoming");
  const std::string then = text_of(body, "then");
  if (!paused && (!coming.empty() || !then.empty())) {
    session.out().line("");
    show_coming(session, coming, then);
  }
  return exit_done;
}

/// `2026-03-29T03:00:00+02:00`, or for several `… to 03:00:20+02:00 (5 instants)`.
std::string due_text(const json::value& occurrence) {
  std::string due = to_millis(text_of(occurrence, "local"));
  const auto count = number_of(occurrence, "count").value_or(1);
  const auto until = time_of(occurrence, "scheduled_until");
  if (count <= 1 || !until) return due;
  constexpr std::size_t date_length = 11;  // with its T
  const std::string offset = text_of(occurrence, "offset");
  // An instant in the offset of the first: the texts can be compared.
  const auto shift = parse_rfc3339("1970-01-01T00:00:00" + offset);
  std::string last = to_millis(format_rfc3339(
      *until, shift ? std::chrono::floor<std::chrono::seconds>(Instant{} - *shift) : std::chrono::seconds(0)));
  if (last.substr(0, date_length) == due.substr(0, date_length)) last.erase(0, date_length);
  return fmt::format("{} to {} ({} instants)", due, last, count);
}

int show_occurrences(Session& session, const json::value& body) {
  const json::array& items = list_of(body, "items");
  std::vector<std::string> runs;
  for (const json::value& each : items) {
    if (const std::string run = text_of(each, "run_id"); !run.empty()) runs.push_back(run);
  }
  if (session.out().terminal()) runs = short_ids(runs);
  auto run = runs.begin();
  Table table({"SCHEDULE", "DUE", "DECISION", "RUN", "WHY"});
  table.keep("RUN");
  for (const json::value& each : items) {
    const std::string decision = text_of(each, "decision");
    const std::string calendar = text_of(each, "calendar");
    table.row({text_of(each, "schedule"),
               due_text(each),
               {decision, colour_of(decision)},
               text_of(each, "run_id").empty() ? std::string() : *run++,
               text_of(each, "reason_text") + (calendar.empty() ? "" : " (" + calendar + ")")});
  }
  if (table.empty()) {
    const bool all = session.options.target.empty() && session.options.decision.empty();
    session.note(all ? "nothing has been decided yet" : "no decisions match");
    return exit_done;
  }
  table.print(session.out());
  say_next_page(session, body);
  return exit_done;
}

Result<std::optional<Instant>> time_option(const char* name, const std::string& text) {
  if (text.empty()) return std::optional<Instant>();
  auto at = parse_rfc3339(text);
  if (!at) return Error{ErrorCode::invalid, fmt::format("{}: {}", name, at.error().message)};
  return std::optional(*at);
}

/// The rules of the API's preview: the same parameters, the same defaults.
Result<json::array> preview_cron(const Options& options, Instant now) {
  auto from = time_option("--from", options.from);
  if (!from) return from.error();
  auto to = time_option("--to", options.to);
  if (!to) return to.error();
  const Instant after = from->value_or(now);
  if (*to && **to < after) return Error{ErrorCode::invalid, "--to: expected a time that is not before --from"};
  int count = *to ? kMostPreviewed : kPreviewDefault;
  if (!options.count.empty()) {
    const char* const end = options.count.data() + options.count.size();
    const auto [stopped, failed] = std::from_chars(options.count.data(), end, count);
    if (failed != std::errc() || stopped != end || count < 1 || count > kMostPreviewed) {
      return Error{ErrorCode::invalid, fmt::format("--count: `{}` is wrong: expected a whole number from 1 to {}",
                                                   shown(options.count), kMostPreviewed)};
    }
  }
  model::Timing timing;
  timing.cron = options.cron;
  if (!options.timezone.empty()) timing.timezone = options.timezone;
  return api::upcoming(timing, {after, *to, count});
}

int set_paused(Session& session, const char* how, const json::value& body) {
  auto path = schedule_path(session.options.target);
  if (!path) return session.fail(path.error());
  return ask_and_show(session, post(*path + how, body), Backend::Mode::server_only,
                      [](Session& in, const json::value& schedule) {
                        const bool paused = flag_of(schedule, "paused");
                        const auto next = time_of(schedule, "next");
                        std::string said = safe(text_of(schedule, "key")) + (paused ? " is paused" : " is active");
                        if (!paused && next) said += "; next due " + with_relative(*next, in.now());
                        in.out().line(said);
                        return exit_done;
                      });
}

}  // namespace

int schedule_list(Session& session) {
  const Options& options = session.options;
  return ask_and_show(
      session,
      get("/api/v1/schedules", {{"pipeline", options.pipeline}, {"limit", options.limit}, {"cursor", options.cursor}}),
      Backend::Mode::server_or_files, show_schedules);
}

int schedule_describe(Session& session) {
  auto path = schedule_path(session.options.target);
  if (!path) return session.fail(path.error());
  return ask_and_show(session, get(*path), Backend::Mode::server_or_files, show_schedule);
}

int schedule_preview(Session& session) {
  const Options& options = session.options;
  if (options.cron.empty()) {
    if (options.target.empty()) {
      return session.fail({ErrorCode::invalid, "what shall be previewed? a schedule (pipeline/id), or `--cron EXPR`"});
    }
    auto path = schedule_path(options.target);
    if (!path) return session.fail(path.error());
    return ask_and_show(session,
                        get(*path + "/preview", {{"from", options.from}, {"to", options.to}, {"count", options.count}}),
                        Backend::Mode::server_or_files, show_preview);
  }
  auto items = preview_cron(options, session.now());
  if (!items) return session.fail(items.error());
  const json::value body = api::shapes::list(*std::move(items), std::nullopt);
  return options.json ? session.print_json(json::serialize(body)) : show_preview(session, body);
}

int schedule_pause(Session& session) {
  json::object body;
  if (session.options.note) body["note"] = *session.options.note;
  return set_paused(session, "/pause", body);
}

int schedule_resume(Session& session) {
  json::object body;
  if (!session.options.catch_up.empty()) body["catch_up"] = session.options.catch_up;
  return set_paused(session, "/resume", body);
}

int occurrences(Session& session) {
  const Options& options = session.options;
  return ask_history(session,
                     get("/api/v1/occurrences", {{"schedule", options.target},
                                                 {"decision", options.decision},
                                                 {"limit", options.limit},
                                                 {"cursor", options.cursor}}),
                     show_occurrences);
}

}  // namespace eider::cli
