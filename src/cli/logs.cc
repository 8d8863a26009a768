#include "cli/fields.h"
#include "cli/follower.h"
#include "cli/log_lines.h"
#include "cli/session.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

/// The last line of a log that was followed: how the run ended. Without a server nobody records the end of a run, so
/// it cannot be waited for.
Result<void> say_how_it_ended(Session& session, Backend& backend, const std::string& path) {
  auto body = backend.fetch(get(path));
  if (!body) return body.error();
  auto run = parse_answer(*body);
  if (!run) return run.error();
  if (is_over(text_of(*run, "state"))) {
    // Whoever reads JSON or the steps' own bytes is no person.
    if (!session.options.json && !session.options.raw) say_end(session, *run);
    return {};
  }
  if (!backend.offline()) return {};  // one attempt was asked for, and that is over
  return Error{ErrorCode::no_server,
               "no server is running: this is the log so far; the next server records how the run ends"};
}

}  // namespace

int logs(Session& session) {
  const Options& options = session.options;
  const std::string path = "/api/v1/runs/" + api::encode_segment(options.target);
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_or_files);
  LogLines lines(session.out(), options.raw    ? LogLines::Form::raw
                                : options.json ? LogLines::Form::json
                                               : LogLines::Form::people);
  // Whether there is a server is known after a first question.
  if (options.follow) {
    if (auto found = backend.fetch(get(path)); !found) return session.fail(found.error());
  }
  const bool follow = options.follow && !backend.offline();
  auto read = backend.stream(get(path + "/logs", {{"attempt", options.attempt},
                                                  {"step", options.step},
                                                  {"follow", follow ? "true" : ""},
                                                  {"raw", options.raw ? "true" : ""}}),
                             [&](std::string_view bytes) { return lines.take(bytes); });
  lines.finish();
  if (!read) return session.fail(read.error());
  if (!lines.any()) session.note("nothing is written there");
  if (!options.follow) return exit_done;
  if (auto ended = say_how_it_ended(session, backend, path); !ended) return session.fail(ended.error());
  return exit_done;
}

}  // namespace eider::cli
