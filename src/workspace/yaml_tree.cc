#include "workspace/yaml_tree.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <yaml.h>

namespace eider::workspace {
namespace {

using Kind = YamlValue::Kind;

Mark mark_of(const yaml_mark_t& mark) { return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1}; }

/// Line and column of a byte, for errors of libyaml's reader, which has no marks. Bytes before it are valid UTF-8.
Mark mark_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  Mark mark{1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), 1};
  for (const char c : before.substr(line_begin)) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++mark.column;
  }
  return mark;
}

std::string_view line_at(std::string_view text, int line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// The byte of a line at a column; 0 at the end of the line.
char char_at(std::string_view line, int column) {
  for (const char c : line) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;
    if (--column == 0) return c;
  }
  return 0;
}

struct Wording {
  std::string_view problem;
  std::string_view words;  ///< {} is the line on which the surrounding thing begins
};
constexpr Wording kWordings[] = {
    {"did not find expected key", "the indentation does not fit the map that begins on line {}, or a \":\" is missing"},
    {"did not find expected '-' indicator", "the indentation does not fit the list that begins on line {}"},
    {"mapping values are not allowed in this context",
     "a key is not allowed here; check the indentation, and quote a value that contains \": \""},
    {"could not find expected ':'", "expected \": \" after the key that begins on line {}"},
    {"found unexpected end of stream", "the file ends inside the quoted text that begins on line {}"},
    {"did not find expected ',' or ']'", "expected \",\" or \"]\" in the list that begins on line {}"},
    {"did not find expected ',' or '}'", "expected \",\" or \"}}\" in the map that begins on line {}"},
    {"block sequence entries are not allowed in this context",
     "a list item (\"- \") is not allowed here; put the list on lines of its own, or use [ ]"},
};

YamlProblem reader_problem(const yaml_parser_t& parser, std::string_view text) {
  const Mark mark = mark_at(text, std::min(parser.problem_offset, text.size()));
  if (std::string_view(parser.problem) == "control characters are not allowed") {
    return {mark, fmt::format("the character U+{:04X} is not allowed in a YAML file; in a quoted text write it as an "
                              "escape",
                              parser.problem_value)};
  }
  return {mark, fmt::format("the file is not valid UTF-8 (byte 0x{:02X}); save it as UTF-8",
                            parser.problem_value < 0 ? 0 : parser.problem_value & 0xFF)};
}

/// What libyaml says, in the words of somebody who edits a configuration file.
YamlProblem parser_problem(const yaml_parser_t& parser, std::string_view text) {
  if (parser.error == YAML_MEMORY_ERROR) return {{}, "not enough memory to read it"};
  if (parser.error == YAML_READER_ERROR) return reader_problem(parser, text);
  const std::string_view problem = parser.problem == nullptr ? "unreadable" : parser.problem;
  const std::string_view context = parser.context == nullptr ? "" : parser.context;
  const Mark mark = mark_of(parser.problem_mark);
  const Mark begin = mark_of(parser.context_mark);
  if (context == "while scanning an alias") {
    return {begin, "a value that begins with \"*\" must be quoted, as in cron: \"*/5 * * * *\""};
  }
  if (context == "while scanning an anchor") return {begin, "a value that begins with \"&\" must be quoted"};
  const char c = char_at(line_at(text, mark.line), mark.column);
  if (problem == "found character that cannot start any token") {
    if (c == '\t') return {mark, "a tab is used for indentation; YAML allows only spaces there"};
    return {mark, fmt::format("a value that begins with \"{}\" must be quoted{}", c,
                              c == '@' ? ", as in cron: \"@hourly\"" : "")};
  }
  if (problem.find("tab") != std::string_view::npos) {
    return {mark, "a tab is used for indentation; YAML allows only spaces there"};
  }
  for (const Wording& wording : kWordings) {
    if (problem != wording.problem) continue;
    // In a block map a tab at the start of the next line shows up as "no key here".
    if (c == '\t') return {mark, "a tab is used for indentation; YAML allows only spaces there"};
    return {mark, fmt::format(fmt::runtime(wording.words), begin.line)};
  }
  return {mark, context.empty() ? std::string(problem)
                                : fmt::format("{} {} that begins on line {}", problem, context, begin.line)};
}

struct Parser {
  yaml_parser_t handle{};
  bool ready = yaml_parser_initialize(&handle) == 1;
  ~Parser() {
    if (ready) yaml_parser_delete(&handle);
  }
  Parser() = default;
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
};

