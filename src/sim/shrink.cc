// The shortest way to the same failure.
#include <fmt/format.h>

#include "sim/life.h"

namespace eider::sim {
namespace {

bool fails(const Plan& plan, Mutation mutation, const std::string& law) {
  const Report report = live(plan, mutation);
  return report.finding && report.finding->law == law;
}

Plan without(const Plan& plan, std::size_t from, std::size_t count) {
  Plan out = plan;
  const auto begin = out.actions.begin() + static_cast<std::ptrdiff_t>(from);
  out.actions.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, out.actions.size() - from)));
  return out;
}

/// Whole pipelines that it does not need.
Plan with_fewer_pipelines(Plan plan, Mutation mutation, const std::string& law) {
  std::vector<std::string> names;
  for (const auto& [name, pipeline] : plan.pipelines) names.push_back(name);
  for (const std::string& name : names) {
    if (plan.pipelines.size() == 1) break;
    Plan candidate = plan;
    candidate.pipelines.erase(name);
    if (fails(candidate, mutation, law)) plan = std::move(candidate);
  }
  return plan;
}

/// The files of a plan, a line each.
std::string describe_files(const Plan& plan) {
  std::string out = fmt::format("{} workers; ", plan.settings.max_workers);
  for (const auto& [name, pool] : plan.settings.pools) {
    out += fmt::format("{}: {} slots", name, pool.slots);
    if (pool.rate) out += fmt::format(", {} starts in {}", pool.rate->starts, format_duration(pool.rate->per));
    out += "; ";
  }
  if (plan.settings.memory_bytes) out += fmt::format("{} bytes of memory; ", *plan.settings.memory_bytes);
  out += "\n";
  for (const auto& [name, pipeline] : plan.pipelines) {
    out += fmt::format("{}: {} at once, timeout {}, {} attempts", name, pipeline.max_active_runs,
                       format_duration(pipeline.timeout), pipeline.retry.max_attempts);
    for (const auto& [pool, slots] : pipeline.pools) out += fmt::format(", {} of {}", slots, pool);
    if (pipeline.database) {
      out += fmt::format(", {} {}", pipeline.database->read_only ? "reads" : "writes", pipeline.database->file);
    }
    for (const auto& [lock, mode] : pipeline.locks) out += fmt::format(", {}s lock {}", model::to_text(mode), lock);
    if (pipeline.resources.memory_bytes) out += fmt::format(", {} bytes", *pipeline.resources.memory_bytes);
    if (!pipeline.concurrency_key.empty()) out += ", one for each " + pipeline.concurrency_key;
    for (const model::RetryCause cause : pipeline.retry.on) out += fmt::format(", again on {}", model::to_text(cause));
    for (const int code : pipeline.retry.final_exit_codes) out += fmt::format(", {} is final", code);
    if (pipeline.on_interrupt == model::OnInterrupt::fail) out += ", not again when interrupted";
    if (pipeline.queue_timeout) out += fmt::format(", queue_timeout {}", format_duration(*pipeline.queue_timeout));
    for (const model::Publish& publish : pipeline.publishes) out += ", makes " + publish.asset;
    for (const model::Trigger& trigger : pipeline.triggers) {
      out += fmt::format(", asks for {}{}", trigger.assets.front(), trigger.batch ? " in batches" : "");
    }
    for (const model::Schedule& schedule : pipeline.schedules) {
      const model::Timing& timing = schedule.timing;
      const std::string rule = timing.at      ? "at " + format_rfc3339(*timing.at)
                               : timing.every ? "every " + format_duration(*timing.every)
                                              : timing.cron + " " + timing.timezone;
      out += fmt::format("\n  {}: {}{}, overlap {}, misfire {} after {}", schedule.id, rule,
                         timing.from_completion ? " from completion" : "", model::to_text(schedule.overlap),
                         model::to_text(schedule.misfire), format_duration(schedule.grace));
      for (const std::string& calendar : schedule.exclude) out += ", not in " + calendar;
      for (const std::string& calendar : schedule.only) out += ", only in " + calendar;
      if (schedule.start) out += ", from " + format_rfc3339(*schedule.start);
      if (schedule.end) out += ", until " + format_rfc3339(*schedule.end);
      if (schedule.jitter > Micros(0)) out += ", jitter " + format_duration(schedule.jitter);
      if (schedule.pause_after_failures > 0) out += fmt::format(", {} failures at most", schedule.pause_after_failures);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

Plan shrink(Plan plan, Mutation mutation, const std::string& law) {
  plan = with_fewer_pipelines(std::move(plan), mutation, law);
  for (std::size_t size = std::max<std::size_t>(plan.actions.size() / 2, 1); size > 0; size /= 2) {
    for (std::size_t from = 0; from < plan.actions.size();) {
      Plan candidate = without(plan, from, size);
      if (fails(candidate, mutation, law)) {
        plan = std::move(candidate);
      } else {
        from += size;
      }
    }
  }
  return with_fewer_pipelines(std::move(plan), mutation, law);
}

std::string describe_failure(const Plan& plan, Mutation mutation, const Finding& finding) {
  const Plan least = shrink(plan, mutation, finding.law);
  const Report report = live(least, mutation, true);
  std::string out =
      fmt::format("seed {}: {} at {}: {}\n", plan.seed, finding.law, format_rfc3339(finding.at), finding.what);
  if (mutation != Mutation::none) out += fmt::format("with the mistake {}\n", to_text(mutation));
  out += fmt::format("the shortest way found has {} of {} actions and {} of {} pipelines:\n", least.actions.size(),
                     plan.actions.size(), least.pipelines.size(), plan.pipelines.size());
  out += describe_files(least);
  constexpr std::size_t lines = 120;
  const std::size_t first = report.trace.size() > lines ? report.trace.size() - lines : 0;
  if (first > 0) out += fmt::format("({} lines before)\n", first);
  for (std::size_t i = first; i < report.trace.size(); ++i) out += report.trace[i] + "\n";
  if (report.finding) out += fmt::format("{}: {}\n", report.finding->law, report.finding->what);
  return out;
}

}  // namespace eider::sim
