#include "api/history.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_parts.h"
#include "api/usual.h"
#include "api/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;

/// `timed_out` -> `TimedOut`.
std::string camel(std::string_view word) {
  std::string out;
  bool upper = true;
  for (const char c : word) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    upper = false;
  }
  return out;
}

class Historian {
 public:
  Historian(const model::Run& run, const engine::LiveRun* live, const std::string& longer, Instant now)
      : run_(run), live_(live), longer_(longer), now_(now) {}

  std::vector<Moment> go(const std::vector<model::Attempt>& attempts) {
    queued();
    Instant free = run_.created_at;  // since when it could have begun
    for (const model::Attempt& attempt : attempts) {
      began(attempt, free);
      kept(attempt);
      const bool last = &attempt == &attempts.back();
      if (last && run_.cancel_asked_at) {
        add(*run_.cancel_asked_at, model::reason::requested, "a cancel was asked for");
      }
      if (!attempt.outcome) continue;
      ended(attempt);
      free = attempt.finished_at.value_or(free);
    }
    asked_again();
    now_or_end();
    return std::move(out_);
  }

 private:
  void add(Instant at, std::string code, std::string text) { out_.push_back({at, std::move(code), std::move(text)}); }

  void queued() {
    switch (run_.trigger) {
      case model::TriggerKind::schedule:
        return add(run_.created_at, model::reason::due, fmt::format("queued for schedule {}", run_.trigger_id));
      case model::TriggerKind::data:
        return add(run_.created_at, model::reason::data_published,
                   fmt::format("queued for trigger {}", run_.trigger_id));
      case model::TriggerKind::manual:
        return add(run_.created_at, model::reason::requested, fmt::format("queued, asked for by {}", run_.trigger_id));
      case model::TriggerKind::backfill:
        return add(run_.created_at, "Backfill", fmt::format("queued for backfill {}", run_.trigger_id));
    }
  }

  void began(const model::Attempt& attempt, Instant free) {
    const Micros waited = attempt.claimed_at - free;
    std::string text = fmt::format("attempt {} began", attempt.number);
    if (waited >= std::chrono::seconds(1)) text += fmt::format(", {} later", short_duration(waited));
    add(attempt.claimed_at, "Claimed", std::move(text));
  }

  void kept(const model::Attempt& attempt) {
    std::string names;
    const json::value steps = shapes::stored_json(attempt.steps);
    for (const json::value& step : steps.is_array() ? steps.get_array() : json::array()) {
      const json::object* fields = step.if_object();
      if (!fields || !fields->contains("kept_from") || !fields->contains("step")) continue;
      names += (names.empty() ? "" : ", ") + json::value_to<std::string>(fields->at("step"));
    }
    if (!names.empty()) add(attempt.claimed_at, "StepsKept", "kept what was done before: " + names);
  }

  void ended(const model::Attempt& attempt) {
    std::string text = fmt::format("attempt {} ", attempt.number);
    switch (*attempt.outcome) {
      case model::Outcome::timed_out:
        text += "timed out";
        break;
      case model::Outcome::interrupted:
        text += "was interrupted";
        break;
      case model::Outcome::cancelled:
        text += "was cancelled";
        break;
      default:
        text += model::to_text(*attempt.outcome);
    }
    if (!attempt.error.empty()) text += ": " + first_line(attempt.error);
    add(attempt.finished_at.value_or(attempt.claimed_at), camel(model::to_text(*attempt.outcome)), std::move(text));
  }

  void asked_again() {
    if (run_.reason != model::reason::retried || model::is_terminal(run_.state)) return;
    add(run_.not_before, model::reason::retried, model::reason_sentence(model::reason::retried));
  }

  void now_or_end() {
    if (run_.state == model::RunState::succeeded) return;  // its attempt has said it
    if (model::is_terminal(run_.state)) {
      std::string text = run_.state == model::RunState::cancelled ? "cancelled" : model::to_text(run_.state);
      // The attempt's error has been said; without an attempt the run's own is all there is.
      if (!run_.reason.empty()) text += ": " + model::reason_sentence(run_.reason);
      const std::string code = run_.reason.empty() ? camel(model::to_text(run_.state)) : run_.reason;
      return add(run_.finished_at.value_or(run_.created_at), code, std::move(text));
    }
    if (run_.state == model::RunState::running) {
      if (!longer_.empty()) add(now_, "LongerThanUsual", "it runs " + longer_);
      return;
    }
    for (const engine::Waiting& each : live_ ? live_->waiting_for : std::vector<engine::Waiting>()) {
      add(each.since, "WaitsFor" + camel(each.kind),
          fmt::format("waits for {}{}", awaited(each.kind, each.name),
                      each.detail.empty() ? "" : fmt::format(" ({})", each.detail)));
    }
  }

  const model::Run& run_;
  const engine::LiveRun* live_;
  const std::string& longer_;
  const Instant now_;
  std::vector<Moment> out_;
};

}  // namespace

std::vector<Moment> history(const model::Run& run, const std::vector<model::Attempt>& attempts,
                            const engine::LiveRun* live, const std::string& longer, Instant now) {
  return Historian(run, live, longer, now).go(attempts);
}

json::array json_of(const std::vector<Moment>& history) {
  json::array out;
  for (const Moment& each : history) {
    out.push_back({{"at", shapes::time_text(each.at)}, {"code", each.code}, {"text", each.text}});
  }
  return out;
}

}  // namespace eider::api
