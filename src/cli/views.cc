#include "cli/views.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/words.h"
#include "base/ids.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/text.h"

namespace eider::cli {

namespace json = boost::json;

Colour colour_of(std::string_view state) {
  if (state == "succeeded" || state == "run" || state == "delivered") return Colour::green;
  if (state == "failed" || state == "timed_out" || state == "crashed" || state == "missed") return Colour::red;
  if (state == "cancelled" || state == "interrupted" || state == "skipped") return Colour::yellow;
  if (state == "running" || state == "claimed") return Colour::blue;
  return Colour::grey;
}

bool is_over(std::string_view state) { return state == "succeeded" || state == "failed" || state == "cancelled"; }

namespace {

std::string cause(const json::value& run, bool in_full) {
  const json::value& trigger = field(run, "trigger");
  const std::string kind = text_of(trigger, "kind");
  std::string id = text_of(trigger, "id");
  if (kind == "manual") return "by hand";
  if (const std::string own = text_of(run, "pipeline") + "/"; !in_full && id.starts_with(own)) id.erase(0, own.size());
  return id.empty() ? kind : kind + " " + id;
}

std::string waiting(const json::value& run, std::optional<Instant> now) {
  std::string out;
  for (const json::value& each : list_of(run, "waiting_for")) {
    out += (out.empty() ? "" : "; ") + api::awaited(text_of(each, "kind"), text_of(each, "name"));
    if (const std::string detail = text_of(each, "detail"); !detail.empty()) out += ": " + detail;
    if (!now) continue;
    std::string more;
    if (const auto since = time_of(each, "since"); since && *now - *since >= std::chrono::seconds(1))
      more = "for " + about(*now - *since);
    // Who uses a file stands in the detail.
    const std::string holders =
        text_of(each, "kind") == "database" ? "" : runs_named(list_of(each, "held_by"), short_id_length);
    if (!holders.empty()) more += (more.empty() ? "" : "; ") + std::string("held by ") + holders;
    if (!more.empty()) out += " (" + more + ")";
  }
  return out;
}

}  // namespace

std::string cause_of(const json::value& run) { return cause(run, false); }
std::string cause_in_full(const json::value& run) { return cause(run, true); }
std::string waiting_text(const json::value& run) { return waiting(run, std::nullopt); }
std::string waiting_in_full(const json::value& run, Instant now) { return waiting(run, now); }

std::string runs_named(const json::array& runs, std::size_t id_length) {
  std::string out;
  for (const json::value& run : runs) {
    const std::string pipeline = text_of(run, "pipeline");
    out += (out.empty() ? "" : ", ") + pipeline + (pipeline.empty() ? "" : " ") +
           text_of(run, "run_id").substr(0, id_length);
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
  for (const std::size_t length : {short_id_length, std::size_t{23}, std::size_t{28}}) {
    std::vector<std::string> out;
    for (const std::string& id : ids) out.push_back(id.substr(0, length));
    std::vector<std::string> sorted = out;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return out;
  }
  return ids;
}

void say_next_page(Session& session, const json::value& list) {
  const std::string next = text_of(list, "next");
  if (next.empty()) return;
  const std::string said = fmt::format("there are more: `--cursor {}` shows the next page", next);
  // Who asks for so many in a script knows that there may be more.
  session.options.limit.empty() ? session.say(said) : session.note(said);
}

std::string longer_than_usual(const json::value& run) {
  if (!flag_of(run, "longer_than_usual")) return {};
  return fmt::format("longer than usual ({})", text_of(field(run, "usual"), "median"));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace eider::cli
