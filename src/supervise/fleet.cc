#include "supervise/fleet.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <csignal>

#include "base/log.h"
#include "supervise/spawn.h"

namespace eider::supervise {

struct Fleet::Worker {
  enum class State { waiting, busy, leaving };

  Worker(WorkerId number, UniqueFd socket) : id(number), channel(std::make_unique<wire::Channel>(std::move(socket))) {}

  const WorkerId id;
  State state = State::waiting;
  bool ready = false;  ///< it said so since its last job: nothing to wait for
  std::string run_id;  ///< of its job, while busy
  int runs = 0;
  std::uint64_t last_use = 0;
  std::unique_ptr<wire::Channel> channel;  ///< none: closed, its process still to end
  bool watched_for_writing = false;
  wire::Process process;  ///< pid 0 until it is started
  int said_pid = 0;       ///< its own word; it may speak before the spawner's thread has told of it
  bool kill_when_started = false;
  std::string error;
  std::optional<Reactor::TimerId> kill_timer;
};

Fleet::Fleet(Reactor& reactor, Background& spawner, FleetOptions options, Callbacks callbacks)
    : reactor_(reactor),
      spawner_(spawner),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      environment_(std::make_shared<const std::vector<std::string>>(worker_environment())) {}

Fleet::~Fleet() {
  *alive_ = false;
  if (trim_timer_) reactor_.cancel_timer(*trim_timer_);
  for (auto& [id, worker] : workers_) {
    close_channel(*worker);
    if (worker->process.handle) reactor_.unwatch(worker->process.handle.get());
    if (worker->kill_timer) reactor_.cancel_timer(*worker->kill_timer);
  }
}

Fleet::Worker* Fleet::find(WorkerId id) {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : found->second.get();
}

std::optional<int> Fleet::pid(WorkerId id) const {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return std::nullopt;
  const int known = found->second->process.pid != 0 ? found->second->process.pid : found->second->said_pid;
  return known != 0 ? std::optional(known) : std::nullopt;
}

// ---- starting ----------------------------------------------------------------------------------------------------

Result<Fleet::Worker*> Fleet::start() {
  auto ends = wire::channel_pair();
  if (!ends) return Error{ends.error().code, "can't start a worker: " + ends.error().message};
  const WorkerId id = ++last_id_;
  Worker& worker = *workers_.emplace(id, std::make_unique<Worker>(id, std::move(ends->first))).first->second;
  if (auto sent = worker.channel->send(encode(wire::ToWorker(options_.welcome))); !sent) {
    workers_.erase(id);
    return sent.error();
  }
  reactor_.watch(worker.channel->fd(), [this, id] { on_channel(id); });
  auto theirs = std::make_shared<UniqueFd>(std::move(ends->second));
  spawner_.post([this, id, theirs, alive = alive_, program = options_.program, environment = environment_] {
    auto process = std::make_shared<Result<wire::Process>>(spawn_worker(program, *environment, *theirs));
    theirs->reset();  // from here on its end shows as the end of the channel
    return [this, id, process, alive] {
      if (*alive) started(id, std::move(*process));
    };
  });
  return &worker;
}

void Fleet::started(WorkerId id, Result<wire::Process> process) {
  Worker* worker = find(id);
  if (worker == nullptr) {
    // It was let go before it began: it has its job, or finds its channel closed. Nobody waits for it but init.
    return;
  }
  if (!process) {
    remove(id, WorkerDeath{{}, {}, {}, {}, process.error().message});
    return;
  }
  worker->process = std::move(*process);
  reactor_.watch(worker->process.handle.get(), [this, id] { on_exit(id); });
  if (worker->kill_when_started) wire::signal_process(worker->process, SIGKILL);
}

void Fleet::start_spare() {
  if (closed_ || waiting_count() > 0 || static_cast<int>(workers_.size()) >= options_.max_workers) return;
  if (const auto worker = start(); !worker) log::warning(worker.error().message);
}

int Fleet::waiting_count() const {
  int count = 0;
  for (const auto& [id, worker] : workers_) count += worker->state == Worker::State::waiting && worker->channel ? 1 : 0;
  return count;
}

// ---- jobs --------------------------------------------------------------------------------------------------------

/// The one that is ready, then the one used last: the others may grow idle and leave.
Fleet::Worker* Fleet::waiting_worker() {
  Worker* best = nullptr;
  for (const auto& [id, worker] : workers_) {
    if (worker->state != Worker::State::waiting || !worker->channel) continue;
    if (best == nullptr || std::pair(worker->ready, worker->last_use) > std::pair(best->ready, best->last_use)) {
      best = worker.get();
    }
  }
  return best;
}

Result<Fleet::WorkerId> Fleet::give(const wire::Job& job, const UniqueFd& lock) {
  const std::string frame = encode(wire::ToWorker(job));
  while (true) {
    Worker* worker = waiting_worker();
    if (worker == nullptr) {
      auto fresh = start();
      if (!fresh) return fresh.error();
      worker = *fresh;
    }
    auto sent = worker->channel->send(frame, lock.get());
    if (!sent && sent.error().code == ErrorCode::unavailable) {
      close_channel(*worker);  // it died while it was idle: not this job's trouble
      kill_unless_gone(*worker);
      continue;
    }
    if (!sent) return sent.error();
    on_writable(worker->id);
    worker->state = Worker::State::busy;
    worker->ready = false;
    worker->run_id = job.run_id;
    worker->last_use = ++last_use_;
    ++worker->runs;
    const WorkerId id = worker->id;
    start_spare();
    return id;
  }
}

void Fleet::send(WorkerId id, const wire::ToWorker& message) {
  Worker* worker = find(id);
  if (worker != nullptr && worker->channel) send_to(*worker, encode(message));
}

void Fleet::send_to(Worker& worker, const std::string& frame) {
  if (auto sent = worker.channel->send(frame); !sent && sent.error().code != ErrorCode::unavailable) {
    nonsense(worker, sent.error().message);
    return;
  }
  on_writable(worker.id);
}

void Fleet::release(WorkerId id, bool reuse) {
  Worker* worker = find(id);
  if (worker == nullptr || worker->state != Worker::State::busy) return;
  worker->run_id.clear();
  worker->state = Worker::State::waiting;
  worker->last_use = ++last_use_;
  if (!reuse || closed_ || worker->runs >= options_.runs_before_recycling) {
    ask_to_leave(*worker);
    return;
  }
  plan_trim();
}

void Fleet::let_go(WorkerId id) {
  Worker* worker = find(id);
  if (worker == nullptr) return;
  close_channel(*worker);
  if (worker->process.handle) reactor_.unwatch(worker->process.handle.get());
  if (worker->kill_timer) reactor_.cancel_timer(*worker->kill_timer);
  workers_.erase(id);
}

// ---- frames ------------------------------------------------------------------------------------------------------

void Fleet::on_channel(WorkerId id) {
  if (read_frames(id)) return;
  // Its end of the channel is closed: it is dying, and its exit says how. If it does not die, it is no use.
  if (Worker* worker = find(id)) {
    close_channel(*worker);
    kill_unless_gone(*worker);
  }
}

/// False: the channel is at its end.
bool Fleet::read_frames(WorkerId id) {
  Worker* worker = find(id);
  if (worker == nullptr || !worker->channel) return true;
  std::vector<wire::Channel::Frame> frames;
  const Result<bool> open = worker->channel->receive(frames);
  for (const wire::Channel::Frame& frame : frames) {
    worker = find(id);
    if (worker == nullptr) return true;
    auto message = wire::decode_to_server(frame.text);
    if (!message) {
      nonsense(*worker, message.error().message);
      return true;
    } else if (const auto* ready = std::get_if<wire::Ready>(&*message)) {
      worker->said_pid = ready->pid;
      worker->ready = worker->state == Worker::State::waiting;
    } else if (worker->state == Worker::State::busy) {
      callbacks_.on_message(std::string(worker->run_id), std::move(*message));
    }
  }
  if (worker = find(id); worker != nullptr && !open) nonsense(*worker, open.error().message);
  return !open || *open;
}

void Fleet::on_writable(WorkerId id) {
  Worker* worker = find(id);
  if (worker == nullptr || !worker->channel) return;
  if (worker->watched_for_writing && !worker->channel->flush()) return;  // the end of the channel is seen by reading
  if (worker->channel->wants_write() == worker->watched_for_writing) return;
  worker->watched_for_writing = worker->channel->wants_write();
  // Both watches end together, so the one for reading is set again.
  reactor_.unwatch(worker->channel->fd());
  reactor_.watch(worker->channel->fd(), [this, id] { on_channel(id); });
  if (worker->watched_for_writing) reactor_.watch_writable(worker->channel->fd(), [this, id] { on_writable(id); });
}

void Fleet::nonsense(Worker& worker, const std::string& what) {
  if (worker.error.empty()) worker.error = "the worker was killed because it broke its protocol: " + what;
  close_channel(worker);
  kill(worker.id);
}

// ---- ends --------------------------------------------------------------------------------------------------------

void Fleet::kill(WorkerId id) {
  Worker* worker = find(id);
  if (worker == nullptr) return;
  worker->kill_when_started = true;
  if (worker->process.handle) wire::signal_process(worker->process, SIGKILL);
}

void Fleet::on_exit(WorkerId id) {
  read_frames(id);  // what it said before it died counts; one call takes more than a socket holds
  Worker* worker = find(id);
  if (worker == nullptr) return;
  int status = 0;
  struct rusage usage {};
  const pid_t waited = ::wait4(worker->process.pid, &status, WNOHANG, &usage);
  if (waited == 0) return;  // not yet
  WorkerDeath death;
  death.pid = worker->process.pid;
  death.error = worker->error;
  if (waited > 0) {
    if (WIFEXITED(status)) death.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) death.signal = WTERMSIG(status);
    death.peak_memory_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  }
  remove(id, std::move(death));
}

