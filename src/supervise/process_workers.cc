#include "supervise/process_workers.h"

#include <unistd.h>
#include <filesystem>
#include <unordered_map>

#include "base/fault.h"
#include "base/log.h"
#include "supervise/adopted_worker.h"
#include "supervise/endings.h"
#include "supervise/fleet.h"
#include "supervise/lock_file.h"
#include "wire/staged.h"

namespace eider::supervise {
namespace {

/// What a worker has gone through that it should not take another run after.
bool wears_out(model::Outcome outcome) {
  return outcome == model::Outcome::timed_out || outcome == model::Outcome::cancelled ||
         outcome == model::Outcome::crashed || outcome == model::Outcome::interrupted;
}

/// The worker gave the run back before its first step, and not for a DuckDB file.
bool lacked_a_place(const wire::AttemptResult& result) {
  return result.outcome == model::Outcome::released && !result.file_held;
}

void drop_staged(const wire::Layout& layout, const wire::AttemptId& id) {
  if (auto removed = wire::remove_staged(layout, id); !removed) log::warning(removed.error().message);
}

/// The result stays, as the log does: it goes with the run's folder.
void remove_traces(const wire::Layout& layout, const wire::AttemptId& id) {
  const std::string folder = layout.run_folder(id.run_id);
  const int attempt = id.attempt;
  drop_staged(layout, id);
  ::unlink(wire::Layout::attempt_socket(folder, attempt).c_str());
  std::error_code error;
  std::filesystem::remove_all(wire::Layout::attempt_temp(folder, attempt), error);
  if (error) log::warning("can't remove " + wire::Layout::attempt_temp(folder, attempt) + ": " + error.message());
}

constexpr Micros kFirstLockPause = std::chrono::milliseconds(1);

}  // namespace

struct ProcessWorkers::Impl {
  /// A live attempt, from the hand-off (or its discovery at boot) to AttemptOver.
  struct Live {
    AttemptOver over;  ///< filled as it becomes known
    std::optional<Fleet::WorkerId> worker;
    std::unique_ptr<AdoptedWorker> adopted;
    bool ending = false;                          ///< the worker is done or dead; what is left is being ended
    std::string killed_because;                   ///< the backstop's reason
    std::optional<Reactor::TimerId> start_timer;  ///< its lock is not free yet: nothing of it runs
    std::optional<Reactor::TimerId> timeout_timer;
    std::optional<Reactor::TimerId> cancel_timer;
  };

  Impl(Reactor& reactor_in, ProcessWorkersOptions options_in)
      : reactor(reactor_in),
        options(std::move(options_in)),
        locks(options.layout.locks_folder()),
        spawner(reactor),
        files(reactor),
        endings(reactor, spawner, files, options.layout, options.report_after),
        fleet(reactor, spawner, fleet_options(),
              {.on_message = [this](const std::string& run_id,
                                    wire::ToServer message) { on_message(run_id, std::move(message)); },
               .on_death = [this](const std::string& run_id, const WorkerDeath& death) { on_death(run_id, death); }}) {}

  ~Impl() {
    for (auto& [run_id, live] : attempts) cancel_timers(*live);
  }

  FleetOptions fleet_options() const {
    FleetOptions out;
    out.program = options.program;
    out.welcome = {options.layout.workspace, options.warm_sql, options.duckdb_library};
    out.max_workers = options.max_workers;
    out.runs_before_recycling = options.runs_before_recycling;
    out.idle_time = options.idle_time;
    return out;
  }

  // ---- events ----

  void tell(WorkerEvent event) {
    events.push_back(std::move(event));
    if (events.size() == 1) reactor.wake();  // it may happen inside a call of the engine's, which waits next
  }

  /// Nothing of the attempt is left: its end may be told.
  void conclude(const std::string& run_id) {
    const auto found = attempts.find(run_id);
    cancel_timers(*found->second);
    AttemptOver over = std::move(found->second->over);
    attempts.erase(found);
    tell(std::move(over));
  }

  void cancel_timers(Live& live) {
    for (auto* timer : {&live.start_timer, &live.timeout_timer, &live.cancel_timer}) {
      if (*timer) reactor.cancel_timer(**timer);
      timer->reset();
    }
  }

  // ---- the life of an attempt ----

  Live* find(const std::string& run_id, int attempt) {
    const auto found = attempts.find(run_id);
    return found == attempts.end() || found->second->over.attempt != attempt ? nullptr : found->second.get();
  }

  /// None: the run has a live attempt already, which must not be (I3); the new one is over with that error.
  Live* add(const std::string& run_id, int attempt) {
    const auto [at, added] = attempts.try_emplace(run_id, nullptr);
    if (!added) {
      AttemptOver over;
      over.run_id = run_id;
      over.attempt = attempt;
      over.error = "attempt " + std::to_string(at->second->over.attempt) + " of the run is not over yet";
      tell(std::move(over));
      return nullptr;
    }
    at->second = std::make_unique<Live>();
    at->second->over.run_id = run_id;
    at->second->over.attempt = attempt;
    return at->second.get();
  }

