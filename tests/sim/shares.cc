#include "shares.h"

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "base/fd.h"

namespace eider::sim {
namespace {

struct Part {
  pid_t pid = -1;
  UniqueFd from;
};

Part begin(int part, const std::function<Tally(int part)>& work) {
  int ends[2] = {-1, -1};
  EIDER_CHECK(::pipe(ends) == 0, "a pipe can be made");
  UniqueFd from(ends[0]);
  const UniqueFd to(ends[1]);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  EIDER_CHECK(pid >= 0, "a process can be made");
  if (pid == 0) {
    const Tally tally = work(part);
    std::fflush(stdout);
    const bool told = ::write(to.get(), &tally, sizeof tally) == static_cast<ssize_t>(sizeof tally);
    ::_exit(told ? 0 : 1);
  }
  return {pid, std::move(from)};
}

}  // namespace

std::vector<Tally> share_out(int parts, const std::function<Tally(int part)>& work) {
  if (parts <= 1) return {work(0)};
  std::vector<Part> begun;
  for (int part = 0; part < parts; ++part) begun.push_back(begin(part, work));
  std::vector<Tally> out;
  for (const Part& part : begun) {
    Tally& tally = out.emplace_back();
    const bool told = ::read(part.from.get(), &tally, sizeof tally) == static_cast<ssize_t>(sizeof tally);
    int status = 0;
    EIDER_CHECK(::waitpid(part.pid, &status, 0) == part.pid && status == 0 && told, "a process has done its part");
  }
  return out;
}

Tally sum(const std::vector<Tally>& parts) {
  Tally out;
  for (const Tally& part : parts) {
    out.decisions += part.decisions;
    out.runs += part.runs;
    out.lived_us += part.lived_us;
    out.missed += part.missed;
    if (part.failing_seed == 0) continue;
    out.failing_seed = out.failing_seed == 0 ? part.failing_seed : std::min(out.failing_seed, part.failing_seed);
  }
  return out;
}

}  // namespace eider::sim
