#include "cli/follower.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/fields.h"
#include "cli/text.h"
#include "cli/views.h"
#include "model/run.h"

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

/// `attempt 2 of 3`: what the queue or the machine took back was none of those that the policy counts.
std::string attempt_text(const json::value& run, std::int64_t number) {
  const auto most = number_of(run, "max_attempts");
  if (!most) return fmt::format("attempt {}", number);
  const std::int64_t uncounted = number - 1 - number_of(run, "failures").value_or(number - 1);
  return fmt::format("attempt {} of {}", number, *most + std::max<std::int64_t>(uncounted, 0));
}

/// Of a queued run that was tried before.
bool is_tried_again(const json::value& run) {
  return text_of(run, "state") == "queued" && number_of(run, "attempt").value_or(0) > 0 &&
         !text_of(run, "error").empty() && text_of(run, "reason") != model::reason::file_held;
}

/// `attempt 2 of 3 in 3 s`
std::string next_attempt_text(const json::value& run, Instant now) {
  const std::string next = attempt_text(run, number_of(run, "attempt").value_or(0) + 1);
  if (const auto at = time_of(run, "not_before"); at && *at > now) return next + " " + relative(*at, now);
  const std::string waiting = waiting_text(run);
  return waiting.empty() ? next : next + ", waits for " + waiting;
}

/// What is new when it changes: never a time or a count that runs.
std::string change_key(const json::value& run) {
  std::string key = text_of(run, "state") + " " + text_of(run, "attempt");
  if (is_tried_again(run)) return key;
  for (const json::value& each : list_of(run, "waiting_for"))
    key += " " + text_of(each, "kind") + text_of(each, "name");
  return key;
}

/// What the run does, for the line of the moment.
std::string state_text(const json::value& run, Instant now) {
  std::string state = text_of(run, "state");
  const auto attempt = number_of(run, "attempt").value_or(0);
  if (state == "running") return attempt > 1 ? "running, " + attempt_text(run, attempt) : "running";
  if (state != "queued") return state;
  // The reason stands last: a narrow terminal cuts it, and not when it goes on.
  if (is_tried_again(run)) {
    return fmt::format("{} ({})", next_attempt_text(run, now), first_line(text_of(run, "error")));
  }
  const std::string waiting = waiting_text(run);
  return waiting.empty() ? "queued" : "queued, waits for " + waiting;
}

/// The same, as a line that stays.
std::string change_text(const json::value& run, Instant now) {
  if (!is_tried_again(run)) return state_text(run, now);
  return fmt::format("attempt {} did not succeed: {}; {}", text_of(run, "attempt"), first_line(text_of(run, "error")),
                     next_attempt_text(run, now));
}

}  // namespace

Follower::Follower(Session& session, Backend& logs)
    : session_(session), logs_(logs), lines_(session.out(), LogLines::Form::people) {}

bool Follower::update(const json::value& run) {
  const std::string state = text_of(run, "state");
  if (!session_.options.json) {
    const std::string id = text_of(run, "id");
    const auto attempt = number_of(run, "attempt").value_or(0);
    // What an attempt wrote comes before what was made of it.
    show_log(id, state == "running" ? attempt - 1 : attempt);
    show_change(run);
    show_log(id, attempt);
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
  const std::string key = change_key(run);
  if (key == said_ || is_over(text_of(run, "state"))) return;
  const bool first = said_.empty();
  said_ = key;
  // On a terminal the progress line says it; that an attempt did not succeed is worth a line of its own.
  if (session_.error().terminal() && !is_tried_again(run)) return;
  clear();
  const std::string text = change_text(run, session_.now());
  session_.error().line(
      safe(first ? fmt::format("run {} of {}: {}", text_of(run, "id"), text_of(run, "pipeline"), text) : text));
}

void Follower::show_progress(const json::value& run) {
  if (!session_.error().terminal()) return;
  const Instant now = session_.now();
  std::string text = text_of(run, "pipeline") + ": " + state_text(run, now);
  if (const std::string steps = steps_now(run); !steps.empty()) text += ", " + steps;
  if (const auto done = ratio_of(run, "progress")) text += fmt::format(" ({:.0f} % of the run)", *done * 100);
  const auto since = time_of(run, text_of(run, "state") == "running" ? "started_at" : "created_at");
  if (since && !is_tried_again(run)) text += ", " + took(now - *since);
  const std::size_t columns = session_.error().columns();
  const std::string line = cut(safe(text), columns > 1 ? columns - 1 : 78);
  session_.error().print("\r" + session_.error().paint(Colour::grey, line) + "\033[K");
  progress_ = true;
}

void Follower::show_end(const json::value& run) {
  lines_.finish();
  say_end(session_, run);
}

void say_end(Session& session, const json::value& run) {
  Stream& to = session.error();
  const std::string state = text_of(run, "state");
  const std::string time = run_took(run, session.now());
  to.line(fmt::format("{} {}{} (run {})", safe(text_of(run, "pipeline")), to.paint(colour_of(state), safe(state)),
                      time.empty() ? "" : " in " + time, safe(text_of(run, "id"))));
  if (const std::string error = text_of(run, "error"); !error.empty()) {
    to.line(safe_lines(error));
  } else if (state == "cancelled") {
    to.line(safe(text_of(run, "reason_text")));
  }
}

}  // namespace eider::cli
