// JSON Schema from the table of keys (keys.h).
#include <cmath>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "workspace/keys.h"

namespace eider::workspace {
namespace {

namespace json = boost::json;

constexpr const char* kNamePattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$";
constexpr const char* kAssetPattern = "^[A-Za-z0-9][A-Za-z0-9_-]*([.][A-Za-z0-9][A-Za-z0-9_-]*)*$";
constexpr const char* kGlobPattern = "^([A-Za-z0-9_.*?!-]|\\[|\\])+$";
constexpr const char* kDatePattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
constexpr const char* kHoursPattern = "^[0-9]{2}:[0-9]{2}-[0-9]{2}:[0-9]{2}$";
constexpr const char* kPartitionPattern = "^[A-Za-z0-9][A-Za-z0-9_.:+=-]*$";

/// A text as YAML sees it: what is not in quotes may look like a number or a boolean.
json::array any_scalar() { return {"string", "number", "boolean"}; }

json::object pattern(json::array types, std::string_view expression) {
  return {{"type", std::move(types)}, {"pattern", expression}};
}

json::object reference(const Section& section) {
  json::object ref{{"$ref", fmt::format("#/$defs/{}", section.name)}};
  if (section.short_key.empty()) return ref;
  for (const Key& key : section.keys) {
    if (key.name != section.short_key) continue;
    json::object brief{{"type", key.type == Type::integer ? json::array{"integer"} : any_scalar()}};
    return {{"anyOf", json::array{std::move(ref), std::move(brief)}}};
  }
  return ref;
}

void add_bounds(json::object& schema, const Key& key) {
  if (std::isfinite(key.least)) schema["minimum"] = key.least;
  if (std::isfinite(key.most)) schema["maximum"] = key.most;
}

json::array words_of(const Key& key) {
  json::array words;
  for (const std::string_view word : split_words(key.choices)) words.emplace_back(word);
  return words;
}

json::object list_of(json::value items) {
  return {{"type", json::array{"array", "null"}}, {"items", std::move(items)}};
}

json::object map_of(json::value values, std::string_view names) {
  return {{"type", json::array{"object", "null"}},
          {"propertyNames", json::object{{"pattern", names}}},
          {"additionalProperties", std::move(values)}};
}

json::object schema_of(const Key& key);

json::object collection_schema(const Key& key) {
  json::object integer{{"type", "integer"}};
  switch (key.type) {
    case Type::command:
      return {
          {"anyOf", json::array{json::object{{"type", "array"}, {"minItems", 1}, {"items", {{"type", any_scalar()}}}},
                                json::object{{"type", any_scalar()}}}}};
    case Type::names:
      return list_of(pattern(any_scalar(), kNamePattern));
    case Type::patterns: {
      const json::object one = pattern(any_scalar(), kGlobPattern);
      json::object several = list_of(one);
      several["type"] = "array";
      several["minItems"] = 1;
      return {{"anyOf", json::array{std::move(several), one}}};
    }
    case Type::partitions:
      return list_of(pattern(any_scalar(), kPartitionPattern));
    case Type::dates:
      return list_of(pattern({"string"}, kDatePattern));
    case Type::hours:
      return list_of(pattern({"string"}, kHoursPattern));
    case Type::variables:
      return map_of(json::object{{"type", any_scalar()}}, "^(?!EIDER_)[A-Za-z_][A-Za-z0-9_]*$");
    case Type::weights:
      add_bounds(integer, key);
      return map_of(std::move(integer), kNamePattern);
    case Type::choices: {
      json::object words = list_of(json::object{{"enum", words_of(key)}});
      words["type"] = "array";
      return words;
    }
    case Type::integers: {
      add_bounds(integer, key);
      json::object several = list_of(integer);
      several["type"] = "array";
      return {{"anyOf", json::array{std::move(several), std::move(integer)}}};
    }
    case Type::lock_modes:
      return map_of(json::object{{"enum", words_of(key)}}, kNamePattern);
    case Type::list:
      return list_of(reference(*key.of));
    case Type::named:
      return map_of(reference(*key.of), kNamePattern);
    case Type::assets:
      return map_of(reference(*key.of), kAssetPattern);
    default:
      return reference(*key.of);
  }
}

json::object schema_of(const Key& key) {
  switch (key.type) {
    case Type::name:
      return pattern(any_scalar(), kNamePattern);
    case Type::asset:
      return pattern(any_scalar(), kAssetPattern);
    case Type::partition:
      return pattern(any_scalar(), kPartitionPattern);
    case Type::boolean:
      return {{"type", "boolean"}};
    case Type::integer:
    case Type::number: {
      json::object out{{"type", key.type == Type::integer ? "integer" : "number"}};
      add_bounds(out, key);
      return out;
    }
    case Type::ratio: {
      json::object out = pattern({"number", "string"}, "^[0-9.]+%?$");
      add_bounds(out, key);
      return out;
    }
    case Type::size: {
      json::object out = pattern({"string", "integer"}, "^[0-9]+(\\.[0-9]+)? ?([kKMGT]?B|[KMGT]iB)?$");
      out["minimum"] = 0;
      return out;
    }
    case Type::duration:
      return pattern({"string"}, "^([0-9]+(d|h|ms|us|m|s))+$");
    case Type::time:
    case Type::cron:
      return {{"type", "string"}};
    case Type::choice:
      return {{"enum", words_of(key)}};
    case Type::date:
      return pattern({"string"}, kDatePattern);
    case Type::rate:
      return pattern({"string"}, "^[0-9]+/(min|s|m|h|d|([0-9]+(d|h|ms|us|m|s))+)$");
    case Type::text:
    case Type::timezone:
    case Type::path:
    case Type::any_path:
    case Type::file_pattern:
    case Type::sql:
      return {{"type", any_scalar()}};
    default:
      return collection_schema(key);
  }
}

json::object property(const Key& key) {
  json::object out = schema_of(key);
  out["description"] = key.about;
  if (key.fallback.empty()) return out;
  const bool bare = key.type == Type::integer || key.type == Type::number || key.type == Type::boolean;
  if (key.type == Type::choices) {  // its default is all of them
    out["default"] = words_of(key);
    return out;
  }
  out["default"] = bare ? json::parse(key.fallback) : json::value(key.fallback);
  return out;
}

/// `null` where the parser lets a section be empty (nothing in it is required).
json::object definition(const Section& section, bool is_root) {
  json::object properties;
  json::array required;
  for (const Key& key : section.keys) {
    properties[key.name] = property(key);
    if (key.required) required.emplace_back(key.name);
  }
  json::object out;
  const bool may_be_null = required.empty() && section.exactly_one.empty();
  out["type"] = may_be_null ? json::value(json::array{"object", "null"}) : json::value("object");
  out[is_root ? "title" : "description"] = is_root ? section.title : section.about;
  if (is_root) out["description"] = section.about;
  out["properties"] = std::move(properties);
  out["additionalProperties"] = false;
  if (!required.empty()) out["required"] = std::move(required);
  json::array one;
  for (const std::string_view name : split_words(section.exactly_one))
    one.push_back(json::object{{"required", {name}}});
  if (!one.empty()) out["oneOf"] = std::move(one);
  json::array together;
  for (const std::string_view name : split_words(section.at_most_one)) together.emplace_back(name);
  if (!together.empty()) out["not"] = json::object{{"required", std::move(together)}};
  return out;
}

void collect(const Section& section, std::vector<const Section*>& found) {
  for (const Key& key : section.keys) {
    if (key.of == nullptr || std::find(found.begin(), found.end(), key.of) != found.end()) continue;
    found.push_back(key.of);
    collect(*key.of, found);
  }
}

/// Boost.JSON prints on one line only.
void print(const json::value& value, std::size_t depth, std::string& out) {
  const std::string indent(2 * (depth + 1), ' ');
  const std::string end = "\n" + std::string(2 * depth, ' ');
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    const char* before = "{\n";
    for (const auto& member : *object) {
      out += before + indent + json::serialize(json::string(member.key())) + ": ";
      print(member.value(), depth + 1, out);
      before = ",\n";
    }
    out += end + "}";
  } else if (const auto* array = value.if_array();
             array != nullptr && !array->empty() && !array->front().is_primitive()) {
    const char* before = "[\n";
    for (const auto& item : *array) {
      out += before + indent;
      print(item, depth + 1, out);
      before = ",\n";
    }
    out += end + "]";
  } else if (const auto* number = value.if_double(); number != nullptr && *number == std::floor(*number)) {
    out += fmt::format("{:.0f}", *number);
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string schema_json(SchemaOf of) {
  const Section& root = of == SchemaOf::pipeline    ? pipeline_section()
                        : of == SchemaOf::workspace ? workspace_section()
                        : of == SchemaOf::calendar  ? calendar_section()
                                                    : ceiling_section();
  json::object out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  for (auto& member : definition(root, true)) out[member.key()] = member.value();
  std::vector<const Section*> used;
  collect(root, used);
  json::object definitions;
  for (const Section* section : used) definitions[section->name] = definition(*section, false);
  out["$defs"] = std::move(definitions);
  std::string text;
  print(out, 0, text);
  return text + "\n";
}

}  // namespace eider::workspace
