// A YAML file as a small bounded tree in which every key and value knows its line and column. libyaml does the
// scanning; what it would let through and a configuration file must not have is refused here: duplicate keys,
// aliases, anchors, tags, directives, several documents, deep nesting, too many values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace eider::workspace {

/// Where something stands in a file: both from 1, the column in characters. Line 0: the file as a whole.
struct Mark {
  int line = 0;
  int column = 0;
  bool operator==(const Mark&) const = default;
};

/// Why a text is no acceptable YAML, in words.
struct YamlProblem {
  Mark mark;
  std::string message;
};

struct YamlLimits {
  /// libyaml needs minutes for 200,000 nested `[`: parsing stops at this depth.
  std::size_t depth = 64;
  /// Scalars, lists and maps; 100,000 schedules of five keys are 600,000.
  std::size_t nodes = 2'000'000;
};

class YamlTree;

/// One value of a tree: a handle of two words, valid as long as the tree is.
class YamlValue {
 public:
  enum class Kind : std::uint8_t {
    null,  ///< nothing, `~` or `null` without quotes
    scalar,
    list,
    map,
  };

  Kind kind() const;
  Mark mark() const;
  /// The text of a scalar, as written after unescaping; empty for anything else.
  std::string_view text() const;
  /// In quotes or a block: text even if it reads like a number.
  bool quoted() const;
  /// The line of the file on which the text begins, when each line of it is one of the file: after `|`, or all on one
  /// line. 0 where YAML made other lines of it: after `>`, in quotes or plain over several lines, `\n` in quotes.
  int first_line() const;
  /// How many values a list or map has.
  std::size_t size() const;

  /// `for (auto value = map.first(); value; value = value.next())`, in the order of the file.
  YamlValue first() const;
  YamlValue next() const;
  explicit operator bool() const { return tree_ != nullptr; }
  /// The key under which this value stands in its map; empty in a list.
  std::string_view key() const;
  Mark key_mark() const;
  /// The value under a key, or of an index; false when there is none.
  YamlValue find(std::string_view key) const;
  YamlValue at(std::size_t index) const;

 private:
  friend class YamlTree;
  YamlValue() = default;
  YamlValue(const YamlTree* tree, std::uint32_t index) : tree_(index == 0 ? nullptr : tree), index_(index) {}
  const YamlTree* tree_ = nullptr;
  std::uint32_t index_ = 0;
};

/// Owns texts and values. Movable; handles point to the tree, so it must not move while they are used.
class YamlTree {
 public:
  /// `text` may be any bytes; it is not referred to afterwards.
  static std::variant<YamlTree, YamlProblem> parse(std::string_view text, const YamlLimits& limits = {});

  /// `null` for an empty document.
  YamlValue root() const { return YamlValue(this, 1); }

 private:
  friend class YamlValue;
  friend class YamlBuilder;
  struct Span {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  struct Node {
    YamlValue::Kind kind = YamlValue::Kind::null;
    bool quoted = false;
    int first_line = 0;
    Mark mark;
    Mark key_mark;
    Span key;
    Span text;                ///< of a scalar; for a list or map, size is the number of its values
    std::uint32_t first = 0;  ///< index of the first value; 0: none
    std::uint32_t next = 0;
  };
  std::string_view view(Span span) const { return std::string_view(texts_).substr(span.begin, span.size); }

  std::string texts_;
  std::vector<Node> nodes_{1};  ///< index 0 stands for "none"
};

}  // namespace eider::workspace
