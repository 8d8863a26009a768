#include "cli/graph.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/fields.h"
#include "cli/text.h"

namespace eider::cli {
namespace {

namespace json = boost::json;

/// `on_flights` of `flights_daily/on_flights`, which stands at that pipeline.
std::string short_trigger(const std::string& key) { return key.substr(key.find('/') + 1); }

class Drawing {
 public:
  explicit Drawing(const json::value& graph) {
    for (const json::value& node : list_of(graph, "nodes")) nodes_[text_of(node, "id")] = &node;
    for (const json::value& edge : list_of(graph, "edges")) {
      const std::string from = text_of(edge, "from");
      const std::string to = text_of(edge, "to");
      if (!nodes_.contains(from) || !nodes_.contains(to)) continue;
      std::string& triggers = below_[from][to];
      if (const std::string trigger = short_trigger(text_of(edge, "trigger")); !trigger.empty())
        triggers += (triggers.empty() ? "" : ", ") + trigger;
      reached_.insert(to);
    }
  }

  std::vector<std::string> draw() {
    for (const auto& [id, node] : nodes_) {
      if (!reached_.contains(id)) draw_node(id, "", "", "");
    }
    // Whatever is on a circle has no beginning.
    for (const auto& [id, node] : nodes_) {
      if (!drawn_.contains(id)) draw_node(id, "", "", "");
    }
    return std::move(lines_);
  }

 private:
  void draw_node(const std::string& id, const std::string& before, const std::string& below,
                 const std::string& triggers) {
    const json::value& node = *nodes_.at(id);
    std::string name = safe(text_of(node, "name"));
    if (text_of(node, "kind") == "pipeline") name = "[" + name + "]";
    if (!triggers.empty()) name += " " + safe(triggers);
    if (flag_of(node, "external")) name += " (external)";
    const auto children = below_.find(id);
    const bool again = !drawn_.insert(id).second && children != below_.end();
    lines_.push_back(before + name + (again ? " (above)" : ""));
    if (again || children == below_.end()) return;
    std::size_t left = children->second.size();
    for (const auto& [child, by] : children->second) {
      const bool last = --left == 0;
      draw_node(child, below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "), by);
    }
  }

  std::map<std::string, const json::value*> nodes_;
  std::map<std::string, std::map<std::string, std::string>> below_;  ///< from, to: by which triggers
  std::set<std::string> reached_;
  std::set<std::string> drawn_;
  std::vector<std::string> lines_;
};

/// A text of the DOT language.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : safe(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<std::string> tree_lines(const json::value& graph) { return Drawing(graph).draw(); }

std::string dot_text(const json::value& graph) {
  std::string out = "digraph eider {\n  rankdir=LR;\n";
  for (const json::value& node : list_of(graph, "nodes")) {
    const bool pipeline = text_of(node, "kind") == "pipeline";
    out += fmt::format("  {} [label={}, shape={}{}];\n", quoted(text_of(node, "id")), quoted(text_of(node, "name")),
                       pipeline ? "box" : "cylinder", flag_of(node, "external") ? ", style=dashed" : "");
  }
  for (const json::value& edge : list_of(graph, "edges")) {
    const std::string trigger = short_trigger(text_of(edge, "trigger"));
    out += fmt::format("  {} -> {}{};\n", quoted(text_of(edge, "from")), quoted(text_of(edge, "to")),
                       trigger.empty() ? "" : fmt::format(" [label={}]", quoted(trigger)));
  }
  return out + "}\n";
}

}  // namespace eider::cli
