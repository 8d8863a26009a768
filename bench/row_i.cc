// I: data triggers: how soon an event becomes claims, beside a long history, and beside a consumer that is busy.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/ids.h"
#include "bench/floors.h"
#include "bench/process.h"
#include "bench/queue_core.h"
#include "bench/served.h"

namespace eider::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double most_ms = 20;  // event → claim, p99

void declare(workspace::Workspace& workspace, const std::string& asset) {
  workspace.settings.assets[asset].name = asset;
}

/// A pipeline with the trigger `on` for one asset.
void add_consumer(workspace::Workspace& workspace, const std::string& name, const std::string& asset) {
  add_pipeline(workspace, name, [&asset](model::Pipeline& pipeline) {
    pipeline.triggers.resize(1);
    pipeline.triggers[0].id = "on";
    pipeline.triggers[0].assets = {asset};
  });
}

/// Publishes events of one asset, and notes when the claims of a trigger's deliveries are committed.
class Publisher {
 public:
  /// `prefix`: claims by triggers that begin with it are noted.
  Publisher(QueueCore& core, std::string asset, std::string prefix)
      : core_(core), asset_(std::move(asset)), prefix_(std::move(prefix)) {}

  Result<void> publish() {
    engine::Materialize command;
    command.asset = asset_;
    command.asked_by = "bench";
    command.reply = [this](const auto& answer) { refused_ += answer ? 0 : 1; };
    posted_at_ = monotonic_ms();
    claimed_ms.clear();
    if (!core_.post(std::move(command))) return Error{ErrorCode::refused, "the inbox is full"};
    return {};
  }
  /// Of QueueCore::observe.
  void see(const model::ChangeSet& set) {
    for (const auto& change : set) {
      const auto* claimed = std::get_if<model::DeliveriesClaimed>(&change);
      if (claimed == nullptr || !claimed->trigger.starts_with(prefix_)) continue;
      claimed_ms.insert(claimed_ms.end(), claimed->ids.size(), monotonic_ms() - posted_at_);
    }
  }
  int refused() const { return refused_; }

  std::vector<double> claimed_ms;  ///< event → claim committed, of the newest event

 private:
  QueueCore& core_;
  std::string asset_;
  std::string prefix_;
  double posted_at_ = 0;
  int refused_ = 0;
};

Result<double> bare_commit_ms(const Setup& setup) {
  auto bare = BareStore::open(setup.scratch);
  if (!bare) return bare.error();
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) times.push_back((*bare)->commit());
  return median(std::move(times));
}

void judge(Figure& f, double floor) {
  f.floor = floor;
  f.floor_name = "bare commit";
  f.ratio = f.median / floor;
  f.ratio_to = "floor";
  f.target = fmt::format("p99 ≤ {:.0f}", most_ms);
  f.reached = *f.p99 <= most_ms;
}

// ---- one event, many triggers --------------------------------------------------------------------------------------

Result<void> measure_fan_out(const Setup& setup, Report& report, double floor) {
  constexpr std::size_t triggers = 200;
  const int events = setup.quick ? 20 : 200;
  const Folder folder(setup, "i");
  auto workspace = empty_workspace(folder.path(), 16);
  declare(*workspace, "raw.x");
  for (std::size_t n = 0; n < triggers; ++n) add_consumer(*workspace, fmt::format("c{}", n), "raw.x");
  auto core = QueueCore::open(folder.path(), std::move(workspace));
  if (!core) return core.error();
  Publisher publisher(**core, "raw.x", "c");
  (*core)->observe = [&](const model::ChangeSet& set) { publisher.see(set); };
  if (auto idle = (*core)->crank_until_idle(); !idle) return idle.error();
  std::vector<double> each, all, turns, settled;
  for (int n = 0; n < events; ++n) {
    const double from = monotonic_ms();
    if (auto posted = publisher.publish(); !posted) return posted;
    (void)(*core)->crank();
    turns.push_back(monotonic_ms() - from);
    if (auto idle = (*core)->crank_until_idle(); !idle) return idle.error();
    settled.push_back(monotonic_ms() - from);
    if (publisher.claimed_ms.size() != triggers) {
      report.broken("I", fmt::format("{} claims of {} for one event", publisher.claimed_ms.size(), triggers));
      return {};
    }
    each.insert(each.end(), publisher.claimed_ms.begin(), publisher.claimed_ms.end());
    all.push_back(publisher.claimed_ms.back());
  }
  Figure one = figure("I", fmt::format("one event to {} triggers: event → claim committed", triggers), "ms",
                      spread(std::move(each)));
  judge(one, floor);
  report.add(std::move(one));
  Figure last = figure("I", "  event → all of them committed", "ms", spread(std::move(all)));
  judge(last, floor);
  report.add(std::move(last));
  report.add(figure("I", "  the turn that takes the event", "ms", spread(std::move(turns))));
  report.add(figure("I", fmt::format("  event → {} runs ended", triggers), "ms", spread(std::move(settled))));
  return {};
}

