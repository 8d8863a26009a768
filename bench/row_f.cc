// F: what a server that has nothing to do costs.
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "base/fd.h"
#include "bench/process.h"
#include "bench/served.h"

namespace eider::bench {
namespace {

/// Seconds on a processor of all threads that live now, in the kernel's finest count.
double cpu_seconds(int pid) {
  double out = 0;
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    const auto text = read_file(thread.path().string() + "/schedstat", 200);
    if (text) out += std::strtod(text->c_str(), nullptr) / 1e9;
  }
  return out;
}

/// Seconds on a processor as `ps` counts them: in ticks of 10 ms.
double cpu_ticks_seconds(int pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), 4096);
  if (!text) return 0;
  std::istringstream words(text->substr(text->rfind(") ") + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) words >> skipped;
  double user = 0, system = 0;
  words >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// A line of smaps_rollup, in MB of 1,000,000 bytes.
double memory_mb(int pid, const std::string& name) {
  const auto text = read_file(fmt::format("/proc/{}/smaps_rollup", pid), 1 << 16);
  const std::size_t at = text ? text->find("\n" + name + ":") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(text->c_str() + at + name.size() + 2, nullptr) * 1024 / 1e6;
}

bool maps_duckdb(int pid) {
  const auto text = read_file(fmt::format("/proc/{}/maps", pid), 16 << 20);
  return !text || text->find("duckdb") != std::string::npos;
}

}  // namespace

Result<void> row_f(const Setup& setup, Report& report) {
  const Folder folder(setup, "f");
  folder.write("eider.yaml", "");
  // Daily, none of them within the next hours.
  const auto hour = std::chrono::floor<std::chrono::hours>(now()).time_since_epoch() / std::chrono::hours(1) % 24;
  for (int i = 0; i < 1'000; ++i) {
    folder.pipeline(
        fmt::format("p{}", i),
        fmt::format("schedules:\n  - {{id: s, cron: '{} {} * * *'}}\nsteps:\n  - {{id: step, run: [/bin/true]}}\n",
                    i % 60, (hour + 3 + i % 20) % 24));
  }
  auto server = Server::start(setup, folder);
  if (!server) return server.error();
  auto bare = spawn({"/bin/sleep", "600"}, {}, {});
  if (!bare) return bare.error();
  sleep_until(now() + std::chrono::seconds(3));
  const int seconds = setup.quick ? 10 : 60;
  const int pid = (*server)->pid();
  const double before = cpu_seconds(pid);
  const double ticks_before = cpu_ticks_seconds(pid);
  const double bare_before = cpu_seconds(*bare);
  sleep_until(now() + std::chrono::seconds(seconds));
  const double minute = 60.0 / seconds;
  Figure cpu = figure("F", "CPU, idle with 1,000 daily schedules", "s/min", (cpu_seconds(pid) - before) * minute);
  cpu.floor = (cpu_seconds(*bare) - bare_before) * minute;
  cpu.floor_name = "a process that sleeps";
  cpu.target = "≤ 0.01";
  cpu.reached = cpu.median <= 0.01;
  cpu.note = fmt::format("by ticks of 10 ms: {:.2f} s/min", (cpu_ticks_seconds(pid) - ticks_before) * minute);
  report.add(std::move(cpu));
  for (const char* name : {"Rss", "Pss", "Anonymous"}) {
    Figure memory = figure("F", fmt::format("memory of the server, {}", name), "MB", memory_mb(pid, name));
    memory.floor = memory_mb(*bare, name);
    memory.floor_name = "a process that sleeps";
    if (std::string(name) == "Rss") {
      memory.target = "≤ 20";
      memory.reached = memory.median <= 20;
    }
    report.add(std::move(memory));
  }
  Figure duckdb = figure("F", "DuckDB mapped in the server", "mappings", maps_duckdb(pid) ? 1 : 0);
  duckdb.target = "0";
  duckdb.reached = duckdb.median == 0;
  report.add(std::move(duckdb));
  report.say("F", fmt::format("{} s, 3 s after the server was ready; {} worker processes beside it", seconds,
                              children_of(pid).size()));
  ::kill(*bare, SIGKILL);
  (void)reap(*bare, std::chrono::seconds(5));
  return {};
}

}  // namespace eider::bench
