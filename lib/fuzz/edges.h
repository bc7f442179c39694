// Generates random kernels at limits: the precision of floats, the ends of dtypes, the launch limits of devices. They
// find rules that compute with unbounded numbers what the kernel computes with bounded ones, or vice versa.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/target/target.h"

namespace tgc {

// Returns a random AST, one of:
//   - a multiple of an index compared with about a multiple of the same number, up to the end of int64
//   - an index near the largest integer that a float holds exactly, cast to that float and compared
//   - small integers divided, compared and shifted by constants near the ends of their dtype
UOp edge_kernel(Graph& graph, Chance& chance);

// Returns an AST whose loops become threads, where a dimension of the grid, or the product of two, is about the
// target's launch limit, or above. The empty UOp if the target has no limit, or too large a limit.
UOp grid_kernel(Graph& graph, Chance& chance, const Target& target);

}  // namespace tgc
