// What the shapes are made of: absent is null, times are RFC 3339 in UTC. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/time.h"
#include "model/run.h"

namespace eider::api::shapes {

inline boost::json::value text_or_null(std::string_view text) {
  return text.empty() ? boost::json::value(nullptr) : boost::json::value(text);
}
inline boost::json::value time_text(Instant at) { return boost::json::value(format_rfc3339(at)); }
inline boost::json::value time_or_null(const std::optional<Instant>& at) {
  return at ? time_text(*at) : boost::json::value(nullptr);
}
template <typename Number>
boost::json::value number_or_null(const std::optional<Number>& number) {
  return number ? boost::json::value(*number) : boost::json::value(nullptr);
}
inline boost::json::value duration_or_null(const std::optional<Micros>& duration) {
  return duration ? boost::json::value(format_duration(*duration)) : boost::json::value(nullptr);
}
/// The sentence of a reason's code.
inline boost::json::value reason_text(const std::string& code) {
  return code.empty() ? boost::json::value(nullptr) : boost::json::value(model::reason_sentence(code));
}
inline boost::json::array texts(const std::vector<std::string>& list) {
  return boost::json::array(list.begin(), list.end());
}

/// JSON that we stored: what can't be read is null rather than the end of the whole answer.
inline boost::json::value stored_json(const std::string& text) {
  if (text.empty()) return nullptr;
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  return error ? boost::json::value(nullptr) : value;
}

}  // namespace eider::api::shapes