  void hand_off(HandOff job) {
    Live* const live = add(job.run_id, job.attempt);
    if (live == nullptr) return;
    if (job.definition->size() > wire::frame_limit_bytes) {  // said before time is spent on it
      return not_begun(*live, Error{ErrorCode::refused, "the run's definition is over 64 MiB"});
    }
    begin(*live, std::make_shared<const HandOff>(std::move(job)), kFirstLockPause);
  }

  void not_begun(Live& live, const Error& error) {
    live.over.error = error.message;
    live.over.not_started = error.code != ErrorCode::refused;
    // A held lock and a cancel concern this run alone.
    live.over.others_too = live.over.not_started && error.code != ErrorCode::conflict;
    conclude(live.over.run_id);
  }

  /// A worker that is being started holds, between clone and exec, a copy of every lock that is looked at just then:
  /// one that is held is tried again, each time after twice the pause.
  void begin(Live& live, const std::shared_ptr<const HandOff>& handed, Micros pause) {
    live.start_timer.reset();
    const HandOff& job = *handed;
    const auto lock = locks.take(options.layout.lock_file(job.run_id));
    if (!lock) {
      if (lock.error().code != ErrorCode::conflict || pause > options.lock_patience) {
        return not_begun(live, lock.error());
      }
      live.start_timer =
          reactor.call_after(pause, [this, handed, pause] { begin(*attempts.at(handed->run_id), handed, pause * 2); });
      return;
    }
    fault::point("attempt.locked");
    wire::Job frame;
    frame.run_id = job.run_id;
    frame.attempt = job.attempt;
    frame.definition = *job.definition;
    frame.facts = job.facts;
    frame.kept = job.kept;
    frame.folder = options.layout.run_folder(job.run_id);
    frame.log_limit_bytes = options.log_limit_bytes;
    if (options.clock_offset) frame.clock_offset = options.clock_offset();
    const auto worker = fleet.give(frame, *lock);
    if (!worker) return not_begun(live, worker.error());
    live.worker = *worker;
    // Our copy of the lock closes here: from now on it is the worker's and its steps'.
    const Micros limit = job.timeout + options.after_interrupt + options.after_term + options.timeout_slack;
    live.timeout_timer = reactor.call_after(limit, [this, run_id = job.run_id] {
      attempts.at(run_id)->over.by_timeout = true;
      kill(run_id, "the run's timeout had passed, and its worker did not end it");
    });
  }

  void cancel(const std::string& run_id, int attempt, const std::string& reason) {
    Live* live = find(run_id, attempt);
    if (live == nullptr || live->ending) return;
    if (live->start_timer) return not_begun(*live, Error{ErrorCode::conflict, reason});
    const wire::Cancel frame{run_id, attempt, reason};
    if (live->worker) fleet.send(*live->worker, frame);
    if (live->adopted) live->adopted->send(frame);
    if (live->cancel_timer) return;
    const Micros limit = options.after_interrupt + options.after_term + options.cancel_slack;
    live->cancel_timer = reactor.call_after(
        limit, [this, run_id] { kill(run_id, "the run was cancelled, and its worker did not end it"); });
  }

  /// The backstop. The death that follows ends the attempt.
  void kill(const std::string& run_id, const std::string& because) {
    Live& live = *attempts.at(run_id);
    cancel_timers(live);
    live.killed_because = because + ": it was killed";
    if (live.worker) fleet.kill(*live.worker);
    if (live.adopted) live.adopted->kill();
  }

  void on_message(const std::string& run_id, wire::ToServer message) {
    const auto found = attempts.find(run_id);
    if (found == attempts.end() || found->second->ending) return;
    Live& live = *found->second;
    const auto ours = [&](const auto& frame) { return frame.run_id == run_id && frame.attempt == live.over.attempt; };
    if (!live.over.worker_pid) live.over.worker_pid = pid_of(live);
    if (auto* started = std::get_if<wire::StepStarted>(&message); started != nullptr && ours(*started)) {
      tell(AttemptStepStarted{std::move(*started), live.over.worker_pid.value_or(0)});
    } else if (auto* progress = std::get_if<wire::StepProgress>(&message); progress != nullptr && ours(*progress)) {
      tell(AttemptProgress{std::move(*progress)});
    } else if (auto* ended = std::get_if<wire::StepEnded>(&message); ended != nullptr && ours(*ended)) {
      tell(AttemptStepEnded{std::move(*ended)});
    } else if (auto* published = std::get_if<wire::Published>(&message); published != nullptr && ours(*published)) {
      tell(AttemptPublished{std::move(*published)});
    } else if (auto* adopted = std::get_if<wire::Adopted>(&message); adopted != nullptr && ours(*adopted)) {
      live.over.with_server = false;  // it did not end with its server
      // Told while no server listened; what was recorded before says nothing new.
      for (const wire::Publication& one : adopted->published) {
        tell(AttemptPublished{wire::Published{adopted->run_id, adopted->attempt, one}});
      }
      tell(AttemptAdopted{std::move(*adopted)});
    } else if (auto* done = std::get_if<wire::Finished>(&message); done != nullptr && ours(done->result)) {
      finished(live, std::move(done->result));
    }
  }

