#include "bench/machine.h"

#include <sys/utsname.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/fd.h"
#include "bench/floors.h"
#include "bench/process.h"

namespace eider::bench {
namespace {

/// The value of a `name : value` line.
std::string line_value(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t at = line.find(':');
    const std::size_t from = at == std::string::npos ? at : line.find_first_not_of(" \t", at + 1);
    return from == std::string::npos ? std::string() : line.substr(from);
  }
  return "unknown";
}

/// The mount that holds the folder: the longest mount point that its path begins with.
std::string file_system(const std::string& folder) {
  std::ifstream mounts("/proc/self/mounts");
  std::string best = "/";
  std::string out = "unknown";
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, point, type;
    words >> device >> point >> type;
    const bool within = folder.starts_with(point) && folder.size() > point.size() && folder[point.size()] == '/';
    const bool holds = point == "/" || folder == point || within;
    if (!holds || point.size() < best.size()) continue;
    best = point;
    out = fmt::format("{} on {}", type, device);
  }
  return out;
}

}  // namespace

double load_average() {
  const auto text = read_file("/proc/loadavg", 200);
  return text ? std::strtod(text->c_str(), nullptr) : 0;
}

void describe_machine(const Setup& setup, Report& report) {
  utsname system{};
  uname(&system);
  report.setting("measured", format_rfc3339(std::chrono::floor<std::chrono::seconds>(now())));
  report.setting("processor",
                 fmt::format("{}, {} cores", line_value("/proc/cpuinfo", "model name"), sysconf(_SC_NPROCESSORS_ONLN)));
  report.setting("memory", line_value("/proc/meminfo", "MemTotal"));
  report.setting("kernel", fmt::format("{} {}", system.sysname, system.release));
  const Spread sync = spread(sync_times(setup.scratch, 200));
  report.setting("disk", fmt::format("{}; fdatasync of a page {:.3f} ms, p99 {:.3f} ms", file_system(setup.scratch),
                                     sync.median, sync.p99));
  report.setting("load", fmt::format("{:.2f} before the first row{}", load_average(),
                                     load_average() > 0.5 ? " (NOT a quiet machine: do not quote these figures)" : ""));
  const std::string sanitize = EIDER_BENCH_SANITIZE;
  report.setting("build", fmt::format("eider {}, {}{}", EIDER_VERSION, EIDER_BENCH_BUILD,
                                      sanitize.empty() ? "" : ", sanitizers " + sanitize + " (figures mean nothing)"));
  report.setting("windows", setup.quick ? "quick: shorter than the design asks for, not to be quoted"
                                        : "as in section 11 of the design");
}

}  // namespace eider::bench
