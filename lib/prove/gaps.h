#pragma once
#include <vector>

#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Compares two graphs from their roots to their leaves. Returns the pairs of nodes at which they differ: the graphs
// compute the same if the two nodes of each pair do. Ignores the tags of nodes with sources, and the arg of a SINK.
// Returns only the pair of roots if there are more than `most` pairs.
std::vector<RewriteSides> graph_difference(UOp before, UOp after, size_t most);

}  // namespace tgc
