#include "bench/served.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/check.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "bench/process.h"
#include "store/store.h"

namespace eider::bench {
namespace json = boost::json;

Folder::Folder(const Setup& setup, const std::string& name) : path_(setup.scratch + "/" + name + "-XXXXXX") {
  EIDER_CHECK(::mkdtemp(path_.data()) != nullptr, "a folder in " + setup.scratch + " can be made");
  std::filesystem::create_directories(path_ + "/pipelines");
}

void Folder::write(const std::string& file, const std::string& text) const {
  std::ofstream out(path_ + "/" + file, std::ios::trunc);
  out << text;
  out.close();
  EIDER_CHECK(out.good(), path_ + "/" + file + " can't be written");
}

Result<std::vector<std::string>> queue_runs(const Folder& folder, const std::string& pipeline, int count) {
  std::filesystem::create_directories(folder.path() + "/.eider");
  auto store = store::open_sqlite_store({folder.state_db(), true});
  if (!store) return store.error();
  SystemRandom random;
  IdMaker ids(random);
  std::vector<std::string> out;
  if (auto begun = (*store)->begin(); !begun) return begun.error();
  for (int i = 0; i < count; ++i) {
    model::Run run;
    run.id = ids.make(now());
    run.pipeline = pipeline;
    run.trigger_id = "bench";
    run.created_at = run.not_before = now();
    run.reason = model::reason::requested;
    out.push_back(run.id);
    auto applied = (*store)->apply({model::RunQueued{std::move(run)}});
    if (!applied) return applied.error();
  }
  if (auto committed = (*store)->commit(); !committed) return committed.error();
  return out;
}

Server::Server(const Folder& folder, int pid) : client_(folder.path() + "/.eider/eider.sock"), pid_(pid) {}

Result<std::unique_ptr<Server>> Server::start(const Setup& setup, const Folder& folder, Micros limit) {
  const Instant executed_at = now();
  auto pid = spawn({setup.program, "--workspace", folder.path(), "serve", "--json"}, folder.events(),
                   folder.path() + "/server.log");
  if (!pid) return pid.error();
  std::unique_ptr<Server> server(new Server(folder, *pid));
  server->executed_at_ = executed_at;
  bool dead = false;
  const bool ready = wait_for(
      [&] {
        const auto answer = server->client_.call({"GET", "/readyz", {}, {}, {}});
        if (answer && answer->status == 200) return true;
        dead = reap(*pid, Micros(0)).has_value();
        return dead;
      },
      limit, std::chrono::milliseconds(1));
  server->ready_after_ = now() - executed_at;
  if (ready && !dead) return server;
  if (dead) server->pid_ = 0;
  const auto log = read_file(folder.path() + "/server.log", 1 << 20);
  return Error{ErrorCode::io,
               fmt::format("the server {}: {}", dead ? "ended at once" : "does not get ready", log ? *log : "")};
}

Server::~Server() {
  try {
    stop();
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "eider_bench: process %d may run still: %s\n", pid_, failed.what());
  }
}

void Server::stop() {
  if (pid_ == 0) return;
  const std::vector<int> workers = children_of(pid_);
  (void)post("/api/v1/stop", R"({"now":true})");
  if (reap(pid_, std::chrono::seconds(20))) {
    pid_ = 0;
  } else {
    kill();
  }
  for (const int worker : workers) {
    const auto command = read_file(fmt::format("/proc/{}/cmdline", worker), 4096);
    if (command && command->find("worker") != std::string::npos) ::kill(worker, SIGKILL);
  }
}

void Server::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  (void)reap(pid_, std::chrono::seconds(10));
  pid_ = 0;
}

namespace {

Result<json::value> body_of(const Result<api::Response>& answer, const std::string& path) {
  if (!answer) return answer.error();
  if (answer->status >= 300) return Error{ErrorCode::io, fmt::format("{}: {} {}", path, answer->status, answer->body)};
  boost::system::error_code failed;
  json::value body = json::parse(answer->body, failed);
  if (failed) return Error{ErrorCode::io, path + ": not JSON: " + answer->body};
  return body;
}

}  // namespace

Result<json::value> Server::get(const std::string& path, const std::map<std::string, std::string>& query) const {
  return body_of(client_.call({"GET", path, query, {}, {}}), path);
}

