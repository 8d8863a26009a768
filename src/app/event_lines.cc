#include "app/event_lines.h"
#include "base/cases.h"

#include <poll.h>
#include <unistd.h>
#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

namespace eider::app {
namespace {

constexpr const char* plain = "";
constexpr const char* green = "\033[32m";
constexpr const char* red = "\033[31m";
constexpr const char* yellow = "\033[33m";
constexpr const char* grey = "\033[90m";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Seconds with as many digits as people read.
std::string seconds(Micros duration) {
  const double s = static_cast<double>(duration.count()) / 1e6;
  return s < 10 ? fmt::format("{:.2f} s", s) : fmt::format("{:.0f} s", s);
}

const char* colour_of(const model::AttemptEnded& ended) {
  switch (ended.event) {
    case model::RunEvent::succeed:
      return green;
    case model::RunEvent::fail:
      return red;
    default:
      return yellow;
  }
}

/// As the server's log has it (base/log.cc): milliseconds in a file, only the time of day on a screen.
std::string time_text(const std::string& rfc3339, bool short_form) {
  constexpr std::size_t whole_seconds = 19;
  if (rfc3339.size() < whole_seconds) return rfc3339;
  if (short_form) return rfc3339.substr(11, 8) + "Z";
  const bool has_fraction = rfc3339[whole_seconds] == '.';
  const std::string fraction =
      has_fraction ? rfc3339.substr(whole_seconds + 1, rfc3339.size() - whole_seconds - 2) : "";
  return fmt::format("{}.{:0<3.3}Z", rfc3339.substr(0, whole_seconds), fraction);
}

/// `failed in 3 s`; where the error says how it ended (`step a: timed out after 3s`), only `after 3.01 s`.
std::string outcome_text(const model::AttemptEnded& ended) {
  const std::string time = seconds(ended.at - ended.attempt.claimed_at);
  std::string outcome = model::to_text(*ended.attempt.outcome);
  std::replace(outcome.begin(), outcome.end(), '_', ' ');
  const bool said = *ended.attempt.outcome != model::Outcome::failed &&
                    first_line(ended.attempt.error).find(outcome) != std::string::npos;
  return said ? "after " + time : fmt::format("{} in {}", outcome, time);
}

std::string end_text(const model::AttemptEnded& ended) {
  std::string text = outcome_text(ended);
  if (ended.event == model::RunEvent::retry)
    text += fmt::format(", tried again at {}", format_rfc3339(ended.not_before));
  if (ended.event == model::RunEvent::interrupt || ended.event == model::RunEvent::release) text += ", queued again";
  const std::string& error = ended.attempt.error;
  if (!error.empty() && ended.event != model::RunEvent::succeed) text += ": " + first_line(error);
  return text;
}

std::string deliveries_text(std::size_t count) {
  return count == 1 ? "1 delivery" : fmt::format("{} deliveries", count);
}

std::string pipeline_of(const std::string& trigger) { return trigger.substr(0, trigger.find('/')); }

constexpr std::size_t kMostTriggersNamed = 3;

}  // namespace

void EventLines::show(const model::ChangeSet& changes, Instant committed_at) {
  at_ = committed_at;
  for (const model::Change& change : changes) show_one(change);
}

void EventLines::show_one(const model::Change& change) {
  std::visit(
      Cases{[&](const model::RunQueued& queued) { show_queued(queued.run); },
            [&](const model::RunRestarted& restarted) {
              remember(restarted.run);
              line(yellow, "queued", restarted.run.pipeline, restarted.run.id,
                   "again: " + model::reason_sentence(restarted.run.reason));
            },
            [&](const model::RunClaimed& claimed) { show_started(claimed); },
            [&](const model::AttemptEnded& ended) { show_ended(ended); },
            [&](const model::QueuedCancelled& cancelled) {
              const Known known = forget(cancelled.run_id);
              line(yellow, "cancelled", known.pipeline, cancelled.run_id,
                   model::reason_sentence(cancelled.reason) + failed_deliveries(known));
            },
            [&](const model::CancelAsked& asked) {
              line(yellow, "cancelling", runs_[asked.run_id].pipeline, asked.run_id,
                   model::reason_sentence(asked.reason));
            },
            [&](const model::OccurrencesDecided& decided) {
              for (const model::Occurrence& o : decided.occurrences) {
                if (o.decision == model::Decision::run) continue;
                // A row that grew: it was said when it began.
                if (o.decision == model::Decision::excluded && o.scheduled_for <= decided.expected_decided_until) {
                  continue;
                }
                const std::string which =
                    o.count == 1 ? format_rfc3339(o.scheduled_for)
                                 : fmt::format("{} instants {} to {}", o.count, format_rfc3339(o.scheduled_for),
                                               format_rfc3339(o.scheduled_until));
                const std::string calendar = o.calendar.empty() ? "" : fmt::format(" ({})", o.calendar);
                line(yellow, model::to_text(o.decision), o.pipeline, {},
                     fmt::format("{}: {}{}", which, model::reason_sentence(o.reason), calendar));
              }
            },
            [&](const model::SchedulePaused& paused) {
              std::string why = paused.note;
              if (why.empty() && paused.paused) why = model::reason_sentence(paused.reason);
              line(yellow, paused.paused ? "paused" : "resumed", paused.schedule, {}, why);
            },
            [&](const model::AssetMaterialized& published) { show_published(published); },
            [&](const model::TriggerReplayed& replayed) {
              if (replayed.owed.empty()) return;
              line(plain, "owed", pipeline_of(replayed.trigger), {},
                   fmt::format("{} of earlier events to {}", deliveries_text(replayed.owed.size()), replayed.trigger));
            },
            [&](const model::DeliveriesClaimed& claimed) { show_claimed(claimed); },
            [&](const model::DeliveriesSkipped& skipped) { show_skipped(skipped); }, [](const auto&) {}},
      change);
}

void EventLines::remember(const model::Run& run) {
  Known& known = runs_[run.id];
  known.pipeline = run.pipeline;
  if (run.trigger == model::TriggerKind::data) known.trigger = run.trigger_id;
}

EventLines::Known EventLines::forget(const std::string& run_id) {
  const auto found = runs_.find(run_id);
  if (found == runs_.end()) return {};
  Known known = std::move(found->second);
  runs_.erase(found);
  return known;
}

void EventLines::show_queued(const model::Run& run) {
  remember(run);
  std::string why = model::to_text(run.trigger);
  if (run.scheduled_for) why += " " + run.trigger_id + " for " + format_rfc3339(*run.scheduled_for);
  if (run.trigger == model::TriggerKind::data) {
    why += " " + run.trigger_id;
    if (!run.partition.empty()) why += " for " + run.partition;
    if (!run.parent.empty()) why += ", published by run " + run.parent;
    if (form_ != Form::json) {
      runs_[run.id].cause = std::move(why);
      return;
    }
  }
  line(grey, "queued", run.pipeline, run.id, why);
}

/// The same set holds the run's RunQueued, before or after this.
void EventLines::show_claimed(const model::DeliveriesClaimed& claimed) {
  runs_[claimed.run_id].deliveries = claimed.ids.size();
  if (form_ != Form::json) return;
  line(plain, "claimed", pipeline_of(claimed.trigger), claimed.run_id,
       fmt::format("{} of {}", deliveries_text(claimed.ids.size()), claimed.trigger));
}

void EventLines::show_started(const model::RunClaimed& claimed) {
  Known& known = runs_[claimed.run_id];
  std::string text = claimed.number > 1 ? fmt::format("attempt {}", claimed.number) : std::string();
  if (!known.cause.empty()) {
    text += (text.empty() ? "" : ", ") + known.cause;
    if (known.deliveries > 1) text += ", " + deliveries_text(known.deliveries);
    known.cause.clear();
  }
  line(plain, "started", known.pipeline, claimed.run_id, text);
}

void EventLines::show_ended(const model::AttemptEnded& ended) {
  const std::string& id = ended.attempt.run_id;
  std::string text = end_text(ended);
  const auto next = model::next(model::RunState::running, ended.event);
  const bool over = next && model::is_terminal(next->to);
  const Known known = over ? forget(id) : runs_[id];
  if (over && next->to != model::RunState::succeeded) text += failed_deliveries(known);
  line(colour_of(ended), "ended", known.pipeline, id, text);
}

void EventLines::show_published(const model::AssetMaterialized& published) {
  const model::Materialization& event = published.event;
  std::string about = event.source == model::Source::run ? std::string() : "said by " + event.said_by;
  const auto add = [&about](const std::string& part) { about += (about.empty() ? "" : ", ") + part; };
  if (event.rows) add(fmt::format("{} row{}", *event.rows, *event.rows == 1 ? "" : "s"));
  if (event.unchanged) add("unchanged");
  std::string text = event.asset + (event.partition.empty() ? "" : " " + event.partition);
  if (!about.empty()) text += " (" + about + ")";
  if (published.owed.size() > kMostTriggersNamed) {
    text += "; " + deliveries_text(published.owed.size()) + " owed";
  } else if (!published.owed.empty()) {
    text += "; owed to ";
    for (const model::Delivery& delivery : published.owed)
      text += (&delivery == &published.owed.front() ? "" : ", ") + delivery.trigger;
  }
  line(green, "published", event.pipeline, event.run_id, text);
}

void EventLines::show_skipped(const model::DeliveriesSkipped& skipped) {
  const std::string why = skipped.error.empty() ? model::reason_sentence(skipped.reason) : first_line(skipped.error);
  line(yellow, "skipped", pipeline_of(skipped.trigger), {},
       fmt::format("{} of {}: {}", deliveries_text(skipped.ids.size()), skipped.trigger, why));
}

/// `; 3 deliveries of b/on_x failed`, of a data run.
std::string EventLines::failed_deliveries(const Known& known) {
  if (known.trigger.empty()) return {};
  return fmt::format("; {} of {} failed", known.deliveries == 0 ? "what was owed" : deliveries_text(known.deliveries),
                     known.trigger);
}

void EventLines::say(const std::string& event, const std::string& text) {
  at_ = clock_.now();
  line(plain, event, {}, {}, text);
}

void EventLines::line(const char* colour, const std::string& event, const std::string& pipeline,
                      const std::string& run_id, const std::string& text) {
  const std::string at = format_rfc3339(at_);
  std::string out;
  if (form_ == Form::json) {
    out = boost::json::serialize(
        boost::json::object{{"at", at}, {"event", event}, {"pipeline", pipeline}, {"run_id", run_id}, {"text", text}});
  } else {
    std::string what = fmt::format("{:<10}", event);
    if (!pipeline.empty()) {
      pipeline_width_ = std::max(pipeline_width_, pipeline.size());
      what += fmt::format(" {:<{}}", pipeline, pipeline_width_);
    }
    for (const std::string& part : {run_id, text}) {
      if (!part.empty()) what += " " + part;
    }
    what.erase(what.find_last_not_of(' ') + 1);
    const std::string when = time_text(at, form_ == Form::screen);
    out = colour_ && *colour ? fmt::format("{} {}{}\033[0m", when, colour, what) : fmt::format("{} {}", when, what);
  }
  // What poll() calls writable takes 4096 bytes (PIPE_BUF) without waiting.
  if (form_ != Form::json && out.size() > 2000) out.resize(2000);
  out += '\n';
  // A terminal that is stopped (Ctrl-S) or a full pipe must not hold the loop: then the line is lost.
  pollfd writable{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT)) {
    [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, out.data(), out.size());
  }
}

}  // namespace eider::app
