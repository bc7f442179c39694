// Repeats recorded rewrites on a graph.
#pragma once
#include <unordered_map>

#include "lib/uop/graph.h"

namespace tgc {

// Replaces each node that `rewrites` maps, again and again, in the graph under `root`, in the order of tinygrad's
// graph_rewrite. With `bottom_up`, rewrites a node before its sources. Returns an empty UOp if the rewrites nest too
// deep.
UOp apply_rewrites(UOp root, const std::unordered_map<UOp, UOp>& rewrites, bool bottom_up);

}  // namespace tgc
