#include "workspace/reader.h"

#include <fmt/format.h>

#include "workspace/words.h"

namespace eider::workspace {
namespace {

using Kind = YamlValue::Kind;

std::vector<std::string_view> key_names(const Section& section) {
  std::vector<std::string_view> names;
  for (const Key& key : section.keys) names.push_back(key.name);
  return names;
}

const Key* find_key(const Section& section, std::string_view name) {
  for (const Key& key : section.keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

bool takes_collection(Type type) { return type >= Type::names; }

/// How a name in a path is shown: as it is, or in quotes when it is no plain name.
std::string path_name(std::string_view name) {
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!plain) return fmt::format("\"{}\"", shown(name));
  }
  return std::string(name);
}

}  // namespace

std::string Reader::path() const {
  std::string out;
  for (const Part& part : path_) {
    if (part.name.data() == nullptr) {
      out += fmt::format("[{}]", part.index);
    } else {
      out += (out.empty() ? "" : ".") + path_name(part.name);
    }
  }
  return out;
}

void Reader::complain(Mark mark, std::string message, std::string suggestion) {
  complaints_.add(Severity::error, mark, path(), std::move(message), std::move(suggestion));
}

void Reader::read(const Section& section, YamlValue node, void* object) {
  if (node.kind() == Kind::map) return read_map(section, node, object);
  if (node.kind() == Kind::scalar && !section.short_key.empty()) {
    const Key* key = find_key(section, section.short_key);
    Value value{*this, *key, node};
    return key->read(value, object);
  }
  // A key whose lines are all commented out is as good as absent, unless something in it is required.
  if (node.kind() == Kind::null) return check_presence(section, node);
  complain(node.mark(), fmt::format("expected a map with the keys {}", join_words(key_names(section), " and ")));
}

void Reader::read_map(const Section& section, YamlValue node, void* object) {
  for (YamlValue member = node.first(); member; member = member.next()) {
    const Inside inside(*this, member.key());
    const Key* key = find_key(section, member.key());
    if (key == nullptr) {
      complain_unknown(section, member);
    } else if (member.kind() != Kind::null || takes_collection(key->type)) {
      Value value{*this, *key, member};
      key->read(value, object);
    } else {
      complain(member.key_mark(), "has no value; write one, or remove the key");
    }
  }
  check_presence(section, node);
}

void Reader::complain_unknown(const Section& section, YamlValue member) {
  for (const std::string_view later : split_words(section.later)) {
    if (later == member.key()) return complain(member.key_mark(), "is not supported by this version of Eider");
  }
  const std::vector<std::string_view> names = key_names(section);
  complain(member.key_mark(), fmt::format("unknown key; expected one of {}", join_words(names, ", ")),
           std::string(closest(member.key(), names)));
}

void Reader::check_presence(const Section& section, YamlValue node) {
  for (const Key& key : section.keys) {
    if (!key.required || node.find(key.name)) continue;
    const Inside inside(*this, key.name);
    complain(node.mark(), "is missing, and required");
  }
  const std::string_view alternatives = section.exactly_one.empty() ? section.at_most_one : section.exactly_one;
  std::vector<std::string_view> present;
  YamlValue last = node;
  for (const std::string_view name : split_words(alternatives)) {
    if (const YamlValue found = node.find(name)) {
      present.push_back(name);
      const bool later = present.size() == 1 || std::pair(found.key_mark().line, found.key_mark().column) >
                                                    std::pair(last.key_mark().line, last.key_mark().column);
      if (later) last = found;
    }
  }
  if (present.empty() && !section.exactly_one.empty()) {
    complain(node.mark(), fmt::format("needs one of {}", join_words(split_words(alternatives), " or ")));
  } else if (present.size() > 1) {
    complain(last.key_mark(), fmt::format("has {}; keep one of them", join_words(present, " and ")));
  }
}

}  // namespace eider::workspace
