// Finds rewrites whose result uses the index of a loop outside of this loop.
#pragma once

#include <span>

#include "lib/uop/uop.h"

namespace tgc {

struct Rewrite;

// Returns the first RANGE that a node below `before` ends, and that `after` uses without ending it: a loop's index must
// not be used outside of the loop. Skips RANGEs that the expander replaces by all of their values (is_expanded_range).
// Returns the empty UOp if there is none, or if `after` has an UNROLL, CONTRACT or WMMA, whose axes are not loops.
// Takes nodes of a recorded graph of any release.
UOp opened_loop(UOp before, UOp after);

// Returns the first rewrite that opens a loop; null if there is none. Skips discarded rewrites, and rewrites of nodes
// without a value.
const Rewrite* rewrite_that_opens_loop(std::span<const Rewrite> rewrites);

}  // namespace tgc
