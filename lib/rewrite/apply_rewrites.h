// Repeats recorded rewrites on a graph.
#pragma once
#include <unordered_map>

#include "lib/uop/graph.h"

namespace tgc {

// In which order a graph_rewrite, a substitution or a walk of tinygrad visits nodes.
enum class VisitOrder : uint8_t {
  SourcesFirst,  // graph_rewrite: a node after its sources, and what replaces a node is visited again
  NodeFirst,     // graph_rewrite with bottom_up: a node before its sources
  NodeOnce,      // a substitution: a node before its sources, and what replaces a node is not visited
  Once,          // a walk: a node after its sources, and what replaces a node is not visited
};

// Replaces each node that `rewrites` maps in the graph under `root`. Returns an empty UOp if the rewrites nest too deep
// or form a cycle.
UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, VisitOrder order);
// Replaces nodes in the order of a graph_rewrite: NodeFirst with `bottom_up`, else SourcesFirst.
inline UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up) {
  return apply_rewrites(root, rewrites, bottom_up ? VisitOrder::NodeFirst : VisitOrder::SourcesFirst);
}

}  // namespace tgc
