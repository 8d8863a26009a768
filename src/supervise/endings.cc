#include "supervise/endings.h"

#include "base/log.h"
#include "supervise/lock_file.h"
#include "wire/publish.h"

namespace eider::supervise {
namespace {

constexpr Micros kFirstPause = std::chrono::milliseconds(1);
constexpr Micros kLongestPause = std::chrono::seconds(1);
constexpr std::size_t kLargestResult = 64UL << 20;

void add_line(std::string& to, const std::string& line) { to += (to.empty() ? "" : "\n") + line; }

/// What the attempt published while it ran. Of what can't be put in place nothing is told.
void collect_published(const std::string& folder, int attempt, Remains& out) {
  const std::string path = wire::Layout::attempt_published(folder, attempt);
  const auto text = read_file(path, kLargestResult);
  if (!text && text.error().code == ErrorCode::not_found) return;
  auto found = text ? wire::decode_published(*text) : Result<wire::PublishedSoFar>(text.error());
  if (!found) return add_line(out.error, path + ": " + found.error().message);
  out.published = std::move(found->publications);
  for (const wire::Rename& rename : found->renames) {
    const auto applied = wire::apply_renames({rename});
    if (applied) continue;
    add_line(out.error, applied.error().message);
    std::erase_if(out.published, [&](const auto& publication) { return publication.asset == rename.asset; });
  }
}

/// Runs where the disk may be slow. A result whose files can't be put in place is a failure, as when its worker says
/// so.
Remains collect_remains(const std::string& folder, const std::string& run_id, int attempt) {
  Remains out;
  collect_published(folder, attempt, out);
  auto found = read_result(folder, run_id, attempt);
  if (!found) {
    add_line(out.error, found.error().message);
    return out;
  }
  out.result = std::move(*found);
  if (!out.result) return out;
  if (auto applied = wire::apply_renames(out.result->renames); !applied) {
    out.result->outcome = model::Outcome::failed;
    out.result->error = applied.error().message;
    out.result->publications.clear();
  }
  return out;
}

std::string numbers(const std::vector<int>& pids) {
  std::string out;
  for (const int pid : pids) out += (out.empty() ? "" : ", ") + std::to_string(pid);
  return out;
}

}  // namespace

Result<std::optional<wire::AttemptResult>> read_result(const std::string& folder, const std::string& run_id,
                                                       int attempt) {
  const std::string path = wire::Layout::attempt_result(folder, attempt);
  const auto text = read_file(path, kLargestResult);
  if (!text && text.error().code == ErrorCode::not_found) return std::optional<wire::AttemptResult>();
  if (!text) return text.error();
  auto result = wire::decode_result(*text);
  if (!result) return Error{result.error().code, path + ": " + result.error().message};
  if (result->run_id != run_id || result->attempt != attempt) {
    return Error{ErrorCode::corrupt, path + ": is the result of another attempt"};
  }
  return std::optional(std::move(*result));
}

struct Endings::Ending {
  Request request;
  std::function<void(Remains)> done;
  wire::ProcessMarks marks;
  Micros pause = kFirstPause;
  std::set<int> killed;
  std::vector<int> last_seen;
  std::optional<Reactor::TimerId> timer;
  std::optional<Reactor::TimerId> report_timer;
};

Endings::Endings(Reactor& reactor, Background& spawner, Background& files, wire::Layout layout, Micros report_after)
    : reactor_(reactor), spawner_(spawner), files_(files), layout_(std::move(layout)), report_after_(report_after) {}

Endings::~Endings() {
  for (const auto& ending : endings_) {
    if (ending->timer) reactor_.cancel_timer(*ending->timer);
    if (ending->report_timer) reactor_.cancel_timer(*ending->report_timer);
  }
}

void Endings::begin(Request request, std::function<void(Remains)> done) {
  auto ending = std::make_shared<Ending>();
  ending->marks = {request.run_id, request.attempt, "", layout_.lock_file(request.run_id)};
  ending->request = std::move(request);
  ending->done = std::move(done);
  endings_.push_back(ending);
  report_later(ending, report_after_);
  wait_for_lock(ending);
}

/// The next thing to do for this end, after a while. The pause doubles each time.
void Endings::call_after_pause(const std::shared_ptr<Ending>& ending, Next next) {
  ending->timer = reactor_.call_after(ending->pause, [this, handle = Handle(ending), next] {
    const auto due = handle.lock();
    if (!due) return;
    due->timer.reset();
    (this->*next)(due);
  });
  ending->pause = std::min(ending->pause * 2, kLongestPause);
}

void Endings::wait_for_lock(const std::shared_ptr<Ending>& ending) {
  if (ending->request.grace > Micros(0) && !lock_is_free(ending->marks.lock_file)) {
    ending->request.grace -= ending->pause;
    call_after_pause(ending, &Endings::wait_for_lock);
    return;
  }
  ending->pause = kFirstPause;
  sweep(ending);
}

void Endings::sweep(const std::shared_ptr<Ending>& ending) {
  spawner_.post([this, handle = Handle(ending), marks = ending->marks]() -> Background::Completion {
    const Sweep result = sweep_left_overs(marks);
    return [this, handle, result] {
      if (const auto swept_ending = handle.lock()) swept(swept_ending, result);
    };
  });
}

void Endings::swept(const std::shared_ptr<Ending>& ending, const Sweep& sweep) {
  ending->killed.insert(sweep.killed.begin(), sweep.killed.end());
  ending->last_seen = sweep.killed;
  if (!sweep.clean()) {
    call_after_pause(ending, &Endings::sweep);
    return;
  }
  if (ending->request.reported) {
    Remains remains;
    remains.result = std::move(ending->request.reported);
    finish(ending, std::move(remains));
    return;
  }
  files_.post([this, handle = Handle(ending), run_id = ending->request.run_id, attempt = ending->request.attempt,
               folder = layout_.run_folder(ending->request.run_id)]() -> Background::Completion {
    auto remains = std::make_shared<Remains>(collect_remains(folder, run_id, attempt));
    return [this, handle, remains] {
      if (const auto collected = handle.lock()) finish(collected, std::move(*remains));
    };
  });
}

void Endings::finish(const std::shared_ptr<Ending>& ending, Remains remains) {
  if (ending->report_timer) reactor_.cancel_timer(*ending->report_timer);
  remains.left_over_processes = static_cast<int>(ending->killed.size());
  const auto done = std::move(ending->done);
  endings_.remove(ending);
  done(std::move(remains));
}

void Endings::report_later(const std::shared_ptr<Ending>& ending, Micros delay) {
  ending->report_timer = reactor_.call_after(delay, [this, handle = Handle(ending)] {
    const auto late = handle.lock();
    if (!late) return;
    const std::string who = late->last_seen.empty()
                                ? "a process that can't be seen from here holds " + late->marks.lock_file
                                : "killed, but not gone yet: process " + numbers(late->last_seen);
    log::warning("run " + late->request.run_id + ", attempt " + std::to_string(late->request.attempt) +
                 " can't be ended: " + who);
    report_later(late, report_after_ * 6);
  });
}

}  // namespace eider::supervise
