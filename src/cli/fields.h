// Fields of an answer, read without trust: what is missing or of another type is empty. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "base/time.h"

namespace eider::cli {

/// The value at `name` of an object, or null.
const boost::json::value& field(const boost::json::value& object, std::string_view name);
/// A text; a number or boolean as it is written; else empty.
std::string text_of(const boost::json::value& object, std::string_view name);
std::optional<std::int64_t> number_of(const boost::json::value& object, std::string_view name);
std::optional<double> ratio_of(const boost::json::value& object, std::string_view name);
bool flag_of(const boost::json::value& object, std::string_view name);
std::optional<Instant> time_of(const boost::json::value& object, std::string_view name);
/// The list at `name`; empty when there is none.
const boost::json::array& list_of(const boost::json::value& object, std::string_view name);

}  // namespace eider::cli
