#include "app/core.h"

#include <sys/resource.h>
#include <unistd.h>
#include <filesystem>

#include <fmt/format.h>

#include "base/log.h"
#include "base/scheduling.h"
#include "wire/workspace_lock.h"
#include "workspace/reload.h"

namespace eider::app {
namespace {

constexpr Micros checkpoint_pause = std::chrono::milliseconds(50);  // between two checkpoints of a busy store

std::string joined(const std::vector<workspace::Diagnostic>& diagnostics) {
  std::string out;
  for (const workspace::Diagnostic& diagnostic : diagnostics)
    out += (out.empty() ? "" : "\n") + workspace::format_with_source(diagnostic);
  return out;
}

/// Who runs one pipeline in the foreground is told about its file, whose errors were said before.
std::vector<workspace::Diagnostic> concerning(const workspace::Workspace& workspace, const std::string& pipeline) {
  if (pipeline.empty()) return workspace.diagnostics;
  std::vector<workspace::Diagnostic> out;
  const auto found = workspace.pipelines.find(pipeline);
  if (found == workspace.pipelines.end()) return out;
  for (const workspace::Diagnostic& diagnostic : workspace.diagnostics) {
    if (diagnostic.file == found->second.pipeline->file) out.push_back(diagnostic);
  }
  return out;
}

void say(const std::vector<workspace::Diagnostic>& diagnostics) {
  for (const workspace::Diagnostic& diagnostic : diagnostics) {
    log::write(diagnostic.severity == workspace::Severity::error ? log::Level::error : log::Level::warning,
               workspace::format_without_severity(diagnostic));
  }
}

/// A worker and a client take a few each; the soft limit of most systems (1,024) is meant for programs that call
/// select().
void raise_descriptor_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where it is refused, it stays as it was
}

/// `HOST/PID`, by which a claimed delivery names its server.
std::string this_process() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof(host) - 1);  // where it fails, the name stays
  return fmt::format("{}/{}", host, ::getpid());
}

/// `2 pipelines added, settings changed`
std::string what_changed(const workspace::Reloaded& reloaded) {
  std::string out;
  const auto add = [&out](std::size_t count, const char* what) {
    if (count > 0)
      out += fmt::format("{}{} pipeline{} {}", out.empty() ? "" : ", ", count, count == 1 ? "" : "s", what);
  };
  add(reloaded.added.size(), "added");
  add(reloaded.changed.size(), "changed");
  add(reloaded.removed.size(), "removed");
  add(reloaded.kept.size(), "kept at the last good version");
  if (reloaded.settings_changed) out += out.empty() ? "settings changed" : ", settings changed";
  if (reloaded.calendars_changed) out += out.empty() ? "calendars changed" : ", calendars changed";
  return out.empty() ? "nothing has changed" : out;
}

/// SQLite takes an empty file for a new database. Beside folders of runs it is one whose content is gone.
Result<void> refuse_lost_state(const wire::Layout& layout) {
  std::error_code failed;
  const bool is_empty = std::filesystem::file_size(layout.state_db(), failed) == 0 && !failed;
  if (!is_empty || std::filesystem::is_empty(layout.runs_folder(), failed) || failed) return {};
  return Error{ErrorCode::corrupt,
               fmt::format("{} is empty, and {} holds runs: what it held is lost. It is left as it is: put a backup in "
                           "its place, or move both away to begin anew",
                           layout.state_db(), layout.runs_folder())};
}

}  // namespace

std::string find_duckdb_library() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  for (const char* place : {"duckdb/libduckdb.so", "../lib/eider/libduckdb.so"}) {
    const auto path = program.parent_path() / place;
    if (std::filesystem::exists(path, failed)) return std::filesystem::weakly_canonical(path, failed).string();
  }
  return {};
}

Core::Core(CoreOptions options)
    : options_(std::move(options)), layout_{options_.workspace}, inbox_([this] { reactor_.wake(); }) {
  options_.loop.owner = this_process();
  if (options_.test_clock) test_clock_ = std::make_unique<FakeClock>(*options_.test_clock);
  clock_ = test_clock_ ? static_cast<Clock*>(test_clock_.get()) : &system_clock_;
}

Result<std::unique_ptr<Core>> Core::open(CoreOptions options) {
  std::unique_ptr<Core> core(new Core(std::move(options)));
  if (auto built = core->build(); !built) return built.error();
  return core;
}

Core::~Core() {
  inbox_.close();
  checkpointer_.request_stop();
  turns_.fetch_add(1);
  turns_.notify_all();
}

