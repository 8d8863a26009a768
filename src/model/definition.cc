// Reading the JSON form of a pipeline, which definition_text.cc writes.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/ids.h"
#include "model/pipeline.h"

namespace eider::model {
namespace {

namespace json = boost::json;

/// Reads keys of one object; the first that is missing or of another kind is kept as the error.
class Fields {
 public:
  Fields(const json::value& value, std::string where, std::string& error) : where_(std::move(where)), error_(error) {
    object_ = value.if_object();
    if (!object_) fail("(itself)");
  }
  std::string text(const char* key) {
    const json::value* v = find(key);
    if (v && v->is_string()) return std::string(v->get_string());
    fail(key);
    return {};
  }
  std::int64_t number(const char* key) {
    const json::value* v = find(key);
    if (v && v->is_int64()) return v->get_int64();
    fail(key);
    return 0;
  }
  int small(const char* key) { return static_cast<int>(number(key)); }
  double real(const char* key) {
    const json::value* v = find(key);
    if (v && v->is_number()) return v->to_number<double>();
    fail(key);
    return 0;
  }
  bool flag(const char* key) {
    const json::value* v = find(key);
    if (v && v->is_bool()) return v->get_bool();
    fail(key);
    return false;
  }
  std::optional<std::int64_t> maybe(const char* key) {
    const json::value* v = find(key);
    if (v && v->is_null()) return std::nullopt;
    return number(key);
  }
  std::optional<Micros> maybe_micros(const char* key) {
    const auto v = maybe(key);
    return v ? std::optional(Micros(*v)) : std::nullopt;
  }
  std::optional<Instant> maybe_instant(const char* key) {
    const auto v = maybe(key);
    return v ? std::optional(from_us(*v)) : std::nullopt;
  }
  const json::array& list(const char* key) {
    static const json::array none;
    const json::value* v = find(key);
    if (v && v->is_array()) return v->get_array();
    fail(key);
    return none;
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> out;
    for (const json::value& v : list(key)) {
      if (v.is_string())
        out.emplace_back(v.get_string());
      else
        fail(key);
    }
    return out;
  }
  /// Keys that definitions of earlier versions do not have.
  bool has(const char* key) const { return find(key) != nullptr; }
  const json::value& value(const char* key) {
    static const json::value none;
    const json::value* v = find(key);
    if (v) return *v;
    fail(key);
    return none;
  }

