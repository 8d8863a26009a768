#include "api/words.h"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_parts.h"
#include "base/cases.h"

namespace eider::api {
namespace {

/// Of a time that the server took, whole seconds are enough.
std::string seconds_of(Instant at) { return format_rfc3339(std::chrono::floor<std::chrono::seconds>(at)); }

/// `: …`, of what is known; the error says more than the reason.
std::string because(const std::string& error, const std::string& reason) {
  if (!error.empty()) return ": " + first_line(error);
  return reason.empty() ? std::string() : ": " + model::reason_sentence(reason);
}

std::string waits(const model::Run& run, const engine::LiveRun* live) {
  std::string out;
  for (const engine::Waiting& each : live ? live->waiting_for : std::vector<engine::Waiting>()) {
    out += out.empty() ? ": waits for " : "; ";
    out += awaited(each.kind, each.name);
    if (!each.detail.empty()) out += fmt::format(" ({})", each.detail);
    out += " since " + seconds_of(each.since);
  }
  if (out.empty() && run.not_before > run.created_at) out = ", and not tried before " + seconds_of(run.not_before);
  return out;
}

std::string state_of(const model::Run& run, const engine::LiveRun* live) {
  const std::string attempt = run.attempt > 1 ? fmt::format(" (attempt {})", run.attempt) : std::string();
  switch (run.state) {
    case model::RunState::queued:
      return "is queued" + waits(run, live);
    case model::RunState::running:
      return "is running" + attempt;
    case model::RunState::succeeded:
      return "succeeded" + attempt;
    case model::RunState::failed:
      return "failed" + attempt + because(run.error, run.reason);
    case model::RunState::cancelled:
      return "was cancelled" + because(run.error, run.reason);
  }
  return {};
}

std::string words_of(const model::Occurrence& occurrence) {
  std::string out = fmt::format("schedule {} was due", occurrence.schedule);
  if (occurrence.count > 1)
    out += fmt::format(" at {} instants up to {}", occurrence.count, format_rfc3339(occurrence.scheduled_until));
  if (occurrence.decision != model::Decision::run) out += fmt::format(", and {}", model::to_text(occurrence.decision));
  if (!occurrence.calendar.empty()) out += fmt::format(" by {}", occurrence.calendar);
  // That it was due is said.
  return occurrence.reason == model::reason::due ? out : out + because({}, occurrence.reason);
}

std::string words_of(const model::Run& run, const Link& link, const engine::LiveRun* live) {
  std::string out = fmt::format("run {} of {}", run.id, run.pipeline);
  if (!run.partition.empty()) out += " for " + run.partition;
  if (run.trigger == model::TriggerKind::manual) out += fmt::format(", asked for by {},", run.trigger_id);
  if (link.others > 0) out += fmt::format(", made for this and {} more events,", link.others);
  if (link.again) return out + " as above";
  return out + " " + state_of(run, live);
}

/// The file that landed, where the metadata names it.
std::string file_of(const model::Materialization& event) {
  const boost::json::value metadata = shapes::stored_json(event.metadata);
  const boost::json::object* fields = metadata.if_object();
  const boost::json::value* file = fields ? fields->if_contains("file") : nullptr;
  return file && file->is_string() ? std::string(file->get_string()) : std::string();
}

std::string words_of(const model::Materialization& event) {
  switch (event.source) {
    case model::Source::run:
      return "published " + in_words(event);
    case model::Source::watched: {
      const std::string file = file_of(event);
      return file.empty() ? fmt::format("a file landed in {}: {}", event.said_by, in_words(event))
                          : fmt::format("the file {} landed: {}", file, in_words(event));
    }
    case model::Source::reported:
      return event.run_id.empty() ? fmt::format("{} reported from outside: {}", event.said_by, in_words(event))
                                  : "a step reported " + in_words(event);
  }
  return {};
}

std::string words_of(const model::Delivery& delivery, const std::string& waiting_for) {
  std::string out = fmt::format("delivery {} to {}", delivery.id, delivery.trigger);
  switch (delivery.state) {
    case model::DeliveryState::pending:
      return out + " is pending" + because(waiting_for, {});
    case model::DeliveryState::claimed:
      return out + " is claimed";
    case model::DeliveryState::delivered:
      return out + " is delivered";
    case model::DeliveryState::failed:
      return out + " failed" + because(delivery.error, delivery.reason);
    case model::DeliveryState::skipped:
      return out + " was skipped" + because(delivery.error, delivery.reason);
  }
  return out;
}

}  // namespace

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string awaited(std::string_view kind, std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"worker", "a worker"},        {"memory", "memory"},
      {"server", "a server"},        {"backoff", "its next attempt"},
      {"definition", "a good file"}, {"draining", "the next server"},
      {"temp", "temporary space"},   {"share", "its share of workers"}};
  for (const auto& [known, word] : words) {
    if (kind == known) return std::string(word);
  }
  return std::string(kind) + (name.empty() ? "" : " ") + std::string(name);
}

std::string in_words(const model::Materialization& event) {
  std::string about;
  const auto add = [&about](const std::string& part) { about += (about.empty() ? "" : ", ") + part; };
  if (event.rows) add(fmt::format("{} row{}", *event.rows, *event.rows == 1 ? "" : "s"));
  if (event.bytes) add(fmt::format("{} byte{}", *event.bytes, *event.bytes == 1 ? "" : "s"));
  if (event.unchanged) add("unchanged");
  return event.asset + (event.partition.empty() ? "" : " " + event.partition) +
         (about.empty() ? "" : " (" + about + ")");
}

std::string in_words(const Link& link, const engine::LiveRun* live, const std::string& waiting_for) {
  return std::visit(Cases{[](const model::Occurrence& occurrence) { return words_of(occurrence); },
                          [&](const model::Run& run) { return words_of(run, link, live); },
                          [](const model::Materialization& event) { return words_of(event); },
                          [&](const model::Delivery& delivery) { return words_of(delivery, waiting_for); }},
                    link.thing);
}

}  // namespace eider::api
