// `eider run`: with a server it asks for the run and follows it; without one the engine runs in this process.
#include <poll.h>
#include <csignal>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_keys.h"
#include "api/parameters.h"
#include "cli/fields.h"
#include "cli/follower.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"
#include "workspace/load.h"
#include "workspace/words.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

constexpr int kFirstPause_ms = 20;
constexpr int kLongestPause_ms = 200;
constexpr int kMostFailures = 25;  // looks at a server that does not answer: five seconds

volatile std::sig_atomic_t interrupted = 0;

/// Ctrl-C is seen between two looks, for as long as this lives.
class WatchInterrupt {
 public:
  WatchInterrupt() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &before_);
  }
  ~WatchInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  WatchInterrupt(const WatchInterrupt&) = delete;
  WatchInterrupt& operator=(const WatchInterrupt&) = delete;

 private:
  struct sigaction before_ {};
};

/// --params and each -p as one JSON object.
Result<json::object> params_of(const Options& options) {
  boost::system::error_code failed;
  json::object params;
  if (!options.params.empty()) {
    auto value = api::parse_strict_json(options.params);
    if (!value || !value->is_object()) {
      return Error{ErrorCode::invalid, fmt::format("--params: expected a JSON object, such as '{{\"year\": 2026}}'{}",
                                                   value ? std::string() : ": " + value.error().message)};
    }
    params = value->get_object();
  }
  for (const std::string& pair : options.pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || (equals == 1 && pair[0] == ':')) {
      return Error{ErrorCode::invalid, fmt::format("-p {}: expected NAME=TEXT or NAME:=JSON", shown(pair))};
    }
    const std::string text = pair.substr(equals + 1);
    if (pair[equals - 1] != ':') {
      params[pair.substr(0, equals)] = text;
      continue;
    }
    json::value value = json::parse(text, failed);
    if (failed) {
      return Error{ErrorCode::invalid,
                   fmt::format("-p {}: `{}` is no JSON; NAME=TEXT takes it as a text", shown(pair), shown(text))};
    }
    params[pair.substr(0, equals - 1)] = std::move(value);
  }
  return params;
}

int exit_code_of_run(const json::value& run) { return text_of(run, "state") == "succeeded" ? exit_done : exit_failed; }

int say_goes_on(Session& session, const std::string& id) {
  session.error().line(fmt::format("the run goes on; `eider logs -f {0}` follows it, `eider cancel {0}` ends it", id));
  return exit_interrupted;
}

int follow(Session& session, Backend& backend, const std::string& id) {
  const WatchInterrupt watch;
  Follower follower(session, backend);
  int failures = 0;
  for (int pause = kFirstPause_ms;; pause = std::min(pause * 2, kLongestPause_ms)) {
    auto body = backend.fetch(get("/api/v1/runs/" + id));
    if (body) {
      failures = 0;
      auto run = parse_answer(*body);
      if (!run) return session.fail(run.error());
      if (follower.update(*run)) {
        if (session.options.json) session.print_json(*body);
        return exit_code_of_run(*run);
      }
    } else if (const ErrorCode code = body.error().code;
               (code != ErrorCode::no_server && code != ErrorCode::unavailable) || ++failures > kMostFailures) {
      follower.clear();
      return session.fail({code, fmt::format("{}\nthe run does not end with its server: `eider runs show {}` shows it",
                                             body.error().message, id)});
    }
    if (!interrupted) ::poll(nullptr, 0, pause);
    if (!interrupted) continue;
    follower.clear();
    return say_goes_on(session, id);
  }
}

int print_detached(Session& session, const std::string& body, const json::value& run) {
  if (session.options.json) return session.print_json(body);
  const std::string id = safe(text_of(run, "id"));
  session.out().line(id);
  session.note(fmt::format("`eider logs -f {0}` follows it, `eider runs show {0}` shows it", id));
  return exit_done;
}

/// What the engine refuses, said with what is known of the files.
Result<void> check_pipeline(Session& session) {
  auto loaded = workspace::load_workspace(session.workspace);
  if (!loaded) return loaded.error();
  const std::string& name = session.options.target;
  if (loaded->pipelines.contains(name)) return {};
  std::string said;
  for (const workspace::Diagnostic& diagnostic : loaded->diagnostics) {
    const auto broken = loaded->broken.find(diagnostic.file);
    const bool about_it = !loaded->usable || (broken != loaded->broken.end() && broken->second.pipeline == name);
    if (!about_it || diagnostic.severity != workspace::Severity::error) continue;
    said += (said.empty() ? "" : "\n") + workspace::format_with_source(diagnostic);
  }
  if (!said.empty()) return Error{ErrorCode::invalid, said};
  std::vector<std::string> names;
  for (const auto& [known, pipeline] : loaded->pipelines) names.push_back(known);
  return Error{ErrorCode::not_found, api::unknown_pipeline({}, name, names).detail};
}

int run_alone(Session& session, const json::object& params) {
  if (auto good = check_pipeline(session); !good) return session.fail(good.error());
  session.note("no server is running: the pipeline runs in this process; Ctrl-C cancels it");
  const Options& options = session.options;
  Backend logs(session.workspace, session.around.clock, Backend::Mode::files_only);
  Follower follower(session, logs);
  std::string newest;
  RunAloneRequest request;
  request.workspace = session.workspace;
  request.pipeline = options.target;
  if (!params.empty()) request.params = json::serialize(params);
  request.partition = options.partition;
  request.idempotency_key = options.idempotency_key;
  request.queue = options.queue;
  bool over = false;
  request.on_progress = [&](const std::string& body) {
    const auto run = parse_answer(body);
    if (!run || over) return;
    newest = body;
    over = follower.update(*run);
  };
  const int code = session.hooks.run_alone(request);
  follower.clear();
  if (options.json && !newest.empty()) session.print_json(newest);
  return code;
}

}  // namespace

int run_pipeline(Session& session) {
  const Options& options = session.options;
  auto params = params_of(options);
  if (!params) return session.fail(params.error());
  json::object body{{"pipeline", options.target}};
  if (!params->empty()) body["params"] = *params;
  if (!options.partition.empty()) body["partition"] = options.partition;
  if (options.queue) body["queue"] = true;
  api::Request request = post("/api/v1/runs", body);
  if (!options.idempotency_key.empty()) request.headers["idempotency-key"] = options.idempotency_key;
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_only);
  auto queued = backend.fetch(request);
  if (!queued) {
    const ErrorCode code = queued.error().code;
    if (code == ErrorCode::no_server && !options.detach) return run_alone(session, *params);
    // The files say more about a pipeline that cannot run than the server's one sentence: lines, and what was meant.
    const bool about_the_pipeline = code == ErrorCode::invalid || code == ErrorCode::not_found;
    const auto good = about_the_pipeline ? check_pipeline(session) : Result<void>();
    return session.fail(good ? queued.error() : good.error());
  }
  auto run = parse_answer(*queued);
  if (!run) return session.fail(run.error());
  if (options.detach) return print_detached(session, *queued, *run);
  return follow(session, backend, text_of(*run, "id"));
}

}  // namespace eider::cli
