#include "model/asset.h"

#include <array>

#include "base/check.h"
#include "base/ids.h"
#include "model/run.h"

namespace eider::model {
namespace {

constexpr std::array<const char*, 3> sources = {"run", "reported", "watched"};
constexpr std::array<const char*, 5> delivery_states = {"pending", "claimed", "delivered", "failed", "skipped"};

template <typename Enum, std::size_t N>
const char* name_of(const std::array<const char*, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  EIDER_CHECK(index < N, "a value outside its enum");
  return names[index];
}

}  // namespace

const char* to_text(Source value) { return name_of(sources, value); }
const char* to_text(DeliveryState value) { return name_of(delivery_states, value); }

std::optional<DeliveryState> delivery_state_from(std::string_view text) {
  for (std::size_t i = 0; i < delivery_states.size(); ++i) {
    if (text == delivery_states[i]) return static_cast<DeliveryState>(i);
  }
  return std::nullopt;
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
