// Lives many simulated lives, each from a seed, and stops at the first in which a law does not hold.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "sim/life.h"

namespace {

using eider::sim::Mutation;

constexpr const char* usage = R"(usage: eider_lives [--seeds N] [--seed S] [--trace] | --mistakes | --days N

  --seeds N    live N lives, from seed S on (1000, from 1)
  --seed S     the first seed; without --seeds only this one
  --trace      of one seed: print what happens, whether it fails or not
  --mistakes   the simulator's own test: every mistake that it can emulate is found within 300 seeds
  --days N     one long and calm life of 200 schedules, and how fast it was

exit: 0 every law held; 1 one did not (the seed and its shortest trace are printed); 2 the arguments are wrong
)";

struct Wishes {
  std::uint64_t seed = 1;
  std::int64_t seeds = 0;
  std::int64_t days = 0;
  bool trace = false;
  bool mistakes = false;
  std::uint64_t patience = 300;  ///< seeds within which a mistake is found
};

double seconds_since(const eider::SystemClock& clock, eider::Micros begin) {
  return static_cast<double>((clock.boottime() - begin).count()) / 1e6;
}

int live_seeds(const Wishes& wishes) {
  const eider::SystemClock clock;
  const eider::Micros begin = clock.boottime();
  std::int64_t decisions = 0;
  std::int64_t runs = 0;
  eider::Micros lived{};
  for (std::int64_t i = 0; i < wishes.seeds; ++i) {
    const auto plan = eider::sim::make_plan(wishes.seed + static_cast<std::uint64_t>(i));
    const auto report = eider::sim::live(plan, Mutation::none, wishes.trace);
    for (const std::string& line : report.trace) fmt::print("{}\n", line);
    decisions += report.decisions;
    runs += report.runs;
    lived += report.lived;
    if (report.finding) {
      fmt::print("{}\n", describe_failure(plan, Mutation::none, *report.finding));
      fmt::print("again: ./run sim --seed {}\n", plan.seed);
      return 1;
    }
  }
  fmt::print("{} lives of {} in all held every law: {} decisions, {} runs, in {:.1f} s\n", wishes.seeds,
             eider::format_duration(lived), decisions, runs, seconds_since(clock, begin));
  return 0;
}

int find_mistakes(const Wishes& wishes) {
  int missed = 0;
  for (const Mutation mutation : eider::sim::all_mutations) {
    std::uint64_t seed = 1;
    std::optional<eider::sim::Finding> finding;
    while (seed <= wishes.patience && !finding) {
      finding = eider::sim::live(eider::sim::make_plan(seed), mutation).finding;
      if (!finding) ++seed;
    }
    if (finding) {
      fmt::print("{:<20} found by seed {:>3}: {}: {}\n", to_text(mutation), seed, finding->law, finding->what);
    } else {
      fmt::print("{:<20} NOT FOUND within {} seeds\n", to_text(mutation), wishes.patience);
      ++missed;
    }
  }
  return missed == 0 ? 0 : 1;
}

int live_long(const Wishes& wishes) {
  const eider::SystemClock clock;
  const eider::Micros begin = clock.boottime();
  const auto plan = eider::sim::make_calm_plan(wishes.seed, std::chrono::hours(24) * wishes.days);
  const auto report = eider::sim::live(plan);
  const double took = seconds_since(clock, begin);
  if (report.finding) fmt::print("{}: {}\n", report.finding->law, report.finding->what);
  fmt::print("{} days of 200 schedules: {} runs, {} decisions, {:.1f} s: {:.2f} years a minute\n", wishes.days,
             report.runs, report.decisions, took, static_cast<double>(wishes.days) / 365.0 * 60.0 / took);
  return report.finding ? 1 : 0;
}

/// True: the value of an argument that is a number.
bool number(int argc, char** argv, int& at, std::int64_t& out) {
  if (at + 1 >= argc) return false;
  char* end = nullptr;
  out = std::strtoll(argv[++at], &end, 10);
  return *end == '\0' && out >= 0;
}

bool parse(int argc, char** argv, Wishes& wishes) {
  bool one = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    std::int64_t value = 0;
    if (argument == "--trace") {
      wishes.trace = true;
    } else if (argument == "--mistakes") {
      wishes.mistakes = true;
    } else if (!number(argc, argv, i, value)) {
      return false;
    } else if (argument == "--seeds") {
      wishes.seeds = value;
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
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Wishes wishes;
  if (!parse(argc, argv, wishes)) {
    std::fputs(usage, stderr);
    return 2;
  }
  // The log of a thousand engines, which complain with good reason.
  if (!std::freopen("/dev/null", "w", stderr)) return 1;
  if (wishes.mistakes) return find_mistakes(wishes);
  return wishes.days > 0 ? live_long(wishes) : live_seeds(wishes);
}
