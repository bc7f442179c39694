// Finds rewrites whose result uses the index of a loop outside of this loop.
#pragma once

#include <span>

#include "lib/uop/uop.h"

namespace tgc {

struct Rewrite;

// Returns the first RANGE that `before` or a node below it ends, and that `after` uses without ending it; the empty UOp
// if there is none. Skips RANGEs that the expander replaces by all of their values (is_expanded_range), and results
// with an UNROLL, CONTRACT or WMMA, whose axes are not loops.
UOp find_opened_loop(UOp before, UOp after);

// Returns the first rewrite that opens a loop; null if there is none. Skips discarded rewrites, and rewrites of nodes
// without a value.
const Rewrite* rewrite_that_opens_loop(std::span<const Rewrite> rewrites);

}  // namespace tgc
