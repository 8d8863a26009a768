// What the tests of this module share: the whole program in this process, with everything around it given.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "api/server.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/test_folder.h"
#include "cli/session.h"
#include "wire/layout.h"

namespace eider::cli {

inline Instant at(const char* text) { return *parse_rfc3339(text); }

/// A workspace with one pipeline, `daily`, which has the schedule `daily/nightly`.
class TempWorkspace : public TestFolder {
 public:
  TempWorkspace() {
    write("eider.yaml", "pools: { heavy: { slots: 2 } }\n");
    write("pipelines/daily.yaml",
          "pipeline: daily\nschedules:\n  - id: nightly\n    cron: \"30 2 * * *\"\n    timezone: Europe/Brussels\n"
          "steps:\n  - id: say\n    run: [echo, hello]\n");
  }
};

struct Outcome {
  int code = -1;
  std::string out;
  std::string error;
};

/// Runs lines as a shell would, with a clock that stands at 2026-03-29T01:00:00Z.
class Program {
 public:
  explicit Program(std::string folder) : folder_(std::move(folder)) {
    hooks_.version = "1.2.3";
    hooks_.serve = [this](const ServeRequest& request) { return served = request, 0; };
    hooks_.run_alone = [this](const RunAloneRequest& request) { return alone ? alone(request) : exit_failed; };
    hooks_.worker = [] { return 77; };
  }

  Outcome run(const std::vector<std::string>& arguments) {
    Outcome outcome;
    Stream::Kind kind{terminal, false, terminal ? columns : 0};
    const auto into = [this](std::string& text, std::size_t limit) {
      return [this, &text, limit](std::string_view bytes) {
        if (text.size() >= limit) return EPIPE;
        if (on_output) on_output(bytes);
        return text += bytes, 0;
      };
    };
    Screen screen{Stream(into(outcome.out, out_limit_bytes), kind),
                  Stream(into(outcome.error, std::string::npos), kind)};
    Surroundings around{screen, clock, folder_, [this](const char* name) {
                          const auto found = environment.find(name);
                          return found == environment.end() ? std::string() : found->second;
                        }};
    outcome.code = run_in(around, arguments, hooks_);
    return outcome;
  }

  FakeClock clock{at("2026-03-29T01:00:00Z")};
  std::map<std::string, std::string> environment;
  bool terminal = false;
  std::size_t columns = 80;
  std::size_t out_limit_bytes = std::string::npos;  ///< the reader of standard output goes away after that
  std::function<void(std::string_view)> on_output;
  std::function<int(const RunAloneRequest&)> alone;
  std::optional<ServeRequest> served;

 private:
  std::string folder_;
  Hooks hooks_;
};

/// A server on the workspace's socket that answers as the test says, and remembers what it was asked.
class ScriptedServer {
 public:
  using Answer = std::function<api::Response(const api::Request&)>;
  ScriptedServer(const TestFolder& workspace, Answer answer) : server_(api::ServerLimits{}) {
    const wire::Layout layout{workspace.path()};
    std::filesystem::create_directories(layout.state_folder());
    const auto listening = server_.listen(layout.api_socket());
    EIDER_CHECK(listening.ok(), "the scripted server does not listen");
    server_.start([this, answer = std::move(answer)](const api::Request& request, const api::Respond& respond) {
      {
        const std::lock_guard hold(mutex_);
        asked_.push_back(request);
      }
      respond(answer(request));
    });
  }
  std::vector<api::Request> asked() {
    const std::lock_guard hold(mutex_);
    return asked_;
  }

 private:
  api::Server server_;
  std::mutex mutex_;
  std::vector<api::Request> asked_;
};

inline api::Response answer_of(int status, std::string body) {
  api::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

inline constexpr const char* kId = "01890a5d-ac96-774b-bcce-b302099a8057";

/// A run of `daily` as the API shows it; `more`: further fields, each after a comma.
inline std::string a_run(const std::string& state, const std::string& more = "") {
  return R"({"id":")" + std::string(kId) +
         R"(","pipeline":"daily","trigger":{"kind":"schedule","id":"daily/nightly"},"state":")" + state +
         R"(","attempt":1,"created_at":"2026-03-29T00:58:00Z","started_at":"2026-03-29T00:59:57Z")" + more + "}";
}

}  // namespace eider::cli
