// Named places at which a test may make the process die, as if the power failed there: the environment's
// EIDER_FAULT=NAME kills it with SIGKILL when it first comes to the place, NAME:3 when it comes there for the third
// time; before that, the file that EIDER_FAULT_LOG names gets a line `NAME PID`. A worker has its server's environment,
// and counts for itself. Without the variable a place costs one comparison.
#pragma once

namespace eider::fault {

/// Any thread. `name` is a literal; every name is listed in docs/lifecycle.md.
void point(const char* name);

}  // namespace eider::fault
