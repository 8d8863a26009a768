#include "base/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace eider {

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  EIDER_CHECK(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value), "getrandom");
  return value;
}

}  // namespace eider
