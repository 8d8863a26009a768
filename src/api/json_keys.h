// JSON from outside, read strictly.
#pragma once

#include <string_view>

#include <boost/json/value.hpp>

#include "base/result.h"

namespace eider::api {

/// Boost.JSON keeps the last of two equal keys and says nothing; here they are an Error `invalid`, as are more than
/// 32 levels and anything that is not JSON.
Result<boost::json::value> parse_strict_json(std::string_view text);

}  // namespace eider::api
