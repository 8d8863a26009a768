// The names of time zones: what may be one, which exist, and which was probably meant.
#pragma once

#include <string_view>

#include "base/result.h"

namespace eider::timing {

/// True for a plain name of tzdata (`Area/Place`); false for what leaves its folder or names one of its other files.
bool is_zone_name(std::string_view name);
/// The Error `invalid` for a name that can't be loaded, with the nearest known names.
Error unknown_zone(std::string_view name);

}  // namespace eider::timing
