#include "sim/forecast.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/loop.h"
#include "sim/forgetful_store.h"
#include "sim/trial_workers.h"
#include "timing/zone.h"
#include "workspace/rule.h"

namespace eider::sim {
namespace {

using namespace std::chrono_literals;

constexpr Micros late_after = 1s;

Spread spread_of(std::vector<Micros> values) {
  Spread out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t percent) { return values[(values.size() - 1) * percent / 100]; };
  out.count = std::ssize(values);
  out.median = at(50);
  out.p95 = at(95);
  out.most = values.back();
  return out;
}

class Trial {
 public:
  Trial(std::shared_ptr<const workspace::Workspace> workspace, const ForecastWishes& wishes)
      : workspace_(std::move(workspace)),
        wishes_(wishes),
        zone_(timing::Zone::load(workspace_->settings.timezone).value()),
        clock_(wishes.from),
        workers_(clock_, trades()),
        meters_(*workspace_, zone_, wishes.from) {
    for (const auto& [name, loaded] : workspace_->pipelines) {
      if (loaded.pipeline->freshness) freshness_[name].wanted = *loaded.pipeline->freshness;
      for (const model::Schedule& schedule : loaded.pipeline->schedules) {
        ScheduleForecast& one = schedules_[model::schedule_key(name, schedule.id)];
        one.key = model::schedule_key(name, schedule.id);
        if (auto rule = workspace::make_rule(schedule.timing)) one.rule = rule->describe();
      }
    }
  }

  Result<Forecast> run() {
    engine::Loop loop({clock_, random_, store_, workers_, inbox_,
                       [this](const workspace::Workspace*) -> Result<std::shared_ptr<const workspace::Workspace>> {
                         return workspace_;
                       },
                       [this](const model::ChangeSet& set, Instant) { watch(set); }, nullptr},
                      {});
    if (auto booted = loop.boot(workspace_); !booted) return booted.error();
    for (const auto& [key, paused] : wishes_.paused) {
      if (paused && schedules_.contains(key)) inbox_.post(engine::PauseSchedule{key, true, {}, [](const auto&) {}});
    }
    const Instant until = wishes_.from + wishes_.length;
    for (std::int64_t turns = 0; clock_.now() < until; ++turns) {
      const engine::Loop::Next next = loop.turn();
      Micros in = until - clock_.now();
      if (next.wake_at) in = std::min(in, *next.wake_at - clock_.now());
      if (next.retry_in) in = std::min(in, *next.retry_in);
      if (const auto at = workers_.next_at()) in = std::min(in, *at - clock_.boottime());
      if (in > Micros(0)) clock_.advance(in);
      if (wishes_.progress && turns % 4096 == 0) {
        wishes_.progress(static_cast<double>((clock_.now() - wishes_.from).count()) /
                         static_cast<double>(wishes_.length.count()));
      }
    }
    return sum(until);
  }

 private:
  std::vector<Micros> times_of(const std::string& pipeline) const {
    const auto known = wishes_.times.find(pipeline);
    return known == wishes_.times.end() ? std::vector{wishes_.assumed} : known->second.seen;
  }
  TrialWorkers::Trades trades() const {
    TrialWorkers::Trades out;
    for (const auto& [name, loaded] : workspace_->pipelines) {
      TrialWorkers::Trade& trade = out[loaded.definition.get()];
      trade.times = times_of(name);
      for (const model::Publish& publish : loaded.pipeline->publishes) trade.assets.push_back(publish.asset);
    }
    return out;
  }

  void watch(const model::ChangeSet& set) {
    for (const model::Change& change : set) {
      if (const auto* decided = std::get_if<model::OccurrencesDecided>(&change)) {
        for (const model::Occurrence& row : decided->occurrences) count(row);
      } else if (const auto* queued = std::get_if<model::RunQueued>(&change)) {
        const model::Run& run = queued->run;
        open_[run.id] = {run.pipeline, run.trigger, run.trigger_id, run.created_at, {}};
        ++runs_;
        ++days_[format_rfc3339(run.created_at, zone_.offset_at(run.created_at)).substr(0, 10)];
      } else if (const auto* claimed = std::get_if<model::RunClaimed>(&change)) {
        started(*claimed);
      } else if (const auto* ended = std::get_if<model::AttemptEnded>(&change)) {
        if (ended->event == model::RunEvent::succeed) renewed(open_.at(ended->attempt.run_id).pipeline, clock_.now());
        over(ended->attempt.run_id, clock_.now());
      } else if (const auto* gone = std::get_if<model::QueuedCancelled>(&change)) {
        over(gone->run_id, clock_.now());
      }
    }
  }

