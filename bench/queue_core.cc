#include "bench/queue_core.h"

#include "bench/floors.h"
#include "bench/process.h"

namespace eider::bench {
std::shared_ptr<workspace::Workspace> empty_workspace(const std::string& folder, int workers) {
  auto out = std::make_shared<workspace::Workspace>();
  out->root = folder;
  out->usable = true;
  out->settings.max_workers = workers;
  return out;
}

void add_pipeline(workspace::Workspace& workspace, const std::string& name,
                  const std::function<void(model::Pipeline&)>& shape) {
  model::Pipeline pipeline;
  pipeline.name = name;
  pipeline.file = "pipelines/" + name + ".yaml";
  pipeline.steps.resize(1);
  pipeline.steps[0].id = "step";
  pipeline.steps[0].argv = {"/bin/true"};
  shape(pipeline);
  workspace.pipelines[name] = workspace::make_loaded(std::move(pipeline));
}

Result<std::unique_ptr<QueueCore>> QueueCore::open(const std::string& folder, int workers) {
  auto workspace = empty_workspace(folder, workers);
  add_pipeline(*workspace, "work", [](model::Pipeline& pipeline) { pipeline.max_active_runs = 0; });
  return open(folder, std::shared_ptr<const workspace::Workspace>(std::move(workspace)));
}

Result<std::unique_ptr<QueueCore>> QueueCore::open(const std::string& folder,
                                                   const std::shared_ptr<const workspace::Workspace>& workspace) {
  std::unique_ptr<QueueCore> core(new QueueCore);
  auto store = store::open_sqlite_store({.path = folder + "/state.db", .create = true, .reserve_log = true});
  if (!store) return store.error();
  core->store_ = *std::move(store);
  core->workers_.finish_at_once = true;
  core->loop_ = std::make_unique<engine::Loop>(
      engine::LoopParts{
          core->clock_, core->random_, *core->store_, core->workers_, core->inbox_,
          [workspace](const auto*) { return Result<std::shared_ptr<const workspace::Workspace>>(workspace); },
          [self = core.get()](const model::ChangeSet& set, Instant) {
            if (self->observe) self->observe(set);
          },
          nullptr},
      engine::LoopOptions{});
  if (auto booted = core->loop_->boot(workspace); !booted) return booted.error();
  core->checkpointer_ = std::jthread([self = core.get()](const std::stop_token& stopped) {
    while (!stopped.stop_requested()) {
      auto remainder = self->store_->checkpoint_aside();
      if (remainder && *remainder) self->finish_checkpoint_ = true;
      sleep_until(now() + std::chrono::milliseconds(50));
    }
  });
  return core;
}

QueueCore::~QueueCore() {
  checkpointer_ = {};
  loop_.reset();
}

void QueueCore::hold(const std::string& pipeline) {
  held_ = pipeline;
  workers_.finish_at_once = false;
}

engine::Loop::Next QueueCore::crank() {
  auto next = loop_->turn();
  if (!workers_.finish_at_once) {
    for (const auto& job : workers_.handed_off) {
      const model::Run* run = loop_->state().run(job.run_id);
      if (run != nullptr && run->pipeline != held_) workers_.over(job.run_id, model::Outcome::succeeded);
    }
  }
  workers_.handed_off.clear();
  workers_.forgotten.clear();
  if (finish_checkpoint_.exchange(false)) (void)store_->finish_checkpoint();
  return next;
}

Result<engine::Loop::Next> QueueCore::crank_until_idle() {
  constexpr int limit = 100'000;
  for (int turns = 0; turns < limit; ++turns) {
    const auto next = crank();
    if (next.retry_in) return Error{ErrorCode::unavailable, "the store can't be written"};
    if (workers_.events.empty() && (!next.wake_at || *next.wake_at > clock_.now())) return next;
  }
  return Error{ErrorCode::io, "the loop does not come to rest"};
}

Result<double> QueueCore::settle(int count) {
  int refused = 0;
  const double from = monotonic_ms();
  for (int i = 0; i < count; ++i) {
    engine::StartRun start;
    start.pipeline = "work";
    start.queue = true;
    start.asked_by = "bench";
    start.reply = [&refused](const Result<std::string>& id) { refused += id ? 0 : 1; };
    if (!inbox_.post(std::move(start))) return Error{ErrorCode::refused, "the inbox is full"};
  }
  const std::size_t limit = static_cast<std::size_t>(count) * 10;
  std::size_t turns = 0;
  do {
    crank();
    if (++turns > limit) return Error{ErrorCode::io, "the queue does not empty"};
  } while (!loop_->state().runs().empty() || !workers_.events.empty());
  if (refused > 0) return Error{ErrorCode::refused, "runs were refused"};
  return count / (monotonic_ms() - from) * 1000;
}

}  // namespace eider::bench
