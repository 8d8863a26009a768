#include "cli/fields.h"

#include <boost/json.hpp>

namespace eider::cli {
namespace json = boost::json;

const json::value& field(const json::value& object, std::string_view name) {
  static const json::value null;
  const json::object* fields = object.if_object();
  const json::value* found = fields ? fields->if_contains({name.data(), name.size()}) : nullptr;
  return found ? *found : null;
}

std::string text_of(const json::value& object, std::string_view name) {
  const json::value& value = field(object, name);
  if (value.is_string()) return {value.get_string().data(), value.get_string().size()};
  if (value.is_number() || value.is_bool()) return json::serialize(value);
  return {};
}

std::optional<std::int64_t> number_of(const json::value& object, std::string_view name) {
  const json::value& value = field(object, name);
  if (value.is_int64()) return value.get_int64();
  return std::nullopt;
}

std::optional<double> ratio_of(const json::value& object, std::string_view name) {
  const json::value& value = field(object, name);
  if (value.is_double()) return value.get_double();
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  return std::nullopt;
}

bool flag_of(const json::value& object, std::string_view name) {
  const json::value& value = field(object, name);
  return value.is_bool() && value.get_bool();
}

std::optional<Instant> time_of(const json::value& object, std::string_view name) {
  auto at = parse_rfc3339(text_of(object, name));
  if (!at) return std::nullopt;
  return *at;
}

const json::array& list_of(const json::value& object, std::string_view name) {
  static const json::array none;
  const json::value& value = field(object, name);
  return value.is_array() ? value.get_array() : none;
}

}  // namespace eider::cli
