// `eider explain`: the chain of causes of one thing, and what followed from it; or what keeps a pipeline from running.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/ids.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

/// The sentence of a link; on a terminal its own id is cut, as lists do.
std::string sentence(const json::value& link, bool terminal) {
  std::string text = text_of(link, "text");
  const std::string id = text_of(link, "id");
  if (const auto at = text.find(id); terminal && id.size() > short_id_length && at != std::string::npos)
    text.erase(at + short_id_length, id.size() - short_id_length);
  return safe(text);
}

/// Where what is left out can be read.
std::string where_more(const json::value& link) {
  const std::string id = safe(text_of(link, "id"));
  const std::string kind = text_of(link, "kind");
  if (kind == "run") return fmt::format("… more: `eider materializations --run {}`", id);
  if (kind == "materialization") return fmt::format("… more: `eider deliveries list --event {}`", id);
  return fmt::format("… more: `eider explain {}`", id);
}

/// The decisions about the run that was asked for, each with its code.
void show_history(Stream& out, const json::value& body) {
  for (const json::value& moment : list_of(body, "history")) {
    const auto at = time_of(moment, "at");
    out.line(fmt::format("{}      {}  {}", at ? to_seconds(*at) : "", safe(text_of(moment, "text")),
                         out.paint(Colour::grey, "[" + safe(text_of(moment, "code")) + "]")));
  }
}

/// What keeps a pipeline from running, and what will start it.
int show_idle(Session& session, const json::value& body) {
  Stream& out = session.out();
  out.line(out.paint(Colour::bold, safe(text_of(body, "text"))));
  const Instant now = session.now();
  for (const json::value& reason : list_of(body, "reasons")) {
    std::string when;
    if (const auto since = time_of(reason, "since")) when = fmt::format(", since {}", with_relative(*since, now));
    if (const auto until = time_of(reason, "until")) when = fmt::format(" ({})", relative(*until, now));
    const std::string text = safe(text_of(reason, "text")) + when;
    out.line(fmt::format("  {} {}", flag_of(reason, "keeps") ? "-" : "+",
                         flag_of(reason, "keeps") ? out.paint(Colour::yellow, text) : text));
    const std::string remedy = safe(text_of(reason, "remedy"));
    out.line(fmt::format("    {}{}", out.paint(Colour::grey, "[" + safe(text_of(reason, "code")) + "]"),
                         remedy.empty() ? "" : fmt::format("  `{}`", remedy)));
  }
  return exit_done;
}

int show_chain(Session& session, const json::value& body) {
  if (text_of(body, "kind") == "pipeline") return show_idle(session, body);
  Stream& out = session.out();
  if (flag_of(body, "truncated")) out.line("… what was before is not shown");
  bool first = true;
  bool effects = false;
  for (const json::value& link : list_of(body, "links")) {
    const std::string part = text_of(link, "part");
    if (part == "effect" && !effects) {
      out.line("\nwhat followed:");
      effects = true;
    }
    const auto at = time_of(link, "at");
    const auto level = static_cast<std::size_t>(std::max<std::int64_t>(0, number_of(link, "level").value_or(0)));
    const std::string indent(effects ? 2 * std::min<std::size_t>(level, 20) : 0, ' ');
    const std::string arrow = first ? "" : "→ ";
    const std::string state = text_of(link, "state");
    const Colour colour = part == "asked" ? Colour::bold : colour_of(state);
    const bool plain = colour == Colour::grey || colour == Colour::green;
    out.line(fmt::format("{}  {}{}{}", at ? to_seconds(*at) : "", indent, arrow,
                         out.paint(plain ? Colour::none : colour, sentence(link, out.terminal()))));
    if (part == "asked") show_history(out, body);
    if (flag_of(link, "more")) out.line(fmt::format("{:20}  {}  {}", "", indent, where_more(link)));
    first = false;
  }
  return exit_done;
}

}  // namespace

int explain(Session& session) {
  return ask_history(session, get("/api/v1/explain/" + api::encode_segment(session.options.target)), show_chain);
}

}  // namespace eider::cli