  void count(const model::Occurrence& row) {
    ScheduleForecast& schedule = schedules_[row.schedule];
    // A row of excluded instants grows: what was there before has been counted.
    auto& [begin, counted] = newest_rows_[row.schedule];
    const std::int64_t fresh = begin == row.scheduled_for ? row.count - counted : row.count;
    begin = row.scheduled_for;
    counted = row.count;
    schedule.due += fresh;
    if (row.decision == model::Decision::run) {
      schedule.ran += fresh;
    } else {
      schedule.not_run[row.reason] += fresh;
    }
  }

  void started(const model::RunClaimed& claim) {
    Open& run = open_.at(claim.run_id);
    const Micros waited = claim.at - run.queued_at;
    waits_[run.pipeline].push_back(waited);
    if (run.cause == model::TriggerKind::schedule && waited >= late_after) ++schedules_[run.trigger].late;
    run.holds = decide::needs(run.pipeline, run.cause, claim.taken);
    meters_.begins(run.holds, claim.at);
  }

  void over(const std::string& id, Instant at) {
    const auto run = open_.extract(id);
    if (!run.empty()) meters_.ends(run.mapped().holds, at);
  }

  /// What the pipeline makes is new again, or the time is over: how old did it become?
  void renewed(const std::string& pipeline, Instant at) {
    const auto found = freshness_.find(pipeline);
    if (found == freshness_.end()) return;
    FreshnessForecast& one = found->second;
    const auto known = wishes_.fresh.find(pipeline);
    const Instant before = known == wishes_.fresh.end() ? wishes_.from : std::min(known->second, wishes_.from);
    const Instant since = renewed_.try_emplace(pipeline, before).first->second;
    if (at - since > one.oldest) {
      one.oldest = at - since;
      one.oldest_at = at;
    }
    const auto miss = [&](const std::optional<Micros>& limit, FreshnessForecast::Missed& missed) {
      if (!limit || at - since <= *limit) return;
      const Instant begins = std::max(since + *limit, wishes_.from);
      ++missed.times;
      missed.lasted += at - begins;
      if (!missed.first) missed.first = begins;
    };
    miss(one.wanted.warn_after, one.warn);
    miss(one.wanted.error_after, one.error);
    renewed_[pipeline] = at;
  }

  Forecast sum(Instant until) {
    Forecast out;
    out.from = wishes_.from;
    out.until = until;
    out.timezone = zone_.name();
    out.runs = runs_;
    out.left_over = std::ssize(open_);
    for (const auto& [day, count] : days_) {
      if (count > out.most_runs_a_day) {
        out.most_runs_a_day = count;
        out.most_runs_day = day;
      }
    }
    for (auto& [key, schedule] : schedules_) out.schedules.push_back(std::move(schedule));
    for (const auto& [name, loaded] : workspace_->pipelines) {
      PipelineForecast& pipeline = out.pipelines[name];
      pipeline.known = wishes_.times.contains(name);
      pipeline.takes = spread_of(times_of(name));
      pipeline.wait = spread_of(std::move(waits_[name]));
      pipeline.runs = pipeline.wait.count;
    }
    const std::string root = workspace_->root + "/";
    for (auto& [thing, use] : meters_.read(until)) {
      const bool inside = thing.kind == decide::Kind::database && thing.name.starts_with(root);
      out.uses.emplace(decide::Thing{thing.kind, inside ? thing.name.substr(root.size()) : thing.name}, use);
    }
    for (const auto& [name, one] : freshness_) renewed(name, until);
    out.freshness = std::move(freshness_);
    out.surprises = clock_surprises(*workspace_, wishes_.from, until);
    return out;
  }

  struct Open {
    std::string pipeline;
    model::TriggerKind cause = model::TriggerKind::manual;
    std::string trigger;
    Instant queued_at{};
    std::vector<decide::Need> holds;  ///< none: it waits
  };