struct Event {
  yaml_event_t event{};
  ~Event() { yaml_event_delete(&event); }
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

std::string_view scalar_text(const yaml_event_t& event) {
  return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
}

bool reads_as_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

/// A directive costs libyaml time that grows with the number before it, and none is of use here.
std::optional<YamlProblem> find_directive(std::string_view text) {
  if (text.starts_with('%')) return YamlProblem{{1, 1}, "YAML directives (%) are not supported"};
  std::size_t at = text.find("\n%");
  if (at == std::string_view::npos) at = text.find("\r%");
  if (at == std::string_view::npos) return std::nullopt;
  return YamlProblem{mark_at(text, at + 1), "a line can't begin with \"%\": YAML directives are not supported"};
}

}  // namespace

/// Turns events into nodes; stops at the first thing that is refused.
class YamlBuilder {
 public:
  YamlBuilder(YamlTree& tree, const YamlLimits& limits) : tree_(tree), limits_(limits) {}

  std::optional<YamlProblem> handle(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (++documents_ > 1) {
          return YamlProblem{mark_of(event.start_mark), "a second document begins; a file holds one"};
        }
        return std::nullopt;
      case YAML_ALIAS_EVENT:
        return YamlProblem{mark_of(event.start_mark),
                           fmt::format("aliases (*{}) are not supported: write the value out, or quote a text that "
                                       "begins with \"*\"",
                                       reinterpret_cast<const char*>(event.data.alias.anchor))};
      case YAML_SCALAR_EVENT:
        return scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        return open(event, Kind::list, event.data.sequence_start.anchor, event.data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        return open(event, Kind::map, event.data.mapping_start.anchor, event.data.mapping_start.tag);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close();
      default:
        return std::nullopt;
    }
  }

  /// A document without a value is null.
  void finish() {
    if (tree_.nodes_.size() > 1) return;
    tree_.nodes_.emplace_back();
    tree_.nodes_.back().mark = {1, 1};
  }

 private:
  struct Open {
    std::uint32_t index;
    std::uint32_t last = 0;
    bool has_key = false;
    YamlTree::Span key{};
    Mark key_mark{};
  };

  YamlTree::Span keep(std::string_view text) {
    const auto begin = static_cast<std::uint32_t>(tree_.texts_.size());
    tree_.texts_.append(text);
    return {begin, static_cast<std::uint32_t>(text.size())};
  }

  static std::optional<YamlProblem> refuse_properties(Mark mark, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr) {
      return YamlProblem{mark, fmt::format("anchors (&{}) are not supported: quote a text that begins with \"&\"",
                                           reinterpret_cast<const char*>(anchor))};
    }
    if (tag != nullptr) {
      return YamlProblem{mark,
                         "tags (!) are not supported: quote a value to make it text, also one that begins with \"!\""};
    }
    return std::nullopt;
  }

  std::optional<YamlProblem> add(Mark mark, Kind kind) {
    if (tree_.nodes_.size() > limits_.nodes) {
      return YamlProblem{mark, fmt::format("the file has more than {} values", limits_.nodes)};
    }
    const auto index = static_cast<std::uint32_t>(tree_.nodes_.size());
    YamlTree::Node& node = tree_.nodes_.emplace_back();
    node.kind = kind;
    node.mark = mark;
    if (stack_.empty()) return std::nullopt;
    Open& parent = stack_.back();
    if (tree_.nodes_[parent.index].kind == Kind::map) {
      if (!parent.has_key) return YamlProblem{mark, "a key must be a plain text, not a list or a map"};
      node.key = parent.key;
      node.key_mark = parent.key_mark;
      parent.has_key = false;
    }
    (parent.last == 0 ? tree_.nodes_[parent.index].first : tree_.nodes_[parent.last].next) = index;
    parent.last = index;
    ++tree_.nodes_[parent.index].text.size;
    return std::nullopt;
  }

  std::optional<YamlProblem> scalar(const yaml_event_t& event) {
    const Mark mark = mark_of(event.start_mark);
    const auto& scalar = event.data.scalar;
    if (auto problem = refuse_properties(mark, scalar.anchor, scalar.tag)) return problem;
    const std::string_view text = scalar_text(event);
    if (!stack_.empty() && tree_.nodes_[stack_.back().index].kind == Kind::map && !stack_.back().has_key) {
      if (text.empty()) return YamlProblem{mark, "a key is missing before \":\""};
      stack_.back().has_key = true;
      stack_.back().key = keep(text);
      stack_.back().key_mark = mark;
      return std::nullopt;
    }
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (auto problem = add(mark, plain && reads_as_null(text) ? Kind::null : Kind::scalar)) return problem;
    YamlTree::Node& node = tree_.nodes_.back();
    node.quoted = !plain;
    const bool on_one_line = event.start_mark.line == event.end_mark.line && text.find('\n') == std::string_view::npos;
    if (scalar.style == YAML_LITERAL_SCALAR_STYLE) node.first_line = mark.line + 1;
    if (on_one_line) node.first_line = mark.line;
    node.text = keep(text);
    return std::nullopt;
  }

  std::optional<YamlProblem> open(const yaml_event_t& event, Kind kind, const yaml_char_t* anchor,
                                  const yaml_char_t* tag) {
    const Mark mark = mark_of(event.start_mark);
    if (auto problem = refuse_properties(mark, anchor, tag)) return problem;
    if (stack_.size() >= limits_.depth) {
      return YamlProblem{mark, fmt::format("nested deeper than {} levels", limits_.depth)};
    }
    const auto index = static_cast<std::uint32_t>(tree_.nodes_.size());
    if (auto problem = add(mark, kind)) return problem;
    stack_.push_back(Open{index});
    return std::nullopt;
  }

  std::optional<YamlProblem> close() {
    const std::uint32_t index = stack_.back().index;
    stack_.pop_back();
    if (tree_.nodes_[index].kind != Kind::map) return std::nullopt;
    return find_duplicate(index);
  }

  std::optional<YamlProblem> find_duplicate(std::uint32_t map) {
    keys_.clear();
    for (std::uint32_t i = tree_.nodes_[map].first; i != 0; i = tree_.nodes_[i].next) keys_.push_back(i);
    const auto text = [this](std::uint32_t i) { return tree_.view(tree_.nodes_[i].key); };
    std::sort(keys_.begin(), keys_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int order = text(a).compare(text(b));
      return order != 0 ? order < 0 : a < b;
    });
    std::uint32_t found = 0;
    std::uint32_t first = 0;
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      if (text(keys_[i]) != text(keys_[i - 1]) || (found != 0 && keys_[i] > found)) continue;
      found = keys_[i];
      first = keys_[i - 1];
    }
    if (found == 0) return std::nullopt;
    return YamlProblem{tree_.nodes_[found].key_mark,
                       fmt::format("the key \"{}\" is here twice; the first is on line {}", text(found).substr(0, 100),
                                   tree_.nodes_[first].key_mark.line)};
  }

  YamlTree& tree_;
  const YamlLimits& limits_;
  std::vector<Open> stack_;
  std::vector<std::uint32_t> keys_;  ///< scratch of find_duplicate
  int documents_ = 0;
};

