// Generates random kernels whose numbers are near limits: float precision, dtype ranges, launch limits of devices. They
// find rules that compute with unbounded integers what the kernel computes in a dtype, or vice versa.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/target/target.h"

namespace tgc {

// Returns a random AST that does one of the following:
//   - compares a multiple of an index with a number near another multiple, up to the end of int64
//   - casts an index near the largest integer that a float holds exactly to that float, and compares it
//   - divides, compares and shifts small integers by constants near the ends of their dtype
UOp edge_kernel(Graph& graph, Chance& chance);

// Returns an AST whose loops become threads. At least one size of the grid exceeds the target's launch limit. Returns
// the empty UOp if the target has no such limit, or if its limit is too large for REF.
UOp grid_kernel(Graph& graph, Chance& chance, const Target& target);

}  // namespace tgc
