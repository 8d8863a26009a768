// Which nodes of a graph lie on a cycle, and one cycle through each. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace eider::workspace {

/// Node -> the nodes that it leads to, each at most once.
using Graph = std::vector<std::vector<std::size_t>>;

/// Time and memory grow with nodes and edges. `graph` must outlive this object.
class Cycles {
 public:
  explicit Cycles(const Graph& graph);

  bool through(std::size_t node) const { return on_cycle_[node]; }
  /// The nodes of one cycle in their order, `node` first; each once. Only for nodes that lie on one.
  std::vector<std::size_t> path(std::size_t node) const;

 private:
  void find_components();
  void spread(std::size_t root, const Graph& edges, std::vector<std::size_t>& from);

  const Graph& graph_;
  std::vector<std::size_t> component_;  ///< nodes that reach each other have the same
  std::vector<bool> on_cycle_;
  std::vector<std::size_t> root_;    ///< the first node of its component
  std::vector<std::size_t> after_;   ///< the next node on a shortest way to the root
  std::vector<std::size_t> before_;  ///< the one before it on a shortest way from the root
};

}  // namespace eider::workspace
