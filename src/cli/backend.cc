#include "cli/backend.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/service.h"
#include "cli/fields.h"
#include "store/store.h"
#include "wire/layout.h"
#include "wire/workspace_lock.h"
#include "workspace/load.h"

namespace eider::cli {
namespace {

constexpr Micros kStreamPoll = std::chrono::milliseconds(100);

ErrorCode code_of(std::string_view type, int status) {
  constexpr std::string_view prefix = "urn:eider:problem:";
  if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
  if (type == "no-server") return ErrorCode::no_server;
  if (type == "corrupt") return ErrorCode::corrupt;
  switch (status) {
    case 404:
      return ErrorCode::not_found;
    case 409:
      return ErrorCode::conflict;
    case 429:
      return ErrorCode::refused;
    case 408:
    case 503:
      return ErrorCode::unavailable;
    default:
      return status >= 500 ? ErrorCode::io : ErrorCode::invalid;
  }
}

std::string errors_of(const workspace::Workspace& workspace) {
  std::string out;
  for (const workspace::Diagnostic& diagnostic : workspace.diagnostics) {
    if (diagnostic.severity != workspace::Severity::error) continue;
    out += (out.empty() ? "" : "\n") + workspace::format_with_source(diagnostic);
  }
  return out;
}

}  // namespace

Error problem_error(const api::Request& request, const api::Response& response) {
  boost::system::error_code failed;
  const boost::json::value body = boost::json::parse(response.body, failed);
  std::string said = failed ? std::string() : text_of(body, "detail");
  if (said.empty()) said = failed ? std::string() : text_of(body, "title");
  if (said.empty()) said = fmt::format("the server answered {} without saying why", response.status);
  if (const std::string parameter = failed ? std::string() : text_of(body, "parameter"); !parameter.empty()) {
    if (const std::string named = fmt::format("the parameter `{}`: ", parameter); said.starts_with(named)) {
      // What has no option was an argument: it is quoted in the sentence.
      constexpr std::string_view in_bodies[] = {"note",  "partition",   "metadata", "rows",
                                                "bytes", "fingerprint", "trigger",  "state"};
      const bool option = request.query.contains(parameter)
                              ? parameter != "schedule"
                              : std::find(std::begin(in_bodies), std::end(in_bodies), parameter) != std::end(in_bodies);
      said.replace(0, named.size(), option ? fmt::format("--{}: ", parameter) : std::string());
    }
  }
  if (const std::string active = text_of(body, "active_run"); !active.empty()) {
    said += fmt::format("\n`eider logs -f {}` follows it, `--queue` waits behind it", active);
  }
  return {code_of(failed ? std::string() : text_of(body, "type"), response.status), said};
}

/// Everything that the handlers need here.
struct Backend::Offline {
  std::unique_ptr<store::Reader> reader;
  std::optional<workspace::Workspace> workspace;
  std::unique_ptr<api::Service> service;
};

Backend::Backend(std::string workspace, const Clock& clock, Mode mode)
    : workspace_(std::move(workspace)), clock_(clock), mode_(mode), client_(wire::Layout{workspace_}.api_socket()) {}
Backend::~Backend() = default;

Result<void> Backend::open_files() {
  auto offline = std::make_unique<Offline>();
  const wire::Layout layout{workspace_};
  auto reader = store::open_sqlite_reader(layout.state_db());
  if (reader) {
    offline->reader = std::move(*reader);
  } else if (reader.error().code != ErrorCode::not_found) {
    return reader.error();
  }
  // History can be read whatever the files hold.
  if (auto loaded = workspace::load_workspace(workspace_)) {
    offline->workspace = *std::move(loaded);
    if (!offline->workspace->usable) files_error_ = errors_of(*offline->workspace);
  } else {
    files_error_ = loaded.error().message;
  }
  api::ServiceOptions options;
  options.reader = offline->reader.get();
  options.workspace = offline->workspace ? &*offline->workspace : nullptr;
  options.files_error = files_error_;
  options.clock = &clock_;
  options.layout = layout;
  offline->service = std::make_unique<api::Service>(std::move(options));
  offline_ = std::move(offline);
  return {};
}

/// Who holds the workspace, where somebody does: "start one" would not work then.
Error Backend::no_server(const Error& otherwise) const {
  const auto holder = wire::workspace_holder(wire::Layout{workspace_});
  if (!holder) return otherwise;
  if (holder->pipeline.empty()) {
    return {ErrorCode::no_server,
            fmt::format("the server (process {}) does not answer: it is starting or stopping", holder->pid)};
  }
  return {ErrorCode::no_server,
          fmt::format("no server is running: {}; wait for it, or press Ctrl-C there", wire::to_text(*holder))};
}

Result<api::Response> Backend::answer(const api::Request& request, const api::Client::OnBytes& on_bytes) {
  if (!offline_ && mode_ != Mode::files_only) {
    auto answered = on_bytes ? client_.stream(request, on_bytes) : client_.call(request);
    const bool nobody = !answered && answered.error().code == ErrorCode::no_server;
    if (nobody && mode_ == Mode::server_only) return no_server(answered.error());
    if (!nobody) return answered;
  }
  if (!offline_) {
    if (auto opened = open_files(); !opened) return opened.error();
  }
  Result<api::Response> answered = Error{ErrorCode::io, "the request was not answered"};
  offline_->service->handle(request, [&](api::Response response) { answered = std::move(response); });
  if (!answered || !answered->stream) return answered;
  std::string whole;
  while (true) {
    auto chunk = answered->stream->read();
    if (!chunk) return chunk.error();
    if (on_bytes ? !chunk->bytes.empty() && !on_bytes(chunk->bytes) : (whole += chunk->bytes, false)) break;
    if (chunk->done) break;
    if (chunk->bytes.empty()) std::this_thread::sleep_for(kStreamPoll);
  }
  answered->stream.reset();
  answered->body = std::move(whole);
  return answered;
}

Result<std::string> Backend::fetch(const api::Request& request) {
  auto answered = answer(request, nullptr);
  if (!answered) return answered.error();
  if (answered->status >= 300) return problem_error(request, *answered);
  return std::move(answered->body);
}

Result<void> Backend::stream(const api::Request& request, const api::Client::OnBytes& on_bytes) {
  auto answered = answer(request, on_bytes);
  if (!answered) return answered.error();
  if (answered->status >= 300) return problem_error(request, *answered);
  return {};
}

}  // namespace eider::cli
