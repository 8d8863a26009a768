// `eider doctor`: what is not well, since when, and what to do.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/fields.h"
#include "cli/session.h"
#include "cli/text.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

void show_finding(Session& session, const json::value& finding, Instant now) {
  Stream& out = session.out();
  std::string since;
  if (const auto at = time_of(finding, "since")) since = fmt::format(", since {}", with_relative(*at, now));
  out.line(fmt::format("{}{}", out.paint(Colour::yellow, safe(text_of(finding, "text"))), since));
  const std::string remedy = safe(text_of(finding, "remedy"));
  out.line(fmt::format("    {}  {}", out.paint(Colour::grey, "[" + safe(text_of(finding, "code")) + "]"), remedy));
}

}  // namespace

int doctor(Session& session) {
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_or_files);
  auto body = backend.fetch(get("/api/v1/doctor"));
  if (!body) return session.fail(body.error());
  auto value = parse_answer(*body);
  if (!value) return session.fail(value.error());
  if (session.options.json) session.print_json(*body);
  const json::array& found = list_of(*value, "findings");
  if (!session.options.json) {
    const Instant now = time_of(*value, "now").value_or(session.now());
    for (const json::value& finding : found) show_finding(session, finding, now);
    if (found.empty()) session.out().line("all is well");
  }
  if (backend.offline()) return exit_no_server;
  return found.empty() ? exit_done : exit_failed;
}

}  // namespace eider::cli
