// `eider run` without a server: the same engine in the foreground, for one run. It fires no schedule and claims
// nothing but what was asked for here; runs that an earlier server left are finished or adopted as always.
#include <csignal>
#include <cstdio>

#include <boost/json.hpp>

#include "api/shapes.h"
#include "app/core.h"
#include "app/serve.h"
#include "app/signals.h"
#include "base/log.h"
#include "model/pipeline.h"

namespace eider::app {
namespace {

constexpr Micros progress_every = std::chrono::milliseconds(200);

/// One run from its request to its end.
class AloneRun {
 public:
  AloneRun(Core& core, const cli::RunAloneRequest& request) : core_(core), request_(request) {}

  Result<void> start() {
    auto reader = core_.store().reader();
    if (!reader) return reader.error();
    reader_ = std::move(*reader);
    engine::StartRun start;
    start.pipeline = request_.pipeline;
    start.params = request_.params;
    start.partition = request_.partition;
    start.idempotency_key = request_.idempotency_key;
    start.queue = request_.queue;
    start.asked_by = "cli";
    start.reply = [this](const Result<std::string>& id) { on_queued(id); };
    core_.inbox().post(std::move(start));
    return {};
  }

  /// A first Ctrl-C cancels the run, a second leaves it to finish alone.
  void on_signal(int signal) {
    interrupted_ = interrupted_ || signal == SIGINT;
    if (++signals_ > 1 || run_id_.empty()) return core_.stop_at_once();
    core_.inbox().post(
        engine::CancelRun{run_id_, signal == SIGINT ? "Ctrl-C" : "a signal to its `eider run`", [](const auto&) {}});
  }

  void after_turn() {
    if (run_id_.empty() || stopping_) return;
    if (core_.loop().state().run(run_id_)) return;
    stopping_ = true;
    ask_progress();
    engine::Stop stop;
    stop.leave_running = true;  // what else is alive here was adopted, and is not ours to wait for
    core_.inbox().post(std::move(stop));
  }

  int exit_code() const { return interrupted_ && exit_code_ != cli::exit_done ? cli::exit_interrupted : exit_code_; }

 private:
  void on_queued(const Result<std::string>& id) {
    if (!id) {
      std::fprintf(stderr, "eider: %s\n", id.error().message.c_str());
      exit_code_ = id.error().code == ErrorCode::unavailable || id.error().code == ErrorCode::io ? cli::exit_failed
                                                                                                 : cli::exit_wrong;
      core_.stop_at_once();
      return;
    }
    run_id_ = *id;
    if (request_.on_queued) request_.on_queued(run_id_);
    tick();
  }

  void tick() {
    if (stopping_) return;
    ask_progress();
    core_.reactor().call_after(progress_every, [this] { tick(); });
  }

  void ask_progress() {
    core_.inbox().post(
        engine::AskLive{{run_id_}, [this](const std::vector<engine::LiveRun>& live) { show(live.front()); }});
  }

  void show(const engine::LiveRun& live) {
    const auto run = reader_->run(run_id_);
    const auto attempts = reader_->attempts(run_id_);
    if (!run || !attempts || !*run) return;
    if (model::is_terminal((*run)->state))
      exit_code_ = (*run)->state == model::RunState::succeeded ? cli::exit_done : cli::exit_failed;
    const workspace::LoadedPipeline* loaded = core_.loop().state().pipeline((*run)->pipeline);
    if (request_.on_progress)
      request_.on_progress(boost::json::serialize(
          api::shapes::run_in_full(**run, *attempts, &live, loaded ? loaded->pipeline.get() : nullptr)));
  }

  Core& core_;
  const cli::RunAloneRequest& request_;
  std::unique_ptr<store::Reader> reader_;
  std::string run_id_;
  bool stopping_ = false;
  int signals_ = 0;
  bool interrupted_ = false;
  int exit_code_ = cli::exit_failed;
};

}  // namespace

int run_alone(const cli::RunAloneRequest& request) {
  const std::initializer_list<int> signals = {SIGTERM, SIGINT};
  block_signals(signals);
  log::set_level(log::Level::warning);  // the command tells the story of its run; the engine only what is wrong
  CoreOptions options;
  options.workspace = request.workspace;
  options.foreground_pipeline = request.pipeline;
  options.loop.version = EIDER_VERSION;
  options.loop.schedules = false;
  options.loop.requested_only = true;
  auto core = Core::open(std::move(options));
  if (!core) {
    std::fprintf(stderr, "eider: %s\n", core.error().message.c_str());
    return core.error().code == ErrorCode::io || core.error().code == ErrorCode::unavailable ? cli::exit_failed
                                                                                             : cli::exit_wrong;
  }
  AloneRun run(**core, request);
  if (auto started = run.start(); !started) {
    std::fprintf(stderr, "eider: %s\n", started.error().message.c_str());
    return cli::exit_failed;
  }
  const Signals watched((*core)->reactor(), signals, [&](int signal) { run.on_signal(signal); });
  (*core)->run([&] { run.after_turn(); });
  return run.exit_code();
}

}  // namespace eider::app
