// The contracts (contracts.h) of rewrites that replace loops by the indices of a GPU's grid, or that divide work among
// the threads of a workgroup.
#pragma once
#include "lib/prove/loop_maps.h"

namespace tgc {

// Returns true if `to` is a loop or a launch index of the same size as the loop `range`.
bool is_same_size_loop(UOp range, UOp to);

// Returns `root` with gates at stores to global memory: a store that does not depend on a local loop that the map
// replaces runs only in the first iteration of this loop. Returns null if there is no such store without a gate.
UOp gate_repeated_stores(UOp root, const RangeMap& map);

// Returns true if `after` computes the REDUCE `before` in two steps: each thread of a group reduces its terms to an
// element of a buffer, and new loops over the group reduce these elements.
bool is_reduced_by_groups(UOp before, UOp after);

// Returns true if `after` is shared memory with the elements of `before`, a BUFFERIZE: the loops in its index store
// each element once, and a barrier follows before the memory is read.
bool is_shared_by_group(UOp before, UOp after);

}  // namespace tgc
