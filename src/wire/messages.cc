#include "wire/messages.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

#include <boost/json.hpp>

#include "base/utf8.h"

namespace eider::wire {
namespace {

namespace json = boost::json;

// One list of fields a message drives both directions. Times are whole microseconds (`…_us`), so that they are exact.
template <typename C, typename T>
struct Field {
  const char* key;
  T C::*member;
  bool may_be_missing = false;  ///< what an earlier eider did not write; then the member keeps its default
};
template <typename C, typename T>
Field(const char*, T C::*) -> Field<C, T>;
template <typename C, typename T>
Field(const char*, T C::*, bool) -> Field<C, T>;
constexpr bool came_later = true;

constexpr auto fields_of(const Welcome*) {
  return std::tuple{Field{"workspace", &Welcome::workspace}, Field{"warm_sql", &Welcome::warm_sql},
                    Field{"duckdb_library", &Welcome::duckdb_library}};
}
constexpr auto fields_of(const Job*) {
  return std::tuple{Field{"run_id", &Job::run_id},
                    Field{"attempt", &Job::attempt},
                    Field{"definition", &Job::definition},
                    Field{"facts", &Job::facts},
                    Field{"folder", &Job::folder},
                    Field{"log_limit_bytes", &Job::log_limit_bytes},
                    Field{"clock_offset_us", &Job::clock_offset},
                    Field{"kept", &Job::kept, came_later}};
}
constexpr auto fields_of(const Cancel*) {
  return std::tuple{Field{"run_id", &Cancel::run_id}, Field{"attempt", &Cancel::attempt},
                    Field{"reason", &Cancel::reason}};
}
constexpr auto fields_of(const Quit*) { return std::tuple{}; }
constexpr auto fields_of(const Ready*) { return std::tuple{Field{"pid", &Ready::pid}}; }
constexpr auto fields_of(const StepStarted*) {
  return std::tuple{Field{"run_id", &StepStarted::run_id}, Field{"attempt", &StepStarted::attempt},
                    Field{"step", &StepStarted::step}, Field{"pid", &StepStarted::pid},
                    Field{"at_us", &StepStarted::at}};
}
constexpr auto fields_of(const StepProgress*) {
  return std::tuple{Field{"run_id", &StepProgress::run_id}, Field{"attempt", &StepProgress::attempt},
                    Field{"step", &StepProgress::step}, Field{"fraction", &StepProgress::fraction}};
}
constexpr auto fields_of(const StepResult*) {
  return std::tuple{Field{"step", &StepResult::step},
                    Field{"outcome", &StepResult::outcome},
                    Field{"started_at_us", &StepResult::started_at},
                    Field{"finished_at_us", &StepResult::finished_at},
                    Field{"exit_code", &StepResult::exit_code},
                    Field{"signal", &StepResult::signal},
                    Field{"peak_memory_bytes", &StepResult::peak_memory_bytes},
                    Field{"rows", &StepResult::rows},
                    Field{"error", &StepResult::error},
                    Field{"facts", &StepResult::facts},
                    Field{"left_over_processes", &StepResult::left_over_processes},
                    Field{"said", &StepResult::said, came_later},
                    Field{"content", &StepResult::content, came_later},
                    Field{"unpublished", &StepResult::unpublished},
                    Field{"kept_from", &StepResult::kept_from, came_later}};
}
constexpr auto fields_of(const StepEnded*) {
  return std::tuple{Field{"run_id", &StepEnded::run_id}, Field{"attempt", &StepEnded::attempt},
                    Field{"result", &StepEnded::result}};
}
constexpr auto fields_of(const Rename*) {
  return std::tuple{Field{"staged", &Rename::staged}, Field{"target", &Rename::target}, Field{"inode", &Rename::inode},
                    Field{"folder", &Rename::folder}, Field{"asset", &Rename::asset, came_later}};
}
constexpr auto fields_of(const Publication*) {
  return std::tuple{Field{"asset", &Publication::asset},
                    Field{"partition", &Publication::partition},
                    Field{"step", &Publication::step},
                    Field{"rows", &Publication::rows},
                    Field{"bytes", &Publication::bytes},
                    Field{"columns", &Publication::columns},
                    Field{"fingerprint", &Publication::fingerprint},
                    Field{"metadata", &Publication::metadata}};
}
constexpr auto fields_of(const Published*) {
  return std::tuple{Field{"run_id", &Published::run_id}, Field{"attempt", &Published::attempt},
                    Field{"publication", &Published::publication}};
}
constexpr auto fields_of(const PublishedSoFar*) {
  return std::tuple{Field{"publications", &PublishedSoFar::publications}, Field{"renames", &PublishedSoFar::renames}};
}
constexpr auto fields_of(const FileHeld*) {
  return std::tuple{Field{"path", &FileHeld::path}, Field{"pid", &FileHeld::pid}};
}
constexpr auto fields_of(const AttemptResult*) {
  return std::tuple{Field{"run_id", &AttemptResult::run_id},
                    Field{"attempt", &AttemptResult::attempt},
                    Field{"outcome", &AttemptResult::outcome},
                    Field{"error", &AttemptResult::error},
                    Field{"started_at_us", &AttemptResult::started_at},
                    Field{"finished_at_us", &AttemptResult::finished_at},
                    Field{"worker_pid", &AttemptResult::worker_pid},
                    Field{"exit_code", &AttemptResult::exit_code},
                    Field{"signal", &AttemptResult::signal},
                    Field{"peak_memory_bytes", &AttemptResult::peak_memory_bytes},
                    Field{"steps", &AttemptResult::steps},
                    Field{"renames", &AttemptResult::renames},
                    Field{"publications", &AttemptResult::publications, came_later},
                    Field{"file_held", &AttemptResult::file_held}};
}
constexpr auto fields_of(const Finished*) { return std::tuple{Field{"result", &Finished::result}}; }
constexpr auto fields_of(const Adopted*) {
  return std::tuple{Field{"run_id", &Adopted::run_id},   Field{"attempt", &Adopted::attempt},
                    Field{"pid", &Adopted::pid},         Field{"steps", &Adopted::steps},
                    Field{"running", &Adopted::running}, Field{"published", &Adopted::published, came_later}};
}

constexpr const char* kind_of(const Welcome*) { return "welcome"; }
constexpr const char* kind_of(const Job*) { return "job"; }
constexpr const char* kind_of(const Cancel*) { return "cancel"; }
constexpr const char* kind_of(const Quit*) { return "quit"; }
constexpr const char* kind_of(const Ready*) { return "ready"; }
constexpr const char* kind_of(const StepStarted*) { return "step_started"; }
constexpr const char* kind_of(const StepProgress*) { return "step_progress"; }
constexpr const char* kind_of(const StepEnded*) { return "step_ended"; }
constexpr const char* kind_of(const Published*) { return "published"; }
constexpr const char* kind_of(const PublishedSoFar*) { return "published_so_far"; }
constexpr const char* kind_of(const Finished*) { return "finished"; }
constexpr const char* kind_of(const AttemptResult*) { return "result"; }
constexpr const char* kind_of(const Adopted*) { return "adopted"; }

template <typename T>
concept Message = requires(const T* value) {
  fields_of(value);
};
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

// ---- values to JSON ----------------------------------------------------------------------------------------------

json::value to_json(const std::string& value) { return json::value(value); }
json::value to_json(bool value) { return value; }
json::value to_json(int value) { return value; }
json::value to_json(std::int64_t value) { return value; }
json::value to_json(std::uint64_t value) { return value; }
json::value to_json(double value) { return std::isfinite(value) ? value : 0.0; }  // JSON has no NaN
json::value to_json(Micros value) { return value.count(); }
json::value to_json(Instant value) { return to_us(value); }
json::value to_json(StepOutcome value) { return to_text(value); }
json::value to_json(model::Outcome value) { return model::to_text(value); }
json::value to_json(const std::map<std::string, std::string>& value) {
  json::object out;
  for (const auto& [key, text] : value) out[key] = text;
  return out;
}
template <Message T>
json::value to_json(const T& value);
template <typename T>
json::value to_json(const std::vector<T>& value) {
  json::array out;
  for (const T& item : value) out.push_back(to_json(item));
  return out;
}

template <typename T>
void put(json::object& out, const char* key, const T& value) {
  if constexpr (is_optional<T>) {
    if (value) out[key] = to_json(*value);
  } else {
    out[key] = to_json(value);
  }
}
template <Message T>
void put_fields(json::object& out, const T& value) {
  std::apply([&](const auto&... field) { (put(out, field.key, value.*field.member), ...); }, fields_of(&value));
}
template <Message T>
json::value to_json(const T& value) {
  json::object out;
  put_fields(out, value);
  return out;
}

template <Message T>
std::string encode_message(const T& message) {
  json::object out;
  out["version"] = wire_version;
  out["kind"] = kind_of(&message);
  put_fields(out, message);
  return json::serialize(out);
}

// ---- JSON to values ----------------------------------------------------------------------------------------------
// Each `take` returns what is wrong, or nothing.

using Problem = std::string;

Problem take(const json::value& from, std::string& to) {
  if (!from.is_string()) return "must be a text";
  to.assign(from.get_string().begin(), from.get_string().end());
  return {};
}
Problem take(const json::value& from, bool& to) {
  if (!from.is_bool()) return "must be true or false";
  to = from.get_bool();
  return {};
}
template <typename T>
requires std::is_arithmetic_v<T> Problem take(const json::value& from, T& to) {
  json::error_code error;
  if (from.is_number()) to = from.to_number<T>(error);
  if (!from.is_number() || error) return std::is_integral_v<T> ? "must be a whole number in range" : "must be a number";
  return {};
}
Problem take(const json::value& from, Micros& to) {
  std::int64_t count = 0;
  Problem problem = take(from, count);
  to = Micros(count);
  return problem;
}
Problem take(const json::value& from, Instant& to) {
  std::int64_t us = 0;
  Problem problem = take(from, us);
  to = from_us(us);
  return problem;
}
template <typename E>
Problem take_named(const json::value& from, E& to, E last) {
  for (int index = 0; index <= static_cast<int>(last); ++index) {
    const E value = static_cast<E>(index);
    if (to_json(value) == from) {
      to = value;
      return {};
    }
  }
  return "is no outcome that this version knows";
}
Problem take(const json::value& from, StepOutcome& to) { return take_named(from, to, StepOutcome::receipt_found); }
Problem take(const json::value& from, model::Outcome& to) { return take_named(from, to, model::Outcome::released); }
Problem take(const json::value& from, std::map<std::string, std::string>& to) {
  if (!from.is_object()) return "must be an object of texts";
  for (const auto& [key, value] : from.get_object()) {
    if (Problem problem = take(value, to[std::string(key)]); !problem.empty()) {
      return "`" + std::string(key) + "` " + problem;
    }
  }
  return {};
}
template <Message T>
Problem take(const json::value& from, T& to);
template <typename T>
Problem take(const json::value& from, std::vector<T>& to) {
  if (!from.is_array()) return "must be an array";
  for (const json::value& item : from.get_array()) {
    if (Problem problem = take(item, to.emplace_back()); !problem.empty()) {
      return "[" + std::to_string(to.size() - 1) + "]: " + problem;
    }
  }
  return {};
}
template <typename T>
Problem take(const json::value& from, std::optional<T>& to) {
  return from.is_null() ? Problem() : take(from, to.emplace());
}
template <typename T>
Problem take_field(const json::object& from, const char* key, T& to, bool may_be_missing = false) {
  const json::value* found = from.if_contains(key);
  if (found == nullptr) return is_optional<T> || may_be_missing ? Problem() : "`" + std::string(key) + "` is missing";
  Problem problem = take(*found, to);
  return problem.empty() ? problem : "`" + std::string(key) + "` " + problem;
}
template <Message T>
Problem take(const json::value& from, T& to) {
  if (!from.is_object()) return "must be an object";
  Problem problem;
  std::apply(
      [&](const auto&... field) {
        ((problem.empty()
              ? void(problem = take_field(from.get_object(), field.key, to.*field.member, field.may_be_missing))
              : void()),
         ...);
      },
      fields_of(&to));
  return problem;
}

Error corrupt(const std::string& what) { return Error{ErrorCode::corrupt, "worker message: " + what}; }

/// A frame's object, of a version that this program reads, and its kind.
struct Envelope {
  json::value content;
  std::string kind;
};

Result<Envelope> open_envelope(std::string_view text) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // paths are bytes; what we wrote we must read back
  json::error_code error;
  Envelope out;
  out.content = json::parse(json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return corrupt("no JSON: " + error.message());
  if (!out.content.is_object()) return corrupt("must be an object");
  const json::object& object = out.content.get_object();
  std::int64_t version = 0;
  if (Problem problem = take_field(object, "version", version); !problem.empty()) return corrupt(problem);
  if (version > wire_version) {
    return corrupt("it has version " + std::to_string(version) + ", and this program reads 1 to " +
                   std::to_string(wire_version) + ": a newer eider wrote it; start that one");
  }
  if (version < 1) return corrupt("version " + std::to_string(version) + " never existed");
  if (Problem problem = take_field(object, "kind", out.kind); !problem.empty()) return corrupt(problem);
  return out;
}

template <typename Variant, std::size_t index = 0>
Result<Variant> decode_as(const Envelope& envelope) {
  if constexpr (index == std::variant_size_v<Variant>) {
    return corrupt("unknown kind `" + envelope.kind + "`");
  } else {
    std::variant_alternative_t<index, Variant> message;
    if (envelope.kind != kind_of(&message)) return decode_as<Variant, index + 1>(envelope);
    if (Problem problem = take(envelope.content, message); !problem.empty()) {
      return corrupt(envelope.kind + ": " + problem);
    }
    return Variant(std::move(message));
  }
}

template <typename Variant>
Result<Variant> decode(std::string_view text) {
  const Result<Envelope> envelope = open_envelope(text);
  if (!envelope) return envelope.error();
  return decode_as<Variant>(*envelope);
}

template <Message T>
Result<T> decode_one(std::string_view text) {
  auto decoded = decode<std::variant<T>>(text);
  if (!decoded) return decoded.error();
  return std::get<T>(std::move(*decoded));
}

/// The step's facts as JSON; what is no JSON object (it never was checked here) is shown as text.
json::value facts_json(const std::string& facts) {
  json::error_code error;
  json::value parsed = json::parse(facts, error);
  return error ? json::value(facts) : parsed;
}

}  // namespace

const char* to_text(StepOutcome value) {
  switch (value) {
    case StepOutcome::succeeded:
      return "succeeded";
    case StepOutcome::failed:
      return "failed";
    case StepOutcome::timed_out:
      return "timed_out";
    case StepOutcome::cancelled:
      return "cancelled";
    case StepOutcome::skipped:
      return "skipped";
    case StepOutcome::receipt_found:
      return "receipt_found";
  }
  return "unknown";
}

std::string encode(const ToWorker& message) {
  return std::visit([](const auto& content) { return encode_message(content); }, message);
}
std::string encode(const ToServer& message) {
  return std::visit([](const auto& content) { return encode_message(content); }, message);
}
Result<ToWorker> decode_to_worker(std::string_view text) { return decode<ToWorker>(text); }
Result<ToServer> decode_to_server(std::string_view text) { return decode<ToServer>(text); }

std::string encode_result(const AttemptResult& result) { return encode_message(result); }
std::string encode_published(const PublishedSoFar& published) { return encode_message(published); }

Result<AttemptResult> decode_result(std::string_view text) { return decode_one<AttemptResult>(text); }
Result<PublishedSoFar> decode_published(std::string_view text) { return decode_one<PublishedSoFar>(text); }

bool went_well(StepOutcome value) { return value == StepOutcome::succeeded || value == StepOutcome::receipt_found; }

std::string steps_json(const std::vector<StepResult>& steps) {
  json::array out;
  for (const StepResult& step : steps) {
    json::object shown = to_json(step).get_object();
    for (const char* key : {"started_at", "finished_at"}) {
      shown.erase(std::string(key) + "_us");
      const std::optional<Instant>& at = key[0] == 's' ? step.started_at : step.finished_at;
      if (at) shown[key] = format_rfc3339(*at);
    }
    shown.erase("facts");
    if (!step.facts.empty()) shown["facts"] = facts_json(step.facts);
    for (const char* key : {"error", "said", "content"}) {
      if (shown.at(key).get_string().empty()) shown.erase(key);
    }
    for (const char* key : {"left_over_processes", "kept_from"}) {
      if (shown.at(key) == json::value(0)) shown.erase(key);
    }
    out.push_back(std::move(shown));
  }
  return made_utf8(json::serialize(out));
}

Result<std::vector<StepResult>> parse_steps(std::string_view text) {
  std::vector<StepResult> out;
  if (text.empty()) return out;
  json::error_code error;
  json::value stored = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !stored.is_array()) return corrupt("the stored steps are no array");
  for (json::value& value : stored.get_array()) {
    if (!value.is_object()) return corrupt("a stored step is no object");
    json::object& step = value.get_object();
    for (const char* key : {"started_at", "finished_at"}) {
      const json::value* at = step.if_contains(key);
      const auto instant = at && at->is_string() ? parse_rfc3339(at->get_string()) : Result<Instant>(Instant{});
      if (!instant) return instant.error();
      if (at) step[std::string(key) + "_us"] = to_us(*instant);
    }
    const json::value* facts = step.if_contains("facts");
    step["facts"] = facts ? json::value(json::serialize(*facts)) : json::value("");
    for (const char* key : {"error", "left_over_processes"}) {
      if (!step.contains(key)) step[key] = key[0] == 'e' ? json::value("") : json::value(0);
    }
    if (Problem problem = take(value, out.emplace_back()); !problem.empty())
      return corrupt("a stored step: " + problem);
  }
  return out;
}

}  // namespace eider::wire
