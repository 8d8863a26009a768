// CHECK: for what cannot happen unless Eider itself is wrong. Always on, in every build.
// What can go wrong outside (files, clocks, users, kernels) is a Result (base/result.h), never a CHECK.
#pragma once

#include <string_view>

namespace eider {

/// Prints place, condition and message to stderr and aborts. Any thread.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace eider

#define EIDER_CHECK(condition, message)                                                 \
  do {                                                                                  \
    if (!(condition)) ::eider::check_failed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
