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
#include "watch/watcher.h"

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

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Says once that the server stops, whoever asked for it, and again when somebody is in a hurry.
class StoppingLine {
 public:
  StoppingLine(Core& core, EventLines& lines) : core_(core), lines_(lines) {}
  void after_turn() {
    const auto stopping = core_.loop().stopping();
    if (!stopping || said_ == stopping) return;
    said_ = stopping;
    const std::size_t running = core_.loop().state().live().size();
    const std::string runs = counted(running, "running run");
    if (running == 0) return lines_.say("stopping", {});
    lines_.say("stopping", stopping->leave_running ? "leaves " + runs + " to the next server"
                           : stopping->at_once     ? "at once: interrupts and queues again " + runs
                                                   : "waits for " + runs + "; Ctrl-C ends at once");
  }

 private:
  Core& core_;
  EventLines& lines_;
  std::optional<engine::Loop::Stopping> said_;
};

void on_signal(Core& core, EventLines& lines, int signal, int& stops) {
  if (signal == SIGHUP) {
    core.inbox().post(engine::Reload{[](const auto&) {}});
    return;
  }
  // Whoever presses Ctrl-C while `eider stop` waits wants no more waiting either.
  if (++stops > 1 || (signal == SIGINT && core.loop().stopping())) {
    lines.say("stopping", "at once; running runs go on alone and are picked up by the next server");
    core.stop_at_once();
    return;
  }
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
  options.ceiling = request.ceiling;
  options.loop.version = EIDER_VERSION;
  options.observe = [&lines](const model::ChangeSet& changes, Instant committed_at) {
    if (lines) lines->show(changes, committed_at);
  };
  auto core = Core::open(std::move(options));
  if (!core) return fail(core.error());
  const EventLines::Form form = request.json       ? EventLines::Form::json
                                : request.terminal ? EventLines::Form::screen
                                                   : EventLines::Form::file;
  lines = std::make_unique<EventLines>((*core)->clock(), form, request.colour);
  auto api = start_api(**core);
  if (!api) return fail(api.error());
  int stops = 0;
  const Signals watched((*core)->reactor(), signals, [&](int signal) { on_signal(**core, *lines, signal, stops); });
  StoppingLine stopping(**core, *lines);
  const engine::State& state = (*core)->loop().state();
  for (const auto& [id, run] : state.runs()) lines->remember(run);
  lines->say("serving", fmt::format("{}: {}, {}; process {}", request.workspace,
                                    counted(state.workspace().pipelines.size(), "pipeline"),
                                    counted(state.schedules().size(), "schedule"), ::getpid()));
  // Files land in real time, whatever clock the pipelines have.
  const SystemClock clock;
  watch::Watcher folders(watch::WatcherParts{(*core)->inbox(), clock, (*core)->layout().workspace});
  const auto watch_folders = [&] {
    const auto followed = folders.follow(state.workspace().settings.assets);
    if (!followed) log::warning(followed.error().message);
  };
  watch_folders();
  (*core)->run([&] {
    watch_folders();
    stopping.after_turn();
  });
  (*core)->inbox().close();
  (*api)->server.stop();
  lines->say("stopped", {});
  return cli::exit_done;
}

}  // namespace eider::app
