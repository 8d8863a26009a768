#include "cli/graph.h"

#include <gtest/gtest.h>
#include <boost/json.hpp>

namespace eider::cli {
namespace {

namespace json = boost::json;
using Lines = std::vector<std::string>;

/// `name` of an asset, `[name]` of a pipeline, `*` behind an external one; edges as `from>to` or `from>to by trigger`.
json::value graph_of(const std::vector<std::string>& nodes, const std::vector<std::string>& edges) {
  json::array shown_nodes;
  for (std::string node : nodes) {
    const bool external = node.ends_with('*');
    if (external) node.pop_back();
    const bool pipeline = node.starts_with('[');
    const std::string name = pipeline ? node.substr(1, node.size() - 2) : node;
    shown_nodes.push_back(
        {{"id", node}, {"kind", pipeline ? "pipeline" : "asset"}, {"name", name}, {"external", external}});
  }
  json::array shown_edges;
  for (const std::string& edge : edges) {
    const auto to = edge.find('>');
    const auto by = edge.find(" by ");
    shown_edges.push_back(
        {{"from", edge.substr(0, to)},
         {"to", edge.substr(to + 1, by == std::string::npos ? by : by - to - 1)},
         {"trigger", by == std::string::npos ? json::value(nullptr) : json::value(edge.substr(by + 4))}});
  }
  return {{"nodes", shown_nodes}, {"edges", shown_edges}};
}

TEST(Graph, IsATreeFromWhatNothingMakes) {
  const json::value graph = graph_of({"in*", "raw", "mart", "[load]", "[marts]", "[report]"},
                                     {"in>[load] by load/on_in", "[load]>raw", "raw>[marts] by marts/on_raw",
                                      "raw>[report] by report/a", "raw>[report] by report/b", "[marts]>mart"});
  EXPECT_EQ(tree_lines(graph), (Lines{"in (external)", "└─ [load] on_in", "   └─ raw", "      ├─ [marts] on_raw",
                                      "      │  └─ mart", "      └─ [report] a, b"}));
}

TEST(Graph, WhatSeveralLeadToIsDrawnOutOnce) {
  const json::value graph = graph_of({"a", "b", "c", "[p]", "[q]"},
                                     {"a>[p] by p/t", "b>[p] by p/t", "[p]>c", "c>[q] by q/t", "b>[q] by q/u"});
  EXPECT_EQ(tree_lines(graph),
            (Lines{"a", "└─ [p] t", "   └─ c", "      └─ [q] t", "b", "├─ [p] t (above)", "└─ [q] u"}))
      << "what has nothing below it needs no mark";
}

TEST(Graph, ACircleAndBrokenEdgesDrawAllTheSame) {
  const json::value circle = graph_of({"a", "[p]"}, {"a>[p] by p/t", "[p]>a", "nowhere>a", "a>nowhere"});
  EXPECT_EQ(tree_lines(circle).front(), "[p]");
  EXPECT_EQ(tree_lines(circle), (Lines{"[p]", "└─ a", "   └─ [p] t (above)"}));
  EXPECT_TRUE(tree_lines(json::value(7)).empty());
}

TEST(Graph, DotQuotesWhateverANameHolds) {
  const json::value graph = graph_of({"a\"b\\c\n*", "[p]"}, {"a\"b\\c\n>[p] by p/t"});
  EXPECT_EQ(dot_text(graph),
            "digraph eider {\n  rankdir=LR;\n"
            "  \"a\\\"b\\\\c\\\\n\" [label=\"a\\\"b\\\\c\\\\n\", shape=cylinder, style=dashed];\n"
            "  \"[p]\" [label=\"p\", shape=box];\n"
            "  \"a\\\"b\\\\c\\\\n\" -> \"[p]\" [label=\"t\"];\n}\n");
}

}  // namespace
}  // namespace eider::cli
