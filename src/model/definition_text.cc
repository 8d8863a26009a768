// The JSON form of a pipeline: written once when it is loaded, stored by hash, read by the worker (definition.cc). The
// text is written directly: values of JSON that are thrown away at once were a quarter of what loading a large
// workspace cost.
#include <algorithm>
#include <charconv>
#include <utility>

#include <boost/json.hpp>

#include "base/ids.h"
#include "model/pipeline.h"

namespace eider::model {
namespace {

namespace json = boost::json;

void append(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7f; };
  if (!std::all_of(text.begin(), text.end(), plain)) {
    out += json::serialize(json::string_view(text.data(), text.size()));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}
void append(std::string& out, const std::string& text) { append(out, std::string_view(text)); }
void append(std::string& out, const char* text) { append(out, std::string_view(text)); }
void append(std::string& out, bool value) { out += value ? "true" : "false"; }
void append(std::string& out, double value) { out += json::serialize(json::value(value)); }
void append(std::string& out, std::int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}
void append(std::string& out, int value) { append(out, std::int64_t{value}); }
void append(std::string& out, Micros value) { append(out, std::int64_t{value.count()}); }
void append(std::string& out, Instant value) { append(out, to_us(value)); }
void append(std::string& out, RetryCause cause) { append(out, to_text(cause)); }
void append(std::string& out, LockMode mode) { append(out, to_text(mode)); }
void append(std::string& out, const Schedule& schedule);
void append(std::string& out, const Trigger& trigger);
void append(std::string& out, const Step& step);
void append(std::string& out, const Publish& publish);
void append(std::string& out, const RetryPolicy& retry);
void append(std::string& out, const Database& database);
void append(std::string& out, const Partitions& partitions);
void append(std::string& out, const Freshness& freshness);

template <typename T>
void append(std::string& out, const std::optional<T>& value) {
  if (value) {
    append(out, *value);
  } else {
    out += "null";
  }
}

template <typename T>
void append(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (const T& value : values) {
    if (&value != &values.front()) out += ',';
    append(out, value);
  }
  out += ']';
}

template <typename T>
void append(std::string& out, const std::map<std::string, T>& values) {
  out += '{';
  for (auto at = values.begin(); at != values.end(); ++at) {
    if (at != values.begin()) out += ',';
    append(out, at->first);
    out += ':';
    append(out, at->second);
  }
  out += '}';
}

template <typename T>
struct Member {
  const char* key;
  const T& value;
};
template <typename T>
Member(const char*, const T&) -> Member<T>;

template <typename... T>
void append_object(std::string& out, const Member<T>&... members) {
  out += '{';
  bool first = true;
  const auto append_member = [&](const char* key, const auto& value) {
    if (!std::exchange(first, false)) out += ',';
    append(out, key);
    out += ':';
    append(out, value);
  };
  (append_member(members.key, members.value), ...);
  out += '}';
}

void append(std::string& out, const Schedule& s) {
  append_object(
      out, Member{"id", s.id}, Member{"cron", s.timing.cron}, Member{"every_us", s.timing.every},
      Member{"anchor_us", s.timing.anchor}, Member{"from_completion", s.timing.from_completion},
      Member{"at_us", s.timing.at}, Member{"timezone", s.timing.timezone}, Member{"overlap", to_text(s.overlap)},
      Member{"misfire", to_text(s.misfire)}, Member{"grace_us", s.grace}, Member{"max_catchup", s.max_catchup},
      Member{"catchup_window_us", s.catchup_window}, Member{"queue_limit", s.queue_limit}, Member{"exclude", s.exclude},
      Member{"only", s.only}, Member{"start_us", s.start}, Member{"end_us", s.end}, Member{"jitter_us", s.jitter},
      Member{"paused", s.paused}, Member{"note", s.note}, Member{"pause_after_failures", s.pause_after_failures});
}

void append(std::string& out, const RetryPolicy& r) {
  append_object(out, Member{"max_attempts", r.max_attempts}, Member{"backoff_us", r.backoff},
                Member{"factor", r.factor}, Member{"max_backoff_us", r.max_backoff}, Member{"jitter", r.jitter},
                Member{"on", r.on}, Member{"final_exit_codes", r.final_exit_codes});
}

void append(std::string& out, const Trigger& t) {
  append_object(out, Member{"id", t.id}, Member{"assets", t.assets}, Member{"match", to_text(t.match)},
                Member{"from", t.from}, Member{"same_partition", t.same_partition},
                Member{"changed_only", t.changed_only}, Member{"batch", t.batch}, Member{"debounce_us", t.debounce},
                Member{"max_wait_us", t.max_wait}, Member{"start", to_text(t.start)},
                Member{"order", to_text(t.order)});
}

void append(std::string& out, const Database& d) {
  append_object(out, Member{"file", d.file}, Member{"read_only", d.read_only});
}

void append(std::string& out, const Publish& p) {
  append_object(out, Member{"asset", p.asset}, Member{"path", p.path}, Member{"table", p.table},
                Member{"after", p.after}, Member{"shared", p.shared});
}

void append(std::string& out, const Freshness& f) {
  append_object(out, Member{"warn_after_us", f.warn_after}, Member{"error_after_us", f.error_after});
}

void append(std::string& out, const Partitions& p) {
  append_object(out, Member{"names", p.names}, Member{"every", to_text(p.every)}, Member{"start", p.start},
                Member{"end", p.end});
}

json::array strings(const std::vector<std::string>& values) {
  json::array out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

/// As a value: step_hash() leaves out some of it.
json::object value_of(const Step& s) {
  json::object env;
  for (const auto& [name, value] : s.env) env[name] = value;
  return {{"id", s.id},
          {"kind", s.kind == Step::Kind::sql ? "sql" : "run"},
          {"sql", s.sql},
          {"sql_file", s.sql_origin.file},
          {"sql_first_line", s.sql_origin.first_line},
          {"transaction", s.transaction},
          {"argv", strings(s.argv)},
          {"env", env},
          {"needs", strings(s.needs)},
          {"timeout_us", s.timeout ? json::value(s.timeout->count()) : json::value(nullptr)}};
}

void append(std::string& out, const Step& s) { out += json::serialize(value_of(s)); }

}  // namespace

std::string definition_json(const Pipeline& p) {
  std::string out;
  append_object(out, Member{"version", 1}, Member{"pipeline", p.name}, Member{"file", p.file},
                Member{"description", p.description}, Member{"database", p.database}, Member{"pools", p.pools},
                Member{"schedules", p.schedules}, Member{"triggers", p.triggers}, Member{"steps", p.steps},
                Member{"publishes", p.publishes}, Member{"partitions", p.partitions}, Member{"timezone", p.timezone},
                Member{"timeout_us", p.timeout}, Member{"queue_timeout_us", p.queue_timeout},
                Member{"threads", p.resources.threads}, Member{"memory_bytes", p.resources.memory_bytes},
                Member{"temp_bytes", p.resources.temp_bytes}, Member{"retry", p.retry},
                Member{"max_active_runs", p.max_active_runs}, Member{"priority", p.priority},
                Member{"on_interrupt", to_text(p.on_interrupt)}, Member{"locks", p.locks},
                Member{"concurrency_key", p.concurrency_key}, Member{"freshness", p.freshness});
  return out;
}

std::string step_hash(const Pipeline& pipeline, const Step& step) {
  json::object content = value_of(step);
  for (const char* key : {"sql_file", "sql_first_line", "timeout_us"}) content.erase(key);
  if (pipeline.database) {
    content["database"] = pipeline.database->file;
    content["read_only"] = pipeline.database->read_only;
  }
  return content_hash(json::serialize(content));
}

}  // namespace eider::model
