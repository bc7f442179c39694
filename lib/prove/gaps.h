// The differences between two graphs that should be the same.
#pragma once
#include <vector>

#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Compares two graphs from their roots down. Returns pairs of nodes that differ in op, dtype, argument or number of
// sources: the graphs compute the same if each pair does. The arguments of SINKs and tags do not count. Returns the
// roots if there are more than `most` pairs.
std::vector<Sides> graph_difference(UOp before, UOp after, size_t most);

}  // namespace tgc