// ---- a long history ------------------------------------------------------------------------------------------------

constexpr int assets_of_history = 20;
std::string asset_of_history(int n) { return fmt::format("raw.a{}", n % assets_of_history); }

/// Events that were delivered long ago, a hundred to a run, in big transactions.
Result<void> fill_events(store::Store& store, int count) {
  SystemRandom random;
  IdMaker ids(random);
  constexpr int a_run = 100;
  for (int at = 0; at < count;) {
    if (auto begun = store.begin(); !begun) return begun;
    for (int runs = 0; runs < 200 && at < count; ++runs) {
      const Instant when = now();
      const std::string trigger = fmt::format("c{}/on", runs % assets_of_history);
      model::DeliveriesClaimed claimed{trigger, {}, ids.make(when), "bench", when};
      model::ChangeSet set;
      for (int n = 0; n < a_run; ++n, ++at) {
        model::AssetMaterialized made;
        made.event.asset = asset_of_history(runs);
        made.event.id = model::materialization_id(fmt::format("history {}", at), made.event.asset, "", "");
        made.event.source = model::Source::reported;
        made.event.committed_at = when;
        model::Delivery owed;
        owed.id = model::delivery_id(trigger, made.event.id);
        owed.trigger = trigger;
        owed.pipeline = trigger.substr(0, trigger.find('/'));
        owed.asset = made.event.asset;
        owed.created_at = when;
        claimed.ids.push_back(owed.id);
        made.owed.push_back(std::move(owed));
        set.emplace_back(std::move(made));
      }
      model::Run run;
      run.id = claimed.run_id;
      run.pipeline = trigger.substr(0, trigger.find('/'));
      run.trigger = model::TriggerKind::data;
      run.trigger_id = trigger;
      run.created_at = run.not_before = when;
      model::AttemptEnded end;
      end.attempt.run_id = run.id;
      end.attempt.number = 1;
      end.attempt.outcome = model::Outcome::succeeded;
      end.attempt.finished_at = end.at = when;
      set.emplace_back(std::move(claimed));
      set.emplace_back(model::RunQueued{run});
      set.emplace_back(model::RunClaimed{run.id, 1, when, "definition", {}});
      set.emplace_back(std::move(end));
      auto applied = store.apply(set);
      if (!applied) return applied.error();
      if (!*applied) return Error{ErrorCode::io, "delivered events can't be written"};
    }
    if (auto committed = store.commit(); !committed) return committed;
    auto aside = store.checkpoint_aside();
    if (aside && *aside) (void)store.finish_checkpoint();
  }
  return {};
}

struct Beside {
  std::unique_ptr<Folder> folder;
  std::unique_ptr<QueueCore> core;
  std::unique_ptr<Publisher> publisher;
  std::vector<double> claimed, whole;
};

