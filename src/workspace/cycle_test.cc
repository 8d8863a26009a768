#include "workspace/cycle.h"

#include <rapidcheck/gtest.h>
#include <set>

namespace eider::workspace {
namespace {

Graph graph_of(std::size_t nodes, const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  Graph graph(nodes);
  const std::set<std::pair<std::size_t, std::size_t>> once(edges.begin(), edges.end());
  for (const auto& [from, to] : once) graph[from % nodes].push_back(to % nodes);
  return graph;
}

bool leads(const Graph& graph, std::size_t from, std::size_t to) {
  return std::find(graph[from].begin(), graph[from].end(), to) != graph[from].end();
}

/// Warshall: what is reached by one step or more.
std::vector<std::vector<bool>> reached(const Graph& graph) {
  std::vector<std::vector<bool>> out(graph.size(), std::vector<bool>(graph.size()));
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const std::size_t j : graph[i]) out[i][j] = true;
  }
  for (std::size_t k = 0; k < graph.size(); ++k) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      for (std::size_t j = 0; j < graph.size(); ++j) {
        if (out[i][k] && out[k][j]) out[i][j] = true;
      }
    }
  }
  return out;
}

TEST(Cycles, AreFoundWithAWay) {
  const Graph graph = graph_of(7, {{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 4}, {4, 3}, {5, 5}, {5, 6}, {0, 6}});
  const Cycles cycles(graph);
  EXPECT_EQ(cycles.path(0), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(cycles.path(2), (std::vector<std::size_t>{2, 0, 1}));
  EXPECT_EQ(cycles.path(4), (std::vector<std::size_t>{4, 3}));
  EXPECT_EQ(cycles.path(5), (std::vector<std::size_t>{5}));
  EXPECT_FALSE(cycles.through(6));
}

TEST(Cycles, ALongRingAndADenseGraphCostNoStackAndLittleTime) {
  constexpr std::size_t many = 200'000;
  Graph ring(many);
  for (std::size_t i = 0; i < many; ++i) ring[i] = {(i + 1) % many};
  EXPECT_EQ(Cycles(ring).path(7).size(), many);
  Graph dense(1000);
  for (std::size_t i = 0; i < dense.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) dense[i].push_back(j);
  }
  const Cycles none(dense);
  for (std::size_t i = 0; i < dense.size(); ++i) ASSERT_FALSE(none.through(i));
}

RC_GTEST_PROP(CyclesProperty, AgreeWithReachability, ()) {
  const auto nodes = *rc::gen::inRange<std::size_t>(1, 9);
  const auto edges = *rc::gen::container<std::vector<std::pair<std::size_t, std::size_t>>>(
      rc::gen::pair(rc::gen::inRange<std::size_t>(0, nodes), rc::gen::inRange<std::size_t>(0, nodes)));
  const Graph graph = graph_of(nodes, edges);
  const Cycles cycles(graph);
  const auto reach = reached(graph);
  for (std::size_t node = 0; node < nodes; ++node) {
    RC_ASSERT(cycles.through(node) == reach[node][node]);
    if (!reach[node][node]) continue;
    const std::vector<std::size_t> path = cycles.path(node);
    RC_ASSERT(path.front() == node);
    RC_ASSERT(std::set<std::size_t>(path.begin(), path.end()).size() == path.size());
    for (std::size_t i = 0; i < path.size(); ++i) RC_ASSERT(leads(graph, path[i], path[(i + 1) % path.size()]));
  }
}

}  // namespace
}  // namespace eider::workspace
