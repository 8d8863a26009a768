#include "model/asset.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "base/check.h"
#include "base/ids.h"
#include "model/run.h"

namespace eider::model {
namespace {

namespace json = boost::json;

constexpr std::array<const char*, 3> sources = {"run", "reported", "watched"};
constexpr std::array<const char*, 5> delivery_states = {"pending", "claimed", "delivered", "failed", "skipped"};

template <typename Enum, std::size_t N>
const char* label_of(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  EIDER_CHECK(index < N, "a value outside its enum");
  return names[index];
}

/// JSON has no infinity: a number beyond all bounds is read as one, and can't be written again.
bool is_finite(const json::value& value) {
  if (const double* number = value.if_double()) return std::isfinite(*number);
  if (const json::array* items = value.if_array()) return std::all_of(items->begin(), items->end(), is_finite);
  const json::object* members = value.if_object();
  return members == nullptr ||
         std::all_of(members->begin(), members->end(), [](const auto& member) { return is_finite(member.value()); });
}

}  // namespace

const char* to_text(Source value) { return label_of(sources, value); }
const char* to_text(DeliveryState value) { return label_of(delivery_states, value); }

std::optional<DeliveryState> delivery_state_from(std::string_view text) {
  for (std::size_t i = 0; i < delivery_states.size(); ++i) {
    if (text == delivery_states[i]) return static_cast<DeliveryState>(i);
  }
  return std::nullopt;
}

Result<void> check_metadata(std::string_view text) {
  static constexpr std::size_t limit_bytes = 64 * 1024;
  static constexpr std::size_t deepest = 16;
  const auto bad = [](const std::string& why) {
    return Error{ErrorCode::invalid,
                 fmt::format("metadata {}; expected a JSON object of at most {} KiB, at most {} levels "
                             "deep",
                             why, limit_bytes / 1024, deepest)};
  };
  if (text.size() > limit_bytes) return bad(fmt::format("of {} bytes is too large", text.size()));
  json::parse_options options;
  options.max_depth = deepest;
  boost::system::error_code failed;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), failed, {}, options);
  if (failed) return bad("is not readable (" + failed.message() + ")");
  if (!value.is_object()) return bad("is no JSON object");
  if (!is_finite(value)) return bad("has a number that is too large for any reader");
  return {};
}

std::string materialization_id(std::string_view origin, std::string_view asset, std::string_view partition,
                               std::string_view fingerprint) {
  return derived_id({"materialization", origin, asset, partition, fingerprint});
}

std::string delivery_id(std::string_view trigger, std::string_view event_id) {
  std::string id = derived_id({"delivery", trigger, event_id});
  const std::string_view group = event_id.substr(0, id_group_length);
  id.replace(0, group.size(), group);
  return id;
}

}  // namespace eider::model
