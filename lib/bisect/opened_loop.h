// Finds rewrites whose result uses a loop outside of this loop.
#pragma once

#include <span>

#include "lib/uop/uop.h"

namespace tgc {

struct Rewrite;

// Returns the first RANGE that a node below `before` ends, so that nothing outside of it may use the RANGE, but that is
// open in `after`; null if there is none. The nodes are those of a recorded graph of any release.
UOp opened_loop(UOp before, UOp after);

// Returns the first of the rewrites of values that opens a loop; null if there is none. A list of nodes is no value.
const Rewrite* rewrite_that_opens_loop(std::span<const Rewrite> rewrites);

}  // namespace tgc
