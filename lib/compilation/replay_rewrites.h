#pragma once
#include <span>
#include <utility>

#include "lib/uop/graph.h"

namespace tgc {

// Applies `rewrites` (pairs of a node and its replacement) to the graph under `input`, and returns the result.
// Observers do not see these rewrites. A node in `gates` stays as it is, with its sources.
UOp apply_rewrites(UOp input, bool bottom_up, std::span<const std::pair<UOp, UOp>> rewrites,
                   std::span<const UOp> gates);

}  // namespace tgc
