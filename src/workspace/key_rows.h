// How a row of the table of keys finds its value's place: into<Step, &Step::timeout> reads it into that member, which
// may be a member of a member. What a section, a list or a map of sections holds is read by the section's own rows.
// Private to the files of the table.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "workspace/keys.h"
#include "workspace/reader.h"

namespace eider::workspace {

/// A section's values, read into what it describes.
template <typename T>
requires std::is_class_v<T>
void take(Value& value, T& out) { value.reader.read(*value.key.of, value.node, &out); }

template <typename T>
void take(Value& value, std::vector<T>& out) {
  if (value.node.kind() == YamlValue::Kind::null) return;
  if (value.node.kind() != YamlValue::Kind::list) {
    return value.complain("expected a list, each item on lines that begin with \"- \"");
  }
  out.reserve(value.node.size());
  for (YamlValue item = value.node.first(); item; item = item.next()) {
    const Reader::Inside inside(value.reader, out.size());
    T& element = out.emplace_back();
    // Empty until it is known that the file names none: then it is the pipeline's.
    if constexpr (std::is_same_v<T, model::Schedule>) element.timing.timezone.clear();
    value.reader.read(*value.key.of, item, &element);
  }
}

inline Result<void> check_key(const model::Pool& /*of*/, std::string_view name) {
  return model::check_name("pool", name);
}
inline Result<void> check_key(const model::ExternalAsset& /*of*/, std::string_view name) {
  return model::check_asset_name(name);
}
inline const char* expected_map(const model::Pool& /*of*/) {
  return "expected a map of pools, like {heavy: {slots: 1}}";
}
inline const char* expected_map(const model::ExternalAsset& /*of*/) {
  return "expected a map of assets, like {raw.uploads: {watch: incoming}}";
}

/// A map of names to sections.
template <typename T>
requires std::is_class_v<T>
void take(Value& value, std::map<std::string, T>& out) {
  if (value.node.kind() == YamlValue::Kind::null) return;
  if (value.node.kind() != YamlValue::Kind::map) return value.complain(expected_map(T{}));
  for (YamlValue member = value.node.first(); member; member = member.next()) {
    const Reader::Inside inside(value.reader, member.key());
    T item;
    item.name = member.key();
    if (const auto named = check_key(item, item.name); !named) {
      value.reader.complain(member.key_mark(), named.error().message);
      continue;
    }
    value.reader.read(*value.key.of, member, &item);
    out.emplace(member.key(), std::move(item));
  }
}

template <auto Member, auto... Rest, typename Object>
auto& follow(Object& object) {
  if constexpr (sizeof...(Rest) == 0) {
    return object.*Member;
  } else {
    return follow<Rest...>(object.*Member);
  }
}

template <typename Object, auto... Members>
void into(Value& value, void* object) {
  take(value, follow<Members...>(*static_cast<Object*>(object)));
}

/// A map of keys that land in the same object as the keys around it.
inline void into_same(Value& value, void* object) { value.reader.read(*value.key.of, value.node, object); }

constexpr double kMillisecond = 1'000;
constexpr double kMonth = 30.0 * 24 * 3'600 * 1'000 * kMillisecond;
constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

/// In eider.yaml and in a pipeline the same; the table is in keys.cc.
extern const Section kRetry;
/// Of eider.yaml, each before those that it uses; keys_settings.cc.
std::vector<const Section*> settings_sections();
/// Of calendars/*.yaml; keys_calendar.cc.
std::vector<const Section*> calendar_sections();
/// Of the ceiling file; keys_ceiling.cc.
std::vector<const Section*> ceiling_sections();

}  // namespace eider::workspace
