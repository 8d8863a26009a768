#include "cli/session.h"

#include <filesystem>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/text.h"

namespace eider::cli {

namespace fs = std::filesystem;
namespace json = boost::json;

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unavailable:
    case ErrorCode::io:
      return exit_failed;
    case ErrorCode::no_server:
      return exit_no_server;
    default:
      return exit_wrong;
  }
}

int Session::fail(const Error& failure) {
  error().line(fmt::format("{} {}", error().paint(Colour::red, "eider:"), safe_lines(failure.message)));
  return exit_code_of(failure.code);
}

void Session::note(std::string_view text) {
  if (error().terminal()) error().line(error().paint(Colour::grey, safe_lines(text)));
}

void Session::say(std::string_view text) { error().line(error().paint(Colour::grey, safe_lines(text))); }

int Session::print_json(std::string_view body) {
  std::string text = out().terminal() ? safe_json(body) : std::string(body);
  if (!text.ends_with('\n')) text += '\n';
  out().print(text);
  return exit_done;
}

Result<std::string> find_workspace(const std::string& asked, const std::string& folder) {
  std::error_code failed;
  if (!asked.empty()) {
    const fs::path root = fs::canonical(fs::path(folder) / asked, failed);
    if (failed) return Error{ErrorCode::not_found, fmt::format("{}: {}", asked, failed.message())};
    if (!fs::exists(root / "eider.yaml", failed)) {
      return Error{ErrorCode::not_found,
                   fmt::format("{} is no workspace: it holds no eider.yaml; `eider init {}` makes one", asked, asked)};
    }
    return root.string();
  }
  for (fs::path root = folder; !root.empty(); root = root.parent_path()) {
    if (fs::exists(root / "eider.yaml", failed)) {
      const fs::path real = fs::canonical(root, failed);
      return failed ? Error{ErrorCode::io, fmt::format("{}: {}", root.string(), failed.message())}
                    : Result<std::string>(real.string());
    }
    if (root == root.parent_path()) break;
  }
  return Error{ErrorCode::not_found,
               fmt::format("no workspace: neither {} nor a folder above it holds an eider.yaml\n`--workspace DIR` or "
                           "EIDER_WORKSPACE names one, `eider init` makes one",
                           folder)};
}

api::Request get(std::string path, const std::map<std::string, std::string>& query) {
  api::Request request;
  request.path = std::move(path);
  for (const auto& [name, value] : query) {
    if (!value.empty()) request.query[name] = value;
  }
  return request;
}

api::Request post(std::string path, const json::value& body) {
  api::Request request;
  request.method = "POST";
  request.path = std::move(path);
  request.body = json::serialize(body);
  return request;
}

Result<json::value> parse_answer(const std::string& body) {
  boost::system::error_code failed;
  json::value value = json::parse(body, failed);
  if (failed) return Error{ErrorCode::io, "the answer is no JSON: " + failed.message()};
  return value;
}

namespace {

int ask(Session& session, Backend& backend, const api::Request& request, const Show& show) {
  auto body = backend.fetch(request);
  if (!body) return session.fail(body.error());
  if (session.options.json) return session.print_json(*body);
  auto value = parse_answer(*body);
  if (!value) return session.fail(value.error());
  const int code = show(session, *value);
  // What is due next is so only where a server runs.
  const bool about_clocks =
      request.path.starts_with("/api/v1/schedules") || request.path.starts_with("/api/v1/pipelines");
  if (backend.offline() && about_clocks) {
    session.note("no server is running: nothing fires before `eider serve` starts one");
  }
  return code;
}

}  // namespace

int ask_and_show(Session& session, const api::Request& request, Backend::Mode mode, const Show& show) {
  Backend backend(session.workspace, session.around.clock, mode);
  return ask(session, backend, request, show);
}

int ask_history(Session& session, const api::Request& request, const Show& show) {
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_or_files);
  const int code = ask(session, backend, request, show);
  // An answer that is wrong has said it.
  if (code == exit_done && !backend.files_error().empty()) session.fail({ErrorCode::invalid, backend.files_error()});
  return code;
}

}  // namespace eider::cli
