// ./run bench: measures what section 11 of the design promises, on this machine, each figure beside its floor.
#include <cstdio>
#include <filesystem>
#include <map>
#include <span>

#include <fmt/format.h>

#include "base/fd.h"
#include "bench/floors.h"
#include "bench/hidden.h"
#include "bench/machine.h"
#include "bench/process.h"
#include "bench/rows.h"

namespace eider::bench {
namespace {

struct Row {
  const char* name;
  const char* about;
  Result<void> (*measure)(const Setup&, Report&);
};

constexpr Row rows[] = {
    {"A", "a 5s schedule for a minute, alone and beside everything that may go wrong", row_a},
    {"B", "1,000 instants over 10 s: due, claim committed, process started", row_b},
    {"C", "queue core: 10,000 durable no-op runs", row_c},
    {"D", "runs of /bin/true, two at a time", row_d},
    {"E", "kill -9 with 5 running and 100 queued", row_e},
    {"F", "idle with 1,000 schedules", row_f},
    {"G", "a DuckDB SQL step beside the same script in a bare process", row_g},
    {"H", "10,000 and 100,000 schedules; 1,000,000 finished runs", row_h},
    {"I", "an event to 200 triggers; 1,000,000 retained events; 1,000 pending deliveries", row_i},
    {"J", "another pool's runs beside 1,000 and 100,000 that wait for a full one", row_j},
};

void usage() {
  std::printf(
      "usage: eider_bench [--rows A,C,F] [--quick] [--json FILE] [--scratch DIR] [--program FILE]\n\n"
      "Measures `eider` and prints each figure beside its floor (the same work done bare, in the same run) and its\n"
      "target. All rows take about 20 minutes. Run it on a machine that does nothing else.\n\n");
  for (const Row& row : rows) std::printf("  %s  %s\n", row.name, row.about);
  std::printf(
      "\n  --rows A,C,F     only these\n"
      "  --quick          shorter windows: to see that it works, not to be quoted\n"
      "  --json FILE      where the figures are saved (default: bench.json beside this program)\n"
      "  --scratch DIR    where workspaces and databases are made (default: bench.d beside this program)\n"
      "  --program FILE   the eider to measure (default: the one beside this program)\n\n"
      "Exit: 0 measured, whatever the figures; 1 a run was lost or done twice, or a row could not be measured; 2 "
      "misuse.\n");
}

struct Arguments {
  Setup setup;
  std::string rows = "A,B,C,D,E,F,G,H,I,J";
  std::string json;
};

Result<Arguments> parse(std::span<char*> argv) {
  Arguments out;
  out.setup.self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string folder = std::filesystem::path(out.setup.self).parent_path();
  out.setup.program = folder + "/eider";
  out.setup.scratch = folder + "/bench.d";
  out.json = folder + "/bench.json";
  const std::map<std::string, std::string*> texts{{"--rows", &out.rows},
                                                  {"--json", &out.json},
                                                  {"--scratch", &out.setup.scratch},
                                                  {"--program", &out.setup.program}};
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      out.setup.quick = true;
      continue;
    }
    const auto text = texts.find(argument);
    if (text == texts.end()) return Error{ErrorCode::invalid, "unknown argument `" + argument + "`; see --help"};
    if (i + 1 == argv.size()) return Error{ErrorCode::invalid, argument + " needs a value"};
    *text->second = argv[++i];
  }
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    const char c = out.rows[i];
    if (i % 2 == 0 ? c < 'A' || c > 'J' : c != ',') {
      return Error{ErrorCode::invalid, "--rows takes letters from A to J with commas between, such as A,C,F"};
    }
  }
  if (!std::filesystem::exists(out.setup.program)) {
    return Error{ErrorCode::not_found, out.setup.program + " is not there: ./run build makes it"};
  }
  out.setup.program = std::filesystem::canonical(out.setup.program);
  std::filesystem::create_directories(out.setup.scratch);
  out.setup.scratch = std::filesystem::canonical(out.setup.scratch).string() + "/measure-XXXXXX";
  if (::mkdtemp(out.setup.scratch.data()) == nullptr) return io_error("a folder for measuring", errno);
  out.setup.duckdb = std::filesystem::path(out.setup.program).parent_path().string() + "/duckdb/libduckdb.so";
  return out;
}

int measure(const Arguments& arguments) {
  Report report;
  describe_machine(arguments.setup, report);
  const double from = monotonic_ms();
  for (const Row& row : rows) {
    if (arguments.rows.find(row.name) == std::string::npos) continue;
    progress(fmt::format("{:5.0f} s  {}  {}", (monotonic_ms() - from) / 1000, row.name, row.about));
    if (auto measured = row.measure(arguments.setup, report); !measured) {
      progress(fmt::format("         {} failed: {}", row.name, measured.error().message));
      report.broken(row.name, "could not be measured: " + measured.error().message);
    }
  }
  report.setting("took", fmt::format("{:.0f} s", (monotonic_ms() - from) / 1000));
  std::fputs(report.table().c_str(), stdout);
  if (auto saved = write_file_durably(std::filesystem::absolute(arguments.json), report.json()); !saved) {
    std::fprintf(stderr, "eider_bench: %s\n", saved.error().message.c_str());
    return 1;
  }
  std::printf("\nsaved as %s\n", arguments.json.c_str());
  return report.is_broken() ? 1 : 0;
}

}  // namespace
}  // namespace eider::bench

int main(int argc, char** argv) {
  using namespace eider::bench;
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (argc > 1 && std::string(argv[1]) == "--help") {
    usage();
    return 0;
  }
  if (argc > 1) {
    if (const auto code = hidden_verb(arguments)) return *code;
  }
  auto parsed = parse(arguments);
  if (!parsed) {
    std::fprintf(stderr, "eider_bench: %s\n", parsed.error().message.c_str());
    return 2;
  }
  const int code = measure(*parsed);
  std::error_code error;
  std::filesystem::remove_all(parsed->setup.scratch, error);
  if (error)
    std::fprintf(stderr, "eider_bench: %s stays: %s\n", parsed->setup.scratch.c_str(), error.message().c_str());
  return code;
}
