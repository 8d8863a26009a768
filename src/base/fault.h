// Named places at which a test may make the process die, as if the power failed there: the environment's
// EIDER_FAULT=NAME kills it with SIGKILL when it first comes to the place, NAME:3 when it comes there for the third
// time. Without the variable a place costs one comparison.
#pragma once

namespace eider::fault {

/// Any thread. `name` is a literal; every name is listed in docs/lifecycle.md.
void point(const char* name);

}  // namespace eider::fault
