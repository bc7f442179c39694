// Applies given rewrites, such as recorded ones, to a graph.
#pragma once
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/graph.h"

namespace tgc {

enum class VisitOrder : uint8_t {
  SourcesFirst,  // graph_rewrite: visits a node after its sources, and then visits the node's replacement, too
  NodeFirst,     // graph_rewrite with bottom_up: visits a node, and then its replacement, before the sources
  NodeOnce,      // substitute(walk=True): visits a node before its sources, and does not visit replacements
  Once,          // graph_rewrite(walk=True): visits a node after its sources, and does not visit replacements
};

// Replaces each node that is a key of `rewrites` in the graph under `root` by the mapped node. Returns the empty UOp if
// this fails, for example because the rewrites form a cycle or the graph is too deep. Adds the replaced keys to
// `applied` (may be null); with VisitOrder::NodeFirst, adds only some of them. `retyped` (may be empty) is called with
// each rebuilt node that has a source of another dtype than before and is not a key; it returns the node to use
// instead.
UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, VisitOrder order,
                   std::unordered_set<UOp>* applied = nullptr, const std::function<UOp(UOp)>& retyped = {});
inline UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up) {
  return apply_rewrites(root, rewrites, bottom_up ? VisitOrder::NodeFirst : VisitOrder::SourcesFirst);
}

}  // namespace tgc