Result<void> Core::build() {
  raise_descriptor_limit();
  auto workspace = first_workspace();
  if (!workspace) return workspace.error();
  if (auto made = make_folders(layout_.state_folder()); !made) return made.error();
  auto lock = wire::take_workspace_lock(layout_, options_.foreground_pipeline);
  if (!lock) return lock.error();
  server_lock_ = std::move(*lock);
  if (auto whole = refuse_lost_state(layout_); !whole) return whole.error();
  auto store = store::open_sqlite_store({.path = layout_.state_db(), .create = true, .reserve_log = true});
  if (!store) return store.error();
  store_ = std::move(*store);
  auto timer = engine::DeadlineTimer::open(reactor_);
  if (!timer) return timer.error();
  timer_ = std::move(*timer);

  supervise::ProcessWorkersOptions workers;
  workers.layout = layout_;
  workers.duckdb_library = find_duckdb_library();
  workers.max_workers = (*workspace)->settings.max_workers;
  workers.log_limit_bytes = (*workspace)->settings.log_limit_bytes;
  workers.warm_sql = std::any_of((*workspace)->pipelines.begin(), (*workspace)->pipelines.end(), [](const auto& named) {
    const auto& steps = named.second.pipeline->steps;
    return std::any_of(steps.begin(), steps.end(),
                       [](const model::Step& step) { return step.kind == model::Step::Kind::sql; });
  });
  if (test_clock_)
    workers.clock_offset = [this] { return Micros(to_us(test_clock_->now()) - to_us(system_clock_.now())); };
  auto opened = supervise::ProcessWorkers::open(reactor_, std::move(workers));
  if (!opened) return opened.error();
  workers_ = std::move(*opened);

  loop_ = std::make_unique<engine::Loop>(
      engine::LoopParts{*clock_, random_, *store_, *workers_, inbox_,
                        [this](const auto* in_force) { return reread(in_force); }, options_.observe, test_clock_.get()},
      options_.loop);
  if (auto booted = loop_->boot(*workspace); !booted) return booted.error();
  start_checkpointer();
  return {};
}

Result<workspace::Workspace> Core::load() const {
  workspace::LoadOptions options;
  options.now = clock_->now();
  options.ceiling = options_.ceiling;
  return workspace::load_workspace(options_.workspace, options);
}

Result<std::shared_ptr<const workspace::Workspace>> Core::first_workspace() {
  auto loaded = load();
  if (!loaded) return loaded.error();
  if (!loaded->usable) return Error{ErrorCode::invalid, joined(loaded->diagnostics)};
  say(concerning(*loaded, options_.foreground_pipeline));
  return std::shared_ptr<const workspace::Workspace>(std::make_shared<workspace::Workspace>(std::move(*loaded)));
}

Result<std::shared_ptr<const workspace::Workspace>> Core::reread(const workspace::Workspace* in_force) {
  auto fresh = load();
  if (!fresh) return fresh.error();
  workspace::Reloaded merged = workspace::merge(*in_force, std::move(*fresh));
  say(merged.news);
  log::info("reloaded: " + what_changed(merged));
  return std::shared_ptr<const workspace::Workspace>(
      std::make_shared<workspace::Workspace>(std::move(merged.workspace)));
}

/// Copies committed pages into the main file beside the writer. It looks after turns of the loop only: an idle server
/// wakes nobody.
void Core::start_checkpointer() {
  checkpointer_ = std::jthread([this](const std::stop_token& stopped) {
    std::uint64_t seen = 0;
    while (!stopped.stop_requested()) {
      turns_.wait(seen);
      seen = turns_.load();
      if (stopped.stop_requested()) return;
      auto remainder = store_->checkpoint_aside();
      if (!remainder) {
        log::warning("checkpoint: " + remainder.error().message);
      } else if (*remainder && !finish_checkpoint_.exchange(true)) {
        reactor_.wake();
      }
      std::this_thread::sleep_for(checkpoint_pause);
    }
  });
}

void Core::run(const std::function<void()>& after_turn) {
  ask_for_short_slices();
  while (!stop_at_once_) {
    const engine::Loop::Next next = loop_->turn();
    turns_.fetch_add(1);
    turns_.notify_one();
    if (after_turn) after_turn();
    if (next.ended) break;
    if (finish_checkpoint_.exchange(false)) {
      if (auto done = store_->finish_checkpoint(); !done) log::warning("checkpoint: " + done.error().message);
    }
    if (stop_at_once_) break;
    if (next.wake_at && *next.wake_at <= clock_->now() && !next.retry_in) {
      reactor_.poll();
      continue;
    }
    // A test clock stands still: what turns it wakes the reactor.
    timer_->arm(test_clock_ ? std::nullopt : next.wake_at);
    std::optional<Reactor::TimerId> retry;
    if (next.retry_in) retry = reactor_.call_after(*next.retry_in, [] {});
    reactor_.run_once();
    if (retry) reactor_.cancel_timer(*retry);
  }
  workers_->close(true);
}

}  // namespace eider::app
