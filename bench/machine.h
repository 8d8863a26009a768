// What the figures were measured on.
#pragma once

#include "bench/rows.h"

namespace eider::bench {

/// Processor, cores, kernel, memory, file system and sync cost of the scratch folder, load, build: Report::setting.
void describe_machine(const Setup& setup, Report& report);
/// The first number of /proc/loadavg.
double load_average();

}  // namespace eider::bench
