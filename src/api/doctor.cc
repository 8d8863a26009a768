#include "api/doctor.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "api/json_parts.h"
#include "api/usual.h"
#include "api/words.h"

namespace eider::api {
namespace {

namespace json = boost::json;

class Doctor {
 public:
  explicit Doctor(const Examined& seen) : seen_(seen) {}

  std::vector<Finding> go() {
    server();
    disk();
    files();
    for (const RunSigns& signs : seen_.running) running(signs);
    for (const model::Run& run : seen_.snapshot.open) {
      if (run.state == model::RunState::queued) queued(run);
    }
    for (const engine::ScheduleView& schedule : seen_.snapshot.schedules) paused(schedule);
    for (const DataAge& data : seen_.data) fresh(data);
    zone_data();
    left_over();
    return std::move(found_);
  }

 private:
  void add(Finding finding) { found_.push_back(std::move(finding)); }

  void server() {
    const engine::StatusView& status = seen_.snapshot.status;
    if (!seen_.snapshot.has_server()) {
      add({.code = "NoServer",
           .about = "server",
           .text = status.health_detail,
           .remedy = seen_.foreground.empty()
                         ? "`eider serve` starts one; nothing fires and nothing that is queued runs until then"
                         : fmt::format("`eider serve` when `eider run {}` has ended: it holds the workspace until then",
                                       seen_.foreground)});
    } else if (status.health == "degraded") {
      add({.code = "ServerDegraded",
           .about = "server",
           .text = status.health_detail,
           .remedy = "the server goes on by itself as soon as that is mended; nothing is lost meanwhile"});
    } else if (status.health == "draining") {
      add({.code = "ServerStopping",
           .about = "server",
           .text = "the server is stopping, and starts nothing",
           .remedy = "`eider serve` when it has ended"});
    }
  }

  void disk() {
    if (!seen_.disk) return;
    const Disk& disk = *seen_.disk;
    constexpr double mib = 1024.0 * 1024.0;
    if (disk.free_bytes < little_disk_bytes) {
      add({.code = "DiskLow",
           .about = disk.path,
           .text = fmt::format("only {:.0f} MiB are free where {} lies", static_cast<double>(disk.free_bytes) / mib,
                               disk.path),
           .remedy = "make room: a full disk stops every decision until there is some"});
    }
    if (disk.free_files && *disk.free_files < few_files) {
      add({.code = "FewFilesLeft",
           .about = disk.path,
           .text = fmt::format("only {} more files can be made where {} lies", *disk.free_files, disk.path),
           .remedy = "remove files: no run can be started without some"});
    }
  }

  void files() {
    if (!seen_.snapshot.files_error.empty()) {
      return add({.code = "BrokenFile",
                  .about = "workspace",
                  .text = "the workspace's files can't be used: " + first_line(seen_.snapshot.files_error),
                  .remedy = "`eider validate` shows all that is wrong"});
    }
    for (const engine::PipelineView& pipeline : seen_.snapshot.pipelines) {
      if (!pipeline.broken) continue;
      // No server starts with a wrong eider.yaml: where it is wrong now, an earlier one is in force.
      const bool in_force = !pipeline.definition.empty() || pipeline.file == "eider.yaml";
      add({.code = "BrokenFile",
           .about = pipeline.file,
           .text = fmt::format("{} ({})", first_line(pipeline.error),
                               in_force ? "the last good version is in force" : "its pipeline does not run"),
           .remedy = "mend the file; `eider validate` shows all that is wrong in it"});
    }
  }

  void running(const RunSigns& signs) {
    if (!seen_.snapshot.has_server()) {
      if (signs.run.pipeline == seen_.foreground) return;
      return add(
          {.code = "RunWithoutServer",
           .about = signs.run.id,
           .since = signs.claimed_at,
           .text = fmt::format("run {} of {} was running when the server ended", signs.run.id, signs.run.pipeline),
           .remedy = "`eider serve` takes it over, records its result or does it again"});
    }
    if (worker(signs)) return;
    const Micros taken = seen_.now - signs.claimed_at;
    const Instant sign = std::max(signs.last_sign.value_or(signs.claimed_at), signs.claimed_at);
    const bool longer = signs.usual && taken > signs.usual->limit;
    const bool silent = seen_.now - sign > decide::longest_silence(signs.usual);
    if (!longer && !silent) return;
    std::string text = fmt::format("run {} of {} runs for {}", signs.run.id, signs.run.pipeline, short_duration(taken));
    if (longer) text += fmt::format(", usually {}", short_duration(signs.usual->median));
    if (silent) text += fmt::format("; no sign of progress for {}", short_duration(seen_.now - sign));
    if (!signs.holds.empty()) text += "; it holds " + signs.holds;
    add({.code = silent ? "NoProgress" : "LongerThanUsual",
         .about = signs.run.id,
         .since = silent ? sign : signs.claimed_at,
         .text = std::move(text),
         .remedy =
             fmt::format("`eider logs -f {0}` shows what it does, `eider cancel {0}` ends it; its timeout ends it "
                         "by itself",
                         signs.run.id)});
  }