void Fleet::remove(WorkerId id, WorkerDeath death) {
  Worker* worker = find(id);
  const bool busy = worker->state == Worker::State::busy;
  const std::string run_id = worker->run_id;
  if (worker->state == Worker::State::waiting) {
    if (!death.error.empty()) log::warning(death.error);
    if (death.signal || death.exit_code.value_or(0) != 0) log::warning("a worker died while it waited for a run");
  }
  let_go(id);
  // No spare is started for one that died: a program that dies at once must not be started over and over.
  if (busy) callbacks_.on_death(run_id, std::move(death));
}

void Fleet::close_channel(Worker& worker) {
  if (!worker.channel) return;
  reactor_.unwatch(worker.channel->fd());
  worker.channel.reset();
}

void Fleet::ask_to_leave(Worker& worker) {
  worker.state = Worker::State::leaving;
  if (worker.channel) send_to(worker, encode(wire::ToWorker(wire::Quit{})));
  kill_unless_gone(worker);
}

void Fleet::kill_unless_gone(Worker& worker) {
  if (worker.kill_timer) return;
  worker.kill_timer = reactor_.call_after(options_.quit_limit, [this, id = worker.id] {
    if (Worker* late = find(id)) late->kill_timer.reset();
    kill(id);
  });
}

void Fleet::close() {
  closed_ = true;
  std::vector<WorkerId> waiting;
  for (const auto& [id, worker] : workers_) {
    if (worker->state == Worker::State::waiting) waiting.push_back(id);
  }
  for (const WorkerId id : waiting) ask_to_leave(*find(id));
}

void Fleet::plan_trim() {
  if (trim_timer_ || waiting_count() <= 1) return;
  trim_mark_ = last_use_;
  trim_timer_ = reactor_.call_after(options_.idle_time, [this] {
    trim_timer_.reset();
    trim();
  });
}

/// Workers that nobody has used since the timer was set leave; the one used last stays.
void Fleet::trim() {
  std::vector<Worker*> waiting;
  for (const auto& [id, worker] : workers_) {
    if (worker->state == Worker::State::waiting) waiting.push_back(worker.get());
  }
  const auto newest_first = [](const Worker* a, const Worker* b) { return a->last_use > b->last_use; };
  std::sort(waiting.begin(), waiting.end(), newest_first);
  for (std::size_t i = 1; i < waiting.size(); ++i) {
    if (waiting[i]->last_use <= trim_mark_) ask_to_leave(*waiting[i]);
  }
  plan_trim();
}

}  // namespace eider::supervise
