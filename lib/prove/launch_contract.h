// The contract of launch indices: what a rewrite may do that replaces loops by the indices of a GPU's grid.
#pragma once
#include "lib/prove/contracts.h"

namespace tgc {

// Returns whether `to` is a loop or a launch index of the same size as the loop `range`, which may depend on variables.
bool is_as_long(UOp range, UOp to);

// Returns `root` with gates around its stores to global memory: a store that depends on none of the indices of some
// local loops of the map runs only in the first iteration of each. The graph stores the same. Returns null if no store
// gets a gate.
UOp with_first_stores(UOp root, const RangeMap& map);

}  // namespace tgc
