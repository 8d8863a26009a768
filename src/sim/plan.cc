#include "sim/plan.h"

#include <fmt/format.h>

namespace eider::sim {
namespace {

using namespace std::chrono_literals;
using model::LockMode;
using model::Misfire;
using model::Overlap;

constexpr std::int64_t gigabyte = 1'000'000'000;

model::Schedule make_schedule(Dice& dice, Instant begin, const std::string& id) {
  model::Schedule out;
  out.id = id;
  out.timing = make_timing(dice, begin);
  out.grace = dice.one_of<Micros>({0s, 10s, 10s, 1min});
  out.queue_limit = dice.one_of({1, 1, 2});
  out.max_catchup = dice.one_of({1, 3, 20});
  out.catchup_window = dice.one_of<Micros>({10min, 1h, 168h});
  out.misfire = dice.one_of({Misfire::latest, Misfire::latest, Misfire::skip});
  if (out.timing.from_completion) return out;
  out.overlap =
      dice.one_of({Overlap::skip, Overlap::skip, Overlap::queue, Overlap::queue, Overlap::replace, Overlap::allow});
  if (out.overlap == Overlap::queue && dice.one_in(2)) out.misfire = Misfire::all;
  return out;
}

model::Pipeline make_pipeline(Dice& dice, Instant begin, int index, int schedules) {
  model::Pipeline out;
  out.name = fmt::format("p{}", index);
  out.file = "pipelines/" + out.name + ".yaml";
  out.steps.resize(1);
  out.steps[0].id = "step";
  out.steps[0].argv = {"true"};
  out.max_active_runs = dice.one_of({1, 1, 2});
  for (int i = 0; i < schedules; ++i) {
    out.schedules.push_back(make_schedule(dice, begin, fmt::format("s{}", i)));
    if (out.schedules.back().overlap == Overlap::allow) out.max_active_runs = 0;
  }
  if (dice.one_in(2)) out.pools["heavy"] = 1;
  if (dice.one_in(3)) out.pools["net"] = dice.one_of({1, 2});
  if (dice.one_in(4)) out.database = model::Database{"house.duckdb", dice.one_in(2)};
  out.timeout = dice.one_of<Micros>({1min, 10min, 1h});
  if (dice.one_in(4)) out.queue_timeout = 10min;
  out.retry.max_attempts = dice.one_of({1, 2, 3});
  out.retry.backoff = dice.one_of<Micros>({0s, 1s, 20s});
  out.priority = dice.one_of({0, 0, 5});
  return out;
}

/// Pipelines ask for what those before them publish, so that there is no circle.
void connect(Dice& dice, std::map<std::string, model::Pipeline>& pipelines) {
  std::vector<std::string> assets = {"outside"};
  for (auto& [name, pipeline] : pipelines) {
    if (dice.one_in(2)) {
      model::Trigger trigger;
      trigger.id = "t";
      trigger.assets = {assets[static_cast<std::size_t>(dice.below(static_cast<int>(assets.size())))]};
      trigger.batch = dice.one_in(3);
      if (dice.one_in(4)) {
        trigger.batch = true;
        trigger.debounce = 20s;
      }
      pipeline.triggers.push_back(std::move(trigger));
    }
    if (dice.one_in(2)) {
      model::Publish publish;
      publish.asset = "data." + name;
      assets.push_back(publish.asset);
      pipeline.publishes.push_back(std::move(publish));
    }
  }
}

/// What keeps runs apart, from dice of its own.
void limit(Dice dice, Plan& plan) {
  model::Pool& net = plan.settings.pools["net"];
  if (dice.one_in(2)) net.rate = model::Rate{dice.one_of({1, 2, 5}), dice.one_of<Micros>({10s, 1min, 10min})};
  if (net.rate && dice.one_in(2)) net.slots = 0;
  if (dice.one_in(2)) plan.settings.memory_bytes = dice.one_of({3 * gigabyte, 4 * gigabyte});
  for (auto& [name, pipeline] : plan.pipelines) {
    if (dice.one_in(3)) pipeline.resources.memory_bytes = dice.one_of({1, 2, 3}) * gigabyte;
    if (dice.one_in(4)) pipeline.locks["house"] = dice.one_of({LockMode::read, LockMode::read, LockMode::write});
    if (dice.one_in(6)) pipeline.locks["garden"] = LockMode::write;
    if (dice.one_in(4)) {
      pipeline.concurrency_key = dice.one_of({"partition", "params.region"});
      if (pipeline.max_active_runs > 0) pipeline.max_active_runs = 3;
    }
  }
}

/// What is tried again, from dice of its own.
void forgive(Dice dice, Plan& plan) {
  using model::RetryCause;
  for (auto& [name, pipeline] : plan.pipelines) {
    model::RetryPolicy& retry = pipeline.retry;
    if (dice.one_in(3)) retry.on = {RetryCause::timeout, RetryCause::crash};
    if (dice.one_in(4)) retry.on = {RetryCause::error};
    if (dice.one_in(3)) retry.final_exit_codes = {64};
    if (dice.one_in(4)) retry.max_backoff = 30s;
    if (dice.one_in(4)) pipeline.on_interrupt = model::OnInterrupt::fail;
    for (model::Schedule& schedule : pipeline.schedules) {
      if (dice.one_in(4)) schedule.pause_after_failures = dice.one_of({1, 2, 2, 3});
    }
    if (dice.one_in(2)) {
      model::Step second = pipeline.steps[0];
      second.id = "second";
      second.needs = {pipeline.steps[0].id};
      pipeline.steps.push_back(std::move(second));
    }
  }
}

/// Which instants run, and when, from dice of its own.
void choose(Dice dice, Plan& plan) {
  for (auto& [name, pipeline] : plan.pipelines) {
    for (model::Schedule& schedule : pipeline.schedules) {
      if (dice.one_in(5)) schedule.exclude = {dice.one_of({"sundays", "breaks"})};
      if (dice.one_in(8)) schedule.only = {dice.one_of({"sundays", "early"})};
      if (dice.one_in(8)) schedule.start = plan.begin + dice.within(0s, 40min);
      if (dice.one_in(8)) schedule.end = plan.begin + dice.within(45min, 2h);
      if (dice.one_in(4) && !schedule.timing.from_completion) schedule.jitter = 20s;
    }
  }
}

model::Settings make_settings(Dice& dice) {
  model::Settings out;
  out.max_workers = dice.one_of({2, 4, 8});
  out.pools["heavy"] = {"heavy", dice.one_of({1, 2})};
  out.pools["net"] = {"net", dice.one_of({2, 3})};
  out.assets["outside"].name = "outside";
  return out;
}

}  // namespace

const char* to_text(Deed deed) {
  constexpr const char* texts[deed_count] = {"the power fails",
                                             "commits fail",
                                             "the answer of a commit is lost",
                                             "the store is locked",
                                             "the store refuses",
                                             "the store breaks",
                                             "the clock is set",
                                             "the machine sleeps",
                                             "a file changes",
                                             "a schedule is paused",
                                             "a schedule is resumed",
                                             "a person starts a run",
                                             "a person floods",
                                             "a person cancels",
                                             "a person retries",
                                             "data arrives",
                                             "deliveries are retried",
                                             "a worker dies",
                                             "an old result comes",
                                             "the machine lacks something",
                                             "the server stops"};
  return texts[static_cast<int>(deed)];
}

model::Timing make_timing(Dice& dice, Instant begin) {
  model::Timing out;
  switch (dice.below(8)) {
    case 0:
    case 1:
      out.every = dice.one_of<Micros>({1min, 2min, 7min, 1h});
      break;
    case 2:
    case 3:
      out.cron = fmt::format("*/{} * * * *", dice.one_of({1, 5, 15}));
      break;
    case 4:
      out.cron = "30 2 * * *";
      out.timezone = dice.one_of({"Europe/Brussels", "America/New_York"});
      break;
    case 5:
      out.at = begin + dice.within(1min, 1h);
      break;
    case 6:
      out.every = dice.one_of<Micros>({1min, 5min});
      out.from_completion = true;
      break;
    default:
      out.every = 30s;
      break;
  }
  return out;
}

Plan make_plan(std::uint64_t seed) {
  Dice dice(seed);
  Plan plan;
  plan.seed = seed;
  // Beside two nights on which the clocks of one zone and of another are changed, and any other day.
  const char* begins[] = {"2026-03-28T23:50:00Z", "2026-03-08T06:00:00Z", "2026-10-24T23:40:00Z",
                          "2026-06-01T10:00:00Z"};
  plan.begin = parse_rfc3339(begins[dice.below(4)]).value() + dice.within(0s, 90s);
  plan.length = dice.within(20min, 2h);
  plan.settings = make_settings(dice);
  const int pipelines = 2 + dice.below(4);
  for (int i = 0; i < pipelines; ++i) {
    model::Pipeline one = make_pipeline(dice, plan.begin, i, dice.one_of({0, 1, 1, 2}));
    plan.pipelines[one.name] = std::move(one);
  }
  connect(dice, plan.pipelines);
  limit(Dice(mixed(seed, "limits")), plan);
  forgive(Dice(mixed(seed, "retries")), plan);
  choose(Dice(mixed(seed, "instants")), plan);
  Micros at{};
  for (int i = 6 + dice.below(25); i > 0; --i) {
    // Much of what is wrong shows only when two things happen together, or when something is due.
    if (dice.one_in(3)) {
      at += dice.within(0us, 50ms);
    } else {
      at = dice.within(0us, plan.length);
      if (dice.one_in(3)) at -= Micros(to_us(plan.begin + at) % Micros(1min).count());
    }
    plan.actions.push_back(
        {std::max(at, Micros(0)), static_cast<Deed>(dice.below(deed_count)), dice.number(), dice.number()});
  }
  std::stable_sort(plan.actions.begin(), plan.actions.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return plan;
}

Plan make_calm_plan(std::uint64_t seed, Micros length) {
  Dice dice(seed);
  Plan plan;
  plan.seed = seed;
  plan.begin = parse_rfc3339("2026-01-01T00:00:00Z").value();
  plan.length = length;
  plan.checks_each_step = false;
  plan.settings = make_settings(dice);
  plan.settings.max_workers = 16;
  plan.settings.pools["heavy"].slots = 4;
  plan.settings.pools["net"].slots = 8;
  for (int i = 0; i < 100; ++i) {
    model::Pipeline one = make_pipeline(dice, plan.begin, i, 2);
    one.max_active_runs = 1;
    one.timeout = 1h;
    for (std::size_t s = 0; s < 2; ++s) {
      model::Schedule& schedule = one.schedules[s];
      schedule.overlap = Overlap::queue;
      schedule.timing = {};
      // As people have them: most once a day, some each hour, a few each quarter.
      if (s == 0 || i >= 25) {
        schedule.timing.cron = fmt::format("{} {} * * *", i % 60, i % 24);
        schedule.timing.timezone = dice.one_of({"Europe/Brussels", "America/New_York", "UTC"});
      } else if (i >= 4) {
        schedule.timing.every = 1h;
      } else {
        schedule.timing.cron = "*/15 * * * *";
      }
    }
    plan.pipelines[one.name] = std::move(one);
  }
  for (Micros at = 100h; at < length; at += 168h) plan.actions.push_back({at, Deed::power_fails, 3, dice.number()});
  return plan;
}

}  // namespace eider::sim
