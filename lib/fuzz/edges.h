// Generates random kernels at limits: the precision of floats, the ends of dtypes, the launch limits of devices. These
// kernels find rules that compute without bounds what the kernel computes within the bounds of a dtype, or vice versa.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/target/target.h"

namespace tgc {

// Returns a random AST, one of:
//   - a multiple of an index compared with about a multiple of the same number, up to the end of int64
//   - an index near the largest integer that a float holds exactly, cast to that float and compared
//   - small integers divided, compared and shifted by constants near the ends of their dtype
UOp edge_kernel(Graph& graph, Chance& chance);

// Returns an AST whose loops become threads. A dimension of its grid, or the product of two dimensions, is near or
// above a launch limit of the target. Returns the empty UOp if the target has no such limit, or the limit is too large.
UOp grid_kernel(Graph& graph, Chance& chance, const Target& target);

}  // namespace tgc