std::variant<YamlTree, YamlProblem> YamlTree::parse(std::string_view text, const YamlLimits& limits) {
  // libyaml, told the encoding, would take a byte order mark for the first character of the first key.
  if (constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF"; text.starts_with(byte_order_mark)) {
    text.remove_prefix(byte_order_mark.size());
  }
  if (auto problem = find_directive(text)) return *problem;
  Parser parser;
  if (!parser.ready) return YamlProblem{{}, "not enough memory to read it"};
  yaml_parser_set_encoding(&parser.handle, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser.handle, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  YamlTree tree;
  YamlBuilder builder(tree, limits);
  while (true) {
    Event event;
    if (yaml_parser_parse(&parser.handle, &event.event) != 1) return parser_problem(parser.handle, text);
    if (auto problem = builder.handle(event.event)) return *problem;
    if (event.event.type == YAML_STREAM_END_EVENT) break;
  }
  builder.finish();
  return tree;
}

Kind YamlValue::kind() const { return tree_->nodes_[index_].kind; }
Mark YamlValue::mark() const { return tree_->nodes_[index_].mark; }
bool YamlValue::quoted() const { return tree_->nodes_[index_].quoted; }
int YamlValue::first_line() const { return tree_->nodes_[index_].first_line; }
std::string_view YamlValue::key() const { return tree_->view(tree_->nodes_[index_].key); }
Mark YamlValue::key_mark() const { return tree_->nodes_[index_].key_mark; }
YamlValue YamlValue::next() const { return {tree_, tree_->nodes_[index_].next}; }

std::string_view YamlValue::text() const {
  const YamlTree::Node& node = tree_->nodes_[index_];
  return node.kind == Kind::scalar ? tree_->view(node.text) : std::string_view();
}

std::size_t YamlValue::size() const {
  const YamlTree::Node& node = tree_->nodes_[index_];
  return node.kind == Kind::scalar || node.kind == Kind::null ? 0 : node.text.size;
}

YamlValue YamlValue::first() const { return {tree_, tree_->nodes_[index_].first}; }

YamlValue YamlValue::find(std::string_view key) const {
  if (kind() != Kind::map) return {};
  YamlValue value = first();
  while (value && value.key() != key) value = value.next();
  return value;
}

YamlValue YamlValue::at(std::size_t index) const {
  if (kind() != Kind::list) return {};
  YamlValue value = first();
  for (; value && index > 0; --index) value = value.next();
  return value;
}

}  // namespace eider::workspace
