// Patterns over names of assets: `*` stands for any characters (dots too), `?` for one, `[abc]` for one of these.
// And over names of files, as a shell has them. Matched by fnmatch(3). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace eider::model {

/// True where the pattern holds one of `*`, `?`, `[`: else it is a name.
bool is_glob(std::string_view pattern);
/// Errors say what is wrong: empty, longer than 300 characters, more than 8 stars (matching would cost too much), an
/// open bracket, a character that no name of an asset can hold.
Result<void> check_glob(std::string_view pattern);
bool glob_matches(std::string_view pattern, std::string_view name);

/// Whether a file in a watched folder is meant: hidden ones, *.tmp and *.part (which are not whole yet, most likely)
/// only where the pattern begins or ends like that too.
bool file_matches(const std::string& pattern, const std::string& name);

}  // namespace eider::model
