#include "api/parameters.h"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "api/json_keys.h"
#include "model/pipeline.h"
#include "workspace/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kCursorLimitBytes = 200;
constexpr std::size_t kKeyLimitBytes = 400;
constexpr const char* kTimeExpected = "a time by RFC 3339, such as 2026-03-29T01:00:00Z";
const std::initializer_list<std::string_view> kStates = {"queued", "running", "succeeded", "failed", "cancelled"};
const std::initializer_list<std::string_view> kDecisions = {"run",       "skipped",  "missed",
                                                            "coalesced", "excluded", "paused"};
const std::initializer_list<std::string_view> kDeliveryStates = {"pending", "claimed", "delivered", "failed",
                                                                 "skipped"};
constexpr const char* kTriggerExpected = "`pipeline/id` of a trigger, such as flights_daily/on_flights";
constexpr const char* kAssetExpected =
    "the name of an asset: letters, digits, `_` and `-`, its parts joined by dots, such as raw.flights";
constexpr const char* kPartitionExpected =
    "a partition: 1 to 200 letters, digits and `_ - . : + =`, the first a letter or digit, such as 2026-03-29";
constexpr const char* kNameExpected = "a name: 1 to 100 letters, digits, `_` or `-`, the first a letter or digit";

std::string_view nearest_of(std::string_view word, std::initializer_list<std::string_view> known) {
  return workspace::closest(word, std::vector<std::string_view>(known));
}

std::string listed(std::initializer_list<std::string_view> words) {
  return workspace::join_words(std::vector<std::string_view>(words), " or ");
}

void suggest(Problem& problem, std::string_view suggestion) {
  if (suggestion.empty()) return;
  problem.extensions["suggestion"] = suggestion;
  problem.detail += fmt::format("; did you mean `{}`?", suggestion);
}

/// Of a name that stands where none of `known` stands.
Problem unknown_key(const char* what, std::string_view name, std::string_view expected, std::string_view suggestion) {
  Problem problem{400,
                  "invalid-parameter",
                  fmt::format("the {} `{}` is not known here: expected {}", what, shown(name), expected),
                  {{"parameter", shown(name)}, {"expected", std::string(expected)}}};
  suggest(problem, suggestion);
  return problem;
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

/// `pipeline/id`.
bool is_key(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && model::check_name("pipeline", text.substr(0, slash)).ok() &&
         model::check_name("trigger", text.substr(slash + 1)).ok();
}

}  // namespace

Problem parameter_problem(std::string_view parameter, std::string_view sentence, std::string_view expected,
                          std::string_view suggestion) {
  Problem problem{400,
                  "invalid-parameter",
                  fmt::format("the parameter `{}`: {}", parameter, sentence),
                  {{"parameter", std::string(parameter)}, {"expected", std::string(expected)}}};
  suggest(problem, suggestion);
  return problem;
}

std::string wrong_value(std::string_view value, std::string_view expected) {
  return fmt::format("`{}` is wrong: expected {}", shown(value), expected);
}

Problem unknown_name(const UnknownName& unknown, const std::vector<std::string>& known) {
  Problem problem{404, "not-found", unknown.sentence, {}};
  if (!unknown.parameter.empty()) {
    problem.status = 400;
    problem.code = "invalid-parameter";
    problem.detail = fmt::format("the parameter `{}`: {}", unknown.parameter, unknown.sentence);
    problem.extensions["parameter"] = unknown.parameter;
  }
  const std::string meant = nearest(unknown.name, known);
  suggest(problem, meant);
  if (meant.empty()) problem.detail += "; " + unknown.hint;
  return problem;
}

Problem unknown_pipeline(const std::string& parameter, const std::string& name, const std::vector<std::string>& known) {
  return unknown_name({parameter, fmt::format("there is no pipeline `{}` in this workspace", shown(name)), name,
                       "`eider pipelines list` shows them"},
                      known);
}

Problem unknown_pipeline(const std::string& parameter, const std::string& name,
                         const std::vector<engine::PipelineView>& views) {
  std::vector<std::string> known;
  known.reserve(views.size());
  for (const engine::PipelineView& view : views) known.push_back(view.name);
  return unknown_pipeline(parameter, name, known);
}

bool has_pipeline(const std::vector<engine::PipelineView>& views, const std::string& name) {
  return std::any_of(views.begin(), views.end(), [&](const engine::PipelineView& view) { return view.name == name; });
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  return std::string(workspace::closest(word, std::vector<std::string_view>(known.begin(), known.end())));
}

// ---- query
// -----------------------------------------------------------------------------------------------------------

QueryReader::QueryReader(const Request& request, std::initializer_list<std::string_view> known) : request_(request) {
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string expected = known.size() == 0 ? "no parameters at this address" : "one of " + listed(known);
    fail_with(unknown_key("parameter", name, expected, nearest_of(name, known)));
  }
}

const std::string* QueryReader::find(const std::string& name) const {
  const auto at = request_.query.find(name);
  return at == request_.query.end() ? nullptr : &at->second;
}

void QueryReader::fail_with(Problem problem) {
  if (!problem_) problem_ = std::move(problem);
}

