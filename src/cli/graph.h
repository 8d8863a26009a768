// The graph of assets and pipelines, as the API gives it, drawn for people and for graphviz. Pure; an answer that is
// malformed draws as far as it can be read.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

namespace eider::cli {

/// A tree: an asset, under it the `[pipelines]` that its data starts, under each what it publishes. What several lead
/// to is drawn out once, and marked `(above)` from then on.
std::vector<std::string> tree_lines(const boost::json::value& graph);
/// `digraph eider { … }`
std::string dot_text(const boost::json::value& graph);

}  // namespace eider::cli
