// J: a full pool starves nobody: how soon another pool's run is claimed, beside what is queued on a full one.
#include <fmt/format.h>

#include "bench/floors.h"
#include "bench/process.h"
#include "bench/queue_core.h"
#include "bench/served.h"

namespace eider::bench {
namespace {

constexpr int blocked_pipelines = 100;

/// Two pools of one slot: `full`, which a run that does not end holds, and `other`.
std::shared_ptr<workspace::Workspace> two_pools(const std::string& folder) {
  auto workspace = empty_workspace(folder, 16);
  for (const char* pool : {"full", "other"}) workspace->settings.pools[pool] = {pool, 1, {}};
  const auto add = [&](const std::string& name, const char* pool) {
    add_pipeline(*workspace, name, [pool](model::Pipeline& pipeline) {
      pipeline.pools[pool] = 1;
      pipeline.max_active_runs = 0;
    });
  };
  add("holder", "full");
  for (int n = 0; n < blocked_pipelines; ++n) add(fmt::format("blocked{}", n), "full");
  add("quick", "other");
  return workspace;
}

struct BesideQueue {
  int queued = 0;
  std::unique_ptr<Folder> folder;
  std::unique_ptr<QueueCore> core;
  double claimed_at = 0;
  int refused = 0;
  std::vector<double> claimed, whole;

  Result<void> ask(const std::string& pipeline) {
    engine::StartRun start;
    start.pipeline = pipeline;
    start.queue = true;
    start.asked_by = "bench";
    start.reply = [this](const Result<std::string>& id) { refused += id ? 0 : 1; };
    if (!core->post(std::move(start))) return Error{ErrorCode::refused, "the inbox is full"};
    return {};
  }
};

Result<void> fill(const Setup& setup, BesideQueue& out) {
  progress(fmt::format("         {} runs queued on a full pool", out.queued));
  out.folder = std::make_unique<Folder>(setup, fmt::format("j{}", out.queued));
  auto core = QueueCore::open(out.folder->path(), two_pools(out.folder->path()));
  if (!core) return core.error();
  out.core = *std::move(core);
  out.core->hold("holder");
  out.core->observe = [&out](const model::ChangeSet& set) {
    for (const auto& change : set) {
      if (std::holds_alternative<model::RunClaimed>(change)) out.claimed_at = monotonic_ms();
    }
  };
  if (auto asked = out.ask("holder"); !asked) return asked;
  if (auto idle = out.core->crank_until_idle(); !idle) return idle.error();
  constexpr int at_once = 5'000;
  for (int n = 0; n < out.queued; ++n) {
    if (auto asked = out.ask(fmt::format("blocked{}", n % blocked_pipelines)); !asked) return asked;
    if (n % at_once != at_once - 1 && n + 1 != out.queued) continue;
    if (auto idle = out.core->crank_until_idle(); !idle) return idle.error();
  }
  return {};
}

/// A person's run of the other pool: asked for, queued and claimed in a turn, ended in the next.
Result<void> dispatch(BesideQueue& out, int count) {
  for (int n = 0; n < count; ++n) {
    const double from = monotonic_ms();
    out.claimed_at = 0;
    if (auto asked = out.ask("quick"); !asked) return asked;
    (void)out.core->crank();
    if (out.claimed_at == 0) return Error{ErrorCode::io, "the run was not claimed in its first turn"};
    out.claimed.push_back(out.claimed_at - from);
    if (auto idle = out.core->crank_until_idle(); !idle) return idle.error();
    out.whole.push_back(monotonic_ms() - from);
  }
  return {};
}

void judge(Report& report, const BesideQueue& alone, const BesideQueue& beside, double most) {
  Figure f =
      figure("J", fmt::format("{} queued on a full pool: another pool's run queued → claim committed", beside.queued),
             "ms", spread(beside.claimed));
  const Spread free = spread(alone.claimed);
  f.floor = free.p99;
  f.floor_name = "empty queue, p99";
  f.ratio = *f.p99 / free.p99;
  f.ratio_to = "that";
  f.target = fmt::format("p99 ≤ {:.2f} ×", most);
  f.reached = *f.ratio <= most;
  report.add(std::move(f));
  Figure whole = figure("J", "  queued → run ended", "ms", spread(beside.whole));
  whole.floor = median(alone.whole);
  whole.floor_name = "empty queue";
  whole.ratio = whole.median / *whole.floor;
  whole.ratio_to = "that";
  report.add(std::move(whole));
}

}  // namespace

Result<void> row_j(const Setup& setup, Report& report) {
  BesideQueue cases[3];
  cases[1].queued = 1'000;
  cases[2].queued = setup.quick ? 20'000 : 100'000;
  for (BesideQueue& one : cases) {
    if (auto filled = fill(setup, one); !filled) return filled;
  }
  progress("         dispatching beside them");
  // In turns, so that what the machine does meanwhile meets all three.
  for (int round = 0; round < (setup.quick ? 10 : 100); ++round) {
    for (BesideQueue& one : cases) {
      if (auto done = dispatch(one, 50); !done) return done;
    }
  }
  for (const BesideQueue& one : cases) {
    const std::size_t left = one.core->state().runs().size();
    if (one.refused > 0 || left != static_cast<std::size_t>(one.queued) + 1) {
      report.broken("J", fmt::format("{} runs are open, not {} and the holder", left, one.queued));
    }
  }
  report.add(figure("J", "empty queue: a run queued → claim committed", "ms", spread(cases[0].claimed)));
  judge(report, cases[0], cases[1], 1.10);
  judge(report, cases[0], cases[2], 1.20);
  report.say("J", fmt::format("the loop in process on the real store, workers that are values; what is queued is of {} "
                              "pipelines; the three queues in turns, 50 runs each",
                              blocked_pipelines));
  return {};
}

}  // namespace eider::bench