void QueryReader::fail(const std::string& parameter, std::string_view expected, std::string_view suggestion) {
  const std::string* value = find(parameter);
  fail_with(parameter_problem(parameter, wrong_value(value ? *value : std::string(), expected), expected, suggestion));
}

int QueryReader::limit() { return static_cast<int>(number("limit", 1, kLargestPage).value_or(kDefaultPageSize)); }

std::string QueryReader::cursor() {
  const std::string* text = find("cursor");
  if (!text) return {};
  const bool fits = !text->empty() && text->size() <= kCursorLimitBytes;
  if (!fits) fail("cursor", "the `next` of a page of this list");
  return fits ? *text : std::string();
}

std::optional<model::RunState> QueryReader::state() {
  const std::string* text = find("state");
  if (!text) return std::nullopt;
  const auto value = model::run_state_from(*text);
  if (!value) fail("state", "one of " + listed(kStates), nearest_of(*text, kStates));
  return value;
}

std::optional<model::Decision> QueryReader::decision() {
  const std::string* text = find("decision");
  if (!text) return std::nullopt;
  using enum model::Decision;
  // `excluded` is for calendars, which nothing reads yet.
  for (const model::Decision value : {run, skipped, missed, coalesced, excluded, paused}) {
    if (*text == model::to_text(value)) return value;
  }
  fail("decision", "one of " + listed(kDecisions), nearest_of(*text, kDecisions));
  return std::nullopt;
}

std::optional<Instant> QueryReader::time(const std::string& name) {
  const std::string* text = find(name);
  if (!text) return std::nullopt;
  auto at = parse_rfc3339(*text);
  if (at) return *at;
  fail_with(parameter_problem(name, at.error().message, kTimeExpected));
  return std::nullopt;
}

std::optional<std::int64_t> QueryReader::number(const std::string& name, std::int64_t least, std::int64_t most) {
  const std::string* text = find(name);
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc() && end == text->data() + text->size() && value >= least && value <= most) return value;
  fail(name, fmt::format("a whole number from {} to {}", least, most));
  return std::nullopt;
}

bool QueryReader::flag(const std::string& name) {
  const std::string* text = find(name);
  if (!text || *text == "false" || *text == "0") return false;
  if (text->empty() || *text == "true" || *text == "1") return true;
  fail(name, "`true` or `false`");
  return false;
}

std::string QueryReader::name(const std::string& parameter) {
  const std::string* text = find(parameter);
  if (!text) return {};
  if (model::check_name(parameter, *text)) return *text;
  fail(parameter, kNameExpected);
  return {};
}

std::string QueryReader::schedule(const std::string& parameter) {
  const std::string* text = find(parameter);
  if (!text) return {};
  const std::size_t slash = std::min(text->find('/'), text->size());
  const bool pipeline_fits = model::check_name(parameter, std::string_view(*text).substr(0, slash)).ok();
  const bool id_fits =
      slash == text->size() || model::check_name(parameter, std::string_view(*text).substr(slash + 1)).ok();
  if (pipeline_fits && id_fits) return *text;
  fail(parameter, "`pipeline/id` of a schedule, or a pipeline's name for all of its schedules");
  return {};
}

std::string QueryReader::trigger(const std::string& parameter) {
  const std::string* text = find(parameter);
  if (!text) return {};
  if (is_key(*text)) return *text;
  fail(parameter, kTriggerExpected);
  return {};
}

std::string QueryReader::asset(const std::string& parameter) {
  const std::string* text = find(parameter);
  if (!text) return {};
  if (model::check_asset_name(*text)) return *text;
  fail(parameter, kAssetExpected);
  return {};
}

std::optional<model::DeliveryState> QueryReader::delivery_state() {
  const std::string* text = find("state");
  if (!text) return std::nullopt;
  const auto value = model::delivery_state_from(*text);
  if (!value) fail("state", "one of " + listed(kDeliveryStates), nearest_of(*text, kDeliveryStates));
  return value;
}

std::string QueryReader::text(const std::string& parameter) {
  const std::string* text = find(parameter);
  return text ? *text : std::string();
}

void QueryReader::only_one_of(std::initializer_list<std::string_view> parameters) {
  std::string_view first;
  for (const std::string_view each : parameters) {
    if (!request_.query.contains(std::string(each))) continue;
    if (first.empty()) {
      first = each;
    } else {
      fail_with(parameter_problem(
          each, fmt::format("it stands beside `{}`: expected only one of {}", first, listed(parameters)),
          "only one of " + listed(parameters)));
    }
  }
}

// ---- body
// ------------------------------------------------------------------------------------------------------------