  std::optional<int> pid_of(const Live& live) const {
    if (live.worker) return fleet.pid(*live.worker);
    if (live.adopted && live.adopted->pid() != 0) return live.adopted->pid();
    return std::nullopt;
  }

  /// The worker reports the end. It is believed when the kernel says so too.
  void finished(Live& live, wire::AttemptResult result) {
    const std::string run_id = live.over.run_id;
    const bool free = lock_is_free(options.layout.lock_file(run_id));
    live.over.with_server = false;
    if (live.adopted) live.adopted->send(wire::Quit{});
    live.adopted.reset();
    if (!free) return end(live, std::move(result), Micros(0));
    if (live.worker) fleet.release(*live.worker, !wears_out(result.outcome));
    live.over.not_started = live.over.others_too = lacked_a_place(result);
    live.over.result = std::move(result);
    conclude(run_id);
  }

  void on_death(const std::string& run_id, const WorkerDeath& death) {
    const auto found = attempts.find(run_id);
    if (found == attempts.end() || found->second->ending) return;
    Live& live = *found->second;
    live.worker.reset();
    if (death.pid) live.over.worker_pid = death.pid;
    live.over.exit_code = death.exit_code;
    live.over.signal = death.signal;
    live.over.peak_memory_bytes = death.peak_memory_bytes;
    live.over.error = live.killed_because.empty() ? death.error : live.killed_because;
    live.over.not_started = live.over.others_too = !death.pid && !death.error.empty();
    end(live, std::nullopt, Micros(0));
  }

  void on_adopted_gone(const std::string& run_id) {
    Live& live = *attempts.at(run_id);
    live.over.error = live.killed_because;
    live.adopted.reset();
    end(live, std::nullopt, Micros(0));
  }

  /// From here on only Endings works on it.
  void end(Live& live, std::optional<wire::AttemptResult> reported, Micros grace) {
    live.ending = true;
    cancel_timers(live);
    endings.begin({live.over.run_id, live.over.attempt, std::move(reported), grace},
                  [this, run_id = live.over.run_id](Remains remains) {
                    const Live& ended = *attempts.at(run_id);
                    // With something left over, or worn out, the worker (where it lives) had better go.
                    const bool clean = remains.result && remains.left_over_processes == 0;
                    if (ended.worker) fleet.release(*ended.worker, clean && !wears_out(remains.result->outcome));
                    AttemptOver& over = attempts.at(run_id)->over;
                    over.left_over_processes = remains.left_over_processes;
                    if (!remains.error.empty()) over.error += (over.error.empty() ? "" : "\n") + remains.error;
                    over.result = std::move(remains.result);
                    over.published = std::move(remains.published);
                    if (over.result) {
                      over.with_server = over.by_timeout = false;
                      over.not_started = over.others_too = lacked_a_place(*over.result);
                    }
                    conclude(run_id);
                  });
  }

  // ---- boot ----

  AttemptTraces inspect(const std::string& run_id, int attempt) {
    // In this order: an attempt that ends meanwhile is seen as alive or as done, never as neither.
    AttemptTraces out;
    const std::string folder = options.layout.run_folder(run_id);
    if (auto socket = wire::connect_to(wire::Layout::attempt_socket(folder, attempt))) {
      out.socket_answers = true;
      connections[run_id] = std::move(*socket);
    }
    out.lock_held = !lock_is_free(options.layout.lock_file(run_id));
    const auto result = read_result(folder, run_id, attempt);
    out.result_there = result && result->has_value();
    if (!result) log::warning(result.error().message);
    return out;
  }

  void end_found(const std::string& run_id, int attempt, Micros grace) {
    connections.erase(run_id);
    Live* live = add(run_id, attempt);
    if (live == nullptr) return;
    live->over.with_server = true;
    end(*live, std::nullopt, grace);
  }