Result<void> open_history(const Setup& setup, int events, Beside& out) {
  progress(fmt::format("         filling a history of {} events", events));
  out.folder = std::make_unique<Folder>(setup, fmt::format("i{}", events));
  {
    auto store = store::open_sqlite_store({out.folder->path() + "/state.db", true});
    if (!store) return store.error();
    if (auto filled = fill_events(**store, events); !filled) return filled;
  }
  auto workspace = empty_workspace(out.folder->path(), 16);
  for (int n = 0; n < assets_of_history; ++n) {
    declare(*workspace, asset_of_history(n));
    add_consumer(*workspace, fmt::format("c{}", n), asset_of_history(n));
  }
  auto core = QueueCore::open(out.folder->path(), std::move(workspace));
  if (!core) return core.error();
  out.core = *std::move(core);
  out.publisher = std::make_unique<Publisher>(*out.core, asset_of_history(7), "c7/");
  out.core->observe = [publisher = out.publisher.get()](const model::ChangeSet& set) { publisher->see(set); };
  auto idle = out.core->crank_until_idle();
  if (!idle) return idle.error();
  return {};
}

/// One event and all that follows from it.
Result<void> live(Beside& beside) {
  const double from = monotonic_ms();
  if (auto posted = beside.publisher->publish(); !posted) return posted;
  if (auto idle = beside.core->crank_until_idle(); !idle) return idle.error();
  beside.whole.push_back(monotonic_ms() - from);
  const auto& claimed = beside.publisher->claimed_ms;
  if (claimed.size() != 1) return Error{ErrorCode::io, fmt::format("{} claims of one event", claimed.size())};
  beside.claimed.push_back(claimed.front());
  return {};
}

