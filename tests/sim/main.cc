// Lives many simulated lives, each from a seed, and stops at the first in which a law does not hold.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "shares.h"
#include "sim/life.h"

namespace {

using eider::sim::Mutation;
using eider::sim::share_out;
using eider::sim::Tally;

constexpr const char* usage =
    R"(usage: eider_lives [--jobs J] [--seeds N] [--seed S] [--trace] [--mistake M] | --mistakes | --days N

  --seeds N    live N lives, from seed S on (1000, from 1)
  --seed S     the first seed; without --seeds only this one
  --trace      of one seed: print what happens, whether it fails or not
  --mistakes   the simulator's own test: every mistake that it can emulate is found within 300 seeds
  --days N     so many days of long and calm lives of 200 schedules, and how fast they were
  --mistake M  live with that mistake in the engine: what a failure looks like
  --jobs J     so many lives side by side (default: one for each processor)

exit: 0 every law held; 1 one did not (the seed and its shortest trace are printed); 2 the arguments are wrong
)";

struct Wishes {
  std::uint64_t seed = 1;
  std::int64_t seeds = 0;
  std::int64_t days = 0;
  int jobs = 1;
  bool trace = false;
  bool mistakes = false;
  Mutation mistake = Mutation::none;
  std::uint64_t patience = 300;  ///< seeds within which a mistake is found
};

double seconds_since(const eider::SystemClock& clock, eider::Micros begin) {
  return static_cast<double>((clock.boottime() - begin).count()) / 1e6;
}

/// The lives of one part: every so many-eth seed. It ends at the first in which a law does not hold.
Tally live_some(const Wishes& wishes, int part) {
  Tally tally;
  for (std::int64_t i = part; i < wishes.seeds && tally.failing_seed == 0; i += wishes.jobs) {
    const auto plan = eider::sim::make_plan(wishes.seed + static_cast<std::uint64_t>(i));
    const auto report = eider::sim::live(plan, wishes.mistake, wishes.trace);
    for (const std::string& line : report.trace) fmt::print("{}\n", line);
    tally.decisions += report.decisions;
    tally.runs += report.runs;
    tally.lived_us += report.lived.count();
    if (report.finding) tally.failing_seed = plan.seed;
  }
  return tally;
}

int live_seeds(const Wishes& wishes) {
  const eider::SystemClock clock;
  const eider::Micros begin = clock.boottime();
  const Tally all = sum(share_out(wishes.jobs, [&](int part) { return live_some(wishes, part); }));
  if (all.failing_seed != 0) {
    // Once more here: a seed is a life, in whatever process.
    const auto plan = eider::sim::make_plan(all.failing_seed);
    fmt::print("{}\n", describe_failure(plan, wishes.mistake, eider::sim::live(plan, wishes.mistake).finding.value()));
    fmt::print("again: ./run sim --seed {}\n", plan.seed);
    return 1;
  }
  fmt::print("{} lives of {} in all held every law: {} decisions, {} runs, in {:.1f} s\n", wishes.seeds,
             eider::format_duration(eider::Micros(all.lived_us)), all.decisions, all.runs, seconds_since(clock, begin));
  return 0;
}

/// True: found.
bool find_mistake(const Wishes& wishes, Mutation mutation) {
  for (std::uint64_t seed = 1; seed <= wishes.patience; ++seed) {
    const auto finding = eider::sim::live(eider::sim::make_plan(seed), mutation).finding;
    if (!finding) continue;
    fmt::print("{:<20} found by seed {:>3}: {}: {}\n", to_text(mutation), seed, finding->law, finding->what);
    return true;
  }
  fmt::print("{:<20} NOT FOUND within {} seeds\n", to_text(mutation), wishes.patience);
  return false;
}

int find_mistakes(const Wishes& wishes) {
  const auto& all = eider::sim::all_mutations;
  const Tally found = sum(share_out(wishes.jobs, [&](int part) {
    Tally tally;
    for (auto i = static_cast<std::size_t>(part); i < std::size(all); i += static_cast<std::size_t>(wishes.jobs)) {
      tally.missed += find_mistake(wishes, all[i]) ? 0 : 1;
    }
    return tally;
  }));
  return found.missed == 0 ? 0 : 1;
}

/// The days in as many lives as there are jobs, each of its own seed.
int live_long(const Wishes& wishes) {
  const eider::SystemClock clock;
  const eider::Micros begin = clock.boottime();
  const auto each = std::chrono::hours(24) * wishes.days / wishes.jobs;
  const Tally all = sum(share_out(wishes.jobs, [&](int part) {
    const auto plan = eider::sim::make_calm_plan(wishes.seed + static_cast<std::uint64_t>(part), each);
    const auto report = eider::sim::live(plan);
    if (report.finding) fmt::print("seed {}: {}: {}\n", plan.seed, report.finding->law, report.finding->what);
    return Tally{report.decisions, report.runs, report.lived.count(), 0, report.finding ? plan.seed : 0};
  }));
  const double took = seconds_since(clock, begin);
  fmt::print(
      "{} days of 200 schedules ({} lives side by side): {} runs, {} decisions, {:.1f} s: {:.2f} years a minute\n",
      wishes.days, wishes.jobs, all.runs, all.decisions, took, static_cast<double>(wishes.days) / 365.0 * 60.0 / took);
  return all.failing_seed == 0 ? 0 : 1;
}

/// True: the value of an argument that is a number.
bool number(int argc, char** argv, int& at, std::int64_t& out) {
  if (at + 1 >= argc) return false;
  char* end = nullptr;
  out = std::strtoll(argv[++at], &end, 10);
  return *end == '\0' && out >= 0;
}

bool parse(int argc, char** argv, Wishes& wishes) {
  wishes.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool one = false;
  for (int at = 1; at < argc; ++at) {
    const std::string_view argument = argv[at];
    std::int64_t value = 0;
    if (argument == "--trace") {
      wishes.trace = true;
    } else if (argument == "--mistakes") {
      wishes.mistakes = true;
    } else if (argument == "--mistake") {
      const std::string_view name = at + 1 < argc ? argv[++at] : "";
      const auto& all = eider::sim::all_mutations;
      const auto named = std::find_if(std::begin(all), std::end(all), [&](Mutation m) { return to_text(m) == name; });
      if (named == std::end(all)) return false;
      wishes.mistake = *named;
    } else if (!number(argc, argv, at, value)) {
      return false;
    } else if (argument == "--seeds") {
      wishes.seeds = value;
    } else if (argument == "--jobs" && value > 0) {
      wishes.jobs = static_cast<int>(value);
    } else if (argument == "--seed") {
      wishes.seed = static_cast<std::uint64_t>(value);
      one = true;
    } else if (argument == "--days") {
      wishes.days = value;
    } else {
      return false;
    }
  }
  if (wishes.seeds == 0) wishes.seeds = one ? 1 : 1000;
  if (wishes.trace) wishes.jobs = 1;  // what happens is told in its order
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Wishes wishes;
  if (!parse(argc, argv, wishes)) {
    std::fputs(usage, stderr);
    return 2;
  }
  // The log of a thousand engines, which complain with good reason: most of it is not even made.
  eider::log::set_level(eider::log::Level::error);
  if (!std::freopen("/dev/null", "w", stderr)) return 1;
  if (wishes.mistakes) return find_mistakes(wishes);
  return wishes.days > 0 ? live_long(wishes) : live_seeds(wishes);
}
