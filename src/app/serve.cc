#include "app/serve.h"

#include <unistd.h>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>

#include "api/server.h"
#include "api/service.h"
#include "app/core.h"
#include "app/event_lines.h"
#include "app/signals.h"
#include "base/log.h"

namespace eider::app {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "eider: %s\n", error.message.c_str());
  const bool wrong = error.code == ErrorCode::invalid || error.code == ErrorCode::conflict ||
                     error.code == ErrorCode::corrupt || error.code == ErrorCode::not_found ||
                     error.code == ErrorCode::refused;
  return wrong ? cli::exit_wrong : cli::exit_failed;
}

/// The API on its own thread, with a reader of its own.
struct Api {
  std::unique_ptr<store::Reader> reader;
  std::unique_ptr<api::Service> service;
  api::Server server{api::ServerLimits{}};  ///< ends first: its threads use the service
};

Result<std::unique_ptr<Api>> start_api(Core& core) {
  auto api = std::make_unique<Api>();
  auto reader = core.store().reader();
  if (!reader) return reader.error();
  api->reader = std::move(*reader);
  if (auto listening = api->server.listen(core.layout().api_socket()); !listening) return listening.error();
  api::ServiceOptions options;
  options.reader = api->reader.get();
  options.inbox = &core.inbox();
  options.clock = &core.clock();
  options.layout = core.layout();
  options.test_clock = core.has_test_clock();
  options.resume = api->server.resume();
  api->service = std::make_unique<api::Service>(std::move(options));
  api->server.start([service = api->service.get()](api::Request request, const api::Respond& respond) {
    service->handle(std::move(request), respond);
  });
  return api;
}

void on_signal(Core& core, EventLines& lines, int signal, int& stops) {
  if (signal == SIGHUP) {
    core.inbox().post(engine::Reload{[](const auto&) {}});
    return;
  }
  if (++stops > 1) {
    lines.say("stopping", "at once; running runs go on alone and are picked up by the next server");
    core.stop_at_once();
    return;
  }
  lines.say("stopping", "waiting for running runs; once more to end at once");
  core.inbox().post(engine::Stop{false, false, {}});
}

}  // namespace

int serve(const cli::ServeRequest& request) {
  const std::initializer_list<int> signals = {SIGTERM, SIGINT, SIGHUP};
  block_signals(signals);
  std::unique_ptr<EventLines> lines;
  CoreOptions options;
  options.workspace = request.workspace;
  options.test_clock = request.test_clock;
  options.loop.version = EIDER_VERSION;
  options.observe = [&lines](const model::ChangeSet& changes) {
    if (lines) lines->show(changes);
  };
  auto core = Core::open(std::move(options));
  if (!core) return fail(core.error());
  lines = std::make_unique<EventLines>((*core)->clock(), request.json, request.colour);
  auto api = start_api(**core);
  if (!api) return fail(api.error());
  int stops = 0;
  const Signals watched((*core)->reactor(), signals, [&](int signal) { on_signal(**core, *lines, signal, stops); });
  const engine::State& state = (*core)->loop().state();
  for (const auto& [id, run] : state.runs()) lines->remember(run);
  lines->say("serving", fmt::format("{}: {} pipelines, {} schedules; process {}", request.workspace,
                                    state.workspace().pipelines.size(), state.schedules().size(), ::getpid()));
  (*core)->run();
  (*core)->inbox().close();
  (*api)->server.stop();
  lines->say("stopped", {});
  return cli::exit_done;
}

}  // namespace eider::app
