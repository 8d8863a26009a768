#include "cli/views.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/fields.h"
#include "cli/text.h"

namespace eider::cli {

namespace json = boost::json;

Colour colour_of(std::string_view state) {
  if (state == "succeeded" || state == "run") return Colour::green;
  if (state == "failed" || state == "timed_out" || state == "crashed" || state == "missed") return Colour::red;
  if (state == "cancelled" || state == "interrupted" || state == "skipped") return Colour::yellow;
  if (state == "running") return Colour::blue;
  return Colour::grey;
}

bool is_over(std::string_view state) { return state == "succeeded" || state == "failed" || state == "cancelled"; }

std::string cause_of(const json::value& run) {
  const json::value& trigger = field(run, "trigger");
  const std::string kind = text_of(trigger, "kind");
  const std::string id = text_of(trigger, "id");
  if (kind == "manual" || id.empty()) return kind;
  // The pipeline stands beside it.
  const std::string own = text_of(run, "pipeline") + "/";
  return id.starts_with(own) ? id.substr(own.size()) : id;
}

std::string waiting_text(const json::value& run) {
  std::string out;
  for (const json::value& each : list_of(run, "waiting_for")) {
    if (!out.empty()) out += "; ";
    out += text_of(each, "kind");
    if (const std::string name = text_of(each, "name"); !name.empty()) out += " " + name;
    if (const std::string detail = text_of(each, "detail"); !detail.empty()) out += ": " + detail;
  }
  return out;
}

std::string run_took(const json::value& run, Instant now) {
  const auto started = time_of(run, "started_at");
  // One that is queued again has started, and takes no time now.
  if (!started || text_of(run, "state") == "queued") return {};
  return took(time_of(run, "finished_at").value_or(now) - *started);
}

std::vector<std::string> short_ids(const std::vector<std::string>& ids) {
  // 13 characters of a UUIDv7 are its millisecond.
  for (const std::size_t length : {13u, 18u, 23u}) {
    std::vector<std::string> out;
    for (const std::string& id : ids) out.push_back(id.substr(0, length));
    std::vector<std::string> sorted = out;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return out;
  }
  return ids;
}

std::string next_page(const json::value& list) {
  const std::string next = text_of(list, "next");
  return next.empty() ? std::string() : fmt::format("there are more: `--cursor {}` shows the next page", next);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace eider::cli
