// The rows of section 11, one file each. A row that cannot be measured is an Error; what it finds lost or doubled is
// Report::broken.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/report.h"

namespace eider::bench {

struct Setup {
  std::string program;  ///< the `eider` that is measured
  std::string self;     ///< this program: some rows start it as a step or as the bare process beside
  std::string duckdb;   ///< libduckdb.so
  std::string scratch;  ///< folder for workspaces and databases
  bool quick = false;   ///< shorter windows: to see that it works, not to quote
};

Result<void> row_a(const Setup& setup, Report& report);
Result<void> row_b(const Setup& setup, Report& report);
Result<void> row_c(const Setup& setup, Report& report);
Result<void> row_d(const Setup& setup, Report& report);
Result<void> row_e(const Setup& setup, Report& report);
Result<void> row_f(const Setup& setup, Report& report);
Result<void> row_g(const Setup& setup, Report& report);
Result<void> row_h(const Setup& setup, Report& report);
Result<void> row_i(const Setup& setup, Report& report);
Result<void> row_j(const Setup& setup, Report& report);

}  // namespace eider::bench
