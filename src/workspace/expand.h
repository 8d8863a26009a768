// `${env:NAME}` in configuration values. Pure but for the environment it is given.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workspace/reader.h"

namespace eider::workspace {

/// Replaces each `${env:NAME}` by the variable's value; `$${env:NAME}` stands for the text `${env:NAME}`. Everything
/// else, such as `${HOME}` for a shell, stays as it is. Where `allowed` is false, a reference is an Error.
/// Errors `invalid`: the variable is not set, the reference is not closed, `${secret:…}` (a later version).
Result<std::string> expand(std::string_view text, bool allowed, const Environment& environment);

}  // namespace eider::workspace
