// The contracts of launches: what a rewrite may do that replaces loops by the indices of a GPU's grid, or that divides
// a reduction among the threads of a workgroup.
#pragma once
#include "lib/prove/contracts.h"

namespace tgc {

// Returns whether `to` is a loop or a launch index of the same size as the loop `range`, which may depend on variables.
bool is_as_long(UOp range, UOp to);

// Returns `root` with gates around its stores to global memory: a store that depends on none of the indices of some
// local loops of the map runs only in the first iteration of each. The graph stores the same. Returns null if no store
// gets a gate.
UOp with_first_stores(UOp root, const RangeMap& map);

// Returns whether `after` computes the REDUCE `before` in two steps: each thread of a group reduces its terms into an
// element of a buffer, and new loops over the group reduce these elements.
bool is_reduced_by_groups(UOp before, UOp after);

// Returns whether `after` is the shared memory that holds the elements of `before`, a BUFFERIZE: each thread stores its
// element to a place of its own, and all wait before the memory is read.
bool is_shared_by_group(UOp before, UOp after);

}  // namespace tgc