  void adopt(const std::string& run_id, int attempt) {
    UniqueFd socket;
    if (auto known = connections.extract(run_id)) {
      socket = std::move(known.mapped());
    } else if (auto made = wire::connect_to(wire::Layout::attempt_socket(options.layout.run_folder(run_id), attempt))) {
      socket = std::move(*made);
    } else {
      return end_found(run_id, attempt, Micros(0));  // it went since it was looked at
    }
    Live* live = add(run_id, attempt);
    if (live == nullptr) return;
    live->over.with_server = true;  // until it shows that it lives
    live->adopted = std::make_unique<AdoptedWorker>(
        reactor, std::move(socket),
        AdoptedWorker::Callbacks{
            .on_message = [this, run_id](wire::ToServer message) { on_message(run_id, std::move(message)); },
            .on_gone = [this, run_id] { on_adopted_gone(run_id); }});
  }

  // ---- afterwards ----

  void forget(const std::string& run_id, int attempt) {
    // Here and now, in order with the hand-off of a next attempt: see lock_file.h.
    if (!attempts.contains(run_id)) locks.ended(options.layout.lock_file(run_id));
    files.post([layout = options.layout, id = wire::AttemptId{run_id, attempt}]() -> Background::Completion {
      remove_traces(layout, id);
      return {};
    });
  }

  /// What attempts of an earlier server had staged, as far as they are over: those that are not were taken up at boot,
  /// and are forgotten at their end. One of a run that the store does not know (an older copy of it) may still live.
  void clean_up_after_earlier_server() {
    for (const wire::AttemptId& id : std::exchange(staged_before, {})) {
      const auto live = attempts.find(id.run_id);
      const bool over = live == attempts.end() ? lock_is_free(options.layout.lock_file(id.run_id))
                                               : live->second->over.attempt != id.attempt;
      if (!over) continue;
      files.post([layout = options.layout, id]() -> Background::Completion {
        drop_staged(layout, id);
        return {};
      });
    }
  }

  void close(bool leave_running) {
    fleet.close();
    connections.clear();
    if (!leave_running) return;
    for (auto at = attempts.begin(); at != attempts.end();) {
      Live& live = *at->second;
      if (live.ending) {  // nobody else would end what is left of it; the next server finds what is missed
        ++at;
        continue;
      }
      cancel_timers(live);
      if (live.worker) fleet.let_go(*live.worker);
      at = attempts.erase(at);
    }
  }

  Reactor& reactor;
  const ProcessWorkersOptions options;
  std::vector<WorkerEvent> events;
  std::unordered_map<std::string, std::unique_ptr<Live>> attempts;  ///< by run: a run has one at a time (I3)
  std::unordered_map<std::string, UniqueFd> connections;            ///< made by inspect(), for adopt()
  /// Seen before this server handed anything off.
  std::vector<wire::AttemptId> staged_before = wire::staged_lists(options.layout);
  LockFiles locks;  ///< outlives the spawner's thread, whose last child may hold one of them
  Background spawner;
  Background files;
  Endings endings;
  Fleet fleet;
};

ProcessWorkers::ProcessWorkers(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessWorkers::~ProcessWorkers() = default;

Result<std::unique_ptr<ProcessWorkers>> ProcessWorkers::open(Reactor& reactor, ProcessWorkersOptions options) {
  for (const std::string& folder : {options.layout.locks_folder(), options.layout.runs_folder()}) {
    if (auto made = make_folders(folder); !made) return made.error();
  }
  // A result that names files to publish must not be lost with a folder above it.
  for (const std::string& folder : {options.layout.state_folder(), options.layout.workspace}) {
    if (auto synced = sync_path(folder); !synced) return synced.error();
  }
  std::unique_ptr<ProcessWorkers> out(new ProcessWorkers(std::make_unique<Impl>(reactor, std::move(options))));
  out->impl_->fleet.start_spare();
  return out;
}

void ProcessWorkers::hand_off(HandOff job) { impl_->hand_off(std::move(job)); }
void ProcessWorkers::cancel(const std::string& run_id, int attempt, const std::string& reason) {
  impl_->cancel(run_id, attempt, reason);
}
AttemptTraces ProcessWorkers::inspect(const std::string& run_id, int attempt) {
  return impl_->inspect(run_id, attempt);
}
void ProcessWorkers::finish_from_result(const std::string& run_id, int attempt) {
  impl_->end_found(run_id, attempt, impl_->options.result_grace);
}
void ProcessWorkers::adopt(const std::string& run_id, int attempt) { impl_->adopt(run_id, attempt); }
void ProcessWorkers::end_left_overs(const std::string& run_id, int attempt) {
  impl_->end_found(run_id, attempt, Micros(0));
}
void ProcessWorkers::forget(const std::string& run_id, int attempt) { impl_->forget(run_id, attempt); }
std::vector<WorkerEvent> ProcessWorkers::take_events() {
  impl_->clean_up_after_earlier_server();
  return std::exchange(impl_->events, {});
}
void ProcessWorkers::close(bool leave_running) { impl_->close(leave_running); }

}  // namespace eider::supervise
