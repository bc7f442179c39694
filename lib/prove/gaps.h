#pragma once
#include <vector>

#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Compares two graphs from their roots to their leaves. Returns the pairs of nodes that differ in op, dtype, arg or
// number of sources: the graphs compute the same if the two nodes of each pair do. Ignores the args of SINKs and tags
// of nodes with sources. Returns only the pair of roots if there are more than `most` pairs.
std::vector<RewriteSides> graph_difference(UOp before, UOp after, size_t most);

}  // namespace tgc
