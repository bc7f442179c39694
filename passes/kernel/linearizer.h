// The linearizer: from the graph of a kernel to the list of nodes that a renderer prints (tinygrad
// codegen/late/linearizer.py linearize; codegen/__init__.py line_rewrite, pm_linearize_cleanups).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// Every node under `sink` once, sources before users, as close as that allows to an order by loop depth,
// kind and tuplize.
std::vector<UOp> linearize(UOp sink);

// A list with what its order is made from, as tinygrad prints it under DEBUG_LINEARIZE=1: number, op, ranges, (how
// often it runs, priority, extra).
std::string linearize_listing(std::span<const UOp> list);

// The list with each gated store put between an IF and an ENDIF.
// Throws Failure when the list holds an IF or ENDIF already.
std::vector<UOp> wrap_gated_stores(const std::vector<UOp>& list);

}  // namespace tgc
