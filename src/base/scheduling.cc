#include "base/scheduling.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdint>

namespace eider {
namespace {

/// struct sched_attr in its first version (sched_setattr(2)); not every C library has it.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

/// The shortest slice that the kernel takes.
constexpr std::uint64_t kSliceNs = 100'000;
constexpr std::uint64_t kResetOnFork = 1;

}  // namespace

void ask_for_short_slices() {
  SchedulingAttributes attributes;
  constexpr int this_thread = 0;
  if (::syscall(SYS_sched_getattr, this_thread, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // whoever chose another one knows better
  attributes.runtime_ns = kSliceNs;
  attributes.flags |= kResetOnFork;
  ::syscall(SYS_sched_setattr, this_thread, &attributes, 0);
}

}  // namespace eider
