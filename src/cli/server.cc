// Verbs about the server as a whole.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <thread>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/fd.h"
#include "base/ids.h"
#include "cli/fields.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

Colour health_colour(const std::string& health) {
  if (health == "ok") return Colour::green;
  return health == "degraded" ? Colour::red : Colour::yellow;
}

int show_status(Session& session, const json::value& body) {
  const Instant now = time_of(body, "now").value_or(session.now());
  const std::string health = text_of(body, "health");
  const std::string detail = text_of(body, "health_detail");
  Facts facts;
  const auto broken = number_of(body, "broken_files").value_or(0);
  std::string well = detail.empty() ? health : fmt::format("{}: {}", health, detail);
  if (broken > 0) well += fmt::format(", {} wrong", broken == 1 ? "1 file is" : fmt::format("{} files are", broken));
  facts.add("health", well, broken > 0 && health == "ok" ? Colour::yellow : health_colour(health));
  if (const auto pid = number_of(body, "pid")) {
    const auto started = time_of(body, "started_at");
    facts.add("server", fmt::format("process {}, version {}{}", *pid, text_of(body, "version"),
                                    started ? ", up " + took(now - *started) : std::string()));
  }
  facts.add("workspace", text_of(body, "workspace"));
  const auto triggers = number_of(body, "triggers").value_or(0);
  facts.add("pipelines", fmt::format("{}, with {}{}", text_of(body, "pipelines"),
                                     counted(number_of(body, "schedules").value_or(0), "schedule"),
                                     triggers > 0 ? " and " + counted(triggers, "trigger") : ""));
  // Without a server nobody has recorded yet how those ended that ran with it.
  const bool stopped = health == "stopped";
  const bool left_over =
      stopped && number_of(body, "running").value_or(0) > 0 && !field(body, "foreground_run").is_object();
  facts.add("runs", fmt::format("{} running{}, {} queued", text_of(body, "running"),
                                left_over ? " when the server ended" : " of at most " + text_of(body, "max_workers"),
                                text_of(body, "queued")));
  std::string longer;
  for (const json::value& run : list_of(body, "longer_than_usual")) {
    longer += fmt::format("{}{} {} (usually {})", longer.empty() ? "" : "\n", text_of(run, "pipeline"),
                          text_of(run, "run_id"), text_of(run, "usually"));
  }
  facts.add("longer than usual", longer, Colour::yellow);
  if (const auto pending = number_of(body, "pending_deliveries").value_or(0); pending > 0)
    facts.add("deliveries", fmt::format("{} pending", pending));
  if (const auto next = time_of(body, "next_due")) {
    facts.add("next due", with_relative(*next, now) + (stopped ? ", if a server runs then" : ""));
  }
  facts.print(session.out());
  for (const json::value& diagnostic : list_of(body, "diagnostics")) {
    session.out().line(session.out().paint(Colour::yellow, safe(text_of(diagnostic, "text"))));
  }
  return exit_done;
}

/// The server's process, held so that its end is seen; empty where the kernel or a container does not let us.
UniqueFd hold_process(const std::string& status) {
  const auto body = parse_answer(status);
  const auto pid = body ? number_of(*body, "pid") : std::nullopt;
  if (!pid || *pid <= 0) return {};
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(*pid), 0)));
}

/// Returns when the server is gone. It ends by itself: draining has a limit.
void wait_for_end(Backend& backend, const UniqueFd& process) {
  if (process) {
    pollfd look{process.get(), POLLIN, 0};
    while (::poll(&look, 1, -1) < 0 && errno == EINTR) continue;
    return;
  }
  while (backend.fetch(get("/api/v1/status"))) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace

int status(Session& session) {
  return ask_and_show(session, get("/api/v1/status"), Backend::Mode::server_or_files, show_status);
}

int reload(Session& session) {
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_only);
  auto body = backend.fetch(post("/api/v1/reload", json::object{}));
  if (!body) return session.fail(body.error());
  auto value = parse_answer(*body);
  if (!value) return session.fail(value.error());
  if (session.options.json) session.print_json(*body);
  bool wrong = false;
  for (const json::value& diagnostic : list_of(*value, "diagnostics")) {
    wrong = wrong || text_of(diagnostic, "severity") == "error";
    if (!session.options.json) session.out().line(safe(text_of(diagnostic, "text")));
  }
  if (!session.options.json) {
    session.out().line(wrong ? "reloaded; a file that is wrong keeps its last good version"
                             : "reloaded; all files are good");
  }
  return wrong ? exit_wrong : exit_done;
}

int stop(Session& session) {
  Backend backend(session.workspace, session.around.clock, Backend::Mode::server_only);
  auto before = backend.fetch(get("/api/v1/status"));
  if (!before) return session.fail(before.error());
  const UniqueFd process = hold_process(*before);
  json::object how;
  if (session.options.leave_running) how["leave_running"] = true;
  if (session.options.now) how["now"] = true;
  auto stopping = backend.fetch(post("/api/v1/stop", how));
  if (!stopping) return session.fail(stopping.error());
  if (auto body = parse_answer(*before); body && !session.options.leave_running && !session.options.now) {
    if (const auto running = number_of(*body, "running").value_or(0); running > 0) {
      session.note(
          fmt::format("waiting for {} (Ctrl-C: the server stops all the same)", counted(running, "running run")));
    }
  }
  wait_for_end(backend, process);
  session.out().line("stopped");
  return exit_done;
}

int serve(Session& session) {
  ServeRequest request;
  request.workspace = session.workspace;
  request.ceiling = session.options.ceiling;
  request.json = session.options.json;
  request.colour = session.out().colour();
  request.terminal = session.out().terminal();
  if (!session.options.test_clock.empty()) {
    auto at = parse_rfc3339(session.options.test_clock);
    if (!at) return session.fail({at.error().code, "--test-clock: " + at.error().message});
    request.test_clock = *at;
  }
  return session.hooks.serve(request);
}

}  // namespace eider::cli