BodyReader::BodyReader(const Request& request, std::initializer_list<std::string_view> known) {
  const std::string example = known.size() == 0 ? "{}" : fmt::format("{{\"{}\": …}}", *known.begin());
  if (request.body.size() > kBodyLimitBytes) {
    problem_ =
        Problem{413, "body-too-large", fmt::format("the request's body is larger than {} bytes", kBodyLimitBytes), {}};
    return;
  }
  if (request.body.find_first_not_of(" \t\r\n") == std::string::npos) return;
  auto value = parse_strict_json(request.body);
  if (!value || !value->is_object()) {
    const std::string why = value ? "it is no object" : value.error().message;
    problem_ = Problem{400, "invalid-body", "the body must be one JSON object such as " + example + ": " + why, {}};
    problem_->extensions["expected"] = "a JSON object";
    return;
  }
  object_ = std::move(value->get_object());
  for (const auto& pair : object_) {
    const std::string_view key(pair.key().data(), pair.key().size());
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string expected = known.size() == 0 ? "an empty body" : "one of the keys " + listed(known);
    if (!problem_) problem_ = unknown_key("key", key, expected, nearest_of(key, known));
  }
}

void BodyReader::fail(std::string_view key, std::string_view expected, std::string_view suggestion) {
  if (problem_) return;
  const json::value* value = object_.if_contains(key);
  const std::string text = !value               ? "nothing"
                           : value->is_string() ? std::string(value->get_string())
                                                : json::serialize(*value);
  problem_ = parameter_problem(key, wrong_value(text, expected), expected, suggestion);
}

std::string BodyReader::text(std::string_view key, std::size_t most) {
  const json::value* value = object_.if_contains(key);
  if (!value || value->is_null()) return {};
  if (value->is_string()) {
    const std::string_view text(value->get_string().data(), value->get_string().size());
    if (text.size() <= most && is_plain(text)) return std::string(text);
  }
  fail(key, fmt::format("a text of at most {} bytes without control characters", most));
  return {};
}

std::string BodyReader::required_name(std::string_view key) {
  const json::value* value = object_.if_contains(key);
  if (value && value->is_string()) {
    const std::string_view text(value->get_string().data(), value->get_string().size());
    if (model::check_name(key, text)) return std::string(text);
  }
  fail(key, kNameExpected);
  return {};
}

bool BodyReader::flag(std::string_view key) {
  const json::value* value = object_.if_contains(key);
  if (!value) return false;
  if (value->is_bool()) return value->get_bool();
  fail(key, "true or false");
  return false;
}

std::string BodyReader::name(std::string_view key) {
  const json::value* value = object_.if_contains(key);
  return !value || value->is_null() ? std::string() : required_name(key);
}

std::string BodyReader::trigger(std::string_view key) {
  std::string text = this->text(key, kKeyLimitBytes);
  if (text.empty() || is_key(text)) return text;
  fail(key, kTriggerExpected);
  return {};
}

std::string BodyReader::partition(std::string_view key) {
  std::string text = this->text(key, kKeyLimitBytes);
  if (text.empty() || model::check_partition(text)) return text;
  fail(key, kPartitionExpected);
  return {};
}

std::optional<std::int64_t> BodyReader::count(std::string_view key) {
  const json::value* value = object_.if_contains(key);
  if (!value || value->is_null()) return std::nullopt;
  if (value->is_int64() && value->get_int64() >= 0) return value->get_int64();
  fail(key, "a whole number that is not negative");
  return std::nullopt;
}

std::optional<model::DeliveryState> BodyReader::delivery_state(std::string_view key) {
  const std::string text = this->text(key, kKeyLimitBytes);
  if (text.empty()) return std::nullopt;
  const auto value = model::delivery_state_from(text);
  if (!value) fail(key, "one of " + listed(kDeliveryStates), nearest_of(text, kDeliveryStates));
  return value;
}

std::string BodyReader::object(std::string_view key, std::size_t most) {
  const json::value* value = object_.if_contains(key);
  if (!value || value->is_null()) return {};
  if (!value->is_object()) {
    fail(key, "an object such as {\"day\": \"2026-03-29\"}");
    return {};
  }
  if (value->get_object().empty()) return {};
  std::string text = json::serialize(*value);
  if (text.size() <= most) return text;
  if (!problem_) {
    const std::string expected = fmt::format("a JSON object of at most {} bytes", most);
    problem_ = parameter_problem(key, fmt::format("it has {} bytes: expected {}", text.size(), expected), expected);
  }
  return {};
}

std::optional<Instant> BodyReader::time(std::string_view key) {
  if (!has(key)) return std::nullopt;
  auto at = parse_rfc3339(text(key, 64));
  if (at) return *at;
  fail(key, kTimeExpected);
  return std::nullopt;
}

std::optional<Micros> BodyReader::duration(std::string_view key) {
  if (!has(key)) return std::nullopt;
  auto value = parse_duration(text(key, 64));
  if (value) return *value;
  fail(key, "a duration such as 30s or 1h30m");
  return std::nullopt;
}

std::string asked_by(const Request& request) {
  const auto agent = request.headers.find("user-agent");
  return agent != request.headers.end() && agent->second == "eider" ? "cli" : "api";
}

Result<std::string> idempotency_key(const Request& request) {
  const auto at = request.headers.find("idempotency-key");
  if (at == request.headers.end()) return std::string();
  const std::string& key = at->second;
  const bool visible = std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!key.empty() && key.size() <= 200 && visible) return key;
  return Error{ErrorCode::invalid, "the header Idempotency-Key is wrong: expected 1 to 200 visible ASCII characters"};
}

}  // namespace eider::api