  bool worker(const RunSigns& signs) {
    if (!signs.worker_pid || signs.worker_state != 'T') return false;
    add({.code = "WorkerStopped",
         .about = signs.run.id,
         .since = signs.last_sign,
         .text = fmt::format("process {}, the worker of run {} of {}, is stopped by a signal and does not answer{}",
                             *signs.worker_pid, signs.run.id, signs.run.pipeline,
                             signs.holds.empty() ? "" : "; the run holds " + signs.holds),
         .remedy =
             fmt::format("`kill -CONT {}` lets it go on, `eider cancel {}` ends it", *signs.worker_pid, signs.run.id)});
    return true;
  }

  void queued(const model::Run& run) {
    const engine::LiveRun* live = seen_.snapshot.live_of(run.id);
    // Without a server all wait for one, which is said; a retry's wait is meant.
    if (!live || !seen_.snapshot.has_server()) return;
    const engine::Waiting* longest = nullptr;
    for (const engine::Waiting& each : live->waiting_for) {
      if (each.kind != "backoff" && (!longest || each.since < longest->since)) longest = &each;
    }
    if (!longest || seen_.now - longest->since < long_wait) return;
    add({.code = "WaitsLong",
         .about = run.id,
         .since = longest->since,
         .text = fmt::format("run {} of {} waits for {}{}", run.id, run.pipeline, awaited(longest->kind, longest->name),
                             longest->detail.empty() ? "" : fmt::format(" ({})", longest->detail)),
         .remedy = fmt::format("`eider runs show {}` shows who has it; `eider pools` shows all pools", run.id)});
  }

  void paused(const engine::ScheduleView& schedule) {
    if (!schedule.paused) return;
    add({.code = "SchedulePaused",
         .about = schedule.key,
         .since = schedule.paused_at,
         .text = fmt::format("schedule {} is paused{}", schedule.key,
                             schedule.note.empty() ? "" : ": " + first_line(schedule.note)),
         .remedy = fmt::format("`eider schedule resume {}`", schedule.key)});
  }

  void fresh(const DataAge& data) {
    const auto older_than = [&](const std::optional<Micros>& limit) {
      return limit && seen_.now - data.renewed_at > *limit;
    };
    const bool wrong = older_than(data.wanted.error_after);
    if (!wrong && !older_than(data.wanted.warn_after)) return;
    const Micros limit = wrong ? *data.wanted.error_after : *data.wanted.warn_after;
    add({.code = wrong ? "StaleData" : "AgeingData",
         .about = data.pipeline,
         .since = data.renewed_at + limit,
         .text = fmt::format("what {} makes is {} old; {} is {}", data.pipeline,
                             short_duration(seen_.now - data.renewed_at), wrong ? "error_after" : "warn_after",
                             format_duration(limit)),
         .remedy = fmt::format("`eider explain {0}` says what keeps it from running, `eider run {0}` runs it",
                               data.pipeline)});
  }

  void zone_data() {
    int year = 0;
    const std::string& version = seen_.zone_data;
    const auto read = std::from_chars(version.data(), version.data() + version.size(), year);
    if (read.ec != std::errc() || year < 1990) return;
    const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(seen_.now)};
    if (static_cast<int>(today.year()) - year < old_zone_data_years) return;
    add({.code = "ZoneDataOld",
         .about = "tzdata",
         .text = fmt::format("the time zone data is of {}: local times may be wrong where rules have changed since",
                             version),
         .remedy =
             "renew the package tzdata and restart the server; or, if the data is new, set this machine's clock"});
  }

  void left_over() {
    if (seen_.left_over.empty()) return;
    add({.code = "LeftOvers",
         .about = seen_.left_over.front(),
         .text = fmt::format("{} folder{} of workers that are gone lie in .eider/workers", seen_.left_over.size(),
                             seen_.left_over.size() == 1 ? "" : "s"),
         .remedy = "nothing: the next worker that starts removes them"});
  }

  const Examined& seen_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> findings(const Examined& examined) { return Doctor(examined).go(); }

json::object json_of(const std::vector<Finding>& findings, const Examined& examined) {
  json::array items;
  for (const Finding& each : findings) {
    items.push_back({{"code", each.code},
                     {"about", each.about},
                     {"since", shapes::time_or_null(each.since)},
                     {"text", each.text},
                     {"remedy", shapes::text_or_null(each.remedy)}});
  }
  return {{"healthy", findings.empty()},
          {"server", examined.snapshot.has_server()},
          {"now", shapes::time_text(examined.now)},
          {"findings", std::move(items)}};
}

}  // namespace eider::api
