#include "bench/queue_core.h"

#include "bench/floors.h"
#include "bench/process.h"

namespace eider::bench {
namespace {

std::shared_ptr<const workspace::Workspace> make_workspace(const std::string& folder, int workers) {
  auto out = std::make_shared<workspace::Workspace>();
  out->root = folder;
  out->usable = true;
  out->settings.max_workers = workers;
  model::Pipeline pipeline;
  pipeline.name = "work";
  pipeline.file = "pipelines/work.yaml";
  pipeline.max_active_runs = 0;
  pipeline.steps.resize(1);
  pipeline.steps[0].id = "step";
  pipeline.steps[0].argv = {"/bin/true"};
  workspace::LoadedPipeline loaded;
  loaded.definition = std::make_shared<const std::string>(model::definition_json(pipeline));
  loaded.hash = model::definition_hash(*loaded.definition);
  loaded.pipeline = std::make_shared<const model::Pipeline>(std::move(pipeline));
  out->pipelines["work"] = std::move(loaded);
  return out;
}

}  // namespace

Result<std::unique_ptr<QueueCore>> QueueCore::open(const std::string& folder, int workers) {
  std::unique_ptr<QueueCore> core(new QueueCore);
  auto store = store::open_sqlite_store({folder + "/state.db", true});
  if (!store) return store.error();
  core->store_ = *std::move(store);
  core->workers_.finish_at_once = true;
  const auto workspace = make_workspace(folder, workers);
  core->loop_ = std::make_unique<engine::Loop>(
      engine::LoopParts{
          core->clock_,
          core->random_,
          *core->store_,
          core->workers_,
          core->inbox_,
          [workspace](const auto*) { return Result<std::shared_ptr<const workspace::Workspace>>(workspace); },
          {},
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

void QueueCore::crank() {
  loop_->turn();
  workers_.handed_off.clear();
  workers_.forgotten.clear();
  if (finish_checkpoint_.exchange(false)) (void)store_->finish_checkpoint();
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