Result<void> measure_history(const Setup& setup, Report& report, double floor) {
  const int sizes[] = {10'000, setup.quick ? 50'000 : 1'000'000};
  Beside beside[2];
  for (int i = 0; i < 2; ++i) {
    if (auto opened = open_history(setup, sizes[i], beside[i]); !opened) return opened;
  }
  progress("         events beside it");
  // In turns, so that both meet the same machine.
  for (int n = 0; n < (setup.quick ? 300 : 3'000); ++n) {
    for (Beside& one : beside) {
      if (auto lived = live(one); !lived) return lived;
    }
  }
  for (int i = 0; i < 2; ++i) {
    Figure f = figure("I", fmt::format("{} retained events: event → claim committed", sizes[i]), "ms",
                      spread(beside[i].claimed));
    judge(f, floor);
    report.add(std::move(f));
  }
  Figure flat =
      figure("I", fmt::format("  event → run ended, {} retained events", sizes[1]), "ms", spread(beside[1].whole));
  flat.floor = median(beside[0].whole);
  flat.floor_name = fmt::format("with {}", sizes[0]);
  flat.ratio = flat.median / *flat.floor;
  flat.ratio_to = "that";
  flat.target = "≤ 1.1 × that";
  flat.reached = *flat.ratio <= 1.1;
  report.add(std::move(flat));
  return {};
}

// ---- a consumer that is busy ---------------------------------------------------------------------------------------

struct Busy {
  std::vector<double> claimed;  ///< of the fast trigger: event → claim committed
  std::vector<double> late;     ///< of the schedule: due → committed
  std::vector<double> whole;    ///< a fast event and all that follows from it
  int due = 0;
};

/// For a while: a schedule each 100 ms, a fast event each 50 ms, and one for the slow consumer with each of them.
Result<void> live_beside(QueueCore& core, Busy& out, Micros window, bool feeds_the_slow) {
  Publisher fast(core, "raw.fast", "fast/");
  Publisher slow(core, "raw.slow", "slow/");
  core.observe = [&](const model::ChangeSet& set) {
    fast.see(set);
    for (const auto& change : set) {
      const auto* queued = std::get_if<model::RunQueued>(&change);
      if (queued != nullptr && queued->run.scheduled_for) out.late.push_back(ms(now() - *queued->run.scheduled_for));
    }
  };
  const Instant from = std::chrono::ceil<seconds>(now()) + milliseconds(25);
  const Instant to = from + window;
  const auto rest_until = [&core](Instant at) -> Result<void> {
    auto next = core.crank_until_idle();
    if (!next) return next.error();
    sleep_until(next->wake_at ? std::min(*next->wake_at, at) : at);
    return {};
  };
  while (now() < from) {
    if (auto rested = rest_until(from); !rested) return rested;
  }
  out.late.clear();
  Instant next_event = from;
  while (now() < to) {
    if (now() >= next_event) {
      next_event += milliseconds(50);
      const double began = monotonic_ms();
      if (auto posted = fast.publish(); !posted) return posted;
      if (feeds_the_slow) {
        if (auto posted = slow.publish(); !posted) return posted;
      }
      if (auto idle = core.crank_until_idle(); !idle) return idle.error();
      out.whole.push_back(monotonic_ms() - began);
      if (fast.claimed_ms.size() != 1) return Error{ErrorCode::io, "a fast event was not claimed at once"};
      out.claimed.push_back(fast.claimed_ms.front());
    }
    if (auto rested = rest_until(next_event); !rested) return rested;
  }
  // The newest instant may just have fallen due.
  if (auto idle = core.crank_until_idle(); !idle) return idle.error();
  out.due += static_cast<int>(window / milliseconds(100));
  core.observe = {};
  return {};
}

Result<void> measure_busy(const Setup& setup, Report& report, double floor) {
  constexpr int pending = 1'000;
  const Folder folder(setup, "i");
  auto workspace = empty_workspace(folder.path(), 16);
  declare(*workspace, "raw.slow");
  declare(*workspace, "raw.fast");
  add_consumer(*workspace, "slow", "raw.slow");
  add_consumer(*workspace, "fast", "raw.fast");
  add_pipeline(*workspace, "clock", [](model::Pipeline& pipeline) {
    pipeline.schedules.resize(1);
    pipeline.schedules[0].id = "s";
    pipeline.schedules[0].timing.every = milliseconds(100);
  });
  auto core = QueueCore::open(folder.path(), std::move(workspace));
  if (!core) return core.error();
  (*core)->hold("slow");
  const Micros window = setup.quick ? seconds(2) : seconds(20);
  Busy alone, beside;
  if (auto lived = live_beside(**core, alone, window, false); !lived) return lived;
  // One holds the slot, the others wait.
  Publisher slow(**core, "raw.slow", "slow/");
  for (int n = 0; n <= pending; ++n) {
    if (auto posted = slow.publish(); !posted) return posted;
    if (auto idle = (*core)->crank_until_idle(); !idle) return idle.error();
  }
  if (auto lived = live_beside(**core, beside, window, true); !lived) return lived;
  auto left = (*core)->store().pending("slow/on", std::nullopt, 100'000);
  if (!left) return left.error();
  const auto expected = static_cast<std::size_t>(pending) + beside.claimed.size();
  if (left->size() != expected || slow.refused() > 0) {
    report.broken("I", fmt::format("{} deliveries of the busy consumer are pending, not {}", left->size(), expected));
  }
  Figure claimed = figure("I", fmt::format("{} pending of a busy consumer: another's event → claim committed", pending),
                          "ms", spread(beside.claimed));
  judge(claimed, floor);
  report.add(std::move(claimed));
  Figure whole = figure("I", "  its event → run ended", "ms", spread(beside.whole));
  whole.floor = median(alone.whole);
  whole.floor_name = "none pending";
  whole.ratio = whole.median / *whole.floor;
  whole.ratio_to = "that";
  whole.note = "with them, each time, one more event for the busy consumer";
  report.add(std::move(whole));
  Figure late = figure("I", "  a schedule each 100 ms: due → committed", "ms", spread(beside.late));
  late.floor = median(alone.late);
  late.floor_name = "none pending";
  late.target = fmt::format("{} of {} fire", beside.due, beside.due);
  late.reached = static_cast<int>(beside.late.size()) >= beside.due;
  report.add(std::move(late));
  return {};
}

}  // namespace

Result<void> row_i(const Setup& setup, Report& report) {
  const auto floor = bare_commit_ms(setup);
  if (!floor) return floor.error();
  if (auto done = measure_fan_out(setup, report, *floor); !done) return done;
  if (auto done = measure_history(setup, report, *floor); !done) return done;
  if (auto done = measure_busy(setup, report, *floor); !done) return done;
  report.say("I",
             "the loop in process on the real store, workers that are values; events are asked for through the inbox; "
             "the two histories in turns");
  return {};
}

}  // namespace eider::bench