 private:
  const json::value* find(const char* key) const { return object_ ? object_->if_contains(key) : nullptr; }
  void fail(const char* key) {
    if (error_.empty()) error_ = fmt::format("{}: {}", where_, key);
  }
  const json::object* object_ = nullptr;
  std::string where_;
  std::string& error_;
};

template <typename Enum, std::size_t N>
Enum enum_from(const std::string& text, const Enum (&values)[N], std::string& error) {
  for (const Enum value : values) {
    if (text == to_text(value)) return value;
  }
  if (error.empty()) error = fmt::format("unknown value {}", text);
  return values[0];
}

Schedule read_schedule(const json::value& value, std::string& error) {
  Fields f(value, "schedule", error);
  Schedule s;
  s.id = f.text("id");
  s.timing.cron = f.text("cron");
  s.timing.every = f.maybe_micros("every_us");
  s.timing.anchor = f.maybe_instant("anchor_us");
  s.timing.from_completion = f.flag("from_completion");
  s.timing.at = f.maybe_instant("at_us");
  s.timing.timezone = f.text("timezone");
  constexpr Overlap overlaps[] = {Overlap::skip, Overlap::queue, Overlap::replace, Overlap::allow};
  constexpr Misfire misfires[] = {Misfire::skip, Misfire::latest, Misfire::all};
  s.overlap = enum_from(f.text("overlap"), overlaps, error);
  s.misfire = enum_from(f.text("misfire"), misfires, error);
  s.grace = Micros(f.number("grace_us"));
  s.max_catchup = f.small("max_catchup");
  s.catchup_window = Micros(f.number("catchup_window_us"));
  s.queue_limit = f.small("queue_limit");
  if (!f.has("exclude")) return s;  // a definition of version 0.1
  s.exclude = f.texts("exclude");
  s.only = f.texts("only");
  s.start = f.maybe_instant("start_us");
  s.end = f.maybe_instant("end_us");
  s.jitter = Micros(f.number("jitter_us"));
  s.paused = f.flag("paused");
  s.note = f.text("note");
  s.pause_after_failures = f.small("pause_after_failures");
  return s;
}

Step read_step(const json::value& value, std::string& error) {
  Fields f(value, "step", error);
  Step s;
  s.id = f.text("id");
  s.kind = f.text("kind") == "sql" ? Step::Kind::sql : Step::Kind::run;
  s.sql = f.text("sql");
  s.sql_origin = {f.text("sql_file"), f.small("sql_first_line")};
  s.transaction = f.flag("transaction");
  s.argv = f.texts("argv");
  const json::value& env = f.value("env");
  if (const json::object* object = env.if_object()) {
    for (const auto& [name, text] : *object) {
      if (text.is_string()) s.env[std::string(name)] = std::string(text.get_string());
    }
  }
  s.needs = f.texts("needs");
  s.timeout = f.maybe_micros("timeout_us");
  return s;
}

Trigger read_trigger(const json::value& value, std::string& error) {
  Fields f(value, "trigger", error);
  Trigger t;
  t.id = f.text("id");
  t.assets = f.texts("assets");
  t.match = enum_from(f.text("match"), {Trigger::Match::any, Trigger::Match::all}, error);
  t.from = f.text("from");
  t.same_partition = f.flag("same_partition");
  t.changed_only = f.flag("changed_only");
  t.batch = f.flag("batch");
  t.debounce = f.maybe_micros("debounce_us");
  t.max_wait = f.maybe_micros("max_wait_us");
  t.start = enum_from(f.text("start"), {Trigger::Start::now, Trigger::Start::earliest}, error);
  t.order = enum_from(f.text("order"), {Trigger::Order::commit, Trigger::Order::strict}, error);
  return t;
}

std::optional<Partitions> read_partitions(const json::value& value, std::string& error) {
  if (value.is_null()) return std::nullopt;
  Fields f(value, "partitions", error);
  using Every = Partitions::Every;
  const Every every = enum_from(f.text("every"), {Every::none, Every::hour, Every::day, Every::month}, error);
  return Partitions{f.texts("names"), every, f.text("start"), f.text("end")};
}

RetryPolicy read_retry(const json::value& value, std::string& error) {
  Fields f(value, "retry", error);
  RetryPolicy r;
  r.max_attempts = f.small("max_attempts");
  r.backoff = Micros(f.number("backoff_us"));
  r.factor = f.real("factor");
  r.max_backoff = Micros(f.number("max_backoff_us"));
  r.jitter = f.real("jitter");
  if (!f.has("on")) return r;  // a definition of version 0.1
  r.on.clear();
  for (const std::string& cause : f.texts("on")) {
    r.on.push_back(enum_from(cause, {RetryCause::error, RetryCause::timeout, RetryCause::crash}, error));
  }
  for (const json::value& code : f.list("final_exit_codes")) {
    if (code.is_int64()) r.final_exit_codes.push_back(static_cast<int>(code.get_int64()));
  }
  return r;
}

std::map<std::string, LockMode> read_locks(const json::value& value, std::string& error) {
  std::map<std::string, LockMode> out;
  const json::object* locks = value.if_object();
  if (locks == nullptr) return out;
  for (const auto& [name, mode] : *locks) {
    const std::string text = mode.is_string() ? std::string(mode.get_string()) : std::string();
    out[std::string(name)] = enum_from(text, {LockMode::read, LockMode::write}, error);
  }
  return out;
}

}  // namespace

Result<Pipeline> parse_definition(std::string_view text) {
  boost::system::error_code failed;
  const json::value value = json::parse(text, failed);
  if (failed) return Error{ErrorCode::corrupt, "the stored definition is not JSON: " + failed.message()};
  std::string error;
  Fields f(value, "definition", error);
  Pipeline p;
  if (f.number("version") != 1 && error.empty()) error = "a newer version";
  p.name = f.text("pipeline");
  p.file = f.text("file");
  p.description = f.text("description");
  if (const json::value& database = f.value("database"); database.is_object()) {
    Fields d(database, "database", error);
    p.database = Database{d.text("file"), d.flag("read_only")};
  }
  if (const json::object* pools = f.value("pools").if_object()) {
    for (const auto& [name, slots] : *pools)
      p.pools[std::string(name)] = slots.is_int64() ? static_cast<int>(slots.get_int64()) : 1;
  }
  for (const json::value& schedule : f.list("schedules")) p.schedules.push_back(read_schedule(schedule, error));
  for (const json::value& step : f.list("steps")) p.steps.push_back(read_step(step, error));
  for (const json::value& publish : f.list("publishes")) {
    Fields o(publish, "publishes", error);
    p.publishes.push_back(
        {o.text("asset"), o.text("path"), o.text("table"), o.text("after"), o.has("shared") && o.flag("shared")});
  }
  if (f.has("triggers")) {
    for (const json::value& trigger : f.list("triggers")) p.triggers.push_back(read_trigger(trigger, error));
  }
  if (f.has("partitions")) p.partitions = read_partitions(f.value("partitions"), error);
  p.timezone = f.text("timezone");
  p.timeout = Micros(f.number("timeout_us"));
  p.queue_timeout = f.maybe_micros("queue_timeout_us");
  if (const auto threads = f.maybe("threads")) p.resources.threads = static_cast<int>(*threads);
  p.resources.memory_bytes = f.maybe("memory_bytes");
  p.resources.temp_bytes = f.maybe("temp_bytes");
  p.retry = read_retry(f.value("retry"), error);
  p.max_active_runs = f.small("max_active_runs");
  p.priority = f.small("priority");
  if (f.has("locks")) {
    p.on_interrupt = enum_from(f.text("on_interrupt"), {OnInterrupt::retry, OnInterrupt::fail}, error);
    p.locks = read_locks(f.value("locks"), error);
    p.concurrency_key = f.text("concurrency_key");
  }
  if (f.has("freshness") && f.value("freshness").is_object()) {
    Fields o(f.value("freshness"), "freshness", error);
    p.freshness = Freshness{o.maybe_micros("warn_after_us"), o.maybe_micros("error_after_us")};
  }
  if (!error.empty()) return Error{ErrorCode::corrupt, "the stored definition is wrong at " + error};
  return p;
}

}  // namespace eider::model
