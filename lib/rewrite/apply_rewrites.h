// Repeats recorded rewrites on a graph.
#pragma once
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "lib/uop/graph.h"

namespace tgc {

// The orders in which tinygrad's functions visit the nodes of a graph and replace them.
enum class VisitOrder : uint8_t {
  SourcesFirst,  // graph_rewrite: visits a node after its sources, and visits the replacement of a node again
  NodeFirst,     // graph_rewrite with bottom_up: visits a node, and then its replacement, before the sources
  NodeOnce,      // a substitution: visits a node before its sources, and does not visit replacements
  Once,          // a walk: visits a node after its sources, and does not visit replacements
};

// Replaces each node that is a key of `rewrites` in the graph under `root` by the mapped node. Returns the empty UOp if
// this fails, for example because the rewrites nest too deep or form a cycle. Adds the keys that were replaced to
// `applied` (may be null); not with VisitOrder::NodeFirst. `retyped` (may be empty) is called with each node that is
// made because a source changed its dtype, and that is not a key; it returns the node to use instead, which may be the
// same one.
UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, VisitOrder order,
                   std::unordered_set<UOp>* applied = nullptr, const std::function<UOp(UOp)>& retyped = {});
// Replaces nodes in the order of a graph_rewrite: NodeFirst with `bottom_up`, else SourcesFirst.
inline UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up) {
  return apply_rewrites(root, rewrites, bottom_up ? VisitOrder::NodeFirst : VisitOrder::SourcesFirst);
}

}  // namespace tgc
