#include "cli/follower.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/fields.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

/// `build 40 %, report`: what runs at the moment.
std::string steps_now(const json::value& run) {
  std::string out;
  for (const json::value& step : list_of(run, "steps")) {
    if (field(step, "outcome").is_string()) continue;
    out += (out.empty() ? "" : ", ") + text_of(step, "step");
    if (const auto done = ratio_of(step, "progress")) out += fmt::format(" {:.0f} %", *done * 100);
  }
  return out;
}

/// What the run does, without what changes all the time.
std::string change_text(const json::value& run) {
  const std::string state = text_of(run, "state");
  if (state == "running") {
    const auto attempt = number_of(run, "attempt").value_or(1);
    return attempt > 1 ? fmt::format("running, attempt {}", attempt) : "running";
  }
  if (state != "queued") return state;
  if (number_of(run, "attempt").value_or(0) > 0) {
    const std::string error = first_line(text_of(run, "error"));
    const auto at = time_of(run, "not_before");
    return fmt::format("attempt {} did not succeed{}; queued again{}", text_of(run, "attempt"),
                       error.empty() ? "" : ": " + error, at ? " for " + format_rfc3339(*at) : "");
  }
  const std::string waiting = waiting_text(run);
  return waiting.empty() ? "queued" : "queued, waits for " + waiting;
}

}  // namespace

Follower::Follower(Session& session, Backend& logs)
    : session_(session), logs_(logs), lines_(session.out(), LogLines::Form::people) {}

bool Follower::update(const json::value& run) {
  const std::string state = text_of(run, "state");
  if (!session_.options.json) {
    show_change(run);
    show_log(text_of(run, "id"), number_of(run, "attempt").value_or(0));
  }
  if (is_over(state)) {
    clear();
    if (!session_.options.json) show_end(run);
    return true;
  }
  show_progress(run);
  return false;
}

void Follower::clear() {
  if (progress_) session_.error().print("\r\033[K");
  progress_ = false;
}

void Follower::show_log(const std::string& id, std::int64_t newest_attempt) {
  for (; attempt_ <= newest_attempt; ++attempt_, offset_ = 0) {
    read_log(id);
    if (attempt_ == newest_attempt) return;
  }
}

/// What cannot be read now is read the next time; how the run ends is told without its log.
void Follower::read_log(const std::string& id) {
  const auto request = get("/api/v1/runs/" + api::encode_segment(id) + "/logs",
                           {{"attempt", std::to_string(attempt_)}, {"after", std::to_string(offset_)}});
  const auto read = logs_.stream(request, [&](std::string_view bytes) {
    clear();
    offset_ += static_cast<std::int64_t>(bytes.size());
    return lines_.take(bytes);
  });
  if (!read) return;
}

void Follower::show_change(const json::value& run) {
  const std::string now = change_text(run);
  if (now == said_ || is_over(text_of(run, "state"))) return;
  const bool first = said_.empty();
  said_ = now;
  // On a terminal the progress line says it; what happened to an attempt is worth a line of its own.
  if (session_.error().terminal() && text_of(run, "attempt") == "0") return;
  if (session_.error().terminal() && text_of(run, "state") == "running") return;
  clear();
  session_.error().line(
      safe(first ? fmt::format("run {} of {}: {}", text_of(run, "id"), text_of(run, "pipeline"), now) : now));
}

void Follower::show_progress(const json::value& run) {
  if (!session_.error().terminal()) return;
  std::string text = text_of(run, "pipeline") + ": " + change_text(run);
  if (const std::string steps = steps_now(run); !steps.empty()) text += ", " + steps;
  if (const auto done = ratio_of(run, "progress")) text += fmt::format(" ({:.0f} % of the run)", *done * 100);
  const auto since = time_of(run, text_of(run, "state") == "running" ? "started_at" : "created_at");
  if (since) text += ", " + took(session_.now() - *since);
  const std::size_t columns = session_.error().columns();
  const std::string line = cut(safe(text), columns > 1 ? columns - 1 : 78);
  session_.error().print("\r" + session_.error().paint(Colour::grey, line) + "\033[K");
  progress_ = true;
}

void Follower::show_end(const json::value& run) {
  lines_.finish();
  Stream& to = session_.error();
  const std::string state = text_of(run, "state");
  const std::string time = run_took(run, session_.now());
  to.line(fmt::format("{} {}{} (run {})", safe(text_of(run, "pipeline")), to.paint(colour_of(state), safe(state)),
                      time.empty() ? "" : " in " + time, safe(text_of(run, "id"))));
  if (state == "cancelled") to.line(safe(text_of(run, "reason_text")));
  if (const std::string error = text_of(run, "error"); !error.empty()) to.line(safe_lines(error));
}

}  // namespace eider::cli
