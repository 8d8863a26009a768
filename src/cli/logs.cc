#include "cli/log_lines.h"
#include "cli/session.h"

namespace eider::cli {

int logs(Session& session) {
  const Options& options = session.options;
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_or_files);
  LogLines lines(session.out(), options.raw    ? LogLines::Form::raw
                                : options.json ? LogLines::Form::json
                                               : LogLines::Form::people);
  auto read = backend.stream(get("/api/v1/runs/" + api::encode_segment(options.target) + "/logs",
                                 {{"attempt", options.attempt},
                                  {"step", options.step},
                                  {"follow", options.follow ? "true" : ""},
                                  {"raw", options.raw ? "true" : ""}}),
                             [&](std::string_view bytes) { return lines.take(bytes); });
  lines.finish();
  if (!read) return session.fail(read.error());
  if (!lines.any()) session.note("nothing is written there");
  return exit_done;
}

}  // namespace eider::cli
