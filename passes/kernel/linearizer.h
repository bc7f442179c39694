// The linearizer: orders the nodes of a kernel's graph into the list that a renderer prints (tinygrad
// codegen/late/linearizer.py:linearize; codegen/__init__.py:line_rewrite, pm_linearize_cleanups).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// Returns every node under `sink` once, sources before users. Within that constraint, nodes are ordered by how often
// they run, then by the priority of their op, then by tinygrad's sort key tuplize (op, arg, dtype, sources).
std::vector<UOp> linearize(UOp sink);

// Formats a list with its sort keys as tinygrad does under DEBUG_LINEARIZE=1. Each line contains the number, op and
// ranges of a node and its (run count, priority, extra), where extra is the arg of a parameter.
std::string linearize_listing(std::span<const UOp> list);

// Puts each gated store of `list` between an IF and an ENDIF.
// Throws Failure if the list already contains an IF or ENDIF.
std::vector<UOp> wrap_gated_stores(const std::vector<UOp>& list);

}  // namespace tgc