  std::shared_ptr<const workspace::Workspace> workspace_;
  const ForecastWishes& wishes_;
  timing::Zone zone_;
  FakeClock clock_;
  SeededRandom random_{1};
  ForgetfulStore store_;
  TrialWorkers workers_;
  engine::Inbox inbox_{[] {}};
  std::map<std::string, Open> open_;
  std::map<std::string, std::vector<Micros>> waits_;
  std::map<std::string, ScheduleForecast> schedules_;
  std::map<std::string, std::pair<Instant, std::int64_t>> newest_rows_;  ///< by schedule: begin and count
  Meters meters_;
  std::map<std::string, FreshnessForecast> freshness_;
  std::map<std::string, Instant> renewed_;  ///< by pipeline: when what it makes was new
  std::map<std::string, std::int64_t> days_;
  std::int64_t runs_ = 0;
};

/// Before a life of years begins: is it one that ends?
Result<void> check_size(const workspace::Workspace& workspace, const ForecastWishes& wishes) {
  std::int64_t instants = 0;
  for (const auto& [name, loaded] : workspace.pipelines) {
    for (const model::Schedule& schedule : loaded.pipeline->schedules) {
      if (auto rule = workspace::make_rule(schedule.timing)) {
        instants += rule->count(wishes.from, wishes.from + wishes.length);
      }
    }
  }
  if (instants <= most_instants) return {};
  return Error{ErrorCode::invalid, fmt::format("{} instants fall due in that time, and at most {} are simulated: take "
                                               "fewer days",
                                               instants, most_instants)};
}

/// The instants of a rule beside one change of the clocks that it would not have without it, a line a kind.
void look_at_change(const std::string& schedule, const timing::Rule& rule, Instant change,
                    std::vector<ClockSurprise>& out) {
  const timing::Zone& zone = rule.zone();
  std::set<std::string> seen;  // what the wall showed
  std::map<ClockSurprise::Kind, ClockSurprise> found;
  const auto note = [&](Instant at, ClockSurprise::Kind kind) {
    const auto [one, fresh] =
        found.try_emplace(kind, ClockSurprise{schedule, at, 1, zone.name(), kind, zone.format(at)});
    if (!fresh) ++one->second.count;
  };
  constexpr std::size_t without_offset = 19;
  for (auto at = rule.next(change - 3h); at && *at <= change + 3h; at = rule.next(*at)) {
    if (rule.shifted(*at)) note(*at, ClockSurprise::Kind::moved);
    const bool fresh = seen.insert(zone.format(*at).substr(0, without_offset)).second;
    if (!fresh) note(*at, ClockSurprise::Kind::doubled);
  }
  for (auto& [kind, one] : found) out.push_back(std::move(one));
}

}  // namespace

std::vector<ClockSurprise> clock_surprises(const workspace::Workspace& workspace, Instant from, Instant until) {
  std::vector<ClockSurprise> out;
  for (const auto& [name, loaded] : workspace.pipelines) {
    for (const model::Schedule& schedule : loaded.pipeline->schedules) {
      const auto rule = workspace::make_rule(schedule.timing);
      if (!rule || rule->kind() != timing::Rule::Kind::cron) continue;
      const std::string key = model::schedule_key(name, schedule.id);
      for (auto change = rule->zone().next_transition(from); change && *change < until;
           change = rule->zone().next_transition(*change)) {
        look_at_change(key, *rule, *change, out);
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return out;
}

std::int64_t Forecast::without_run() const {
  std::int64_t sum = 0;
  for (const ScheduleForecast& schedule : schedules) sum += schedule.without_run();
  return sum;
}

Micros Forecast::longest_wait() const {
  Micros most{};
  for (const auto& [name, pipeline] : pipelines) most = std::max(most, pipeline.wait.most);
  return most;
}

std::pair<decide::Thing, double> Forecast::busiest() const {
  std::pair<decide::Thing, double> most{{decide::Kind::worker, "worker"}, 0};
  for (const auto& [thing, use] : uses) {
    if (use.busiest() > most.second) most = {thing, use.busiest()};
  }
  return most;
}

std::int64_t Forecast::stale() const {
  std::int64_t sum = 0;
  for (const auto& [name, one] : freshness) sum += one.worst().times;
  return sum;
}

Result<Forecast> forecast(std::shared_ptr<const workspace::Workspace> workspace, const ForecastWishes& wishes) {
  if (auto fits = check_size(*workspace, wishes); !fits) return fits.error();
  return Trial(std::move(workspace), wishes).run();
}

}  // namespace eider::sim
