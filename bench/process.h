// Child processes and waiting, as the bench needs them. Times are those of the wall clock, as the store holds them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace eider::bench {

Instant now();
void sleep_until(Instant at);
/// Looks every `gap` until `done` or the limit; false: the limit.
bool wait_for(const std::function<bool()>& done, Micros limit, Micros gap = std::chrono::milliseconds(2));
double ms(Micros duration);

/// Starts a program; what it prints is appended to the files (empty: /dev/null). Its pid.
Result<int> spawn(const std::vector<std::string>& argv, const std::string& out_file, const std::string& err_file);
/// Its wait status; nothing when it has not ended within the limit.
std::optional<int> reap(int pid, Micros limit);
/// Runs a program to its end. What it printed; an Error with its standard error when it failed.
Result<std::string> capture(const std::vector<std::string>& argv, const std::string& folder);

/// Processes whose parent is `pid`.
std::vector<int> children_of(int pid);

}  // namespace eider::bench