Result<std::string> Server::text(const std::string& path, const std::map<std::string, std::string>& query) const {
  auto answer = client_.call({"GET", path, query, {}, {}});
  if (!answer) return answer.error();
  if (answer->status != 200) return Error{ErrorCode::io, fmt::format("{}: {} {}", path, answer->status, answer->body)};
  return std::move(answer->body);
}

Result<json::value> Server::post(const std::string& path, const std::string& body) const {
  return body_of(client_.call({"POST", path, {}, {{"content-type", "application/json"}}, body}), path);
}

Result<std::string> Server::start_run(const std::string& pipeline) const {
  auto body = post("/api/v1/runs", json::serialize(json::object{{"pipeline", pipeline}, {"queue", true}}));
  if (!body) return body.error();
  return std::string(body->at("id").as_string());
}

Result<json::array> Server::runs(const std::string& state, const std::string& pipeline) const {
  std::map<std::string, std::string> query{{"state", state}, {"limit", "1000"}};
  if (!pipeline.empty()) query["pipeline"] = pipeline;
  auto body = get("/api/v1/runs", query);
  if (!body) return body.error();
  return body->at("items").as_array();
}

Result<std::vector<std::pair<std::string, int>>> Server::busy_workers(const std::string& pipeline) const {
  auto running = runs("running", pipeline);
  if (!running) return running.error();
  std::vector<std::pair<std::string, int>> out;
  for (const json::value& run : *running) {
    const json::array& attempts = run.at("attempts").as_array();
    if (attempts.empty() || !attempts.back().at("worker_pid").is_int64()) continue;
    out.emplace_back(std::string(run.at("id").as_string()),
                     static_cast<int>(attempts.back().at("worker_pid").as_int64()));
  }
  return out;
}

std::map<std::string, Instant> event_times(const Folder& folder, const std::string& event) {
  std::map<std::string, Instant> out;
  std::ifstream lines(folder.events());
  for (std::string text; std::getline(lines, text);) {
    boost::system::error_code failed;
    const json::value line = json::parse(text, failed);
    if (failed || line.at("event").as_string() != event.c_str()) continue;
    if (auto at = parse_rfc3339(std::string(line.at("at").as_string())))
      out.try_emplace(std::string(line.at("run_id").as_string()), *at);
  }
  return out;
}

Result<std::vector<Firing>> firings(const Folder& folder, const std::string& schedule, Instant from, Instant to) {
  auto reader = store::open_sqlite_reader(folder.state_db());
  if (!reader) return reader.error();
  std::vector<Firing> out;
  std::string cursor;
  for (bool more = true; more;) {
    auto page = (*reader)->occurrences({schedule, std::nullopt}, 1000, cursor);
    if (!page) return page.error();
    more = page->next.has_value();
    if (more) cursor = *page->next;
    for (model::Occurrence& occurrence : page->items) {
      if (occurrence.scheduled_for >= to) continue;
      if (occurrence.scheduled_until < from) {
        more = false;
        break;
      }
      Firing firing;
      firing.occurrence = std::move(occurrence);
      if (!firing.occurrence.run_id.empty()) {
        auto run = (*reader)->run(firing.occurrence.run_id);
        if (!run) return run.error();
        firing.run = *std::move(run);
        auto attempts = (*reader)->attempts(firing.occurrence.run_id);
        if (!attempts) return attempts.error();
        firing.attempts = *std::move(attempts);
      }
      out.push_back(std::move(firing));
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::optional<Instant> claim_committed(const Firing& firing, const std::map<std::string, Instant>& started_events) {
  std::optional<Instant> out;
  if (!firing.attempts.empty()) out = firing.attempts.front().started_at;
  const auto printed = started_events.find(firing.occurrence.run_id);
  if (printed != started_events.end() && (!out || printed->second < *out)) out = printed->second;
  return out;
}

Result<int> count_runs(const std::string& state_db, model::RunState state) {
  auto reader = store::open_sqlite_reader(state_db);
  if (!reader) return reader.error();
  int count = 0;
  for (std::string cursor;;) {
    auto page = (*reader)->runs({std::nullopt, state, false}, 1000, cursor);
    if (!page) return page.error();
    count += static_cast<int>(page->items.size());
    if (!page->next) return count;
    cursor = *page->next;
  }
}

}  // namespace eider::bench
