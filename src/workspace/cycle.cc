#include "workspace/cycle.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace eider::workspace {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

}  // namespace

Cycles::Cycles(const Graph& graph)
    : graph_(graph),
      component_(graph.size(), kNone),
      on_cycle_(graph.size(), false),
      root_(graph.size(), kNone),
      after_(graph.size(), kNone),
      before_(graph.size(), kNone) {
  find_components();
  Graph back(graph.size());
  for (std::size_t node = 0; node < graph.size(); ++node) {
    for (const std::size_t next : graph[node]) back[next].push_back(node);
  }
  // A component's nodes reach each other, so two trees from its first node say for each how to come there and back.
  for (std::size_t node = 0; node < graph.size(); ++node) {
    if (!on_cycle_[node] || root_[node] != kNone) continue;
    spread(node, graph, before_);
    spread(node, back, after_);
  }
}

/// Tarjan's strongly connected components, with a stack of its own: a chain of pipelines may be long.
void Cycles::find_components() {
  struct Visit {
    std::size_t node;
    std::size_t edge = 0;
  };
  std::vector<std::size_t> order(graph_.size(), kNone);
  std::vector<std::size_t> lowest(graph_.size(), kNone);
  std::vector<std::size_t> open;
  std::vector<Visit> visits;
  std::size_t count = 0;
  std::size_t components = 0;
  for (std::size_t start = 0; start < graph_.size(); ++start) {
    if (order[start] != kNone) continue;
    visits.push_back({start});
    while (!visits.empty()) {
      const std::size_t node = visits.back().node;
      if (visits.back().edge == 0 && order[node] == kNone) {
        order[node] = lowest[node] = count++;
        open.push_back(node);
      }
      if (visits.back().edge < graph_[node].size()) {
        const std::size_t next = graph_[node][visits.back().edge++];
        if (order[next] == kNone) {
          visits.push_back({next});
        } else if (component_[next] == kNone) {
          lowest[node] = std::min(lowest[node], order[next]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) lowest[visits.back().node] = std::min(lowest[visits.back().node], lowest[node]);
      if (lowest[node] != order[node]) continue;
      const auto first = std::find(open.rbegin(), open.rend(), node).base() - 1;
      for (auto member = first; member != open.end(); ++member) {
        component_[*member] = components;
        on_cycle_[*member] = open.end() - first > 1;
      }
      open.erase(first, open.end());
      ++components;
      const auto& edges = graph_[node];
      if (std::find(edges.begin(), edges.end(), node) != edges.end()) on_cycle_[node] = true;
    }
  }
}

/// Breadth first, within the root's component. The root itself is entered from the last node of a cycle through it.
void Cycles::spread(std::size_t root, const Graph& edges, std::vector<std::size_t>& from) {
  std::vector<std::size_t> reached{root};
  root_[root] = root;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::size_t next : edges[reached[i]]) {
      if (component_[next] != component_[root] || from[next] != kNone) continue;
      from[next] = reached[i];
      if (next == root) continue;
      root_[next] = root;
      reached.push_back(next);
    }
  }
}

std::vector<std::size_t> Cycles::path(std::size_t node) const {
  EIDER_CHECK(on_cycle_[node], "a node that lies on no cycle");
  const std::size_t root = root_[node];
  std::vector<std::size_t> out;
  if (node == root) {
    // before_[root] closes the shortest cycle through it.
    for (std::size_t at = before_[root]; at != root; at = before_[at]) out.push_back(at);
    out.push_back(root);
    std::reverse(out.begin(), out.end());
    return out;
  }
  std::vector<std::size_t> walk;
  for (std::size_t at = node; at != root; at = after_[at]) walk.push_back(at);
  const std::size_t there = walk.size();
  for (std::size_t at = before_[node]; at != root; at = before_[at]) walk.push_back(at);
  walk.push_back(root);
  std::reverse(walk.begin() + static_cast<std::ptrdiff_t>(there), walk.end());
  // Where the ways there and back cross, what lies between is a detour.
  std::unordered_map<std::size_t, std::size_t> last;
  for (std::size_t i = 0; i < walk.size(); ++i) last[walk[i]] = i;
  for (std::size_t i = 0; i < walk.size(); i = last[walk[i]] + 1) out.push_back(walk[i]);
  return out;
}

}  // namespace eider::workspace
