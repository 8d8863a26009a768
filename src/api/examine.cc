// The handler behind `eider doctor`: looks at the server, the store, the disk and the processes.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <filesystem>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/doctor.h"
#include "api/parameters.h"
#include "api/usual.h"
#include "base/fd.h"
#include "timing/zone.h"
#include "wire/workspace_lock.h"

namespace eider::api {
namespace {

/// The letter after the process's name, which may hold anything.
char process_state(int pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!stat) return 'X';
  const std::size_t end = stat->rfind(") ");
  return end == std::string::npos || end + 2 >= stat->size() ? '?' : (*stat)[end + 2];
}

std::string held_by(const model::Taken& taken) {
  std::string out;
  const auto add = [&out](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (const auto& [pool, slots] : taken.pools) add(fmt::format("{} of pool {}", slots, pool));
  for (const auto& [lock, mode] : taken.locks) add(fmt::format("lock {} ({})", lock, model::to_text(mode)));
  for (const model::Taken::File& file : taken.files) add(file.path);
  return out;
}

/// The log's newest line is as new as its file; with a test clock that is another time, and only the steps tell.
std::optional<Instant> last_sign(const Context& context, const model::Attempt& attempt, const engine::LiveRun* live) {
  std::optional<Instant> newest;
  const auto note = [&newest](std::optional<Instant> at) {
    if (at && (!newest || *at > *newest)) newest = at;
  };
  const wire::Layout& layout = context.options().layout;
  struct stat info {};
  const std::string log = wire::Layout::attempt_log(layout.run_folder(attempt.run_id), attempt.number);
  if (!context.options().test_clock && ::stat(log.c_str(), &info) == 0) {
    note(from_us(info.st_mtim.tv_sec * 1'000'000 + info.st_mtim.tv_nsec / 1000));
  }
  for (const wire::StepResult& step : live ? live->steps : std::vector<wire::StepResult>()) {
    if (step.kept_from == 0) note(step.finished_at);
  }
  for (const wire::StepStarted& step : live ? live->running : std::vector<wire::StepStarted>()) note(step.at);
  return newest;
}

RunSigns look_at(Context& context, const Snapshot& snapshot, const model::Run& run, const model::Attempt& attempt,
                 Usuals& usuals) {
  RunSigns signs;
  signs.run = run;
  signs.holds = held_by(attempt.taken);
  signs.claimed_at = attempt.claimed_at;
  const engine::LiveRun* live = snapshot.live_of(run.id);
  signs.last_sign = last_sign(context, attempt, live);
  signs.usual = usuals.of(run.pipeline);
  if (live && live->worker_pid > 0) {
    signs.worker_pid = live->worker_pid;
    signs.worker_state = process_state(live->worker_pid);
  }
  return signs;
}

std::optional<Disk> look_at_disk(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return std::nullopt;
  Disk disk{folder, static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize), std::nullopt};
  if (info.f_files > 0) disk.free_files = static_cast<std::int64_t>(info.f_favail);
  return disk;
}

/// Folders named after a process that is gone.
std::vector<std::string> look_for_left_overs(const wire::Layout& layout) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code failed;
  fs::directory_iterator at(layout.state_folder() + "/workers", failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().filename().string();
    const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
    if (number && !fs::exists("/proc/" + name, failed)) out.push_back(at->path().string());
  }
  return out;
}

/// When each pipeline that says how fresh its data must be has succeeded for the last time.
Result<std::vector<DataAge>> look_at_data(Context& context, const Snapshot& snapshot) {
  std::vector<DataAge> out;
  for (const engine::PipelineView& pipeline : snapshot.pipelines) {
    if (!pipeline.freshness) continue;
    store::RunFilter succeeded;
    succeeded.pipeline = pipeline.name;
    succeeded.state = model::RunState::succeeded;
    const auto newest = context.reader().runs(succeeded, 1, "");
    if (!newest) return newest.error();
    if (newest->items.empty() || !newest->items.front().finished_at) continue;
    out.push_back({pipeline.name, *pipeline.freshness, *newest->items.front().finished_at});
  }
  return out;
}

}  // namespace

void examine(Context& context, const Call& call, const Respond& respond) {
  const QueryReader query(call.request, {});
  if (query.problem()) return respond(problem_response(*query.problem()));
  take_snapshot(context, {}, respond, [&context, respond](const Snapshot& snapshot) {
    Examined examined;
    examined.snapshot = snapshot;
    examined.now = context.options().clock->now();
    Usuals usuals(context.reader(), examined.now);
    for (const model::Run& run : snapshot.open) {
      if (run.state != model::RunState::running) continue;
      const auto attempts = context.reader().attempts(run.id);
      if (!attempts) return respond(error_response(attempts.error()));
      if (attempts->empty() || attempts->back().outcome) continue;  // it has ended meanwhile
      examined.running.push_back(look_at(context, snapshot, run, attempts->back(), usuals));
    }
    auto data = look_at_data(context, snapshot);
    if (!data) return respond(error_response(data.error()));
    examined.data = std::move(*data);
    const wire::Layout& layout = context.options().layout;
    if (const auto holder = wire::workspace_holder(layout); holder) examined.foreground = holder->pipeline;
    examined.disk = look_at_disk(layout.state_folder());
    examined.zone_data = timing::tzdata_version();
    examined.left_over = look_for_left_overs(layout);
    respond(json_response(200, json_of(findings(examined), examined)));
  });
}

}  // namespace eider::api
